"""Random state machines and entities: what is read from the drawing is what was written in the source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.typeset.diagrams.cells import is_equally_wide
from tests.typeset.diagrams.expected import expected_graph
from tests.typeset.diagrams.graph_reader import read_graph
from tui.typeset.diagrams.diagram import draw
from tui.typeset.diagrams.graph import Direction, Edge, Graph, Group, LineStyle, Mark, Node, Shape
from tui.ui.markdown.runs import width_of

LABELS = ("", "", "go", "a longer reason", "開始")
COUNTS = {"|o": "0..1", "||": "1", "}o": "0..n", "}|": "1..n"}
"""As written on the left; on the right they are mirrored."""
MIRRORED = {"|o": "o|", "||": "||", "}o": "o{", "}|": "|{"}


@st.composite
def machines(draw_: st.DrawFn) -> tuple[Graph, str]:
    graph = Graph(draw_(st.sampled_from([Direction.DOWN, Direction.RIGHT])))
    rows = ["stateDiagram-v2", f"direction {graph.direction}"]
    frames = ["", *(f"C{number}" for number in range(draw_(st.integers(0, 2))))]
    states: dict[str, list[str]] = {frame: [] for frame in frames}
    for number in range(draw_(st.integers(len(frames), 8))):
        frame = frames[number] if number < len(frames) else draw_(st.sampled_from(frames))
        states[frame].append(f"s{number}")
    for frame in frames[1:]:
        graph.groups[frame] = Group(frame, frame)
    for number, frame in enumerate([*frames[1:], ""]):
        rows += [f"state {frame} {{"] if frame else []
        for state in states[frame]:
            graph.nodes[state] = Node(state, state, Shape.ROUND, group=frame)
            rows.append(f"  {state}")
        ends = states[frame] + (frames[1:] if not frame else [])
        for place in range(draw_(st.integers(0, 6))):
            source, target = draw_(st.sampled_from(["[*]", *ends])), draw_(st.sampled_from([*ends, "[*]"]))
            if source == target and (source == "[*]" or source in graph.groups):
                continue
            label = draw_(st.sampled_from(LABELS))
            label = f"t{number}{place} {label}" if label else ""
            rows.append(f"  {source} --> {target}{' : ' + label if label else ''}")
            edge = Edge(_end(graph, source, frame, Shape.START), _end(graph, target, frame, Shape.END), label)
            graph.edges.append(edge)
        rows += ["}"] if frame else []
    return graph, "\n".join(rows)


def _end(graph: Graph, name: str, frame: str, shape: Shape) -> str:
    if name != "[*]":
        return name
    id_ = f"{shape} of {frame}"
    graph.nodes[id_] = Node(id_, shape=shape, group=frame)
    return id_


@st.composite
def entities(draw_: st.DrawFn) -> tuple[Graph, str]:
    graph = Graph(draw_(st.sampled_from([Direction.DOWN, Direction.RIGHT])))
    rows = ["erDiagram", f"direction {graph.direction}"]
    for number in range(draw_(st.integers(1, 7))):
        name = f"E{number}{draw_(st.sampled_from(['', '-LONG-NAME', 'größe']))}"
        attributes = tuple(
            f"{draw_(st.sampled_from(['int', 'string']))} a{at} {draw_(st.sampled_from(['', 'PK', 'FK']))}".strip()
            for at in range(draw_(st.integers(0, 3)))
        )
        graph.nodes[name] = Node(name, name, parts=(attributes,) if attributes else ())
        rows += [f"{name} {{", *attributes, "}"] if attributes else [name]
    names = list(graph.nodes)
    for number in range(draw_(st.integers(0, 10))):
        source, target = draw_(st.sampled_from(names)), draw_(st.sampled_from(names))
        left, right = draw_(st.sampled_from(list(COUNTS))), draw_(st.sampled_from(list(COUNTS)))
        style = draw_(st.sampled_from([LineStyle.SOLID, LineStyle.DOTTED])) if source != target else LineStyle.SOLID
        label = f"r{number} {draw_(st.sampled_from(LABELS))}".strip()
        line = "--" if style is LineStyle.SOLID else ".."
        rows.append(f'{source} {left}{line}{MIRRORED[right]} {target} : "{label}"')
        graph.edges.append(
            Edge(source, target, label, style, Mark.NONE, Mark.NONE, tail_label=COUNTS[left], head_label=COUNTS[right])
        )
    return graph, "\n".join(rows)


@settings(max_examples=60)
@given(machines(), st.sampled_from([30, 60, 96]))
@pytest.mark.long
def test_a_reader_finds_the_states_in_their_drawing(made: tuple[Graph, str], columns: int) -> None:
    graph, source = made
    drawing = draw(source, columns, width_of)
    assert is_equally_wide(drawing)
    assert read_graph(drawing) == expected_graph(graph), f"{source}\n{drawing.text}"


@settings(max_examples=60)
@given(entities(), st.sampled_from([30, 60, 96]))
@pytest.mark.long
def test_a_reader_finds_the_entities_in_their_drawing(made: tuple[Graph, str], columns: int) -> None:
    graph, source = made
    drawing = draw(source, columns, width_of)
    assert is_equally_wide(drawing)
    assert read_graph(drawing) == expected_graph(graph), f"{source}\n{drawing.text}"
