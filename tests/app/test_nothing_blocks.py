"""The screen's event loop asks the file system for nothing: a slow disk or network folder would stop the keys."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tests.app.screen_stage import screen
from tests.ui.stage import type_in, until

ROOT = Path(__file__).resolve().parents[2]
CALLS = frozenset(
    {
        "open",
        "stat",
        "lstat",
        "scandir",
        "listdir",
        "mkdir",
        "rmdir",
        "unlink",
        "remove",
        "rename",
        "replace",
        "link",
        "symlink",
        "readlink",
        "chmod",
        "access",
        "utime",
        "truncate",
        "fsync",
        "fdatasync",
        "flock",
        "statvfs",
    }
)
MODULES = ("posix", "nt", "io", "_io", "fcntl")
LOADING = ("<frozen importlib", "<frozen zipimport", "/importlib/", "/linecache.py", "/inspect.py", "/textual/css/")
"""Code and style sheets of the program that are loaded when they are first needed."""


@contextmanager
def watched_calls() -> Iterator[set[str]]:
    """File system calls of this thread, as «call in file:line», while this is entered."""
    found: set[str] = set()

    def profile(frame: FrameType, event: str, called: object) -> None:
        if event != "c_call" or getattr(called, "__name__", "") not in CALLS:
            return
        if getattr(called, "__module__", "") in MODULES:
            place = _place(frame)
            if place:
                found.add(f"{called.__name__} in {place}")  # type: ignore[attr-defined]  # every builtin has one

    sys.setprofile(profile)
    try:
        yield found
    finally:
        sys.setprofile(None)


def _place(frame: FrameType | None) -> str:
    """The nearest lines of the program that lead there; "" where code is being loaded."""
    ours: list[str] = []
    while frame is not None:
        name = frame.f_code.co_filename
        if any(part in name for part in LOADING):
            return ""
        if name.startswith(str(ROOT / "tui")) and len(ours) < 7:
            ours.append(f"{Path(name).relative_to(ROOT)}:{frame.f_lineno}")
        elif name.startswith(str(ROOT / "tests")) and not ours:
            return ""  # the test itself
        frame = frame.f_back
    return " < ".join(ours) or "a library"


def test_a_call_is_seen(tmp_path: Path) -> None:
    from tui.settings.user_files import write_atomically

    with watched_calls() as found:
        write_atomically(tmp_path / "file", "x")
    assert {"fsync", "open"} <= {words.partition(" ")[0] for words in found}


@pytest.mark.parametrize(
    ("changes", "sheets"),
    [
        (("/model demo/demo/high", "/set ui.bell off"), ("/profile save mine", "/sessions")),
        pytest.param(
            ("/thinking low", "/theme dawn", "/unset ui.bell"),
            ("/settings", "/profile save mine", "/profile load mine", "/profile list", "/status"),
            marks=pytest.mark.long,
        ),
    ],
    ids=["some", "others"],
)
async def test_typing_sending_and_switching_ask_the_file_system_for_nothing(
    tmp_path: Path, changes: Sequence[str], sheets: Sequence[str]
) -> None:
    (tmp_path / "notes.md").write_text("Notes.")
    async with screen(tmp_path, stored_in="file") as s:
        await until(s.pilot, lambda: s.app.chat.sidebar.picker.filled)
        with watched_calls() as found:
            await type_in(s.pilot, "look at @no")
            await until(s.pilot, lambda: s.app.chat.composer.popup_open)
            await s.pilot.press("enter")
            await until(s.pilot, lambda: "notes.md" in s.app.chat.composer.text)
            await s.pilot.press("enter")
            await until(s.pilot, lambda: s.turns_drawn() == 1 and not s.app.chat.is_busy())
            await s.ask("And again?")
            for line in changes:
                await s.enter(line)
            await s.pilot.press("ctrl+b", "ctrl+b")
            for line in sheets:
                await s.enter(line)
                await s.pilot.pause(0.1)
                await s.pilot.press("escape")
            await s.enter("/new")
            await type_in(s.pilot, "a draft")
            await s.pilot.pause(0.6)
    assert sorted(found) == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["md", "json", "html"])
@pytest.mark.long
async def test_exporting_asks_the_file_system_for_nothing_and_keeps_keys_going(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    (folder := tmp_path / "here").mkdir()
    monkeypatch.chdir(folder)
    async with screen(tmp_path, stored_in="file") as s:
        await s.ask("Why is the sky blue?")
        with watched_calls() as found:
            await s.enter(f"/export {form} --all")
            await s.until_it_says("Written to")
    (written,) = folder.iterdir()
    assert "sky blue" in written.read_text(encoding="utf-8")
    assert sorted(found) == []
