"""Where the cursor of the conversation can be: prompts, thinking, answers and calls, but not numbers and notices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section, SectionVisibility, Speaker

if TYPE_CHECKING:
    from tui.commands.registry import Jump
    from tui.ui.transcript.transcript import Transcript

Cursor = tuple[int, int]
"""Indexes of a section and of one of its blocks."""


def stops_of(section: Section) -> list[int]:
    """The blocks of a section that the cursor stops at."""
    if section.presence is SectionVisibility.HIDDEN:
        return []
    return [index for index, block in enumerate(section.blocks) if block.is_stop]


def next_stop(column: Column, cursor: Cursor | None, step: int) -> Cursor | None:
    """The stop after the cursor, or with ``step`` -1 before it; without a cursor, the last one. None at the ends."""
    sections = column.sections
    index, block = cursor if cursor is not None else (len(sections) - 1, 1 << 30)
    if cursor is None:
        step = -1
    while 0 <= index < len(sections):
        beyond = [stop for stop in stops_of(sections[index]) if (stop - block) * step > 0]
        if beyond:
            return index, beyond[0] if step > 0 else beyond[-1]
        index, block = index + step, -1 if step > 0 else 1 << 30
    return None


def next_prompt(column: Column, cursor: Cursor | None, step: int) -> Cursor | None:
    """The prompt after the cursor, or with ``step`` -1 before it."""
    sections = column.sections
    index = cursor[0] + step if cursor is not None else len(sections) - 1
    if cursor is not None and step < 0 and cursor[1] > 0 and sections[cursor[0]].speaker is Speaker.USER:
        index = cursor[0]  # from a picture of a prompt to its text
    while 0 <= index < len(sections):
        if sections[index].speaker is Speaker.USER and (stops := stops_of(sections[index])):
            return index, stops[0]
        index += step
    return None


def first_stop(column: Column) -> Cursor | None:
    """The first stop of the conversation."""
    return next_stop(column, (0, -1), 1) if column.sections else None


def visible_cursor(column: Column, cursor: Cursor | None) -> Cursor | None:
    """The cursor if it is in the window, else the stop in the window that is nearest to it.

    Without a cursor it is the last one; a window without stops gets any of its blocks.
    """
    if cursor is not None and cursor[0] < len(column.sections) and _is_visible(column, *cursor):
        return cursor
    seen = list(_visible_blocks(column))
    found = [(index, block) for index, block in seen if column.sections[index].blocks[block].is_stop] or seen
    if not found:
        return cursor
    return found[0] if cursor is not None and cursor < found[0] else found[-1]


def jump(transcript: Transcript, jump: Jump) -> None:
    """Move the cursor of the transcript far, and scroll there."""
    column, cursor = transcript.column, transcript.place
    match jump:
        case "first":
            stop = first_stop(column)
        case "last":
            transcript.follow()
            transcript.place_cursor(anew=True)
            return
        case "previous_prompt" | "next_prompt":
            stop = next_prompt(column, cursor, 1 if jump == "next_prompt" else -1)
    if stop is not None:
        transcript.put_cursor(*stop)
    if jump == "first":
        transcript.scroll_home(animate=False)


def _is_visible(column: Column, index: int, block: int) -> bool:
    section = column.sections[index]
    if block >= len(section.blocks) or section.presence is SectionVisibility.HIDDEN:
        return False
    start = column.line_of(index, block)
    return start < column.top + column.height and start + section.rows_of(block) > column.top


def _visible_blocks(column: Column) -> Iterator[Cursor]:
    found = column.find(column.top)
    for index in range(found[0] if found is not None else 0, len(column.sections)):
        if column.line_of(index, 0) >= column.top + column.height:
            return
        for block in range(len(column.sections[index].blocks)):
            if _is_visible(column, index, block):
                yield index, block
