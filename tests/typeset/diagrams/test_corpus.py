"""Sources as models write them, and their drawings, which were looked at.

``PONDER_UPDATE=1`` writes ``drawn/``; look at the difference before you commit it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.typeset.diagrams.cells import is_equally_wide, words
from tests.typeset.diagrams.expected import expected_graph
from tests.typeset.diagrams.graph_reader import read_graph
from tests.typeset.diagrams.sequence_reader import expected_sequence, read_sequence_drawing
from tui.typeset.diagrams.classes import read_classes
from tui.typeset.diagrams.diagram import draw
from tui.typeset.diagrams.entities import read_entities
from tui.typeset.diagrams.flowchart import read_flowchart
from tui.typeset.diagrams.graph import DiagramError, Graph
from tui.typeset.diagrams.sequence import read_sequence
from tui.typeset.diagrams.states import read_states
from tui.ui.markdown.runs import width_of

HERE = Path(__file__).parent
COLUMNS = 96
"""Columns of the kept drawings: what a terminal of 100 has for code."""
GRAPHS: dict[str, Callable[[str], Graph]] = {
    "flowchart": read_flowchart,
    "state": read_states,
    "class": read_classes,
    "er": read_entities,
}
KINDS = (*GRAPHS, "sequence", "gantt", "pie")


def sources(kind: str) -> dict[str, str]:
    """The sources of a kind by name."""
    text = (HERE / "corpus" / f"{kind}.mmd").read_text(encoding="utf-8")
    return {name: source for name, _, source in (part.partition("\n") for part in text.split("%%== ")[1:])}


SOURCES = [(kind, name, source) for kind in KINDS for name, source in sources(kind).items()]
ALL = [pytest.param(*each, id=f"{each[0]}-{each[1]}") for each in SOURCES]


def test_there_are_120_of_them() -> None:
    assert len(ALL) == 120


@pytest.mark.parametrize("kind", KINDS)
def test_the_drawings_are_the_ones_that_were_looked_at(kind: str) -> None:
    drawn = "\n".join(f"== {name}\n{draw(source, COLUMNS, width_of).text}\n" for name, source in sources(kind).items())
    path = HERE / "drawn" / f"{kind}.txt"
    if os.environ.get("PONDER_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn, encoding="utf-8", newline="\n")
    assert drawn == path.read_text(encoding="utf-8")


@pytest.mark.long
@settings(max_examples=300)
@given(st.data())
def test_a_damaged_source_is_drawn_or_refused(data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(SOURCES))[2]
    other = data.draw(st.sampled_from(SOURCES))[2]
    at, end = sorted(data.draw(st.integers(0, len(source))) for _ in range(2))
    begin = data.draw(st.integers(0, len(other)))
    damaged = source[:at] + other[begin : begin + data.draw(st.integers(0, 20))] + source[min(end, at + 20) :]
    try:
        drawing = draw(damaged, data.draw(st.sampled_from([10, 40, 96])), width_of)
    except DiagramError:
        return
    assert is_equally_wide(drawing)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("columns", [24, 56, 96, 180])
@pytest.mark.parametrize(("kind", "name", "source"), ALL)
def test_a_reader_finds_in_the_drawing_what_the_source_says(kind: str, name: str, source: str, columns: int) -> None:
    drawing = draw(source, columns, width_of)
    assert is_equally_wide(drawing)
    if kind in GRAPHS:
        found = read_graph(drawing, bars=kind == "state", diamonds=kind == "class")
        assert found == expected_graph(GRAPHS[kind](source)), drawing.text
    elif kind == "sequence":
        assert read_sequence_drawing(drawing) == expected_sequence(read_sequence(source)), drawing.text
    else:
        rows = source.split("\n")
        names = [row.split(":")[0] for row in rows if ":" in row and "Format" not in row]
        assert [name for name in names if words(name.strip(' "')) not in words(drawing.text)] == []
