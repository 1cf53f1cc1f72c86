"""The transcript widget: paints the window of a column of sections, and hands keys and mouse to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui.ui.markdown.runs import plain
from tui.ui.transcript.column import Column
from tui.ui.transcript.ink import Ink
from tui.ui.transcript.section import MARGIN, Section

NEVER = (None, 0, Strip([]))
MOST_PAINTED = 1_000
"""Lines kept as they were last painted: a few screens, so that scrolling text is not made anew."""


def finished(strip: Strip, absolute: int, width: int, ink: Ink) -> Strip:
    """A row as wide as the screen, that knows where it stands so that the mouse can select in it."""
    return strip.crop_extend(0, width, ink.ground("")).apply_offsets(0, absolute)


def with_selection(strip: Strip, selection: Selection, absolute: int, style: Style) -> Strip:
    """A row with what is selected of it marked."""
    span = selection.get_span(absolute)
    if span is None:
        return strip
    start, end = span
    end = strip.cell_length if end == -1 else end
    before, chosen, after = strip.divide([start, max(start, end), strip.cell_length])
    marked = Segment.apply_style(chosen, post_style=Style(color=style.color, bgcolor=style.bgcolor))
    return Strip.join([before, Strip(marked, chosen.cell_length), after])


class Transcript(ScrollView, can_focus=True):
    """Sections below each other. Whoever changes one says so to ``column``; once per frame ``settle`` draws it."""

    @dataclass
    class FollowChanged(Message):
        """The tail is followed, or not; ``below`` new lines wait."""

        following: bool
        below: int

    @dataclass
    class Folded(Message):
        """The user opened or closed a block."""

        section: Section
        block: int

    @dataclass
    class LinkClicked(Message):
        """A link was clicked."""

        href: str

    def __init__(self, ink: Ink, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.column = Column()
        self._ink = ink
        self._cursor: tuple[int, int] | None = None
        self._moving = False
        self._left_at = 0
        self._painted: dict[int, tuple[Strip | None, int, Strip]] = {}

    def replace_all(self, sections: Iterable[Section]) -> None:
        """Another conversation (or another path through it), at its end."""
        self._cursor = None
        self.column.replace_all(sections)
        self.settle()
        self.refresh()

    def recolour(self, ink: Ink) -> None:
        """Another theme."""
        self._ink = ink
        for section in self.column.sections:
            section.forget_strips()
        self.refresh()

    # Keeping in step with the column

    def settle(self) -> None:
        """Bring scroll bar, scroll position and screen up to date; called once per frame."""
        if not self.is_mounted or not self.size.width:
            return
        column = self.column
        before = (column.top, column.total)
        region = self.scrollable_content_region
        if (region.width, region.height) != (column.width, column.height):
            column.resize(region.width, region.height)
            first = 0
        else:
            first = column.settle()
        self._show_window()
        if column.top != before[0]:
            self.refresh()
        elif first < column.top + column.height:
            self._refresh_rows(max(0, first - column.top))
        if not column.following and column.total != before[1]:
            self.post_message(self.FollowChanged(following=False, below=column.total - self._left_at))

    def _refresh_rows(self, first: int) -> None:
        """Paint the rows that are different: of a long answer that grows these are the last two or three."""
        rows = range(first, self.size.height)
        changed = [y for y in rows if self._source(y) is not self._painted.get(self.column.top + y, NEVER)[0]]
        if changed:
            self.refresh(Region(0, changed[0], self.size.width, changed[-1] - changed[0] + 1))

    def _show_window(self) -> None:
        size = Size(self.column.width, self.column.total)
        if size != self.virtual_size:
            self.set_reactive(Transcript.virtual_size, size)
            self._scroll_update(size)
        if round(self.scroll_y) != self.column.top:
            self._moving = True
            try:
                self.scroll_target_y = self.column.top
                self.scroll_y = self.column.top
            finally:
                self._moving = False

    def follow(self) -> None:
        """Go to the tail and stay with it."""
        self._note_following(now=True)
        self.column.following = True
        self.settle()
        self.refresh()

    def _note_following(self, *, now: bool) -> None:
        if now != self.column.following:
            self._left_at = self.column.total
            self.post_message(self.FollowChanged(following=now, below=0))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up lets go of the tail; reaching it takes hold again."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or not self.column.width:
            return
        self._note_following(now=round(new_value) >= self.column.last_top)
        self.column.scroll_to(round(new_value))
        self._show_window()

    def on_resize(self, event: events.Resize) -> None:
        """Another window."""
        self.settle()
        self.refresh()

    # Drawing

    def _source(self, y: int) -> Strip | None:
        """A row as its section draws it, always the same object while it is the same; None below the end."""
        found = self.column.find(self.column.top + y)
        if found is None:
            return None
        place, inside = found
        cursor = self._cursor[1] if self._cursor is not None and self._cursor[0] == place and self.has_focus else None
        return self.column.sections[place].strip(inside, self._ink, cursor=cursor)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.size.width
        absolute = self.column.top + y
        strip = self._source(y)
        if strip is None:
            self._painted.pop(absolute, None)
            return self._ink.strip([], "", width)
        if self.text_selection is not None:
            style: Style = self.screen.get_component_rich_style("screen--selection")
            marked = with_selection(strip, self.text_selection, absolute, style)
            return finished(marked, absolute, width, self._ink)
        kept = self._painted.get(absolute)
        if kept is None or kept[0] is not strip or kept[1] != width:
            if len(self._painted) > MOST_PAINTED:
                self._painted.clear()
            kept = self._painted[absolute] = (strip, width, finished(strip, absolute, width, self._ink))
        return kept[2]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The words between two places, without margins."""
        first = selection.start.y if selection.start is not None else 0
        last = min(selection.end.y if selection.end is not None else self.column.total - 1, self.column.total - 1)
        rows: list[str] = []
        for absolute in range(first, last + 1):
            found = self.column.find(absolute)
            row = plain(self.column.sections[found[0]].line(found[1])[0]) if found is not None else ""
            start = max(0, selection.start.x - MARGIN) if selection.start and absolute == first else 0
            end = max(0, selection.end.x - MARGIN) if selection.end and absolute == last else len(row)
            rows.append(row[start:end].rstrip())
        return "\n".join(rows), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    # The cursor

    @property
    def cursor(self) -> tuple[Section, int] | None:
        """The block the cursor is on."""
        if self._cursor is None or self._cursor[0] >= len(self.column.sections):
            return None
        return self.column.sections[self._cursor[0]], self._cursor[1]

    def move_cursor(self, step: int) -> None:
        """To the next or previous block, bringing it into sight."""
        sections = self.column.sections
        place, block = self._cursor if self._cursor is not None else (len(sections), 0)
        block += step
        while not (0 <= place < len(sections) and 0 <= block < len(sections[place].blocks)):
            place += step
            if not 0 <= place < len(sections):
                return
            block = 0 if step > 0 else len(sections[place].blocks) - 1
        self.put_cursor(place, block)

    def put_cursor(self, place: int, block: int) -> None:
        """On this block."""
        self._cursor = (place, block)
        self._note_following(now=self.column.following)
        self.column.show(place, block)
        self._show_window()
        self.refresh()

    def action_fold_at_cursor(self) -> None:
        """Open or close the block under the cursor; without a cursor it goes to the last block first."""
        if self._cursor is None:
            self.move_cursor(-1)
        if self._cursor is not None:
            self._fold(*self._cursor)

    def _fold(self, place: int, block: int) -> None:
        section = self.column.sections[place]
        drawn = section.blocks[block]
        if drawn.foldable:
            drawn.fold()
            self.column.following = False
            self.column.changed(section)
            self.settle()
            self.column.following = self.column.top >= self.column.last_top
            # What opened is not new: nothing came while the user was away from the tail.
            self._left_at = self.column.total
            self.post_message(self.FollowChanged(following=self.column.following, below=0))
            self.post_message(self.Folded(section, block))

    def on_click(self, event: events.Click) -> None:
        """A click on a block's head folds it; on a link it is offered."""
        href = event.style.meta.get("href") if event.style else None
        if href:
            self.post_message(self.LinkClicked(str(href)))
            return
        offset = event.get_content_offset(self) or Offset(0, -1)
        found = self.column.find(self.column.top + offset.y) if offset.y >= 0 else None
        block = self.column.sections[found[0]].block_at(found[1]) if found is not None else None
        if found is not None and block is not None and block[1] == 0:
            self._cursor = (found[0], block[0])
            self._fold(found[0], block[0])
