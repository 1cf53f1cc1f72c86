"""Finds text in a conversation, including folded thinking, and scrolls to it."""

# A module of its own, because it is loaded only with the first search.
from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.geometry import Offset

from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.search_terms import SearchTerms
from tui.engine.state import SessionView
from tui.ui.markdown.occurrences import Occurrence, is_in_markdown
from tui.ui.transcript.blocks import Fold, Renderable
from tui.ui.transcript.build_sections import SUMMARY, FoldedText
from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section, SectionVisibility
from tui.ui.transcript.thinking import Thinking
from tui.ui.transcript.tool_call import ToolCall
from tui.ui.transcript.transcript import Transcript, nothing_new

MOST = 2_000
"""Most hits listed; nobody steps through more."""
MOST_LOOKS = 6
"""Most moves towards a hit whose line changes as the sections above it are laid out."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An occurrence: the section, the block, and the number of earlier occurrences in the block."""

    place: int
    block: int
    number: int = 0


def hits_in(sections: Sequence[Section], view: SessionView, terms: SearchTerms) -> list[Hit]:
    """Every occurrence from the top; sections never seen are built only if they contain one."""
    stored = {message.id: message.blocks for turn in view.turns for message in turn.messages}
    hits: list[Hit] = []
    for index, section in enumerate(sections):
        kept = stored.get(section.key)
        if kept is not None and not section.is_built and not _may_hold(kept, terms):
            continue
        for number, block in enumerate(section.blocks):
            hits.extend(Hit(index, number, each) for each in range(block.count(terms)))
        if len(hits) >= MOST:
            break
    return hits[:MOST]


@dataclass(frozen=True, slots=True)
class NearestHit:
    """Where a session search found something: messages, best first, and the text around the match."""

    messages: tuple[str, ...] = ()
    before: str = ""
    """The text before the match and the match, blanks as in ``" ".join(text.split())``."""
    after: str = ""

    def first_of(self, hits: Sequence[Hit], sections: Sequence[Section], terms: SearchTerms) -> int:
        """The hit that the session search found, else the first in these messages, else the first."""
        for key in self.messages:
            inside = [number for number, hit in enumerate(hits) if sections[hit.place].key == key]
            for number in inside:
                hit = hits[number]
                text = " ".join(sections[hit.place].blocks[hit.block].text().split())
                at = text.find(self.before + self.after)
                if at >= 0 and hit.number == len(terms.spans(text[: at + len(self.before)])) - 1:
                    return number
            if inside:
                return inside[0]
        return 0


def _may_hold(blocks: Sequence[Block], terms: SearchTerms) -> bool:
    # Tool calls are drawn with their results, which are separate messages: such sections are always searched.
    return any(isinstance(block, ToolCallBlock) or is_in_markdown(terms, _words(block)) for block in blocks)


def _words(block: Block) -> str:
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return text
        case ToolResultBlock(content=content):
            return "\n".join(part.text for part in content if isinstance(part, TextBlock))
        case _:
            return ""


def reveal(transcript: Transcript, hit: Hit, terms: SearchTerms) -> tuple[Offset, Offset] | None:
    """Unfold the block, scroll to the hit, and put the cursor there; returns its position for marking."""

    def find(block: Renderable, width: int) -> Occurrence:
        return block.find(terms, hit.number, width)

    line, found = bring_into_view(transcript, hit.place, hit.block, find)
    if found.column is None:
        return None
    left = transcript.column.sections[hit.place].indent_of(hit.block)
    return Offset(left + found.column, line), Offset(left + found.end, line + found.last - found.line)


def bring_into_view(
    transcript: Transcript, place: int, number: int, find: Callable[[Renderable, int], Occurrence]
) -> tuple[int, Occurrence]:
    """Unfold a block, scroll to what ``find`` finds in it, and put the cursor there; returns its line."""
    with nothing_new(transcript):
        line, found = _move_to(transcript, place, number, find)
        transcript.settle()
    transcript.refresh()
    return line, found


def _move_to(
    transcript: Transcript, place: int, number: int, find: Callable[[Renderable, int], Occurrence]
) -> tuple[int, Occurrence]:
    column = transcript.column
    section = column.sections[place]
    if section.presence is SectionVisibility.HIDDEN:
        _uncover(column)
    block = section.blocks[number]
    _open(block)
    column.following = False
    column.changed(section)
    column.settle()
    transcript.put_cursor(place, number)
    line, found = 0, Occurrence(0)
    for _ in range(MOST_LOOKS):
        # Layout on the way may move the line.
        found = find(block, section.width_of(number, column.width))
        column.changed(section)
        column.settle()
        line = column.line_of(place, number) + found.line
        if column.top <= line < column.top + column.height - 1:
            break
        column.scroll_to(max(0, line - column.height // 2))
    return line, found


def _uncover(column: Column) -> None:
    """Open the summary that contains the section."""
    for section in column.sections:
        if section.key == SUMMARY:
            for block in section.blocks:
                _open(block)
            column.changed(section)


def _open(block: Renderable) -> None:
    if isinstance(block, Thinking) and block.shown is not Fold.FULL:
        block.show(Fold.FULL)
    elif isinstance(block, ToolCall | FoldedText) and not block.is_open:
        block.fold()
