"""Many presses of one key at once in a text area: one movement, or one deletion.

Pressed one by one, each would be a message with a layout, a repaint and everything that follows a change of the draft.
"""

from __future__ import annotations

from textual.widgets import TextArea
from textual.widgets.text_area import Location

MOST_AT_ONCE = 1_000
"""Presses handled in one step, so that no step is long."""
SIDEWAYS = {"left": "cursor_left", "right": "cursor_right"}
UPRIGHT = {"up": "cursor_up", "down": "cursor_down"}
DELETING = {"backspace": "delete_left", "delete": "delete_right"}
ACTIONS = SIDEWAYS | UPRIGHT | DELETING
"""The keys, and what they do in a text area if nothing else is bound to them."""


class RepeatedKeys(TextArea):
    """Does what many presses of an arrow or a deleting key do, without the presses."""

    def press_repeatedly(self, key: str, times: int) -> int:
        """Handle at most so many presses; returns how many. 0 where each means something of its own."""
        bound = self.screen.active_bindings.get(key) if key in ACTIONS else None
        if bound is None or bound.node is not self or bound.binding.action != ACTIONS[key]:
            return 0
        if not (self.has_focus and self.selection.is_empty) or self.suggestion:
            return 0
        times = min(times, MOST_AT_ONCE)
        return self._move_upright(key, times) if key in UPRIGHT else self._press_sideways(key, times)

    def browse(self, key: str) -> bool:
        """Show another text where there is no row above or below; False if there is none."""
        return False

    def _press_sideways(self, key: str, times: int) -> int:
        step = self.navigator.get_location_left if key in ("left", "backspace") else self.navigator.get_location_right
        begin = at = self.cursor_location
        for _ in range(times):
            at = step(at)
        if key in SIDEWAYS:
            self.move_cursor(at)
        elif at != begin:
            self.delete(begin, at, maintain_selection_offset=False)
        return times

    def _move_upright(self, key: str, times: int) -> int:
        """Move over rows; at the first or last one, one step to another text, or to the end of the row."""
        last = 0 if key == "up" else self.wrapped_document.height - 1
        rows = abs(last - self._row(self.cursor_location))
        if not rows and self.browse(key):
            return 1
        step = self.navigator.get_location_above if key == "up" else self.navigator.get_location_below
        begin = at = self.cursor_location
        for _ in range(min(times, max(rows, 1))):
            at = step(at)
        if at == begin:
            return times  # nor do those after it
        self.move_cursor(at, record_width=False)
        return min(times, max(rows, 1))

    def _row(self, location: Location) -> int:
        return self.wrapped_document.location_to_offset(location).y
