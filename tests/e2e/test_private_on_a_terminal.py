"""A private conversation on a real terminal leaves no byte in any file, also if the program is killed."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_approval_on_a_terminal import ALT_1, press_until
from tests.e2e.test_living import READY

CANARY = "quokka"
NOT_KEPT = "not kept"
LINES = f"for i in $(seq 4000); do echo {CANARY}-result $i; done"
CTRL_Q, UP = b"\x11", "\x1b[A"


class Conversation:
    """A program with a home folder, a folder for temporary files and a working folder of its own."""

    def __init__(self, around: Path, model: Loopback, *options: str) -> None:
        self.folders = [around / name for name in ("home", "temporary", "work")]
        for folder in self.folders:
            folder.mkdir(exist_ok=True)
        home, temporary, work = self.folders
        self.model = model
        self.attached = around / "notes.txt"
        self.attached.write_text(f"{CANARY}-attached\n" * 20)
        model.configure(home)
        command = f"cd {shlex.quote(str(work))} && exec {sys.executable} -m tui {' '.join(options)}"
        self.terminal = Terminal(["/bin/sh", "-c", command], environment(home, TMPDIR=str(temporary)), size=(100, 30))
        self._is_private = bool(options)

    def wait(self, words: str) -> None:
        """Wait until the screen says this; of a private conversation it always says that it is not kept."""
        self.terminal.wait_for(words)
        self.terminal.until(lambda: (NOT_KEPT in self.terminal.text()) is self._is_private, "the mark of its kind")

    def asked(self) -> None:
        self.terminal.until(lambda: self.model.asked.acquire(blocking=False), "a request")

    def talk(self) -> None:
        """Say, attach, call, answer, draft and paste secrets; the last turn is still running."""
        terminal, model = self.terminal, self.model
        self.wait(READY)
        terminal.type(f"/attach {self.attached}\r")
        self.wait("notes.txt")
        terminal.type(f"{CANARY}-prompt\r")
        self.asked()
        model.think(f"{CANARY}-thinking")
        self.wait(f"{CANARY}-thinking")
        model.call("shell", command=LINES)
        self.wait("ASKS")
        press_until(terminal, ALT_1, lambda: len(model.bodies) == 2, "the next request")
        self.asked()
        model.say(f"{CANARY}-answer")
        model.finish()
        self.wait(f"{CANARY}-answer")
        self.wait(READY)
        terminal.type(f"{CANARY}-second\r")
        self.asked()
        model.think(f"{CANARY}-more")
        model.say(f"{CANARY}-partial")
        self.wait(f"{CANARY}-partial")
        terminal.type(f"\x1b[200~{CANARY}-paste\r{CANARY}-paste\x1b[201~")
        terminal.type(f"{CANARY}-draft")
        self.wait(f"{CANARY}-draft")

    def leaks(self) -> list[str]:
        """Files that contain the canary or are named after it, also deleted ones that the program holds open."""
        files = [path for folder in self.folders for path in folder.rglob("*") if path.is_file()]
        found = [str(path) for path in files if CANARY in path.name or CANARY.encode() in path.read_bytes()]
        return found + [path for path in self._open_files() if CANARY.encode() in Path(path).read_bytes()]

    def _open_files(self) -> Iterator[str]:
        held = Path(f"/proc/{self.terminal.process.pid}/fd")
        for path in held.iterdir() if held.exists() else ():
            with contextlib.suppress(OSError):
                target = str(path.readlink())
                if target.startswith(("/memfd:", *map(str, self.folders))) and not os.path.isdir(path):  # noqa: PTH112
                    yield str(path)


@pytest.mark.long
@pytest.mark.parametrize("end", ["killed", "quit"])
def test_no_file_has_a_word_of_it(tmp_path: Path, end: str) -> None:
    with Loopback() as model:
        conversation = Conversation(tmp_path, model, "--no-save")
        with conversation.terminal as terminal:
            conversation.talk()
            assert conversation.leaks() == []
            if end == "killed":
                terminal.process.kill()
                terminal.process.wait()
            else:
                terminal.type(CTRL_Q)
                terminal.wait_for("Nothing of a private conversation is kept")
                terminal.type("\r")
                assert terminal.exit_code() == 0
        assert conversation.leaks() == []
        model.finish()
        after = Conversation(tmp_path, model)
        with after.terminal as terminal:
            after.wait(READY)
            terminal.type(UP)
            terminal.type("next")
            after.wait("next")
            assert CANARY not in terminal.text()
        assert after.leaks() == []


@pytest.mark.long
def test_the_same_conversation_is_found_in_files_if_it_is_not_private(tmp_path: Path) -> None:
    with Loopback() as model:
        conversation = Conversation(tmp_path, model)
        with conversation.terminal:
            conversation.talk()
            names = {Path(path).name for path in conversation.leaks()}
            assert names & {"sessions.db", "sessions.db-wal"}, names
