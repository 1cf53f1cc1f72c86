"""Joins the composer with the keys of vim."""

# A module of its own, because it is loaded only if the user wants these keys.
from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.widgets.text_area import Selection

from tui.ui.input.vim.buffer import Buffer, Position
from tui.ui.input.vim.machine import Mode, VimMachine

if TYPE_CHECKING:
    from tui.ui.input.composer import Composer

AS_IN_VIM = {"left": "h", "right": "l", "backspace": "h", "delete": "x", "home": "0", "end": "$", "ctrl+r": "ctrl+r"}
IN_VISUAL = {"up": "k", "down": "j", "enter": "j"}
ESCAPE_AND_KEY = re.compile(r"alt\+([A-Za-z0-9])")
"""What terminals make of escape and a key that follows at once. Those that are bound to commands do not come here."""
BEGINS_A_LINE = "/!@"
"""Keys that in an empty draft begin a command or name a file."""


class VimKeys:
    """Passes keys of the composer to the machine, and its text and selection back."""

    def __init__(self, composer: Composer, show_mode: Callable[[str], None]) -> None:
        self._composer = composer
        self._show_mode = show_mode
        self._machine = VimMachine()
        self._shown_at: tuple[int, int] = (-1, -1)
        """Where the composer's cursor was put."""
        self._machine.started(composer.text, (0, 0))
        self._sync()
        show_mode(self._machine.mode.upper())

    @property
    def is_inserting(self) -> bool:
        """Whether keys are typed into the draft."""
        return self._machine.mode is Mode.INSERT

    def begin_again(self) -> None:
        """The draft was sent or cleared."""
        self._machine.started("", (0, 0))
        self._machine.insert()
        self._show_mode(self._machine.mode.upper())

    def press(self, event: events.Key) -> bool:
        """Take a key; False if it means the same as without vim."""
        if self.is_inserting:
            if (quick := ESCAPE_AND_KEY.fullmatch(event.key)) is not None:
                self._pass("escape")
                self._pass(quick[1])
                return True
            return event.key == "escape" and not self._composer.popup_open and self._pass("escape")
        self._sync()
        if event.key == "escape":
            return self._pass("escape")
        key = self._named(event)
        if not key or self._is_for_composer(key):
            return False
        if not self._browses(key):
            self._pass(key)
        return True

    def _named(self, event: events.Key) -> str:
        """The key as vim names it; "" if it is none of its keys."""
        if event.key == "enter" and not self._machine.selects:
            return "\n"
        if event.is_printable and event.character is not None:
            return event.character
        return AS_IN_VIM.get(event.key) or (IN_VISUAL.get(event.key, "") if self._machine.selects else "")

    def _is_for_composer(self, key: str) -> bool:
        """Enter sends; in an empty draft ``?`` shows help, and some keys begin a line."""
        if self._machine.pending or (self._composer.text and key != "\n"):
            return False
        if key in BEGINS_A_LINE:
            self._machine.insert()
            self._show_mode(self._machine.mode.upper())
            return True
        return key in ("\n", "?")

    def _browses(self, key: str) -> bool:
        """Whether the key shows another prompt of the history, because there is no line above or below."""
        if key not in ("j", "k") or self._machine.pending or self._machine.selects:
            return False
        shown = self._composer.show_earlier() if key == "k" else self._composer.show_later()
        if shown:
            self._sync()
            self._apply()
        return shown

    def _pass(self, key: str) -> bool:
        self._sync()
        taken = self._machine.press(key)
        self._apply()
        return taken

    def _sync(self) -> None:
        """Take over what was typed, pasted or put into the draft meanwhile."""
        composer, machine = self._composer, self._machine
        text, cursor = composer.text, composer.cursor_location
        if text != machine.text:
            machine.edited(text, _in_clusters(Buffer(text), cursor))
        elif cursor != self._shown_at:
            machine.move(_in_clusters(machine.buffer, cursor))

    def _apply(self) -> None:
        """Show the text, the selection and the mode of the machine."""
        machine, composer = self._machine, self._composer
        before, after = composer.text, machine.text
        if before != after:
            start, end = _difference(before, after)
            composer.replace(
                after[start : len(after) - end],
                _location_at(before, start),
                _location_at(before, len(before) - end),
            )
        ends = self._ends() if machine.selects else (machine.cursor, machine.cursor)
        composer.selection = Selection(*map(self._location, ends))
        self._shown_at = composer.cursor_location
        self._show_mode(machine.mode.upper())

    def _ends(self) -> tuple[Position, Position]:
        """The ends of the selection, the cursor last. The later end is behind the last cluster; lines are whole."""
        machine = self._machine
        anchor, cursor = machine.anchor, machine.cursor
        if machine.mode is Mode.VISUAL_LINE:
            (first, _), (last, _) = sorted((anchor, cursor))
            start, end = (first, 0), (last, machine.buffer.length(last))
            return (start, end) if cursor[0] >= anchor[0] else (end, start)
        return ((anchor[0], anchor[1] + 1), cursor) if anchor > cursor else (anchor, cursor)

    def _location(self, place: Position) -> tuple[int, int]:
        row, column = place
        return row, sum(map(len, self._machine.buffer.lines[row][:column]))


def _in_clusters(buffer: Buffer, location: tuple[int, int]) -> Position:
    row, left = min(location[0], buffer.last), location[1]
    column = 0
    for cluster in buffer.lines[row]:
        if left < len(cluster):
            break
        left -= len(cluster)
        column += 1
    return row, column


def _difference(before: str, after: str) -> tuple[int, int]:
    """How many characters two texts have in common at the beginning and at the end."""
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    rest = most - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    return start, end


def _location_at(text: str, offset: int) -> tuple[int, int]:
    head = text[:offset]
    return head.count("\n"), offset - (head.rfind("\n") + 1)
