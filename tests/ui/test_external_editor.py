"""The command that VISUAL and EDITOR name, and what comes of the editor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tui.domain.errors import UsageError
from tui.ui.input.external_editor import EditedDraft, edit_file, editor_command


def test_the_command_has_its_options_and_visual_goes_first() -> None:
    assert editor_command({"EDITOR": "vim -c 'set spell'"}) == ["vim", "-c", "set spell"]
    assert editor_command({"EDITOR": "vim", "VISUAL": "code --wait"}) == ["code", "--wait"]


@pytest.mark.parametrize("line", ["", "  ", '"C:/Program Files/edit', "vi -c 'a b"])
def test_what_is_no_command_is_said(line: str) -> None:
    with pytest.raises(UsageError):
        editor_command({"EDITOR": line})


def _editor(folder: Path, script: str) -> list[str]:
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return [str(path)]


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a shell script")
@pytest.mark.parametrize("is_ended", [False, True], ids=["by itself", "with ponder"])
def test_the_folder_of_an_editor_that_left_a_swap_file_is_kept_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_ended: bool
) -> None:
    draft = tmp_path / "draft" / "draft.md"
    draft.parent.mkdir()
    draft.write_text("half a thought\n")
    swap = draft.parent / ".draft.md.swp"
    command = _editor(tmp_path, f"touch {swap}; {'while :; do sleep 0.01; done' if is_ended else 'exit 1'}")
    found = edit_file(command, draft, lambda: is_ended and swap.exists())
    assert (found.text, found.is_kept) == ("half a thought", True)
    assert found.problem is not None
    assert found.problem.advice == f"What it left is in {draft.parent}."
    assert [record.getMessage() for record in caplog.records] == [
        f"The editor did not end in order. What it left is in {draft.parent}"
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a shell script")
def test_of_an_editor_that_ends_in_order_nothing_is_kept(tmp_path: Path) -> None:
    draft = tmp_path / "draft" / "draft.md"
    draft.parent.mkdir()
    draft.write_text("half a thought\n")
    found = edit_file(
        _editor(tmp_path, 'touch "$(dirname "$1")/.draft.md.swp"; echo whole > "$1"'), draft, lambda: False
    )
    assert found == EditedDraft("whole")


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a shell script")
@pytest.mark.parametrize("change", ["", 'echo other > "$1"; '], ids=["nothing written", "something written"])
def test_an_editor_that_is_left_with_a_code_changes_nothing(tmp_path: Path, change: str) -> None:
    draft = tmp_path / "draft" / "draft.md"
    draft.parent.mkdir()
    draft.write_text("half a thought\n")
    found = edit_file(_editor(tmp_path, f"{change}exit 3"), draft, lambda: False)
    assert (found.text, found.is_kept) == (None, bool(change))
    assert found.problem is not None
    assert found.problem.message == "The editor ended with code 3: the draft is as it was."
    assert found.problem.advice == (f"What you wrote is in {draft}." if change else "")
