"""Runs the user's editor on a file while the screen is suspended."""

# A module of its own, because it is loaded only when the editor is first opened.
from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tui.domain.errors import UsageError
from tui.settings.user_files import read_user_file
from tui.ui.input.composer import MAX_PASTE

if sys.platform != "win32":
    import termios

LOG = logging.getLogger(__name__)

SIGNALS_OF_KEYS = ("SIGINT", "SIGQUIT")
ENDED_BY_SIGNAL = 128
"""A shell adds the number of the signal to it."""
HANG_UP = getattr(signal, "SIGHUP", signal.SIGTERM)
LOOK_EVERY_S = 0.1
TIME_TO_SAVE_S = 0.4
"""Time for an editor to save its text when ponder ends; less than ``GRACE_S`` of ``Shutdown``."""


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The words of VISUAL or EDITOR."""
    line = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        arguments = shlex.split(line)
    except ValueError:
        raise UsageError(
            f"The editor `{line}` cannot be run: a quotation mark is not closed.",
            advice="Correct EDITOR and try again.",
        ) from None
    if not arguments:
        raise UsageError("No editor is set.", advice="Set EDITOR, for example to `vim`, and try again.")
    return arguments


@dataclass(frozen=True, slots=True)
class EditedDraft:
    """What came of the editor."""

    text: str | None = None
    """The draft; None if it is unchanged or cannot be read."""
    problem: UsageError | None = None
    is_kept: bool = False
    """The folder holds text that is nowhere else."""


def edit_file(command: Sequence[str], path: Path, is_ending: Callable[[], bool]) -> EditedDraft:
    """Run the editor on a file in a folder of its own; ``is_ending`` says when it must end. Raises nothing."""
    try:
        before = path.read_bytes()
        code = _run(command, path, is_ending)
    except OSError as error:
        told = f"`{command[0]}` cannot be run: {error.strerror}."
        return EditedDraft(problem=UsageError(told, advice="The draft is unchanged."))
    hurried = path.with_name(f"{path.name}.save")  # nano's, if it could not ask whether to save
    try:
        text = _read_draft(hurried if hurried.exists() else path)
    except OSError as error:
        is_kept = path.is_file()
        where = f"Your text is in {path}." if is_kept else "The draft is unchanged."
        told = f"The edited draft cannot be read: {error.strerror}."
        return EditedDraft(problem=UsageError(told, advice=where), is_kept=is_kept)
    if code and set(path.parent.iterdir()) - {path, hurried}:
        LOG.warning("The editor did not end in order. What it left is in %s", path.parent)
        where = f"What it left is in {path.parent}."
        return EditedDraft(text, UsageError("The editor did not end in order.", advice=where), is_kept=True)
    if 0 < code < ENDED_BY_SIGNAL:
        # How one leaves an editor without taking over what one wrote, as with `:cq` in vim; git asks no other way.
        told = f"The editor ended with code {code}: the draft is as it was."
        if path.read_bytes() == before:
            return EditedDraft(problem=UsageError(told))
        return EditedDraft(problem=UsageError(told, advice=f"What you wrote is in {path}."), is_kept=True)
    return EditedDraft(text)


def _run(command: Sequence[str], path: Path, is_ending: Callable[[], bool]) -> int:
    """Wait for the editor; returns its exit code. Raises OSError if it cannot be started.

    If ponder is asked to end meanwhile, the editor is ended like by a closed window: editors then save what they can.
    """
    with _own_signals(), _same_modes():
        editor = subprocess.Popen([*command, str(path)])
        while not is_ending():
            with suppress(subprocess.TimeoutExpired):
                return editor.wait(LOOK_EVERY_S)
        editor.send_signal(HANG_UP)
        with suppress(subprocess.TimeoutExpired):
            editor.wait(TIME_TO_SAVE_S)
        return 128 + HANG_UP


def _read_draft(path: Path) -> str:
    """The text that the editor saved; bytes that are not UTF-8 become U+FFFD. Raises OSError."""
    content = read_user_file(path, 4 * MAX_PASTE)
    if content is None:
        raise FileNotFoundError(0, "the editor removed it", str(path))
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n").rstrip("\n")
    if len(text) > MAX_PASTE:
        raise OSError(0, f"it has more than {MAX_PASTE:,} characters", str(path))
    return text


@contextmanager
def _own_signals() -> Generator[None]:
    """Ignore what keys of the editor's terminal send to all of its processes.

    Handlers, because a child inherits ignored signals, but not handlers.
    """
    numbers = [number for name in SIGNALS_OF_KEYS if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _same_modes() -> Generator[None]:
    """Restore the modes of the terminal, which a crashed editor leaves as they are."""
    if sys.platform == "win32" or not os.isatty(0):
        yield
        return
    modes = termios.tcgetattr(0)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(0, termios.TCSANOW, modes)
