"""Where words stand in a conversation, folded thinking included, and how to bring them into sight."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Offset

from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.value import dataclass
from tui.engine.state import SessionView
from tui.ui.markdown.runs import plain, width_of
from tui.ui.transcript.blocks import Drawn, Fold, Thinking, ToolCall
from tui.ui.transcript.section import MARGIN, Section, text_width
from tui.ui.transcript.transcript import Transcript

MOST = 2_000
"""Hits that are listed; nobody steps through more."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A block with the words in it."""

    place: int
    block: int


def hits_in(sections: Sequence[Section], view: SessionView, query: str) -> list[Hit]:
    """Blocks that contain the query, from the top; sections never looked at are built only where it stands in them."""
    wanted = query.casefold()
    stored = {message.id: message.blocks for turn in view.turns for message in turn.messages}
    hits: list[Hit] = []
    for place, section in enumerate(sections):
        kept = stored.get(section.key)
        if kept is not None and not section.is_built and not _may_hold(kept, wanted):
            continue
        hits.extend(
            Hit(place, number) for number, block in enumerate(section.blocks) if wanted in block.text().casefold()
        )
        if len(hits) >= MOST:
            break
    return hits


def _may_hold(blocks: Sequence[Block], wanted: str) -> bool:
    # Tool calls are drawn with their results, which are messages of their own: such sections are always looked into.
    return any(isinstance(block, ToolCallBlock) or wanted in _words(block).casefold() for block in blocks)


def _words(block: Block) -> str:
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return text
        case ToolResultBlock(content=content):
            return "\n".join(part.text for part in content if isinstance(part, TextBlock))
        case _:
            return ""


def reveal(transcript: Transcript, hit: Hit, query: str) -> tuple[Offset, Offset] | None:
    """Open the block, move the window to the words, put the cursor there; where they stand, for marking."""
    column = transcript.column
    section = column.sections[hit.place]
    block = section.blocks[hit.block]
    _open(block)
    column.following = False
    column.changed(section)
    column.settle()
    transcript.put_cursor(hit.place, hit.block)
    inside = _line_with(block, query, column.width)
    line = column.show(hit.place, hit.block) + inside[0]
    if not column.top <= line < column.top + column.height - 1:
        column.scroll_to(max(0, line - column.height // 2))
    transcript.settle()
    transcript.refresh()
    if inside[1] is None:
        return None
    line = column.show(hit.place, hit.block) + inside[0]
    return Offset(MARGIN + inside[1], line), Offset(MARGIN + inside[1] + width_of(query), line)


def _open(block: Drawn) -> None:
    if isinstance(block, Thinking) and block.shown is not Fold.FULL:
        block.show(Fold.FULL)
    elif isinstance(block, ToolCall) and not block.is_open:
        block.fold()


def _line_with(block: Drawn, query: str, width: int) -> tuple[int, int | None]:
    """The line of the block the query stands in, and the column; it may be broken over two lines or hide in markup."""
    wanted = query.casefold()
    for number in range(block.height(text_width(width))):
        words = plain(block.line(number))
        column = words.casefold().find(wanted)
        if column >= 0:
            return number, width_of(words[:column])
    return 0, None
