"""The code blocks on the screen, for copying one by key or click."""

# A module of its own, because it is loaded only with the first copy.
from __future__ import annotations

from tui.domain.fast_dataclass import dataclass
from tui.ui.transcript.column import Column


@dataclass(frozen=True, slots=True)
class VisibleCode:
    """A code block of which at least a row is visible."""

    section: int
    block: int
    text: str


def visible_code(column: Column) -> list[VisibleCode]:
    """Code blocks in the window, from the top."""
    found: list[VisibleCode] = []
    before: tuple[int, int, str] | None = None
    for line in range(column.top, min(column.top + column.height, column.total)):
        place, before = before, None
        at = column.find(line)
        block = column.sections[at[0]].block_at(at[1]) if at is not None else None
        if at is None or block is None:
            continue
        text = column.sections[at[0]].blocks[block[0]].code_at(block[1])
        if text is None:
            continue
        before = (at[0], block[0], text)
        if before != place:
            found.append(VisibleCode(at[0], block[0], text))
    return found


class CodeToCopy:
    """Chooses what the next press of the key copies: the topmost block on the screen, then the one below it."""

    def __init__(self) -> None:
        self._last: tuple[int, int] = (-1, -1)
        """The window's top at the last press, and the number of the block."""

    def next(self, column: Column, cursor: tuple[int, int] | None) -> str | None:
        """A code block under the cursor, if any of that is visible, else of the whole window."""
        seen = visible_code(column)
        here = [code for code in seen if (code.section, code.block) == cursor] or seen
        if not here:
            return None
        number = (self._last[1] + 1) % len(here) if self._last[0] == column.top else 0
        self._last = (column.top, number)
        return here[number].text
