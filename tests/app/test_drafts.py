"""Attachments, path completion, and what is remembered between starts."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.stage import house
from tests.patience import PATIENCE_S
from tui.app.attachments import MAX_TEXT, complete_path, read_attachment, read_attachments
from tui.app.user_state import MOST_PROMPTS, MOST_RECENT, UserState
from tui.domain.blocks import ImageBlock, TextBlock
from tui.domain.errors import UsageError
from tui.settings import merged_file

ROOT = Path(__file__).resolve().parents[2]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_text_comes_as_a_named_file_and_a_picture_as_a_picture(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Hello")
    (tmp_path / "dot.PNG").write_bytes(PIXEL)
    assert read_attachment(tmp_path / "notes.md") == TextBlock(text='<file name="notes.md">\n# Hello\n</file>')
    [(name, block)] = read_attachments(tmp_path, f' "{tmp_path / "dot.PNG"}" ', {}).blocks
    assert name == "dot.PNG"
    assert block == ImageBlock(media_type="image/png", data=base64.b64encode(PIXEL).decode(), name="dot.PNG")


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("really-jpeg.png", b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        ("really-webp.jpg", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("really-png.gif", PIXEL, "image/png"),
    ],
)
def test_a_picture_is_what_it_begins_with_whatever_it_is_called(
    tmp_path: Path, name: str, content: bytes, media_type: str
) -> None:
    (tmp_path / name).write_bytes(content)
    block = read_attachment(tmp_path / name)
    assert isinstance(block, ImageBlock)
    assert block.media_type == media_type


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("missing.txt", None, "is not a file"),
        ("program.bin", b"\x7fELF\x00\x01", "neither text nor a picture"),
        ("huge.txt", b"x" * (MAX_TEXT + 1), "too large"),
        (".", None, "is not a file"),
        ("broken.png", b"not a picture", "is not a PNG, JPEG, GIF or WebP picture"),
        ("empty.jpg", b"", "is not a PNG, JPEG, GIF or WebP picture"),
    ],
)
def test_what_cannot_be_attached_is_said(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=why):
        read_attachment(tmp_path / name)


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


async def test_prompts_models_and_drafts_are_remembered_over_restarts(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.say("Hello")
        await h.say("Why?")
        await h.say("Hello")
        h.services.drafts.keep_draft("s1", "half a sent")
        h.services.drafts.keep_draft("s2", "sent")
        h.services.drafts.keep_draft("s2", "")
        h.program.user_state.close()
    async with house(tmp_path) as h:
        assert list(h.services.drafts.prompt_history()) == ["Why?", "Hello"]
        assert [h.services.drafts.kept_draft(name) for name in ("s1", "s2", "s3")] == ["half a sent", "", ""]
        assert h.program.user_state.recent == ["demo/fast/low"]


def test_a_key_that_was_typed_into_the_command_is_not_remembered(tmp_path: Path) -> None:
    """The command is refused, but its text was kept as the draft."""
    file, key = tmp_path / "memory.json", "key-of-mine-0123456789-abcdefgh"
    state = UserState(file)
    state.save_draft("one", "/key openai x")
    for text in (f"/key openai {key}", f"  /key\topenai\n{key}", f"/key {key}"):
        state.add_prompt(text)
        state.save_draft("one", text)
    state.save_draft("two", "/key openai")
    state.add_prompt("What is a /key for?")
    state.close()
    assert key not in file.read_text()
    again = UserState(file)
    assert (again.draft("one"), again.draft("two"), again.prompts) == ("", "/key openai", ["What is a /key for?"])


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    state = UserState(tmp_path / "memory.json")
    for number in range(MOST_PROMPTS + 50):
        state.add_prompt(f"prompt {number}")
        state.add_recent(f"demo/m{number}")
        state.save_draft(f"s{number}", "words")
    state.add_prompt("x" * 1_000_000)
    state.close()
    again = UserState(tmp_path / "memory.json")
    assert (len(again.prompts), len(again.recent)) == (MOST_PROMPTS, MOST_RECENT)
    assert again.recent[0] == f"demo/m{MOST_PROMPTS + 49}"
    assert [bool(again.draft(f"s{number}")) for number in (0, MOST_PROMPTS + 49)] == [False, True]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"[" * 100_000, b"\xff\xfe",
        json.dumps({"recent": 7, "prompts": [1, "a"], "draft": [], "drafts": [1]}).encode(),
    ],
)  # fmt: skip
def test_an_odd_file_is_no_memory_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.json"
    path.write_bytes(content)
    state = UserState(path)
    assert (state.recent, state.draft("s1")) == ([], "")
    assert state.prompts in ([], ["a"])
    state.add_recent("demo/fast")
    state.close()
    assert UserState(path).recent == ["demo/fast"]


def test_the_draft_of_an_earlier_version_is_the_newest_prompt(tmp_path: Path) -> None:
    (tmp_path / "memory.json").write_text(json.dumps({"prompts": ["a"], "draft": "half"}))
    assert UserState(tmp_path / "memory.json").prompts == ["a", "half"]


def test_a_memory_that_cannot_be_written_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    state = UserState(tmp_path / "file" / "memory.json")
    state.add_prompt("x")
    state.close()
    assert state.prompts == ["x"]


def test_windows_merge_what_they_changed(tmp_path: Path) -> None:
    first, second = (UserState(tmp_path / "memory.json") for _ in range(2))
    first.set_favourite("demo/a", favourite=True)
    first.close()
    second.set_favourite("demo/b", favourite=True)
    second.add_prompt("from the second")
    second.close()
    third = UserState(tmp_path / "memory.json")
    assert (third.favourites, third.prompts) == (["demo/a", "demo/b"], ["from the second"])


@pytest.mark.long
def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writer = (
        "import sys; from pathlib import Path; from tui.app.user_state import UserState\n"
        "for number in range(10):\n"
        "    state = UserState(Path(sys.argv[1])); state.add_prompt(f'{sys.argv[2]}-{number}'); state.close()"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", writer, str(tmp_path / "memory.json"), name], cwd=ROOT)
        for name in ("a", "b", "c")
    ]
    assert [process.wait(PATIENCE_S) for process in running] == [0, 0, 0]
    assert len(set(UserState(tmp_path / "memory.json").prompts)) == 30


def test_a_lock_that_is_never_released_does_not_stop_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_file, "LOCK_WITHIN_S", 0.1)
    with merged_file.locked(tmp_path / "memory.json"):
        state = UserState(tmp_path / "memory.json")
        state.add_prompt("x")
        state.close()
    assert UserState(tmp_path / "memory.json").prompts == ["x"]
