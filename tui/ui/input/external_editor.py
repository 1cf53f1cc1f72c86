"""Runs the user's editor on a file while the screen is suspended."""

# A module of its own, because it is loaded only when the editor is first opened.
from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tui.domain.errors import UsageError
from tui.settings.user_files import read_user_file
from tui.ui.input.composer import MAX_PASTE

if sys.platform != "win32":
    import termios

SIGNALS_OF_KEYS = ("SIGINT", "SIGQUIT")


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


def run_editor(command: Sequence[str], path: Path) -> OSError | None:
    """Run the editor and wait for it; returns the error if it cannot be started."""
    with _own_signals(), _same_modes():
        try:
            subprocess.run([*command, str(path)], check=False)
        except OSError as error:
            return error
    return None


def read_draft(path: Path) -> str:
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
        termios.tcsetattr(0, termios.TCSANOW, modes)
