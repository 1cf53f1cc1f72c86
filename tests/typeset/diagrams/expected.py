"""What a reader must find in the drawing of a graph."""

from __future__ import annotations

from tests.typeset.diagrams.cells import words
from tests.typeset.diagrams.graph_reader import ReadEdge, ReadGraph
from tui.typeset.diagrams.graph import Graph, LineStyle, Node, Shape

SMALL = {Shape.START: "●", Shape.END: "◉", Shape.CHOICE: "◇", Shape.BAR: "━"}


def text_of(node: Node) -> str:
    if node.shape in SMALL:
        return SMALL[node.shape]
    return words(node.label + "".join(row for part in node.parts for row in part))


def expected_graph(graph: Graph) -> ReadGraph:
    texts = {id_: text_of(node) for id_, node in graph.nodes.items()}
    full = {group for node in graph.nodes.values() for group in graph.ancestors(node.id)}
    for group in graph.groups.values():
        texts[group.id] = words(group.title)
    edges = []
    for edge in graph.edges:
        if edge.style is LineStyle.HIDDEN:
            continue
        first, second = (texts[edge.source], edge.tail.value), (texts[edge.target], edge.head.value)
        labels = [edge.tail_label, edge.label, edge.head_label]
        if (first[1] and not second[1]) or (bool(first[1]) == bool(second[1]) and second < first):
            first, second, labels = second, first, labels[::-1]
        style = "" if edge.style is LineStyle.SOLID else edge.style.value
        edges.append(ReadEdge(first[0], second[0], words("".join(labels)), first[1], second[1], style))
    groups = {
        words(group.title): sorted(texts[node.id] for node in graph.nodes.values() if node.group == group.id)
        for group in graph.groups.values()
        if group.id in full
    }
    nodes = [texts[id_] for id_ in graph.nodes]
    return ReadGraph(sorted(nodes), sorted(edges), groups)
