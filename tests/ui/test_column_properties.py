"""The column against a naive model: whatever happens, lines are where they should be and what is read stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.ui.markdown.lazy_lines import HeightIndex
from tui.ui.markdown.runs import Line, Run, plain
from tui.ui.transcript.blocks import Renderable
from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section, Speaker


class Lines(Renderable):
    """So many numbered lines, and a guess at them that may be wrong."""

    def __init__(self, name: str, size: int, guess: int) -> None:
        self.name = name
        self.size = size
        self.guess = guess

    def height(self, width: int) -> int:
        return self.size

    def line(self, number: int) -> Line:
        return [Run(f"{self.name}.{number}")]

    def estimate(self, width: int) -> int:
        return self.guess


def section(name: str, size: int, guess: int) -> Section:
    return Section(name, Speaker.MODEL, lambda: [Lines(name, size, guess)], guess * 95)


SIZES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40)


def column_of(sizes: list[tuple[int, int]], height: int = 10, width: int = 100) -> Column:
    column = Column()
    column.resize(width, height)
    column.replace_all(section(f"s{number}", count, guess) for number, (count, guess) in enumerate(sizes))
    return column


def seen(column: Column) -> list[str]:
    """What stands in the window, line by line."""
    rows = []
    for line in range(column.top, min(column.top + column.height, column.total)):
        found = column.find(line)
        assert found is not None
        rows.append(plain(column.sections[found[0]].line(found[1])[0]))
    return rows


def everything(sizes: list[tuple[int, int]]) -> list[str]:
    return [row for number, (count, _) in enumerate(sizes) for row in [*(f"s{number}.{at}" for at in range(count)), ""]]


@given(SIZES)
def test_the_end_is_the_end_however_wrong_the_guesses(sizes: list[tuple[int, int]]) -> None:
    assert seen(column_of(sizes)) == everything(sizes)[-10:]


@given(SIZES, st.lists(st.integers(-25, 12), max_size=30))
def test_scrolling_shows_neighbouring_lines_without_a_seam(sizes: list[tuple[int, int]], steps: list[int]) -> None:
    whole = everything(sizes)
    column = column_of(sizes)
    for step in steps:
        before = seen(column)
        asked, top = column.top + step, column.top
        column.scroll_to(asked)
        now = seen(column)
        assert len(now) == min(10, len(whole), column.total)
        at = [start for start in range(len(whole) - len(now) + 1) if whole[start : start + len(now)] == now]
        assert at, "the window is one stretch of the whole"
        if -10 < step < 0 < top and top + step >= 0 and column.top == top + step and before[0]:
            assert before[0] in now


@given(SIZES, st.integers(0, 200), st.data())
def test_what_happens_elsewhere_never_moves_what_is_read(
    sizes: list[tuple[int, int]], top: int, data: st.DataObject
) -> None:
    column = column_of(sizes)
    column.scroll_to(top)
    if column.following or not sizes:
        return
    before = seen(column)
    first = column.find(column.top)
    assert first is not None
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.sampled_from([*range(first[0]), None]))
        if place is None:
            column.append(section(f"new{len(column.sections)}", 3, 1))
        else:
            block = column.sections[place].blocks[0]
            assert isinstance(block, Lines)
            block.size = data.draw(st.integers(0, 40))
            column.changed(column.sections[place])
        column.settle()
        assert seen(column)[: len(before)] == before


@given(SIZES, st.lists(st.tuples(st.integers(9, 140), st.integers(1, 50)), max_size=8))
def test_any_size_keeps_the_end_while_it_is_followed(
    sizes: list[tuple[int, int]], windows: list[tuple[int, int]]
) -> None:
    column = column_of(sizes)
    whole = everything(sizes)
    for width, height in windows:
        column.resize(width, height)
        assert seen(column) == whole[-height:]


@given(st.lists(st.integers(0, 50), max_size=60), st.data())
def test_the_height_index_agrees_with_adding_up(heights: list[int], data: st.DataObject) -> None:
    index = HeightIndex(heights)
    plainly = list(heights)
    for _ in range(data.draw(st.integers(0, 20))):
        match data.draw(st.sampled_from(["append", "set", "pop"])):
            case "append":
                plainly.append(data.draw(st.integers(0, 50)))
                index.append(plainly[-1])
            case "set" if plainly:
                place = data.draw(st.integers(0, len(plainly) - 1))
                plainly[place] = data.draw(st.integers(0, 50))
                index.set_height(place, plainly[place])
            case "pop" if plainly:
                plainly.pop()
                index.pop()
            case _:
                pass
    assert index.total == sum(plainly)
    assert [index.start_of(place) for place in range(len(plainly))] == [
        sum(plainly[:place]) for place in range(len(plainly))
    ]
    owners = [(place, inside) for place, height in enumerate(plainly) for inside in range(height)]
    assert [index.find(line) for line in range(len(owners))] == owners
