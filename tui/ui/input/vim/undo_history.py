"""Changes that can be undone and made again, each with the place where it began."""

from __future__ import annotations

from dataclasses import dataclass

from tui.ui.input.vim.buffer import Buffer, Position

MOST = 500
"""Changes that are remembered."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A text and the place where the change after it began."""

    text: str
    place: Position


class UndoHistory:
    """The texts before the changes, and those that were undone."""

    def __init__(self) -> None:
        self._undo: list[Snapshot] = []
        self._redo: list[Snapshot] = []

    def clear(self) -> None:
        self._undo.clear()
        self._redo.clear()

    def keep(self, before: Snapshot) -> None:
        """Remember what a change began with."""
        self._redo.clear()
        self._undo.append(before)
        del self._undo[:-MOST]

    def step(self, buffer: Buffer, *, back: bool) -> tuple[Buffer, Position] | None:
        """The text before the last change, or after the change that was undone last, and the cursor in it."""
        source, target = (self._undo, self._redo) if back else (self._redo, self._undo)
        if not source:
            return None
        snapshot = source.pop()
        target.append(Snapshot(buffer.text, snapshot.place))
        restored = Buffer(snapshot.text)
        return restored, _cursor(buffer, restored, snapshot.place)


def _cursor(before: Buffer, after: Buffer, place: Position) -> Position:
    """Where the change began, if that is beside what differs; otherwise the first line that differs."""
    row, more = place[0], len(after.lines) - len(before.lines)
    if more >= 0 and after.lines[:row] == before.lines[:row] and after.lines[row + more :] == before.lines[row:]:
        return place  # equal lines: the change may have begun here as well as further down
    fewest = min(len(before.lines), len(after.lines))
    first = 0
    while first < fewest and before.lines[first] == after.lines[first]:
        first += 1
    end = 0
    while end < fewest - first and before.lines[-1 - end] == after.lines[-1 - end]:
        end += 1
    if first - 1 <= place[0] <= len(after.lines) - end:
        return place
    return after.first_column(min(first, after.last))
