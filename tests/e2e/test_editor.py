"""The draft in $EDITOR: whatever the editor does, the screen and the words come back."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import ALTERNATE, Terminal, environment

CTRL_C, CTRL_G, CTRL_Q, UP = b"\x03", b"\x07", b"\x11", b"\x1b[A"


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def edit(terminal: Terminal, shown: str) -> None:
    """Call the editor on a draft; afterwards the screen is up, shows these words, and takes keys."""
    terminal.type(CTRL_C)
    terminal.wait_for("Write a message")
    terminal.type("my words")
    terminal.wait_for("my words")
    terminal.raw = b""
    terminal.type(CTRL_G)
    terminal.until(lambda: b"\x1b[?1049l" in terminal.raw, "the editor's turn")
    terminal.until(lambda: b"\x1b[?1049h" in terminal.raw, "the screen after the editor")
    # In one line: a toast with a long path is broken anywhere.
    terminal.until(lambda: shown in " ".join(terminal.text().split()), shown)


def test_the_screen_and_the_words_come_back_whatever_the_editor_does(tmp_path: Path) -> None:
    editor, temporary = tmp_path / "editor", tmp_path / "tmp"
    temporary.mkdir()
    script(editor, 'printf changed > "$1"')
    surroundings = environment(tmp_path, EDITOR=str(editor), TMPDIR=str(temporary))
    with Terminal([sys.executable, "-m", "tui", "-m", "demo/fast"], surroundings) as terminal:
        terminal.wait_for("Write a message")
        edit(terminal, "❯ changed")
        script(editor, "exit 1")
        edit(terminal, "❯ my words")
        script(editor, r"""printf 'a\377b\033]0;title\007c' > "$1" """)
        edit(terminal, "❯ a")
        assert b"\x1b]0;title" not in terminal.raw
        script(editor, 'rm "$1"')
        edit(terminal, "the editor removed it")
        script(editor, 'rm "$1"; mkfifo "$1"')
        edit(terminal, "cannot be read")
        script(editor, "kill -INT $PPID; kill -QUIT $PPID")  # as ctrl+c reaches both where the editor has no raw mode
        edit(terminal, "❯ my words")
        script(editor, "stty raw -echo")
        edit(terminal, "❯ my words")
        editor.unlink()
        edit(terminal, "cannot be run")
        assert "❯ my words" in terminal.text()
        assert list(temporary.iterdir()) == []
        terminal.type(CTRL_Q)
        assert terminal.exit_code() == 0
        assert terminal.is_clean
        assert terminal.modes() == terminal.modes_before


def test_what_is_too_large_for_the_composer_stays_in_its_file(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    script(editor, 'head -c 5000000 /dev/zero | tr "\\0" x > "$1"')
    surroundings = environment(tmp_path, EDITOR=str(editor), TMPDIR=str(tmp_path))
    with Terminal([sys.executable, "-m", "tui", "-m", "demo/fast"], surroundings) as terminal:
        terminal.wait_for("Write a message")
        edit(terminal, "it is larger than 4 MB")
        assert "❯ my words" in terminal.text()
        [kept] = tmp_path.glob("ponder-*/draft.md")
        assert kept.stat().st_size == 5_000_000
        script(editor, 'head -c 900000 /dev/zero | tr "\\0" x > "$1"')
        edit(terminal, "900,000 characters")
        assert terminal.is_on(ALTERNATE)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, None], ids=["term", "hup", "closed window"])
@pytest.mark.parametrize("saving", ["before", "at its end"])
def test_what_the_editor_saved_outlives_the_end_of_ponder(
    tmp_path: Path, end: signal.Signals | None, saving: str
) -> None:
    editor, temporary = tmp_path / "editor", tmp_path / "tmp"
    temporary.mkdir()
    save = 'printf "half a thought" > "$1"'
    script(editor, save if saving == "before" else f"trap '{save}.save; exit' HUP")
    with editor.open("a", encoding="utf-8") as file:
        file.write(f"touch {tmp_path}/open; while :; do sleep 0.01; done\n")
    surroundings = environment(tmp_path, EDITOR=str(editor), TMPDIR=str(temporary))
    with Terminal([sys.executable, "-m", "tui", "-m", "demo/fast"], surroundings) as terminal:
        terminal.wait_for("Write a message")
        terminal.type("my words")
        terminal.wait_for("my words")
        terminal.type(CTRL_G)
        terminal.until((tmp_path / "open").exists, "the editor")
        if end is None:
            terminal.close()
            assert terminal.exit_code() == 128 + signal.SIGHUP
        else:
            terminal.signal(end)
            assert terminal.exit_code() == 128 + end
            assert terminal.is_clean
    assert list(temporary.iterdir()) == []
    with Terminal([sys.executable, "-m", "tui", "-m", "demo/fast"], surroundings) as terminal:
        terminal.wait_for("Write a message")
        terminal.type(UP)
        terminal.wait_for("❯ half a thought")


@pytest.mark.long
def test_a_swap_file_of_the_editor_is_left_where_the_log_says(tmp_path: Path) -> None:
    editor, temporary = tmp_path / "editor", tmp_path / "tmp"
    temporary.mkdir()
    script(editor, f'touch "$(dirname "$1")/.draft.md.swp"; touch {tmp_path}/open; while :; do sleep 0.01; done')
    surroundings = environment(tmp_path, EDITOR=str(editor), TMPDIR=str(temporary))
    with Terminal([sys.executable, "-m", "tui", "-m", "demo/fast"], surroundings) as terminal:
        terminal.wait_for("Write a message")
        terminal.type(CTRL_G)
        terminal.until((tmp_path / "open").exists, "the editor")
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code() == 128 + signal.SIGTERM
    [folder] = temporary.iterdir()
    assert {path.name for path in folder.iterdir()} == {"draft.md", ".draft.md.swp"}
    assert str(folder) in (tmp_path / "ponder" / "state" / "ponder.log").read_text(encoding="utf-8")
