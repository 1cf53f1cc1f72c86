"""Where the user was reading in a conversation that is not on the screen now."""

from __future__ import annotations

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.lazy_lines import LinePosition
from tui.ui.transcript.column import Column
from tui.ui.transcript.transcript import Transcript


@dataclass(frozen=True, slots=True)
class ReadingPlace:
    """The line at the top of the window, independent of the width."""

    key: str
    index: int
    """The section with this index is taken if the key is gone: an arriving answer gets its key when it is complete."""
    position: tuple[int, LinePosition | float]


def reading_place(column: Column) -> ReadingPlace | None:
    """The place in the conversation; None if its end is followed."""
    found = column.find(column.top)
    if column.following or found is None:
        return None
    section = column.sections[found[0]]
    return ReadingPlace(section.key, found[0], section.position_at(found[1]))


def read_on(transcript: Transcript, place: ReadingPlace) -> None:
    """Scroll back to the place, in the same conversation."""
    column = transcript.column
    index = column.index_of(place.key)
    index = place.index if index is None else index
    if index >= len(column.sections):
        return
    section = column.sections[index]
    column.show(index, 0)  # measures the section
    column.following = True  # as it is until the widget hears of it
    transcript.settle()
    line = column.line_of(index, 0) - section.start_of(0) + section.line_at(place.position)
    transcript.scroll_to(y=line, animate=False, immediate=True, force=True)
