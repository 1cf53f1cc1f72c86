"""Random graphs: what is read from the drawing is what was written in the source."""

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

BRACKETS = {
    Shape.RECTANGLE: ("[", "]"),
    Shape.ROUND: ("(", ")"),
    Shape.STADIUM: ("([", "])"),
    Shape.SUBROUTINE: ("[[", "]]"),
    Shape.CYLINDER: ("[(", ")]"),
    Shape.CIRCLE: ("((", "))"),
    Shape.DOUBLE_CIRCLE: ("(((", ")))"),
    Shape.DIAMOND: ("{", "}"),
    Shape.HEXAGON: ("{{", "}}"),
    Shape.LEAN_RIGHT: ("[/", "/]"),
    Shape.LEAN_LEFT: ("[\\", "\\]"),
    Shape.TRAPEZOID: ("[/", "\\]"),
    Shape.TRAPEZOID_UPSIDE_DOWN: ("[\\", "/]"),
}
WORDS = [
    "a",
    "read",
    "check it",
    "データ",
    "数",
    "🎉 done",
    "ein längerer Name",
    "x y z",
    "a label that is long enough to wrap",
]
LINKS = {LineStyle.SOLID: ("--", "-"), LineStyle.THICK: ("==", "="), LineStyle.DOTTED: ("-.", "-")}
HEADS = {Mark.NONE: "", Mark.ARROW: ">", Mark.CIRCLE: "o", Mark.CROSS: "x"}


@st.composite
def graphs(draw_: st.DrawFn, most: int = 9) -> Graph:
    count = draw_(st.integers(1, most))
    frames = draw_(st.integers(0, 3))
    graph = Graph(draw_(st.sampled_from(list(Direction))))
    for number in range(frames):
        parent = draw_(st.sampled_from(["", *graph.groups]))
        graph.groups[f"g{number}"] = Group(f"g{number}", f"G{number} {draw_(st.sampled_from(WORDS))}", parent)
    for number in range(count):
        shape = draw_(st.sampled_from(list(BRACKETS)))
        label = f"{number} {draw_(st.sampled_from(WORDS))}"
        group = draw_(st.sampled_from(["", *graph.groups]))
        graph.nodes[f"n{number}"] = Node(f"n{number}", label, shape, group=group)
    full = {group for node in graph.nodes for group in graph.ancestors(node)}
    graph.groups = {id_: group for id_, group in graph.groups.items() if id_ in full}
    ends = [*graph.nodes, *graph.groups]
    for number in range(draw_(st.integers(0, 2 * most))):
        source, target = draw_(st.sampled_from(ends)), draw_(st.sampled_from(ends))
        if source in graph.ancestors(target) or target in graph.ancestors(source):
            continue
        if source == target and source in graph.groups:
            continue
        label = draw_(st.sampled_from(["", "", "", f"e{number}", f"e{number} and more", f"e{number} ラベル"]))
        style = draw_(st.sampled_from(list(LINKS)))
        head = draw_(st.sampled_from([Mark.ARROW, Mark.ARROW, *HEADS]))
        tail = draw_(st.sampled_from([Mark.NONE, Mark.NONE, Mark.ARROW])) if head is Mark.ARROW else Mark.NONE
        if source == target:
            head, tail, style = Mark.ARROW, Mark.NONE, LineStyle.SOLID
        graph.edges.append(Edge(source, target, label, style, tail, head, length=draw_(st.integers(1, 2))))
    return graph


def written(graph: Graph) -> str:
    rows = [f"flowchart {graph.direction}"]

    def write(group: str, indent: str) -> None:
        for node in graph.nodes.values():
            if node.group == group:
                opening, closing = BRACKETS[node.shape]
                rows.append(f'{indent}{node.id}{opening}"{node.label}"{closing}')
        for inner in graph.groups.values():
            if inner.parent == group:
                rows.append(f"{indent}subgraph {inner.id} [{inner.title}]")
                write(inner.id, indent + "  ")
                rows.append(f"{indent}end")

    write("", "  ")
    for edge in graph.edges:
        begin, end = LINKS[edge.style]
        tail = "<" if edge.tail is Mark.ARROW else ""
        if edge.style is LineStyle.DOTTED:
            link = f"{tail}-{'.' * edge.length}-{HEADS[edge.head]}"
        else:
            link = f"{tail}{begin}{end * (edge.length - 1)}{HEADS[edge.head] or end}"
        label = f"|{edge.label}|" if edge.label else ""
        rows.append(f"  {edge.source} {link}{label} {edge.target}")
    return "\n".join(rows)


@settings(max_examples=60)
@given(graphs(), st.sampled_from([30, 60, 96]))
@pytest.mark.long
def test_a_reader_finds_the_graph_in_its_drawing(graph: Graph, columns: int) -> None:
    drawing = draw(written(graph), columns, width_of)
    assert is_equally_wide(drawing)
    assert read_graph(drawing) == expected_graph(graph), drawing.text
