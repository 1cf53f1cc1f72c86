"""The transcript widget: draws what is seen of many sections, follows the tail, keeps what is read in place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui.ui.markdown.runs import plain
from tui.ui.transcript.height_index import HeightIndex
from tui.ui.transcript.ink import Ink
from tui.ui.transcript.section import MARGIN, Section

KEPT = 400
"""Sections that keep their layout; older ones are laid out again when they are seen again."""


class Transcript(ScrollView, can_focus=True):
    """Sections below each other. Whoever changes one calls ``changed``; once per frame ``settle`` draws it all."""

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
        self._ink = ink
        self._sections: list[Section] = []
        self._places: dict[str, int] = {}
        self._heights = HeightIndex()
        self._measured: set[int] = set()
        self._dirty: set[int] = set()
        self._laid_width = 0
        self._following = True
        self._left_at = 0
        self._cursor: tuple[int, int] | None = None
        self._settling = False

    # What stands in it

    @property
    def sections(self) -> list[Section]:
        """All sections, first to last; do not change the list."""
        return self._sections

    def section(self, key: str) -> Section | None:
        """The section of this key."""
        place = self._places.get(key)
        return None if place is None else self._sections[place]

    def replace_all(self, sections: Iterable[Section]) -> None:
        """Another conversation (or another path through it): begin at its tail."""
        self._sections = list(sections)
        self._places = {section.key: place for place, section in enumerate(self._sections)}
        self._cursor = None
        self._following = True
        self._measure_anew()
        self.settle()

    def append(self, section: Section) -> None:
        """A new section at the end."""
        self._places[section.key] = len(self._sections)
        self._sections.append(section)
        self._heights.append(section.estimate(self._room) if self._room else 1)
        self._dirty.add(len(self._sections) - 1)

    def remove_last(self, key: str) -> None:
        """Take the last section away again (an attempt that was reset)."""
        if self._sections and self._sections[-1].key == key:
            place = len(self._sections) - 1
            self._sections.pop()
            self._places.pop(key, None)
            self._heights.pop()
            self._dirty.discard(place)
            self._measured.discard(place)

    def changed(self, section: Section) -> None:
        """Something in this section is different."""
        section.touch()
        place = self._places.get(section.key)
        if place is not None:
            self._dirty.add(place)

    def recolour(self, ink: Ink) -> None:
        """Another theme."""
        self._ink = ink
        for section in self._sections:
            section.forget_strips()
        self.refresh()

    # Layout

    @property
    def _room(self) -> int:
        return self.scrollable_content_region.width if self.is_mounted else 0

    def _measure_anew(self) -> None:
        width = self._room
        self._laid_width = width
        self._measured.clear()
        self._dirty.clear()
        self._heights.reset(section.estimate(width) for section in self._sections)

    def settle(self) -> None:
        """Bring heights, scroll position and screen up to date; called once per frame."""
        width = self._room
        if not width:
            return
        if width != self._laid_width:
            self._keep_place_over(self._measure_anew)
            return
        first_changed = self._absorb_changes(width)
        self._measure_seen()
        self._apply_size()
        if self._following:
            self._jump(self.max_scroll_y)
        else:
            self.post_message(self.FollowChanged(following=False, below=self._heights.total - self._left_at))
        self._redraw_from(first_changed)

    def _absorb_changes(self, width: int) -> int:
        """Measure what changed in sight, guess what changed out of sight; the first line that is different."""
        first = self._heights.total
        for place in sorted(self._dirty):
            start = self._heights.start_of(place)
            section = self._sections[place]
            seen = place in self._measured or self._in_sight(place)
            height = section.height(width) if seen else section.estimate(width)
            change = self._heights.set_height(place, height)
            if change and not self._following and start + height - change <= self.scroll_offset.y:
                self._jump(self.scroll_offset.y + change)
            first = min(first, start)
        self._dirty.clear()
        return first

    def _in_sight(self, place: int) -> bool:
        start = self._heights.start_of(place)
        if self._following:
            return place >= len(self._sections) - self.size.height
        top = self.scroll_offset.y
        return start < top + self.size.height and start + self._heights.height_of(place) > top

    def _measure_seen(self) -> None:
        """Measure every section on the screen; what grows above the top pushes the scroll along, so nothing moves."""
        width = self._room
        if not self._sections:
            return
        if self._following:
            self._measure_tail(width)
            return
        place, _ = self._heights.find(self.scroll_offset.y)
        while place < len(self._sections):
            start = self._heights.start_of(place)
            if start >= self.scroll_offset.y + self.size.height:
                break
            if place not in self._measured:
                self._measured.add(place)
                change = self._heights.set_height(place, self._sections[place].height(width))
                if change and start < self.scroll_offset.y:
                    self._jump(max(start, self.scroll_offset.y + change))
                    place, _ = self._heights.find(self.scroll_offset.y)
                    continue
            place += 1
        self._let_rest(place)

    def _measure_tail(self, width: int) -> None:
        left = self.size.height
        place = len(self._sections) - 1
        while place >= 0 and left > 0:
            if place not in self._measured:
                self._measured.add(place)
                self._heights.set_height(place, self._sections[place].height(width))
            left -= self._heights.height_of(place)
            place -= 1
        self._let_rest(len(self._sections))

    def _let_rest(self, near: int) -> None:
        if len(self._measured) <= KEPT:
            return
        for place in sorted(self._measured, key=lambda place: -abs(place - near))[: KEPT // 4]:
            self._sections[place].rest()

    def _keep_place_over(self, relayout: object) -> None:
        place, offset = self._heights.find(self.scroll_offset.y)
        old = max(1, self._heights.height_of(place)) if self._sections else 1
        self._measure_anew()
        if self._following or not self._sections:
            self._measure_seen()
            self._apply_size()
            self._jump(self.max_scroll_y)
        else:
            height = self._sections[place].height(self._room)
            self._measured.add(place)
            self._heights.set_height(place, height)
            self._apply_size()
            self._jump(self._heights.start_of(place) + min(height - 1, offset * height // old))
            self._measure_seen()
            self._apply_size()
        self.refresh()

    def _apply_size(self) -> None:
        size = Size(self._room, self._heights.total)
        if size != self.virtual_size:
            self.set_reactive(Transcript.virtual_size, size)
            self._scroll_update(size)

    def _jump(self, line: float) -> None:
        target = max(0, min(line, max(0, self._heights.total - self.size.height)))
        self._settling = True
        try:
            self.scroll_target_y = target
            self.scroll_y = target
        finally:
            self._settling = False

    def _redraw_from(self, line: int) -> None:
        top = self.scroll_offset.y
        if line <= top:
            self.refresh()
        elif line < top + self.size.height:
            self.refresh(Region(0, line - top, self.size.width, self.size.height - (line - top)))

    # Scrolling

    @property
    def following(self) -> bool:
        """Whether the tail is kept in sight."""
        return self._following

    def follow(self) -> None:
        """Go to the tail and stay with it."""
        self._set_following(following=True)
        self.settle()

    def _set_following(self, *, following: bool) -> None:
        if following != self._following:
            self._following = following
            self._left_at = self._heights.total
            self.post_message(self.FollowChanged(following=following, below=0))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Measure what comes into sight; scrolling up lets go of the tail, reaching it takes hold again."""
        super().watch_scroll_y(old_value, new_value)
        if self._settling or not self._room:
            return
        at_end = new_value >= max(0, self._heights.total - self.size.height)
        self._set_following(following=at_end)
        self._measure_seen()
        self._apply_size()

    def on_resize(self, event: events.Resize) -> None:
        """Another width is another layout."""
        self.settle()

    def on_mount(self) -> None:
        """Lay out what was there before there was a width."""
        self._measure_anew()
        self.call_after_refresh(self.settle)

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.size.width
        absolute = self.scroll_offset.y + y
        if absolute >= self._heights.total or not self._sections or not self._laid_width:
            return self._ink.strip([], "", width)
        place, inside = self._heights.find(absolute)
        section = self._sections[place]
        if place not in self._measured:
            self._measured.add(place)
            section.height(self._laid_width)
        cursor = self._cursor[1] if self._cursor is not None and self._cursor[0] == place and self.has_focus else None
        strip = section.strip(inside, self._ink, cursor=cursor)
        strip = self._with_selection(strip, absolute).crop_extend(0, width, self._ink.ground(""))
        return strip.apply_offsets(0, absolute)

    def _with_selection(self, strip: Strip, absolute: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(absolute) if selection is not None else None
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end == -1 else end
        before, chosen, after = strip.divide([start, max(start, end), strip.cell_length])
        style: Style = self.screen.get_component_rich_style("screen--selection")
        return Strip.join([before, chosen.apply_style(Style(bgcolor=style.bgcolor)), after])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The words between two places, without margins."""
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self._heights.total - 1
        rows: list[str] = []
        for absolute in range(first, min(last, self._heights.total - 1) + 1):
            place, inside = self._heights.find(absolute)
            section = self._sections[place]
            section.height(self._laid_width)
            row = plain(section.line(inside)[0])
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
        if self._cursor is None:
            return None
        return self._sections[self._cursor[0]], self._cursor[1]

    def move_cursor(self, step: int) -> None:
        """To the next or previous block, bringing it into sight."""
        if not self._sections:
            return
        place, block = self._cursor if self._cursor is not None else (len(self._sections), 0)
        while True:
            block += step
            if not (0 <= place < len(self._sections)) or not (0 <= block < len(self._sections[place].blocks)):
                place += step
                if not 0 <= place < len(self._sections):
                    return
                block = 0 if step > 0 else len(self._sections[place].blocks) - 1
            if 0 <= block < len(self._sections[place].blocks):
                break
        self.put_cursor(place, block)

    def put_cursor(self, place: int, block: int) -> None:
        """On this block."""
        self._cursor = (place, block)
        section = self._sections[place]
        self._heights.set_height(place, section.height(self._laid_width))
        self._measured.add(place)
        line = self._heights.start_of(place) + section.start_of(block)
        top = self.scroll_offset.y
        if not top <= line < top + self.size.height:
            self._set_following(following=False)
            self._jump(line - self.size.height // 3)
            self._measure_seen()
        self.refresh()

    def fold_at_cursor(self) -> None:
        """Open or close the block under the cursor."""
        if self._cursor is not None:
            self._fold(*self._cursor)

    def _fold(self, place: int, block: int) -> None:
        section = self._sections[place]
        drawn = section.blocks[block]
        if not drawn.foldable:
            return
        drawn.fold()
        self.changed(section)
        following, self._following = self._following, False
        self.settle()
        self._set_following(following=following and self.scroll_offset.y >= self.max_scroll_y)
        self.post_message(self.Folded(section, block))

    def on_click(self, event: events.Click) -> None:
        """A click on a block's head folds it; on a link it is offered."""
        href = event.style.meta.get("href") if event.style else None
        if href:
            self.post_message(self.LinkClicked(str(href)))
            return
        offset = event.get_content_offset(self) or Offset(0, -1)
        absolute = self.scroll_offset.y + offset.y
        if offset.y < 0 or absolute >= self._heights.total:
            return
        place, inside = self._heights.find(absolute)
        found = self._sections[place].block_at(inside)
        if found is not None and found[1] == 0:
            self._cursor = (place, found[0])
            self._fold(place, found[0])
