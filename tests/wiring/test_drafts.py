"""Attachments, path completion, and what is remembered between starts."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.wiring.stage import house
from tui.domain.blocks import ImageBlock, TextBlock
from tui.domain.errors import UsageError
from tui.wiring.attachments import MAX_TEXT, complete_path, read_attachment
from tui.wiring.memory import MOST_PROMPTS, MOST_RECENT, Memory, read_memory

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_text_comes_as_a_named_file_and_a_picture_as_a_picture(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Hello")
    (tmp_path / "dot.PNG").write_bytes(PIXEL)
    assert read_attachment(tmp_path, "notes.md") == TextBlock(text='<file name="notes.md">\n# Hello\n</file>')
    assert read_attachment(tmp_path, f' "{tmp_path / "dot.PNG"}" ') == ImageBlock(
        media_type="image/png", data=base64.b64encode(PIXEL).decode(), name="dot.PNG"
    )


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("missing.txt", None, "is not a file"),
        ("program.bin", b"\x7fELF\x00\x01", "neither text nor a picture"),
        ("huge.txt", b"x" * (MAX_TEXT + 1), "too large"),
        (".", None, "is not a file"),
    ],
)
def test_what_cannot_be_attached_is_said(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=why):
        read_attachment(tmp_path, name)


def test_paths_complete_by_their_beginning_first_then_by_what_they_hold(tmp_path: Path) -> None:
    for name in ("readme.md", "thread.py", "other.txt", ".hidden"):
        (tmp_path / name).touch()
    for name in ("rear", ".git", "node_modules"):
        (tmp_path / name).mkdir()
    (tmp_path / "rear" / "deep.txt").touch()
    assert complete_path(tmp_path, "rea") == ["rear/", "readme.md", "thread.py"]
    assert complete_path(tmp_path, "rear/") == ["rear/deep.txt"]
    assert complete_path(tmp_path, ".h") == [".hidden"]
    assert "node_modules/" not in complete_path(tmp_path, "")
    assert complete_path(tmp_path, "nowhere/x") == []


async def test_prompts_models_and_the_draft_are_remembered_over_restarts(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.say("Hello")
        await h.say("Why?")
        await h.say("Hello")
        h.desk.drafts.keep_draft("half a sent")
        h.program.memory.keep()
    async with house(tmp_path) as h:
        assert list(h.desk.drafts.prompt_history()) == ["Why?", "Hello"]
        assert h.desk.drafts.kept_draft() == "half a sent"
        assert h.program.memory.recent == ["demo/fast/low"]


def test_memory_is_bounded(tmp_path: Path) -> None:
    memory = Memory(path=tmp_path / "memory.json")
    for number in range(MOST_PROMPTS + 50):
        memory.asked(f"prompt {number}")
        memory.used(f"demo/m{number}")
    memory.asked("x" * 1_000_000)
    assert (len(memory.prompts), len(memory.recent)) == (MOST_PROMPTS, MOST_RECENT)
    assert memory.recent[0] == f"demo/m{MOST_PROMPTS + 49}"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", json.dumps({"recent": 7, "prompts": [1, "a"], "draft": []}).encode()]
)
def test_an_odd_memory_file_is_no_memory(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.json"
    path.write_bytes(content)
    memory = read_memory(path)
    assert (memory.recent, memory.draft) == ([], "")
    assert memory.prompts in ([], ["a"])


def test_a_memory_that_cannot_be_written_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    Memory(path=tmp_path / "file" / "memory.json", draft="x").keep()
