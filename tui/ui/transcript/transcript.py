"""The transcript widget: paints the window of a column of sections, and hands keys and mouse to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual import events
from textual.geometry import Offset, Size
from textual.message import Message
from textual.widget import Widget

from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.painting import Painted
from tui.ui.transcript.section import Presence, Section


def stops_in(section: Section) -> int:
    """Blocks the cursor can stand on."""
    return 0 if section.presence is Presence.HIDDEN else len(section.blocks)


def shifted(column: int | None, by: int) -> int | None:
    """Where code begins that began with ``column``; None wraps it, and 0 goes from the one to the other."""
    if column is None:
        return None if by else 0
    return max(0, column + by) if by else None


class Transcript(Painted, can_focus=True):
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

    def __init__(self, ink: ThemeStyles, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(ink, id=id, classes=classes)
        self._moving = False
        self._left_at = 0
        self.draft: Widget | None = None
        """Takes what is pasted here."""

    def on_paste(self, event: events.Paste) -> None:
        """The conversation takes no text; the draft does."""
        if self.draft is not None:
            event.stop()
            self.draft.focus()
            self.draft.post_message(events.Paste(event.text))

    def replace_all(self, sections: Iterable[Section]) -> None:
        """Another conversation (or another path through it), at its end."""
        self._cursor = None
        self.column.replace_all(sections)
        self.settle()
        self.refresh()

    def rearrange(self, sections: Iterable[Section]) -> None:
        """Some taken out, some put in; the cursor stays on its section while that is there."""
        cursor, new = self.cursor, self.column.arrived - self._left_at
        self.column.rearrange(sections)
        key = cursor[0].key if cursor is not None else ""
        place = next((place for place, section in enumerate(self.column.sections) if section.key == key), None)
        self._cursor = (place, cursor[1]) if place is not None and cursor is not None else None
        self._painted.clear()
        self.settle()
        if not self.column.following:
            # What came forth or stepped back is not new.
            self._left_at = self.column.arrived - max(0, new)
            self.post_message(self.FollowChanged(following=False, below=max(0, new)))
        self.refresh()

    def settle(self) -> None:
        """Bring scroll bar, scroll position and screen up to date; called once per frame."""
        if not self.is_mounted or not self.size.width:
            return
        column = self.column
        before = (column.top, column.total)
        if self._is_unsettled():
            region = self.scrollable_content_region
            column.resize(region.width, region.height)
            if not column.following and column.top >= column.last_top:
                # The end came into sight with the larger window: nothing below it is left to scroll to.
                self._note_following(now=True)
                column.following = True
            first = 0
        else:
            first = column.settle()
        self._show_window()
        if column.top != before[0]:
            self.refresh()
        elif first < column.top + column.height:
            self._refresh_rows(max(0, first - column.top))
        if not column.following and column.total != before[1]:
            self.post_message(self.FollowChanged(following=False, below=column.arrived - self._left_at))

    def _show_window(self) -> None:
        size = Size(self.column.width, self.column.total)
        if size != self.virtual_size:
            self.set_reactive(Transcript.virtual_size, size)
            self._scroll_update(size)
        self._move_selection()
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
            self._left_at = self.column.arrived
            self.post_message(self.FollowChanged(following=now, below=0))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up lets go of the tail; reaching it takes hold again."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or not self.column.width or (self._is_unsettled() and new_value >= self.max_scroll_y):
            # Textual moves what no longer fits before it tells of another size: nobody scrolled then.
            return
        self._note_following(now=round(new_value) >= self.column.last_top)
        self.column.scroll_to(round(new_value))
        self._show_window()

    def _is_unsettled(self) -> bool:
        """The column is laid out for another size than there is now."""
        region = self.scrollable_content_region
        return (region.width, region.height) != (self.column.width, self.column.height)

    def on_resize(self, event: events.Resize) -> None:
        """Another window."""
        self.settle()
        self.refresh()

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
        while not (0 <= place < len(sections) and 0 <= block < stops_in(sections[place])):
            place += step
            if not 0 <= place < len(sections):
                return
            block = 0 if step > 0 else stops_in(sections[place]) - 1
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

    def shift_code(self, columns: int) -> None:
        """Code of the message under the cursor: 0 cuts its long lines or wraps them again, else they move sideways."""
        if self._cursor is None:
            self.move_cursor(-1)
        if self._cursor is None:
            return
        section = self.column.sections[self._cursor[0]]
        before = next((block.sideways for block in section.blocks if block.sideways is not None), None)
        after = shifted(before, columns)
        if after == before:
            return
        found = self.column.find(self.column.top)
        mark = self.column.sections[found[0]].mark(found[1]) if found is not None else None
        for block in section.blocks:
            block.sideways = after
        section.forget_strips()
        self.screen.clear_selection()  # other characters stand in its columns now
        self.column.changed(section)
        self.column.settle()
        if found is not None and mark is not None and not self.column.following:
            top = self.column.sections[found[0]]
            self.column.scroll_to(self.column.line_of(found[0], 0) - top.start_of(0) + top.line_at(mark))
        self.settle()
        self.refresh()

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
            self._left_at = self.column.arrived
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
