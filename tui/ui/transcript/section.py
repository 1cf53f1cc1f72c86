"""A section: one message (or notice) with its blocks, margins and the cursor's mark."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum, StrEnum
from functools import partial
from typing import TypeVar

from textual.strip import Strip

from tui.ui.markdown.lazy_lines import LinePosition
from tui.ui.markdown.runs import Line, Look, Run, line_width
from tui.ui.pictures.rows import PictureLine, picture_strip
from tui.ui.theme.theme_styles import ThemeStyles, surface_from
from tui.ui.transcript.blocks import Renderable
from tui.ui.transcript.branch_mark import with_mark
from tui.ui.transcript.plain_fallback import PlainText

LOG = logging.getLogger(__name__)
T = TypeVar("T")

MARGIN = 3
"""Columns left of the text: a blank, the bar or the cursor, a blank."""
RAIL: Line = [Run("│ ", "rail")]
"""Joins the steps of a tool run; drawn left of their text."""
RAIL_WIDTH = line_width(RAIL)
MAX_TEXT = 100
"""Most columns of prose, for readability."""


MOST_STRIPS = 240
"""Styled lines kept per section, a few screens: Textual attaches about 5 KB of caches to each."""
BLANK: Line = []
"""The line between blocks, always the same object."""


NO_BLOCKS: list[Renderable] = []
NO_LINES: list[int] = []
NO_MARK: Line = []
NO_STRIPS: dict[int, tuple[Line, bool, Strip]] = {}
"""Shared by sections that were never drawn; it is replaced, never filled."""


class SectionVisibility(Enum):
    """How much of a section is shown: turns folded into a summary are hidden or dimmed."""

    SHOWN = "shown"
    DIMMED = "dimmed"
    HIDDEN = "hidden"


class Speaker(StrEnum):
    """The author of a section."""

    USER = "user"
    MODEL = "model"
    NOTICE = "notice"


def text_width(width: int) -> int:
    """Columns for text in a transcript of this width."""
    return max(8, min(MAX_TEXT, width - MARGIN - 2))


def margin(speaker: Speaker, *, marked: bool) -> Line:
    """What is drawn left of a line."""
    if marked:
        return [Run(" "), Run("▌", "focus"), Run(" ")]
    if speaker is Speaker.USER:
        return [Run(" "), Run("▌", "user-bar"), Run(" ")]
    return [Run(" " * MARGIN)]


def _height(block: Renderable, width: int) -> int:
    return block.height(width)


def _estimated(block: Renderable, width: int) -> int:
    return block.estimate(width)


def _laid_out(block: Renderable, span: tuple[int, int]) -> int:
    return block.lay_out(*span)


def _laid_out_end(block: Renderable, count: int) -> None:
    block.lay_out_end(count)


def built_or_raw(build: Callable[[], list[Renderable]], key: str) -> list[Renderable]:
    """The blocks of a section, or a line that reports that building them failed."""
    try:
        return build()
    except Exception:  # boundary of a message: an error in it must not end the program
        LOG.exception("the blocks of %s could not be made", key)
        return [PlainText("(the log says why; the session itself is whole: /export writes it)")]


def block_text(block: Renderable) -> str:
    """The text of a block, which may fail in its ``text`` as well."""
    try:
        return block.text()
    except Exception:  # boundary of a message, as above
        LOG.exception("the words of a %s could not be had", type(block).__name__)
        return ""


class Section:
    """Blocks below each other. Cheap to create; ``build`` is called when it is first looked at.

    There may be ten thousand, of which few are ever seen: containers that only a drawn section needs are shared
    until then.
    """

    __slots__ = (
        "_blocks",
        "_build",
        "_dirty",
        "_ends",
        "_guess",
        "_height",
        "_starts",
        "_width",
        "is_continued",
        "key",
        "mark",
        "presence",
        "speaker",
        "strips",
    )

    def __init__(
        self, key: str, speaker: Speaker, build: Callable[[], list[Renderable]] | None = None, guess: int | None = None
    ) -> None:
        self.key = key
        self.speaker = speaker
        self._build = build
        self._guess = guess
        self._blocks: list[Renderable] = [] if build is None else NO_BLOCKS
        self._starts: list[int] = NO_LINES
        self._ends: list[int] = NO_LINES
        self._height = 0
        self._width = 0
        self._dirty = True
        self.strips: dict[int, tuple[Line, bool, Strip]] = NO_STRIPS
        """Styled lines, each with what it was made from."""
        self.presence = SectionVisibility.SHOWN
        self.is_continued = False
        """Whether the next section continues the tool run: without an empty line below."""
        self.mark: Line = NO_MARK
        """Drawn at the right end of the first row; not part of the text."""

    def set_mark(self, mark: Line) -> None:
        """Draw this mark. The text is laid out beside it."""
        self.mark = mark
        self.forget_strips()
        self.touch()

    def _room(self, width: int) -> int:
        """Columns for text in a transcript of this width."""
        return max(8, text_width(width) - line_width(self.mark))

    def set_continued(self, *, now: bool) -> bool:
        """Set whether the next section continues this one; returns whether that is a change."""
        if now == self.is_continued:
            return False
        self.is_continued = now
        self.touch()
        return True

    def width_of(self, index: int, width: int) -> int:
        """Columns for a block in a transcript of this width."""
        return self._room(width) - (RAIL_WIDTH if self.blocks[index].on_rail else 0)

    def indent_of(self, index: int) -> int:
        """Columns left of the text of a block."""
        return MARGIN + (RAIL_WIDTH if self.blocks[index].on_rail else 0)

    def set_presence(self, presence: SectionVisibility) -> None:
        """Hide, dim or show the section."""
        self.presence = presence
        if self.strips:
            self.forget_strips()
        self.touch()

    @property
    def blocks(self) -> list[Renderable]:
        """Its blocks; the list changes only by ``add``."""
        if self._build is not None:
            build, self._build = self._build, None
            self._blocks = built_or_raw(build, self.key)
        return self._blocks

    @property
    def is_built(self) -> bool:
        """Whether its blocks exist."""
        return self._build is None

    def add(self, block: Renderable) -> None:
        """Add a block at the end."""
        self.blocks.append(block)
        self.touch()

    def touch(self) -> None:
        """Its content changed."""
        self._dirty = True

    def forget_strips(self) -> None:
        """Drop the styled lines after the colours, but not the layout, changed."""
        self.strips = {}

    def drop_layout(self) -> None:
        """Keep the text and drop the layout: the section is far from the window."""
        self.strips = {}
        self._dirty = True
        for block in self._blocks:
            block.drop_layout()

    def estimate(self, width: int) -> int:
        """A cheap guess at the height before the section is first seen."""
        if self.presence is SectionVisibility.HIDDEN:
            return 0
        if self._build is not None:
            return self._guess // text_width(width) + 5 if self._guess is not None else 3
        return (not self.is_continued) + sum(
            self._call_safely(index, partial(_estimated, width=self.width_of(index, width))) + block.space
            for index, block in enumerate(self._blocks)
        )

    def height(self, width: int) -> int:
        """Lines at this width, with the blank line below unless the next section continues this one."""
        if self.presence is SectionVisibility.HIDDEN:
            return 0
        if width != self._width or self._dirty:
            if width != self._width:
                self.strips = {}
            self._width, self._dirty = width, False
            self._starts, self._ends = [], []
            at = 0
            for index, block in enumerate(self.blocks):
                at += block.space
                self._starts.append(at)
                at += self._call_safely(index, partial(_height, width=self.width_of(index, width)))
                self._ends.append(at)
            self._height = at + (not self.is_continued)
            if len(self.strips) > self._height:
                self.strips = {number: kept for number, kept in self.strips.items() if number < self._height}
        return self._height

    def block_at(self, number: int) -> tuple[int, int] | None:
        """The block that contains a line, and the line within it; None between blocks."""
        for index in range(len(self._starts) - 1, -1, -1):
            if number >= self._starts[index]:
                return (index, number - self._starts[index]) if number < self._ends[index] else None
        return None

    # A long block lays out only its visible lines.

    def lay_out(self, first: int, last: int) -> int:
        """Lay out lines ``first`` to ``last``; returns by how many lines ``first`` moved down."""
        moved = 0
        for index in range(len(self._starts)):
            start = self._starts[index]
            if start >= last + moved:
                break
            if self._ends[index] > first + moved:
                span = (first + moved - start, last + moved - start)
                moved += self._call_safely(index, partial(_laid_out, span=span))
                self._remeasure(index)
        return moved

    def lay_out_end(self, count: int) -> None:
        """Lay out the last lines."""
        left = count - (not self.is_continued)
        for index in range(len(self._starts) - 1, -1, -1):
            if left <= 0:
                break
            self._call_safely(index, partial(_laid_out_end, count=left))
            self._remeasure(index)
            left -= self._ends[index] - self._starts[index] + self._blocks[index].space

    def _remeasure(self, index: int) -> None:
        height = self._call_safely(index, partial(_height, width=self.width_of(index, self._width)))
        change = height - self._ends[index] + self._starts[index]
        if change:
            self._ends[index] += change
            for later in range(index + 1, len(self._starts)):
                self._starts[later] += change
                self._ends[later] += change
            self._height += change

    def position_at(self, number: int) -> tuple[int, LinePosition | float]:
        """The position of a line, independent of the width."""
        found = self.block_at(number)
        if found is None:
            return -1, number / max(1, self._height)
        index, inside = found
        inner = self._call_safely(index, lambda renderable: renderable.position_at(inside))
        return index, inner if inner is not None else inside / max(1, self._ends[index] - self._starts[index])

    def line_at(self, position: tuple[int, LinePosition | float]) -> int:
        """The line at a position."""
        index, inner = position
        if isinstance(inner, float):
            start, end = (0, self._height) if index < 0 else (self._starts[index], self._ends[index])
            return start + max(0, min(end - start - 1, int(inner * (end - start) + 0.5)))
        inside = self._call_safely(index, lambda renderable: renderable.line_at(inner))
        self._remeasure(index)
        return self._starts[index] + inside

    def start_of(self, block: int) -> int:
        """The first line of a block."""
        return self._starts[block] if block < len(self._starts) else 0

    def rows_of(self, block: int) -> int:
        """The lines of a block, as last laid out."""
        return self._ends[block] - self._starts[block] if block < len(self._starts) else 0

    def line(self, number: int) -> tuple[Line, str, int | None]:
        """A line without margin, the kind of its background, and its block."""
        found = self.block_at(number)
        if found is None:
            return BLANK, "", None
        index, inside = found
        line = self._call_safely(index, lambda renderable: renderable.line(inside))
        return line, self._blocks[index].background, index

    def _call_safely(self, index: int, ask: Callable[[Renderable], T]) -> T:
        """Call a block; one that raises is replaced by its plain text."""
        block = self._blocks[index]
        try:
            return ask(block)
        except Exception:  # boundary of a message: an error in it must not end the program
            LOG.exception("block %d of %s (%s) could not be laid out", index, self.key, type(block).__name__)
            raw = self._blocks[index] = PlainText(block_text(block), block.space)
            raw.on_rail = block.on_rail
            raw.height(self.width_of(index, self._width))
            self.touch()
            return ask(raw)

    def strip(self, number: int, theme_styles: ThemeStyles, *, cursor: int | None, dim: bool = False) -> Strip:
        """A styled line over the whole width; ``dim`` draws it as in a dimmed section."""
        dim = dim or self.presence is SectionVisibility.DIMMED
        line, background, block = self.line(number)
        kept = self.strips.get(number)
        # While text streams, finished lines stay the same objects, so that only new ones are drawn.
        if kept is not None and kept[0] is line and kept[1] is dim and cursor is None:
            return kept[2]
        width = self._width
        marked = cursor is not None and block == cursor
        left = margin(self.speaker, marked=marked)
        if block is not None and self._blocks[block].on_rail:
            left = [*left, *RAIL]
        if block is None:
            strip = theme_styles.strip([], "", width)
        elif isinstance(line, PictureLine):
            tint = theme_styles.background(background), min(width, MARGIN + text_width(width) + 1) if background else 0
            before = theme_styles.strip([], "", 0, left=left)
            strip = picture_strip(list(before), line, tint, theme_styles.background(""), width)
        else:
            seen = with_mark(line, self.mark, text_width(width)) if self.mark and number == self._starts[0] else line
            if dim:
                seen, background = [run._replace(role="muted", look=run.look & ~Look.CHANGED) for run in seen], ""
            has_surface = background or surface_from(seen) is not None
            tinted = min(width, MARGIN + text_width(width) + 1) if has_surface else 0
            strip = theme_styles.strip(seen, background, tinted, left=left)
            if strip.cell_length < width:
                strip = Strip.join([strip, theme_styles.strip([], "", width - strip.cell_length)])
        if cursor is None:
            self.strips[number] = (line, dim, strip)
            if len(self.strips) > MOST_STRIPS:
                far = sorted(self.strips, key=lambda other: -abs(other - number))[: MOST_STRIPS // 4]
                for other in far:
                    del self.strips[other]
        return strip
