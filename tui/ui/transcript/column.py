"""Sections in a column and a window onto it: heights measured or guessed, and the window's position.

Only what has been in the window is laid out, and of a long section only the visible part. If something above the window
turns out taller or shorter than guessed, the window moves by the difference, so that the text on the screen does not
jump.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tui.ui.markdown.lazy_lines import HeightIndex
from tui.ui.transcript.section import Section, SectionVisibility

KEPT = 120
"""Sections that keep their layout; beyond this the farthest drop it until they are visible again."""
EVERYTHING = 1 << 60
"""More lines than any column has."""
MOST_TURNS = 8
"""Most repetitions of a layout that moves the window, which shows other lines, which need layout."""


class Column:
    """All sections of a conversation, and the lines from ``top`` that are on the screen."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.width = 0
        self._index_by_key: dict[str, int] = {}
        """Indexes of the sections by key."""
        self._heights = HeightIndex()
        self._measured: set[int] = set()
        """Indexes of sections that are laid out; the heights of the others are guesses."""
        self._dirty: set[int] = set()
        """Indexes of sections that changed since the last ``settle``."""
        self._corrected = 0
        """Sum of the errors of guesses that were found: lines that were not added by new content."""
        self._different = 0
        """The first line that may differ from the last frame."""
        self.top = 0
        self.following = True
        self.height = 0
        self.shifted = 0
        """Lines by which the window moved because of wrong guesses above it; callers that keep line numbers add it."""

    @property
    def total(self) -> int:
        """The number of lines, including guesses."""
        return self._heights.total

    @property
    def arrived(self) -> int:
        """The number of lines without corrections of guesses: it changes only with content."""
        return self.total - self._corrected

    def append(self, section: Section) -> None:
        """Add a section at the end."""
        self._index_by_key[section.key] = len(self.sections)
        self.sections.append(section)
        self._heights.append(_guess_of(section, self.width))
        self._dirty.add(len(self.sections) - 1)

    def remove_last(self, key: str) -> None:
        """Remove the last section if it has this key."""
        if self.sections and self.sections[-1].key == key:
            index = len(self.sections) - 1
            self.sections.pop().drop_layout()
            self._index_by_key.pop(key, None)
            self._heights.pop()
            self._dirty.discard(index)
            self._measured.discard(index)

    def rename(self, section: Section, key: str) -> None:
        """Give an answer its final key, which exists only once it is complete."""
        index = self._index_by_key.pop(section.key, None)
        section.key = key
        if index is not None:
            self._index_by_key[key] = index

    def changed(self, section: Section) -> None:
        """Mark a section as changed, for the next ``settle``."""
        section.touch()
        index = self._index_by_key.get(section.key)
        if index is not None:
            self._dirty.add(index)

    def note_outdated(self) -> None:
        """Mark sections with blocks whose height has changed by itself."""
        for section in self.sections:
            if section.is_built and any(block.is_outdated for block in section.blocks):
                self.changed(section)

    def index_of(self, key: str) -> int | None:
        """The index of the section with this key."""
        return self._index_by_key.get(key)

    def line_of(self, index: int, block: int) -> int:
        """The first line of a block."""
        return self._heights.start_of(index) + self.sections[index].start_of(block)

    def find(self, line: int) -> tuple[int, int] | None:
        """The section that contains a line, and the line within it."""
        if not self.sections or not 0 <= line < self.total or not self.width:
            return None
        index, inside = self._heights.find(line)
        section = self.sections[index]
        return index, min(inside, section.height(self.width) - 1)

    @property
    def last_top(self) -> int:
        """The window's top when it shows the end."""
        return max(0, self.total - self.height)

    def replace_all(self, sections: Iterable[Section]) -> None:
        """Replace the sections; the window moves to the end."""
        self._arrange(sections)
        self.following = True
        self.settle()

    def rearrange(self, sections: Iterable[Section]) -> None:
        """Insert or remove sections: the others keep their layout, and the visible text stays in place."""
        index, inside = self._heights.find(self.top)
        anchor = self.sections[index].key if self.sections else ""
        measured = {id(self.sections[number]) for number in self._measured}
        changed = {id(self.sections[number]) for number in self._dirty}
        # The guesses are kept, too: making thousands of them takes longer than a frame may.
        self._arrange(sections, dict(zip(map(id, self.sections), self._heights, strict=True)))
        for number, section in enumerate(self.sections):
            if id(section) in measured:
                self._measured.add(number)
            if id(section) in changed:
                self._dirty.add(number)
        if not self.following and anchor in self._index_by_key:
            before, self.top = self.top, self._heights.start_of(self._index_by_key[anchor]) + inside
            self.shifted += self.top - before

    def resize(self, width: int, height: int) -> None:
        """Resize the window; the text at its top stays there."""
        if (width, height) == (self.width, self.height):
            return
        other_width, self.width, self.height = width != self.width, width, height
        if other_width:
            index, inside = self._heights.find(self.top)
            # A line number means nothing at another width, so the top is kept as a position: a part and the share of it
            # above the window.
            held = bool(self.sections) and not self.following and self._heights.height_of(index) > 0
            kept = self.sections[index].position_at(inside) if held else None
            self._guess_anew()
            if kept is not None:
                self._measure(index)
                line = self.sections[index].line_at(kept)
                self._measure(index)
                self.top = self._heights.start_of(index) + line
        self.settle()

    def settle(self) -> int:
        """Apply changes and measure visible sections; returns the first line that differs."""
        self._different = self.total
        self._absorb()
        self._measure_window()
        return self._different

    def scroll_to(self, line: int) -> None:
        """Move the window; it follows new content only from the end."""
        up = self.top - line
        # Short upward moves show lines that were only guessed: without a layout first, their error would be added to
        # the move.
        if 0 < up <= self.height and self.width and self.sections:
            self._lift(up)
            line = self.top - up
        self.top = max(0, min(line, self.last_top))
        self.following = self.top >= self.last_top
        self._measure_window()

    def show(self, index: int, block: int) -> int:
        """Scroll a block into the window; returns its first line."""
        self._corrected += self._measure(index)
        line = self.line_of(index, block)
        if not self.top <= line < self.top + self.height:
            self.scroll_to(line - self.height // 3)
        return self.line_of(index, block)

    def lay_out(self, first: int, last: int) -> int:
        """Lay out everything between two lines that have been seen; returns the new number of the second."""
        if not self.sections or not self.width:
            return last
        index, inside = self._heights.find(first)
        end, below = self._heights.find(last)
        kept, at = self._heights.find(self.top)
        ends, reads = self.sections[end].position_at(below), self.sections[kept].position_at(at)
        # Both ends are kept as marks (above), because laying out what is between them changes line numbers.
        for number in range(index, end + 1):
            self._corrected += self._measure(number)
            self.sections[number].lay_out(inside if number == index else 0, EVERYTHING)
            self._correct(number)
        self._shift(self._heights.start_of(kept) + self.sections[kept].line_at(reads) - self.top)
        return self._heights.start_of(end) + self.sections[end].line_at(ends)

    # Laying out

    def _arrange(self, sections: Iterable[Section], heights: Mapping[int, int] = MappingProxyType({})) -> None:
        """Replace or reorder the sections; heights that are not known, by ``id`` of the section, are guessed."""
        before, self.sections = self.sections, list(sections)
        for section in set(before).difference(self.sections):
            section.drop_layout()
        self._index_by_key = {section.key: index for index, section in enumerate(self.sections)}
        self._guess_anew(heights)

    def _guess_anew(self, heights: Mapping[int, int] = MappingProxyType({})) -> None:
        self._measured.clear()
        self._dirty.clear()
        known = [heights.get(id(section)) for section in self.sections]
        self._heights.reset(
            _guess_of(section, self.width) if height is None else height
            for section, height in zip(self.sections, known, strict=True)
        )

    def _measure(self, index: int) -> int:
        """Lay out a section; returns the error of the guess."""
        self._measured.add(index)
        return self._heights.set_height(index, self.sections[index].height(self.width))

    def _correct(self, index: int) -> None:
        """Update the height after a section has laid out more of itself."""
        change = self._heights.set_height(index, self.sections[index].height(self.width))
        if change:
            self._corrected += change
            self._different = min(self._different, self._heights.start_of(index))

    def _drop_far_layouts(self, line: int) -> None:
        """Let sections far from a line drop their layout."""
        near, _ = self._heights.find(line)
        far = sorted(self._measured, key=lambda index: -abs(index - near))[: KEPT // 4]
        for index in far:
            self.sections[index].drop_layout()
            # The index keeps the exact height; after a new layout it is only a guess until the lines are reached.
            self._measured.discard(index)

    def _absorb(self) -> None:
        for index in sorted(self._dirty):
            start = self._heights.start_of(index)
            before = self._heights.height_of(index)
            section = self.sections[index]
            known = index in self._measured
            after = section.height(self.width) if known else _guess_of(section, self.width)
            change = self._heights.set_height(index, after)
            # The section is above the window: move the window along, so that the text in it stays in place.
            if change and not self.following and start + before <= self.top:
                self.top += change
                self.shifted += change
            self._different = min(self._different, start)
        self._dirty.clear()

    def _lift(self, count: int) -> None:
        """Lay out the lines above before scrolling up, so that the text moves exactly as far as requested."""
        for _ in range(MOST_TURNS):
            before = self.shifted
            index, _ = self._heights.find(max(0, self.top - count))
            while index < len(self.sections) and (start := self._heights.start_of(index)) < self.top:
                section = self.sections[index]
                if section.presence is not SectionVisibility.HIDDEN:
                    height = self._heights.height_of(index)
                    if index not in self._measured:
                        self._corrected += self._measure(index)
                        self._shift(self._heights.height_of(index) - height)
                        height = self._heights.height_of(index)
                    section.lay_out(self.top - count - start, self.top - start)
                    self._correct(index)
                    self._shift(self._heights.height_of(index) - height)
                index += 1
            if self.shifted == before:
                break

    def _measure_window(self) -> None:
        if not self.width or not self.sections:
            self.top = max(0, min(self.top, self.last_top))
            return
        for _ in range(MOST_TURNS):
            if self.following:
                self._measure_end()
            else:
                self._measure_from_top()
            before, self.top = self.top, self.last_top if self.following else max(0, min(self.top, self.last_top))
            if self.top == before:
                break
        # Layouts are by far the largest part of a long conversation's memory.
        if len(self._measured) > KEPT:
            self._drop_far_layouts(self.top)

    def _measure_end(self) -> None:
        left = self.height
        # Backwards from the end, because the top is only known once the last sections have true heights.
        for index in range(len(self.sections) - 1, -1, -1):
            if left <= 0:
                break
            section = self.sections[index]
            if section.presence is SectionVisibility.HIDDEN:
                continue
            if index not in self._measured:
                self._corrected += self._measure(index)
            section.lay_out_end(left)
            self._correct(index)
            left -= self._heights.height_of(index)
        self.top = self.last_top

    def _measure_from_top(self) -> None:
        index, _ = self._heights.find(self.top)
        while index < len(self.sections):
            start = self._heights.start_of(index)
            if start >= self.top + self.height:
                break
            section = self.sections[index]
            if section.presence is SectionVisibility.HIDDEN:
                # ``find`` skips hidden sections, except at the end, where it may return an earlier one.
                index = max(index + 1, self._heights.find(start)[0])
                continue
            if index not in self._measured:
                change = self._measure(index)
                self._corrected += change
                if change and start < self.top:
                    self._shift(max(start - self.top, change))
            moved = section.lay_out(self.top - start, self.top + self.height - start)
            self._correct(index)
            self._shift(moved)
            index += 1

    def _shift(self, change: int) -> None:
        self.top += change
        self.shifted += change


def _guess_of(section: Section, width: int) -> int:
    return section.estimate(width) if width else 1
