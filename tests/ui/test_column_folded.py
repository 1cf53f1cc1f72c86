"""A column some of whose sections are hidden, taken out or put in: the window shows the lines that are left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.ui.test_column_properties import column_of, section, seen
from tui.ui.transcript.section import SectionVisibility

SIZES = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=30)
MOVES = st.lists(
    st.tuples(st.sampled_from(("hide", "show", "scroll", "out", "in")), st.integers(0, 900), st.integers(0, 30)),
    max_size=12,
)


@given(sizes=SIZES, moves=MOVES)
def test_hidden_sections_take_no_lines_and_what_is_read_stays(
    sizes: list[tuple[int, int]], moves: list[tuple[str, int, int]]
) -> None:
    column = column_of(sizes)
    counts = {f"s{number}": count for number, (count, _) in enumerate(sizes)}
    for number, (move, place, length) in enumerate(moves):
        chosen = column.sections[place % (len(column.sections) or 1) :][:length]
        if move in ("hide", "show"):
            for one in chosen:
                one.set_presence(SectionVisibility.HIDDEN if move == "hide" else SectionVisibility.SHOWN)
                column.changed(one)
        elif move == "scroll":
            column.scroll_to(place)
        elif move == "out":
            column.rearrange([one for one in column.sections if one not in chosen[:2]])
        else:
            counts[f"new{number}"] = length + 1
            here = place % (len(column.sections) + 1)
            new = section(f"new{number}", length + 1, length)
            column.rearrange([*column.sections[:here], new, *column.sections[here:]])
        column.settle()
        rows = seen(column)
        expected = [
            row
            for one in column.sections
            if one.presence is not SectionVisibility.HIDDEN
            for row in [*(f"{one.key}.{at}" for at in range(counts[one.key])), ""]
        ]
        assert len(rows) == min(column.height, column.total)
        text = "\n".join(rows)
        assert text in "\n".join(expected)
        if column.following:
            assert rows == expected[len(expected) - len(rows) :]
