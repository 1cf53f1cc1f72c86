"""How the code and the diagrams of one message are shown: wrapped or cut, drawn or as they are written."""

from __future__ import annotations

from collections.abc import Callable

from tui.ui.transcript.blocks import Renderable
from tui.ui.transcript.section import Section
from tui.ui.transcript.transcript import Transcript, nothing_new


def next_first_column(column: int | None, by: int) -> int | None:
    """The new first column of code and tables; None wraps lines, and 0 switches between wrapping and cutting.

    To the right also leads from wrapping to cutting: a table that is too wide to wrap is cut in any case.
    """
    if column is None:
        return by if by >= 0 else None
    return max(0, column + by) if by else None


def shift_code(transcript: Transcript, columns: int) -> None:
    """Scroll code, tables and diagrams of the message under the cursor; 0 switches between cutting and wrapping."""
    section = _chosen(transcript)
    if section is None:
        return
    before = next((block.sideways for block in section.blocks if block.sideways is not None), None)
    after = next_first_column(before, columns)
    if after == before:
        return

    def shift(block: Renderable) -> None:
        block.sideways = after

    _change_rows(transcript, section, shift)


def toggle_source(transcript: Transcript) -> None:
    """Show the diagrams of the message under the cursor as they are written, or drawn."""
    section = _chosen(transcript)
    if section is None:
        return
    shown = not any(block.as_source for block in section.blocks)

    def show(block: Renderable) -> None:
        block.as_source = shown

    _change_rows(transcript, section, show)


def _chosen(transcript: Transcript) -> Section | None:
    """The message under the cursor, which is put on the last one if there is no cursor."""
    if transcript.cursor is None:
        transcript.move_cursor(-1)
    return transcript.cursor[0] if transcript.cursor is not None else None


def _change_rows(transcript: Transcript, section: Section, change: Callable[[Renderable], None]) -> None:
    """Change how the blocks of a section are drawn; the text at the top stays there."""
    column = transcript.column
    found = column.find(column.top)
    position = column.sections[found[0]].position_at(found[1]) if found is not None else None
    for block in section.blocks:
        change(block)
    section.forget_strips()
    transcript.screen.clear_selection()  # its columns now have other characters
    with nothing_new(transcript):
        column.changed(section)
        column.settle()
        if found is not None and position is not None and not column.following:
            top = column.sections[found[0]]
            column.scroll_to(column.line_of(found[0], 0) - top.start_of(0) + top.line_at(position))
        transcript.settle()
    transcript.refresh()
