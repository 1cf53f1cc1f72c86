"""A scrollbar that is painted only where it looks different.

Textual paints all of it whenever a number behind it changes: with each new line of an answer, although its thumb
hardly moves in a long conversation.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.geometry import Region
from textual.reactive import Reactive
from textual.scrollbar import ScrollBar


class SteadyScrollBar(ScrollBar):
    """Every other reason to paint, as colours, the mouse or another size, is left to Textual."""

    window_virtual_size: Reactive[int] = Reactive(100, repaint=False)
    window_size: Reactive[int] = Reactive(0, repaint=False)
    position: Reactive[float] = Reactive(0, repaint=False)

    def __init__(self, *, thickness: int) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        self._shape: list[Segment] = []

    def update(self, virtual_size: int, window_size: int, position: int) -> None:
        """Set all numbers at once: in between, the thumb would be somewhere else."""
        self.set_reactive(SteadyScrollBar.window_virtual_size, virtual_size)
        self.set_reactive(SteadyScrollBar.window_size, window_size)
        self.set_reactive(SteadyScrollBar.position, position)
        self._refresh_changes()

    def watch_window_virtual_size(self) -> None:
        self._refresh_changes()

    def watch_window_size(self) -> None:
        self._refresh_changes()

    def watch_position(self) -> None:
        self._refresh_changes()

    def _refresh_changes(self) -> None:
        before, now = self._shape, self._current_shape()
        if len(now) != len(before):
            self.refresh()
        else:
            rows = [y for y, (old, new) in enumerate(zip(before, now, strict=True)) if old != new]
            if rows:
                self.refresh(Region(0, rows[0], self.size.width, rows[-1] - rows[0] + 1))
        self._shape = now

    def _current_shape(self) -> list[Segment]:
        """Its cells for these numbers, in colours that stand for any."""
        cells = self.renderer.render_bar(
            size=self.size.height,
            virtual_size=self.window_virtual_size,
            window_size=self.window_size if self.window_size < self.window_virtual_size else 0,
            position=self.position,
            vertical=True,
        )
        return list(cells.segments)
