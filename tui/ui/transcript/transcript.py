"""The transcript widget: paints the window of a column of sections, and handles keys and mouse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from tui.domain.search_terms import SearchTerms
from tui.ui.terminal.textual_private import SteadyScrollView, move_drag
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.branch_mark import STEPS
from tui.ui.transcript.column import Column
from tui.ui.transcript.copied_text import CopiedText
from tui.ui.transcript.row_painter import RowPainter
from tui.ui.transcript.section import MARGIN, Section, Speaker
from tui.ui.transcript.stops import next_stop, visible_cursor
from tui.ui.transcript.waiting_lines import NOW, RETRY, STOP

if TYPE_CHECKING:
    from tui.ui.transcript.visible_code import CodeToCopy


class Transcript(SteadyScrollView, can_focus=True):
    """Sections below each other. Callers report changes to ``column`` and call ``settle`` once per frame."""

    class FollowChanged(Message):
        """Whether the tail is followed, and how many new lines are ``below``."""

        def __init__(self, *, following: bool, below: int) -> None:
            super().__init__()
            self.following = following
            self.below = below

    class Folded(Message):
        """The user opened or closed a block."""

        def __init__(self, section: Section, block: int) -> None:
            super().__init__()
            self.section = section
            self.block = block

    class CodeClicked(Message):
        """The word that copies a code block was clicked."""

        def __init__(self, code: str) -> None:
            super().__init__()
            self.code = code

    class RetryClicked(Message):
        """A word of the line before a retry was clicked: send it now, or stop."""

        def __init__(self, *, now: bool) -> None:
            super().__init__()
            self.now = now

    class BranchClicked(Message):
        """An end of the mark of a prompt was clicked: its turn's previous sibling is wanted, or the next one."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class LinkClicked(Message):
        """A link was clicked."""

        def __init__(self, href: str) -> None:
            super().__init__()
            self.href = href

    def __init__(self, theme_styles: ThemeStyles, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.column = Column()
        self._rows = RowPainter(self.column, theme_styles)
        self.place: tuple[int, int] | None = None
        """The cursor: indexes of a section and of one of its blocks."""
        self._moving = False
        self.left_at = 0
        """Lines that had arrived when the user left the end."""
        self._followed = True
        """Whether the end was followed when that was last reported."""
        self._to_copy: CodeToCopy | None = None
        self.draft: Widget | None = None
        """Receives text that is pasted here."""

    def on_paste(self, event: events.Paste) -> None:
        """Pass the paste to the draft."""
        if self.draft is not None:
            event.stop()
            self.draft.focus()
            self.draft.post_message(events.Paste(event.text))

    def replace_all(self, sections: Iterable[Section]) -> None:
        """Show another conversation (or another branch), from its end."""
        self.place = None
        self.column.replace_all(sections)
        self.settle()
        self.refresh()

    def rearrange(self, sections: Iterable[Section]) -> None:
        """Insert or remove sections; the cursor stays on its section while that exists."""
        cursor = self.cursor
        with nothing_new(self):
            self.column.rearrange(sections)
            key = cursor[0].key if cursor is not None else ""
            index = self.column.index_of(key)
            self.place = (index, cursor[1]) if index is not None and cursor is not None else None
            self._rows.forget_rows()
            self.settle()
        self.refresh()

    def settle(self) -> None:
        """Update scroll bar, scroll position and screen; called once per frame."""
        if not self.is_mounted or not self.size.width:
            return
        column = self.column
        before = (column.top, column.total)
        if self._is_unsettled():
            region = self.scrollable_content_region
            with nothing_new(self):
                column.resize(region.width, region.height)
            if not column.following and column.top >= column.last_top:
                # The larger window already shows the end: there is nothing left to scroll to.
                self._note_following(now=True)
                column.following = True
            first = 0
        else:
            first = column.settle()
        self._show_window()
        if column.top != before[0]:
            self.refresh_content()
        elif first < column.top + column.height:
            self._refresh_rows(max(0, first - column.top))
        if not column.following and column.total != before[1]:
            self.post_message(self.FollowChanged(following=False, below=column.arrived - self.left_at))

    def _show_window(self) -> None:
        size = Size(self.column.width, self.column.total)
        self._moving = True  # a size that shrinks moves the scroll position, too
        try:
            if size != self.virtual_size:
                self.set_scrolled_size(size, self.column.top)
            self._move_selection()
            if round(self.scroll_y) != self.column.top:
                self.scroll_target_y = self.column.top
                self.scroll_y = self.column.top
        finally:
            self._moving = False
        self._note_following(now=self.column.following)
        if self.has_focus:
            self.place_cursor()

    def place_cursor(self, *, anew: bool = False) -> None:
        """Put the cursor on something visible, without scrolling: keys act on what it marks. ``anew``: the last."""
        cursor = visible_cursor(self.column, None if anew else self.place)
        if cursor != self.place:
            self.place = cursor
            self.refresh()

    def follow(self) -> None:
        """Scroll to the end and follow it."""
        self._note_following(now=True)
        self.column.following = True
        self.settle()
        self.refresh()

    def _note_following(self, *, now: bool) -> None:
        if now != self._followed:
            self._followed = now
            self.left_at = self.column.arrived
            self.post_message(self.FollowChanged(following=now, below=0))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Stop following when the user scrolls up, and follow again at the end."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or not self.column.width or (self._is_unsettled() and new_value >= self.max_scroll_y):
            # Textual clamps the scroll position before it reports a new size: that is no scrolling by the user.
            return
        self._note_following(now=round(new_value) >= self.column.last_top)
        self.column.scroll_to(round(new_value))
        self._show_window()

    def _is_unsettled(self) -> bool:
        """Whether the column is laid out for another size than the current one."""
        region = self.scrollable_content_region
        return (region.width, region.height) != (self.column.width, self.column.height)

    def on_resize(self, event: events.Resize) -> None:
        self.settle()
        self.refresh()

    # Painting

    def recolour(self, theme_styles: ThemeStyles) -> None:
        """Apply another theme."""
        self._rows.recolour(theme_styles)
        self.refresh()

    def highlight(self, terms: SearchTerms) -> None:
        """Mark every visible occurrence; empty terms mark nothing."""
        if terms != self._rows.highlighted:
            self._rows.highlighted = terms
            self.refresh()

    def on_unmount(self) -> None:
        """Let go of what is drawn."""
        for section in self.column.sections:
            section.drop_layout()

    def dim_from(self, key: str | None) -> None:
        """Dim the section with this key and all below it; None dims nothing."""
        if key != self._rows.dimmed_from:
            self._rows.dimmed_from = key
            self.refresh()

    def _refresh_rows(self, first: int) -> None:
        """Repaint rows that differ: of a growing answer only the last two or three."""
        changed = self._rows.changed_rows(first, self.size.height, self._shown_cursor())
        if changed:
            self.refresh(Region(0, changed[0], self.column.width, changed[-1] - changed[0] + 1))

    def _shown_cursor(self) -> tuple[int, int] | None:
        """The cursor is drawn only while the transcript has the focus."""
        return self.place if self.has_focus else None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen, the same strips while unchanged, so that Textual's caches on them stay useful.

        The transcript has no border, tint or opacity; if a style sheet adds them, Textual's own method draws
        the rows.
        """
        styles = self.styles
        if self.opacity != 1.0 or styles.tint.a or any(styles.gutter) or crop.column_span != (0, self.size.width):
            return super().render_lines(crop)
        filters, background = self.get_line_filters(), self.background_colors[1]
        width, cursor, selection = self.size.width, self._shown_cursor(), self.text_selection
        selected = partial(self.screen.get_component_rich_style, "screen--selection")
        strips = [self._rows.row(y, width, cursor, selection, selected) for y in crop.line_range]
        for each in filters:
            strips = [strip.apply_filter(each, background) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        selected = partial(self.screen.get_component_rich_style, "screen--selection")
        return self._rows.row(y, self.size.width, self._shown_cursor(), self.text_selection, selected)

    # Selecting with the mouse

    def _move_selection(self) -> None:
        """Move the selection along when wrong guesses above it change its line numbers."""
        by, self.column.shifted = Offset(0, self.column.shifted), 0
        if not by.y:
            return
        chosen = self.text_selection
        if chosen is not None:
            start, end = (position + by if position is not None else None for position in chosen)
            self.screen.selections = {**self.screen.selections, self: Selection(start, end)}
        # A drag in progress keeps its start in Textual's private state, which must move too.
        move_drag(self, by)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text between two positions, without margins."""
        first = selection.start.y if selection.start is not None else 0
        last = min(selection.end.y if selection.end is not None else self.column.total - 1, self.column.total - 1)
        # A selection may span lines that were never visible; guessed lines would copy the wrong text.
        last = self.column.lay_out(first, last)
        copied = CopiedText()
        for absolute in range(first, last + 1):
            found = self.column.find(absolute)
            section = self.column.sections[found[0]] if found is not None else None
            line, _, block = section.line(found[1]) if section is not None and found is not None else ([], "", None)
            left = section.indent_of(block) if section is not None and block is not None else MARGIN
            start = max(0, selection.start.x - left) if selection.start and absolute == first else 0
            end = max(0, selection.end.x - left) if selection.end and absolute == last else None
            copied.add(line, start, end)
        return copied.text, "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    # Cursor and mouse

    @property
    def cursor(self) -> tuple[Section, int] | None:
        """The block under the cursor."""
        if self.place is None or self.place[0] >= len(self.column.sections):
            return None
        return self.column.sections[self.place[0]], self.place[1]

    def move_cursor(self, step: int) -> None:
        """Move to the next or previous block and scroll it into view."""
        stop = next_stop(self.column, self.place, step)
        if stop is not None:
            self.put_cursor(*stop)

    def put_cursor(self, index: int, block: int) -> None:
        """Put the cursor on this block."""
        self.place = (index, block)
        self._note_following(now=self.column.following)
        self.column.show(index, block)
        self._show_window()
        self.refresh()

    def action_fold_at_cursor(self) -> None:
        """Open or close the block under the cursor; without a cursor, put it on the last block."""
        if self.place is None:
            self.move_cursor(-1)
        if self.place is not None:
            self._fold(*self.place)

    def code_to_copy(self) -> str | None:
        """The topmost visible code block, then the one below it; None if none is visible."""
        if self._to_copy is None:
            from tui.ui.transcript.visible_code import CodeToCopy

            self._to_copy = CodeToCopy()
        return self._to_copy.next(self.column, self.place)

    def _fold(self, index: int, block: int, line: int | None = None) -> None:
        """Fold a block, or what a click on one of its lines means."""
        section = self.column.sections[index]
        drawn = section.blocks[block]
        if drawn.foldable if line is None else drawn.fold_at(line):
            if line is None:
                drawn.fold()
            with nothing_new(self):
                self.column.following = False
                self.column.changed(section)
                self.settle()
                self.column.following = self.column.top >= self.column.last_top
            self.post_message(self.Folded(section, block))

    def on_click(self, event: events.Click) -> None:
        """Fold the block whose head was clicked, copy its code, go to another branch, or show a link's address."""
        href = event.style.meta.get("href") if event.style else None
        if href and href not in STEPS and href not in (NOW, STOP):
            self.post_message(self.LinkClicked(str(href)))
            return
        offset = event.get_content_offset(self) or Offset(0, -1)
        found = self.column.find(self.column.top + offset.y) if offset.y >= 0 else None
        block = self.column.sections[found[0]].block_at(found[1]) if found is not None else None
        if found is None or block is None:
            return
        if event.style and "copies" in event.style.meta:
            code = self.column.sections[found[0]].blocks[block[0]].code_at(block[1])
            self.post_message(self.CodeClicked(code or ""))
            return
        if block[1] == 0:
            self.place = (found[0], block[0])
        if href:
            # A link of a model's answer with the same address is not one of these links.
            section = self.column.sections[found[0]]
            if href in STEPS and section.speaker is Speaker.USER:
                self.post_message(self.BranchClicked(STEPS[str(href)]))
            elif href in (NOW, STOP) and section.key.startswith(RETRY):
                self.post_message(self.RetryClicked(now=href == NOW))
            return
        self._fold(found[0], *block)


@contextmanager
def nothing_new(transcript: Transcript) -> Iterator[None]:
    """Lines that come or go within this are no new content: they were folded, hidden or wrapped otherwise."""
    column = transcript.column
    new = 0 if column.following else max(0, column.arrived - transcript.left_at)
    yield
    transcript.left_at = column.arrived - new
    transcript.post_message(Transcript.FollowChanged(following=column.following, below=new))
