"""Calls the user back who looks elsewhere when something ends: a bell or a notification, and a mark in the title.

Terminals tell whether they have the focus; where one does not, it always has it and nothing is ever called.
"""

from __future__ import annotations

from collections.abc import Callable

from tui.domain.events import AppEvent, ApprovalAsked, TurnFailed, TurnFinished
from tui.domain.printable import one_line

BELL = "\a"
NOTIFY = "\x1b]9;{}\x1b\\"
MARK = "\x1b[22;2t\x1b]2;● ponder\x1b\\"
"""Puts the title away and sets another."""
UNMARK = "\x1b]2;ponder\x1b\\\x1b[23;2t"
"""Takes the old title back; a terminal that keeps none gets our name."""
LONGEST = 80


class Notifications:
    """What was missed while the terminal was not looked at."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._looking = True
        self._marked = False

    def heard(self, event: AppEvent, wish: str, title: str, *, waiting: bool) -> None:
        """Something happened; ``wish`` is the setting, ``waiting`` that another prompt is answered next."""
        words = _words(event, waiting=waiting)
        if not words or self._looking or wish == "off":
            return
        about = f": {one_line(title, LONGEST)}" if title else ""
        self._write(NOTIFY.format(f"ponder {words}{about}") if wish == "notify" else BELL)
        if not self._marked:
            self._marked = True
            self._write(MARK)

    def looks(self, *, here: bool) -> None:
        """The terminal got the focus, or lost it."""
        self._looking = here
        if here:
            self.over()

    def over(self) -> None:
        """The title as it was."""
        if self._marked:
            self._marked = False
            self._write(UNMARK)


def _words(event: AppEvent, *, waiting: bool) -> str:
    match event:
        case ApprovalAsked():
            return "asks whether a tool may run"
        case TurnFinished(cancelled=False) if not waiting:
            return "has answered"
        case TurnFailed() if not waiting:
            return "could not answer"
        case _:
            return ""
