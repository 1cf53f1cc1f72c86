"""The layout of a graph: layers of boxes, groups as boxes with a layout of their own inside."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui.domain.format_numbers import count
from tui.typeset.diagrams.boxes import LABEL_WIDTHS, make_box
from tui.typeset.diagrams.canvas import Canvas
from tui.typeset.diagrams.graph import DiagramError, Direction, Edge, Graph, LineStyle, Node, Shape
from tui.typeset.diagrams.layers import backward_links
from tui.typeset.diagrams.level import Child, Level, LevelEdge, Outlet
from tui.typeset.diagrams.picture import Picture
from tui.typeset.drawing import Drawing, Measure

MOST_NODES, MOST_EDGES = 200, 400
"""The largest diagram that is drawn: larger ones cannot be read on a screen."""


def draw_graph(graph: Graph, columns: int, measure: Measure) -> Drawing:
    """The drawing, with labels narrow enough to fit into the columns if that is possible."""
    if len(graph.nodes) > MOST_NODES or len(graph.edges) > MOST_EDGES:
        raise DiagramError(
            f"Too large to draw: {count(len(graph.nodes), 'box', 'boxes')}, {count(len(graph.edges), 'edge')}."
        )
    if not graph.nodes:
        raise DiagramError("The diagram is empty.")
    longest = max(measure(row) for node in graph.nodes.values() for row in node.label.split("\n"))
    found: Picture | None = None
    for widest in LABEL_WIDTHS:
        picture = _Layout(graph, columns, widest, measure).picture()
        if found is None or picture.width < found.width:
            found = picture
        if picture.width <= columns or longest <= LABEL_WIDTHS[-1]:
            break
    assert found is not None
    canvas = Canvas(measure)
    top = 0
    if graph.title:
        canvas.text(max(0, (found.width - measure(graph.title)) // 2), 0, graph.title, "title")
        top = 2
    shifted = Picture()
    shifted.include(found, 0, top)
    shifted.draw(canvas)
    return canvas.drawing()


@dataclass(slots=True)
class _Plan:
    """The edges of one level and those that leave it."""

    edges: list[LevelEdge] = field(default_factory=list)
    outlets: list[Outlet] = field(default_factory=list)


class _Layout:
    """Distributes the edges over the levels, then lays out the levels from the inside."""

    def __init__(self, graph: Graph, columns: int, widest: int, measure: Measure) -> None:
        self._graph = graph
        self._columns = columns
        self._widest = widest
        self._measure = measure
        self._children: dict[str, list[str]] = {"": []}
        self._plans: dict[str, _Plan] = {}
        self._loops: dict[str, list[Edge]] = {}
        self._list_children()
        self._distribute()

    def picture(self) -> Picture:
        return self._level("", self._graph.direction)

    def _list_children(self) -> None:
        graph = self._graph
        first: dict[str, int] = {}
        for number, node in enumerate(graph.nodes.values()):
            first[node.id] = number
            for around in graph.ancestors(node.id):
                first.setdefault(around, number)
        for id_ in graph.groups:
            self._children[id_] = []
        for node in graph.nodes.values():
            self._children[node.group].append(node.id)
        for group in graph.groups.values():
            self._children[group.parent].append(group.id)
        for children in self._children.values():
            children.sort(key=lambda id_: first.get(id_, len(first)))
        self._plans = {id_: _Plan() for id_ in self._children}

    def _distribute(self) -> None:
        graph = self._graph
        levels: dict[str, list[tuple[int, str, str]]] = {id_: [] for id_ in self._children}
        for number, edge in enumerate(graph.edges):
            if edge.source == edge.target:
                self._loops.setdefault(edge.source, []).append(edge)
                continue
            above_source = [edge.source, *graph.ancestors(edge.source)]
            above_target = [edge.target, *graph.ancestors(edge.target)]
            common = next(id_ for id_ in above_source if id_ in above_target)
            if common in (edge.source, edge.target):
                raise DiagramError("An edge joins a frame with something inside it.")
            source = above_source[above_source.index(common) - 1]
            target = above_target[above_target.index(common) - 1]
            levels[common].append((number, source, target))
        for level, edges in levels.items():
            index = {id_: number for number, id_ in enumerate(self._children[level])}
            back = backward_links(len(index), [(index[source], index[target]) for _, source, target in edges])
            for place, (number, source, target) in enumerate(edges):
                is_back = place in back
                upper, lower = (target, source) if is_back else (source, target)
                edge = graph.edges[number]
                self._plans[level].edges.append(LevelEdge(number, edge, index[upper], index[lower], is_back))
                if edge.style is not LineStyle.HIDDEN:
                    ends = (edge.target, edge.source) if is_back else (edge.source, edge.target)
                    self._let_out(number, ends[0], upper, is_back=is_back, is_upper=True)
                    self._let_out(number, ends[1], lower, is_back=is_back, is_upper=False)

    def _let_out(self, number: int, end: str, outermost: str, *, is_back: bool, is_upper: bool) -> None:
        """Note in every group around an end, up to the outermost, that an edge leaves it."""
        edge = self._graph.edges[number]
        mark = (edge.head if is_back else edge.tail) if is_upper else (edge.tail if is_back else edge.head)
        inside = end
        for group in self._graph.ancestors(end):
            if inside == outermost:
                break
            item = self._children[group].index(inside)
            self._plans[group].outlets.append(Outlet(number, edge.style, mark, item, at_end=is_upper))
            inside = group

    def _level(self, group: str, direction: Direction) -> Picture:
        plan = self._plans[group]
        children: list[Child] = []
        for id_ in self._children[group]:
            if id_ in self._graph.groups and self._children[id_]:
                children.append(Child(picture=self._inner(id_, direction)))
            else:
                children.append(self._box(id_, direction))
        level = Level(children, plan.edges, plan.outlets, direction, self._measure)
        level.columns = self._columns
        title = self._graph.groups[group].title if group else None
        return level.picture(title)

    def _inner(self, id_: str, direction: Direction) -> Picture:
        """A group has a direction of its own only if no edge leads into it."""
        own = self._graph.groups[id_].direction
        return self._level(id_, own if own is not None and not self._plans[id_].outlets else direction)

    def _box(self, id_: str, direction: Direction) -> Child:
        node = self._graph.nodes.get(id_) or Node(id_, self._graph.groups[id_].title or id_, Shape.TEXT)
        loops = self._loops.get(id_, [])

        def make(pins: int) -> Child:
            box = make_box(
                node, self._widest, self._measure, vertical=direction.is_vertical, pins=pins, loops=len(loops)
            )
            return Child(box=box, loops=loops)

        return Child(make=make)
