"""Notifies a user who looks elsewhere when work ends: a bell or a notification, and a mark in the title.

Terminals report whether they have the focus; one that does not is assumed to have it, and never notifies.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.domain.events import AppEvent, ApprovalAsked, TurnFailed, TurnFinished
from tui.domain.printable import one_line

BELL = "\a"
NOTIFY = "\x1b]9;{}\x1b\\"
MARK = "\x1b[22;2t\x1b]2;● ponder\x1b\\"
"""Saves the title and sets another."""
UNMARK = "\x1b]2;ponder\x1b\\\x1b[23;2t"
"""Restores the saved title; a terminal that saves none shows our name."""
LONGEST = 80


class Notifications:
    """What happened while the terminal did not have the focus."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._looking = True
        self._marked = False

    def notify(self, event: AppEvent, setting: str, title: str, *, waiting: bool) -> None:
        """Notify if needed; ``setting`` is ``ui.bell``, ``waiting`` means that another prompt follows."""
        text = _words(event, waiting=waiting)
        if not text or self._looking or setting == "off":
            return
        about = f": {one_line(title, LONGEST)}" if title else ""
        self._write(NOTIFY.format(f"ponder {text}{about}") if setting == "notify" else BELL)
        if not self._marked:
            self._marked = True
            self._write(MARK)

    def focus_changed(self, *, here: bool) -> None:
        """The terminal got or lost the focus."""
        self._looking = here
        if here:
            self.restore_title()

    def restore_title(self) -> None:
        """Restore the title."""
        if self._marked:
            self._marked = False
            self._write(UNMARK)


def _words(event: AppEvent, *, waiting: bool) -> str:
    match event:
        case ApprovalAsked(answers=answers):
            return "asks about a spending limit" if answers else "asks whether a tool may run"
        case TurnFinished(cancelled=False) if not waiting:
            return "has answered"
        case TurnFailed() if not waiting:
            return "could not answer"
        case _:
            return ""
