"""The outline of the conversation, or of one thinking: a list of places to jump to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.content import Content

from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import duration
from tui.domain.fuzzy import best
from tui.domain.printable import one_line
from tui.ui.dialogs.filter_sheet import FilterSheet
from tui.ui.dialogs.sheet import Keys
from tui.ui.graphemes import line_within
from tui.ui.markdown.outline import TURN_LEVEL, OutlineEntry
from tui.ui.markdown.runs import width_of
from tui.ui.panels.row_list import Row
from tui.ui.transcript.blocks import Answer, Prompt
from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section, SectionVisibility, Speaker
from tui.ui.transcript.thinking import Thinking
from tui.ui.transcript.transcript import Transcript

MOST_TEXT = 4_000_000
"""Characters of answers, counted from the last one, whose headings are listed; of others only the prompts are."""
DEEPEST = 4
"""Levels of headings that are distinguished by indent."""
TIME = 9
"""Columns of a duration."""


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A row of the outline, and where it leads."""

    section: int
    block: int
    title: str
    level: int = 0
    """0 for prompts and thinking, 1 and more for headings."""
    entry: OutlineEntry | None = None
    time: str = ""
    is_prompt: bool = False


def places_of(column: Column) -> list[OutlineRow]:
    """Prompts, thinking and headings of a conversation, from the top."""
    found: list[list[OutlineRow]] = []
    left = MOST_TEXT
    for index in range(len(column.sections) - 1, -1, -1):
        section = column.sections[index]
        if section.presence is SectionVisibility.HIDDEN or section.speaker is Speaker.NOTICE:
            continue
        if section.speaker is Speaker.MODEL:
            left -= sum(len(block.text()) for block in section.blocks) if left > 0 else 0
        if section.speaker is Speaker.USER or left > 0:
            found.append(list(_places_in(section, index)))
    return [place for places in reversed(found) for place in places]


def _places_in(section: Section, index: int) -> Iterator[OutlineRow]:
    for number, block in enumerate(section.blocks):
        match block:
            case Prompt():
                yield OutlineRow(index, number, block.text(), is_prompt=True)
            case Thinking():
                seconds = duration(block.seconds) if block.seconds is not None else ""
                yield OutlineRow(index, number, "Thinking", time=seconds)
            case Answer():
                for entry in block.outline():
                    yield OutlineRow(index, number, entry.title, entry.level, entry)
            case _:
                pass


def last_thinking(column: Column) -> tuple[int, int] | None:
    """Section and block of the last thinking with text."""
    for index in range(len(column.sections) - 1, -1, -1):
        section = column.sections[index]
        for number in range(len(section.blocks) - 1, -1, -1):
            block = section.blocks[number]
            if isinstance(block, Thinking) and block.has_text:
                return index, number
    return None


def places_of_thinking(column: Column, at: tuple[int, int]) -> list[OutlineRow]:
    """The parts of a thinking with their durations, estimated from their lengths if they were not measured.

    Empty if the block is no thinking.
    """
    thinking = column.sections[at[0]].blocks[at[1]]
    if not isinstance(thinking, Thinking) or not thinking.has_text:
        return []
    entries = thinking.outline()
    shares = [*(entry.share for entry in entries), 1.0]
    found = [OutlineRow(*at, "Beginning", TURN_LEVEL, time=_time(thinking, 0.0, shares[0]))] if shares[0] > 0 else []
    for number, entry in enumerate(entries):
        found.append(OutlineRow(*at, entry.title, entry.level, entry, _time(thinking, entry.share, shares[number + 1])))
    return found


def _time(thinking: Thinking, begin: float, end: float) -> str:
    first, last = thinking.seconds_at(begin), thinking.seconds_at(end)
    if first is not None and last is not None:
        return duration(max(0.0, last - first))
    return f"≈{duration(thinking.seconds * (end - begin))}" if thinking.seconds is not None else ""


class Outline(FilterSheet[OutlineRow]):
    """Gives the chosen place; the one at the top of the screen is selected first."""

    TITLE_WORDS = "Outline"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "go there"))
    PLACEHOLDER = "filter prompts and headings"

    def __init__(self, places: Sequence[OutlineRow], here: int = 0) -> None:
        super().__init__()
        self._places = places
        self._here = str(here)

    def fill(self, at: str | None = None) -> None:
        """Without a query, the place at the top of the screen is selected."""
        super().fill(self._here if at is None and not self.query_text else at)

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """In order, or the best match first."""
        indexes = best(query, range(len(self._places)), lambda index: self._places[index].title[:400])
        return [Row(str(index), _content(self._places[index], width)) for index in indexes]

    def total(self) -> int:
        return len(self._places)

    def take(self, key: str | None) -> None:
        self.dismiss(self._places[int(key)] if key is not None else None)


class ThinkingOutline(Outline):
    """The same for one thinking."""

    TITLE_WORDS = "Outline of the thinking"
    PLACEHOLDER = "filter its parts"


def _content(place: OutlineRow, width: int) -> Content:
    time = place.time.rjust(TIME) if place.time else ""
    if place.is_prompt:
        mark, style = "▌ ", "bold $foreground"
    elif place.level == 0:
        mark, style = "  ┊ ", "$quiet"
    elif place.level >= TURN_LEVEL:
        mark, style = "    ", "$foreground"
    else:
        mark, style = "  " * min(place.level, DEEPEST), "bold $primary" if place.level <= 2 else "$foreground"
    text = line_within(one_line(place.title, 400), max(4, width - len(mark) - len(time) - 1))
    gap = " " * max(1, width - len(mark) - width_of(text) - len(time))
    return Content.styled(mark, "$quiet") + Content.styled(text, style) + Content.styled(gap + time, "$quiet")


def position_in(transcript: Transcript) -> tuple[int, int] | None:
    """Section and block of the cursor if it is shown, else of the first line on the screen."""
    column, cursor = transcript.column, transcript.cursor
    if transcript.has_focus and cursor is not None and (index := column.index_of(cursor[0].key)) is not None:
        return index, cursor[1]
    found = column.find(column.top)
    if found is None:
        return None
    block = column.sections[found[0]].block_at(found[1])
    return found[0], block[0] if block is not None else 0


def here_in(places: Sequence[OutlineRow], at: tuple[int, int]) -> int:
    """The first place of the last block that is not below a section and block."""
    blocks = [(place.section, place.block) for place in places]
    last = max((block for block in blocks if block <= at), default=None)
    return blocks.index(last) if last is not None else 0
