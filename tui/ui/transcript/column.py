"""Sections in a column and a window onto it: what is measured, what is guessed, where the window stands.

Only what has been in the window is ever laid out. When something above the window's top turns out taller or shorter
than guessed, the window moves along with what is being read, so nothing on the screen jumps.
"""

from __future__ import annotations

from collections.abc import Iterable

from tui.ui.transcript.height_index import HeightIndex
from tui.ui.transcript.section import Section

KEPT = 400
"""Sections that keep their layout; the farthest of the others are laid out again when they are seen again."""


class Column:
    """All sections of a conversation, and the lines from ``top`` that are on the screen."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.top = 0
        self.following = True
        self.width = 0
        self.height = 0
        self._places: dict[str, int] = {}
        self._heights = HeightIndex()
        self._measured: set[int] = set()
        self._dirty: set[int] = set()

    @property
    def total(self) -> int:
        """Lines in all, as far as is known."""
        return self._heights.total

    @property
    def last_top(self) -> int:
        """Where the window stands when it shows the end."""
        return max(0, self.total - self.height)

    def replace_all(self, sections: Iterable[Section]) -> None:
        """Other sections; the window goes to the end."""
        self.sections = list(sections)
        self._places = {section.key: place for place, section in enumerate(self.sections)}
        self.following = True
        self._guess_anew()
        self.settle()

    def append(self, section: Section) -> None:
        """One more at the end."""
        self._places[section.key] = len(self.sections)
        self.sections.append(section)
        self._heights.append(section.estimate(self.width) if self.width else 1)
        self._dirty.add(len(self.sections) - 1)

    def remove_last(self, key: str) -> None:
        """Take the last one away again."""
        if self.sections and self.sections[-1].key == key:
            place = len(self.sections) - 1
            self.sections.pop()
            self._places.pop(key, None)
            self._heights.pop()
            self._dirty.discard(place)
            self._measured.discard(place)

    def rename(self, section: Section, key: str) -> None:
        """An answer has its name only once it is complete."""
        place = self._places.pop(section.key, None)
        section.key = key
        if place is not None:
            self._places[key] = place

    def changed(self, section: Section) -> None:
        """It is different now; ``settle`` will see."""
        section.touch()
        place = self._places.get(section.key)
        if place is not None:
            self._dirty.add(place)

    def resize(self, width: int, height: int) -> None:
        """Another window; what was at its top stays there."""
        if (width, height) == (self.width, self.height):
            return
        other_width, self.width, self.height = width != self.width, width, height
        if other_width:
            place, inside = self._heights.find(self.top)
            before = self._heights.height_of(place) if self.sections else 0
            self._guess_anew()
            if self.sections and before and not self.following:
                now = self._measure(place)
                self.top = self._heights.start_of(place) + min(now - 1, inside * now // before)
        self.settle()

    def settle(self) -> int:
        """Take changes in and measure what is seen; the first line that is different."""
        first = self._absorb()
        self._measure_window()
        self.top = self.last_top if self.following else max(0, min(self.top, self.last_top))
        return first

    def scroll_to(self, line: int) -> None:
        """Move the window; at the end it follows, elsewhere it does not."""
        self.top = max(0, min(line, self.last_top))
        self.following = self.top >= self.last_top
        self._measure_window()
        self.top = max(0, min(self.top, self.last_top))

    def show(self, place: int, block: int) -> int:
        """Bring a block into the window; the line it starts on."""
        self._measure(place)
        line = self._heights.start_of(place) + self.sections[place].start_of(block)
        if not self.top <= line < self.top + self.height:
            self.scroll_to(line - self.height // 3)
            line = self._heights.start_of(place) + self.sections[place].start_of(block)
        return line

    def find(self, line: int) -> tuple[int, int] | None:
        """The place of the section a line falls into, and the line within it."""
        if not self.sections or not 0 <= line < self.total or not self.width:
            return None
        place, inside = self._heights.find(line)
        section = self.sections[place]
        return place, min(inside, section.height(self.width) - 1)

    # Measuring

    def _guess_anew(self) -> None:
        self._measured.clear()
        self._dirty.clear()
        self._heights.reset(section.estimate(self.width) if self.width else 1 for section in self.sections)

    def _measure(self, place: int) -> int:
        self._measured.add(place)
        height = self.sections[place].height(self.width)
        self._heights.set_height(place, height)
        return height

    def _absorb(self) -> int:
        first = self.total
        for place in sorted(self._dirty):
            start = self._heights.start_of(place)
            before = self._heights.height_of(place)
            section = self.sections[place]
            known = place in self._measured
            after = section.height(self.width) if known else section.estimate(self.width) if self.width else 1
            change = self._heights.set_height(place, after)
            if change and not self.following and start + before <= self.top:
                self.top += change
            first = min(first, start)
        self._dirty.clear()
        return first

    def _measure_window(self) -> None:
        if not self.width or not self.sections:
            return
        if self.following:
            self._measure_end()
        else:
            self._measure_from_top()
        if len(self._measured) > KEPT:
            self._let_rest()

    def _measure_end(self) -> None:
        left = self.height
        for place in range(len(self.sections) - 1, -1, -1):
            if left <= 0:
                break
            left -= self._heights.height_of(place) if place in self._measured else self._measure(place)
        self.top = self.last_top

    def _measure_from_top(self) -> None:
        place, _ = self._heights.find(self.top)
        while place < len(self.sections):
            start = self._heights.start_of(place)
            if start >= self.top + self.height:
                break
            if place not in self._measured:
                change = -self._heights.height_of(place) + self._measure(place)
                if change and start < self.top:
                    self.top = max(start, self.top + change)
            place += 1

    def _let_rest(self) -> None:
        near, _ = self._heights.find(self.top)
        far = sorted(self._measured, key=lambda place: -abs(place - near))[: KEPT // 4]
        for place in far:
            self.sections[place].rest()
