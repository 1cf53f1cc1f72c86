"""Makes the rows of the transcript's window: highlights, selection, and what can be shown again."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.runs import Look, width_of
from tui.ui.pictures.rows import PictureStrip
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.blocks import Caption
from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section

NEVER = (None, 0, Strip([]))
MOST_PAINTED = 300
"""Painted lines that are kept: a few screens, so that scrolling back paints nothing anew."""


def row_for_screen(strip: Strip, absolute: int, width: int, theme_styles: ThemeStyles) -> Strip:
    """A row of the screen's width, with its line number, which Textual's mouse selection needs."""
    # A strip cropped to its own width stores itself in its cache: a cycle that only a full collection frees.
    wide = strip if strip.cell_length == width else strip.crop_extend(0, width, theme_styles.background(""))
    return wide.apply_offsets(0, absolute)


def with_selection(strip: Strip, selection: Selection, absolute: int, style: Style) -> Strip:
    """A row with its selected part in this style."""
    span = selection.get_span(absolute)
    if span is None:
        return strip
    length = strip.cell_length
    start, end = span[0], length if span[1] == -1 else min(span[1], length)
    if start >= end:  # also where the selection was made in a wider window and is beyond the row
        return strip
    chosen = strip if (start, end) == (0, length) else strip.crop(start, end)
    chosen = Strip(Segment.apply_style(chosen, post_style=style), end - start)
    before = [strip.crop(0, start)] if start else []
    after = [strip.crop(end, length)] if end < length else []
    return Strip.join([*before, chosen, *after])


def with_highlights(strip: Strip, terms: SearchTerms) -> Strip:
    """A row with every occurrence underlined, also without colours; only the current one is filled."""
    text = "".join(segment.text for segment in strip)
    spans = terms.spans(text)
    if not spans:
        return strip
    cuts = [width_of(text[:at]) for span in spans for at in span]
    parts = strip.divide([*cuts, strip.cell_length])
    return Strip.join(
        Strip(Segment.apply_style(part, post_style=Style(underline=True)), part.cell_length) if number % 2 else part
        for number, part in enumerate(parts)
    )


def current_match(theme_styles: ThemeStyles) -> Style:
    """The style of the current match of find: filled with the accent, without colours reversed."""
    accent = theme_styles.style("accent", Look.BOLD, "")
    return Style(color=accent.color, bgcolor=accent.bgcolor, bold=True, underline=False, reverse=True)


class RowPainter:
    """Makes the rows of a column's window, and keeps those that can be shown again.

    Two caches with different keys: sections keep a strip per line of their own, whatever is above them, and
    ``_painted`` keeps what became of it at a line of the whole column. As long as both return the same objects,
    Textual neither renders nor sends a row again: scrolling and streaming depend on this.
    """

    def __init__(self, column: Column, theme_styles: ThemeStyles) -> None:
        self._column = column
        self._theme_styles = theme_styles
        self._painted: dict[int, tuple[Strip | None, int, Strip]] = {}
        self._drawn: dict[Section, None] = {}
        """Sections with styled lines, the latest drawn last."""
        self._latest: Section | None = None
        self.dimmed_from: str | None = None
        """The key of the first dimmed section."""
        self.highlighted = SearchTerms()
        """The terms that are highlighted."""

    def recolour(self, theme_styles: ThemeStyles) -> None:
        """Apply another theme."""
        self._theme_styles = theme_styles
        for section in self._column.sections:
            section.forget_strips()

    def forget_rows(self) -> None:
        """Drop the rows of the screen after sections were inserted or removed."""
        self._painted.clear()

    def changed_rows(self, first: int, height: int, cursor: tuple[int, int] | None) -> list[int]:
        """The rows from ``first`` on that are not on the screen as their sections draw them now.

        Identity is enough, and much cheaper than comparing text: a section returns the same strip while a line is
        unchanged. A section is looked up once for all its rows: every row of the window is asked in every frame.
        """
        top, kept = self._column.top, self._painted.get
        changed: list[int] = []
        y = first
        while y < height:
            found = self._section_at(y, cursor)
            if found is None:
                changed.extend(row for row in range(y, height) if kept(top + row, NEVER)[0] is not None)
                break
            section, inside, marked, dim = found
            rows = range(y, min(height, y + max(1, section.height(self._column.width) - inside)))
            changed.extend(
                row
                for row in rows
                if section.strip(inside + row - y, self._theme_styles, cursor=marked, dim=dim)
                is not kept(top + row, NEVER)[0]
            )
            y = rows.stop
        return changed

    def row(
        self,
        y: int,
        width: int,
        cursor: tuple[int, int] | None,
        selection: Selection | None,
        selection_style: Callable[[], Style],
    ) -> Strip:
        """A row of the window; ``cursor`` is its section and block, None if it is not shown."""
        absolute = self._column.top + y
        strip = self._source(y, cursor)
        if strip is None:
            self._painted.pop(absolute, None)
            return self._theme_styles.strip([], "", width)
        if isinstance(strip, PictureStrip):
            selection = None
        elif self.highlighted and not self._is_label(absolute):
            strip = with_highlights(strip, self.highlighted)
        # Rows with a selection or marks are not kept: they change with every mouse move or key.
        if selection is not None:
            strip = with_selection(strip, selection, absolute, self._selected(selection_style))
            return row_for_screen(strip, absolute, width, self._theme_styles)
        if self.highlighted and not isinstance(strip, PictureStrip):
            return row_for_screen(strip, absolute, width, self._theme_styles)
        kept = self._painted.get(absolute)
        # Returning the same strip again keeps the caches that Textual attaches to it.
        if kept is None or kept[0] is not strip or kept[1] != width:
            if len(self._painted) > MOST_PAINTED:
                self._painted.clear()
            kept = self._painted[absolute] = (strip, width, row_for_screen(strip, absolute, width, self._theme_styles))
        return kept[2]

    def _selected(self, selection_style: Callable[[], Style]) -> Style:
        """How the selection is drawn: while something is searched for, it is the current match."""
        if self.highlighted:
            return current_match(self._theme_styles)
        style = selection_style()
        return Style(color=style.color, bgcolor=style.bgcolor)

    def _source(self, y: int, cursor: tuple[int, int] | None) -> Strip | None:
        """A row as its section draws it, the same object while unchanged; None below the end."""
        found = self._section_at(y, cursor)
        if found is None:
            return None
        section, inside, marked, dim = found
        return section.strip(inside, self._theme_styles, cursor=marked, dim=dim)

    def _is_label(self, absolute: int) -> bool:
        """Whether a row of the column is one of ponder's labels, which are not searched."""
        found = self._column.find(absolute)
        if found is None:
            return False
        section = self._column.sections[found[0]]
        block = section.block_at(found[1])
        return block is not None and isinstance(section.blocks[block[0]], Caption)

    def _section_at(self, y: int, cursor: tuple[int, int] | None) -> tuple[Section, int, int | None, bool] | None:
        """The section of a row, the line within it, its block with the cursor, and whether it is dimmed."""
        found = self._column.find(self._column.top + y)
        if found is None:
            return None
        index, inside = found
        dim_from = self._column.index_of(self.dimmed_from) if self.dimmed_from is not None else None
        section = self._column.sections[index]
        if section is not self._latest:
            self._note_drawn(section)
        marked = cursor[1] if cursor is not None and cursor[0] == index else None
        return section, inside, marked, dim_from is not None and index >= dim_from

    def _note_drawn(self, section: Section) -> None:
        """Let only recently drawn sections keep styled lines; a long conversation would keep megabytes of them."""
        self._latest = section
        self._drawn.pop(section, None)
        self._drawn[section] = None
        kept = sum(len(drawn.strips) for drawn in self._drawn)
        while kept > MOST_PAINTED and len(self._drawn) > 1:
            longest_ago = next(iter(self._drawn))
            kept -= len(longest_ago.strips)
            del self._drawn[longest_ago]
            longest_ago.forget_strips()
