"""Sections below each other: which of them are measured, and what the others are guessed to be."""

from __future__ import annotations

from collections.abc import Iterable

from tui.ui.markdown.height_index import HeightIndex
from tui.ui.transcript.section import Section

KEPT = 120
"""Sections that keep their layout; the farthest of the others are laid out again when they are seen again."""


class Stack:
    """Sections, found by their line or their key."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.width = 0
        self._places: dict[str, int] = {}
        self._heights = HeightIndex()
        self._measured: set[int] = set()
        self._dirty: set[int] = set()
        self._corrected = 0
        self._different = 0

    @property
    def total(self) -> int:
        """Lines in all, as far as is known."""
        return self._heights.total

    @property
    def arrived(self) -> int:
        """Lines in all without what only wrong guesses made of them: it grows by what is new."""
        return self.total - self._corrected

    def _arrange(self, sections: Iterable[Section]) -> None:
        """Other sections, or the same in another order; nothing about them is known."""
        self.sections = list(sections)
        self._places = {section.key: place for place, section in enumerate(self.sections)}
        self._guess_anew()

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

    def place_of(self, key: str) -> int | None:
        """Where the section with this key is."""
        return self._places.get(key)

    def line_of(self, place: int, block: int) -> int:
        """The line a block starts on."""
        return self._heights.start_of(place) + self.sections[place].start_of(block)

    def find(self, line: int) -> tuple[int, int] | None:
        """The place of the section a line falls into, and the line within it."""
        if not self.sections or not 0 <= line < self.total or not self.width:
            return None
        place, inside = self._heights.find(line)
        section = self.sections[place]
        return place, min(inside, section.height(self.width) - 1)

    def _guess_anew(self) -> None:
        self._measured.clear()
        self._dirty.clear()
        self._heights.reset(section.estimate(self.width) if self.width else 1 for section in self.sections)

    def _measure(self, place: int) -> int:
        """Have a section laid out; by how much the guess at it was wrong."""
        self._measured.add(place)
        return self._heights.set_height(place, self.sections[place].height(self.width))

    def _correct(self, place: int) -> None:
        """A section has laid out more of itself."""
        change = self._heights.set_height(place, self.sections[place].height(self.width))
        if change:
            self._corrected += change
            self._different = min(self._different, self._heights.start_of(place))

    def _let_rest(self, line: int) -> None:
        """Sections far from a line let their layout go."""
        near, _ = self._heights.find(line)
        far = sorted(self._measured, key=lambda place: -abs(place - near))[: KEPT // 4]
        for place in far:
            self.sections[place].rest()
            # Its height stays as it was; laid out again it is only guessed at first.
            self._measured.discard(place)
