"""The column of sections: scrolling has no seam, nothing on the screen jumps when what is above turns out otherwise."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.ui.markdown.lazy_lines import HeightIndex
from tui.ui.markdown.runs import Line, Run
from tui.ui.transcript.blocks import Renderable
from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section, Speaker


class Lines(Renderable):
    """A block of so many lines, guessed to be something else."""

    def __init__(self, name: str, size: int, guess: int) -> None:
        self.name, self.size, self.guess = name, size, guess

    def height(self, width: int) -> int:
        return self.size

    def line(self, number: int) -> Line:
        return [Run(f"{self.name}.{number}")]

    def estimate(self, width: int) -> int:
        return self.guess


def section(number: int, count: int, guess: int) -> Section:
    return Section(str(number), Speaker.MODEL, lambda: [Lines(str(number), count, guess)], guess * 50)


def window(column: Column) -> list[tuple[int, int] | None]:
    return [column.find(column.top + line) for line in range(column.height)]


SIZES = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=30)


@given(SIZES, st.integers(3, 20))
def test_line_by_line_from_the_end_to_the_top_every_line_is_seen_once_and_in_order(
    sizes: list[tuple[int, int]], height: int
) -> None:
    column = Column()
    column.resize(60, height)
    column.replace_all(section(number, *size) for number, size in enumerate(sizes))
    seen = [line for line in window(column) if line is not None]
    for _ in range(2_000):
        if column.top == 0:
            break
        before = window(column)
        column.scroll_to(column.top - 1)
        after = window(column)
        assert after[1:] == before[:-1]
        first = after[0]
        assert first is not None
        seen.insert(0, first)
    whole = [(place, line) for place, (count, _) in enumerate(sizes) for line in range(count + 1)]
    assert seen == whole[-len(seen) :] if len(whole) > height else seen == whole
    assert column.top == 0


@given(SIZES, st.integers(3, 20), st.data())
def test_what_changes_above_does_not_move_what_is_read(
    sizes: list[tuple[int, int]], height: int, data: st.DataObject
) -> None:
    column = Column()
    column.resize(60, height)
    column.replace_all(section(number, *size) for number, size in enumerate(sizes))
    column.scroll_to(data.draw(st.integers(0, column.last_top)))
    if column.following:
        return
    top = column.find(column.top)
    assert top is not None
    if top[0] == 0:
        return
    above = column.sections[data.draw(st.integers(0, top[0] - 1))]
    block = above.blocks[0]
    assert isinstance(block, Lines)
    column._measure(int(above.key))
    column.scroll_to(column.top)
    before = column.find(column.top)
    if column.following or before is None or before[0] <= int(above.key):
        return
    block.size += data.draw(st.integers(1, 9))
    column.changed(above)
    column.settle()
    assert column.find(column.top) == before


@given(st.lists(st.integers(0, 50), max_size=60), st.data())
def test_the_index_agrees_with_plain_sums(heights: list[int], data: st.DataObject) -> None:
    index = HeightIndex(heights[: len(heights) // 2])
    for height in heights[len(heights) // 2 :]:
        index.append(height)
    if heights:
        place = data.draw(st.integers(0, len(heights) - 1))
        heights[place] = data.draw(st.integers(0, 50))
        index.set_height(place, heights[place])
    assert [index.start_of(number) for number in range(len(heights) + 1)] == [
        sum(heights[:number]) for number in range(len(heights) + 1)
    ]
    for line in range(min(sum(heights), 80)):
        place, inside = index.find(line)
        assert (sum(heights[:place]) + inside, inside < heights[place]) == (line, True)
