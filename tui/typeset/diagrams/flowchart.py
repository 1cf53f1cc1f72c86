"""Reads ``flowchart`` and ``graph``."""

from __future__ import annotations

import re

from tui.typeset.diagrams.graph import (
    DIRECTIONS,
    DiagramError,
    Edge,
    Graph,
    Group,
    LineStyle,
    Mark,
    Node,
    Shape,
)
from tui.typeset.diagrams.source_text import (
    Statement,
    direction_of,
    front_title,
    label_text,
    not_understood,
    statements,
)

HEAD = re.compile(r"(?:flowchart(?:-elk)?|graph)(?:\s+(TD|TB|BT|LR|RL|[<>^v]))?\s*;?\s*", re.IGNORECASE)
SIGNS = {">": "LR", "<": "RL", "^": "BT", "V": "TB"}
ID = re.compile(r"[^\W_]\w*(?:[.\-/](?=[^\W_])(?![ox]-)\w+)*|_\w*|[\w*#+?!$%&@']+?(?=\W|$)")
CLASS = re.compile(r":::[\w,-]+")
EDGE_ID = re.compile(r"\w+@(?=[<xo]?[-=~])")
FULL_LINK = re.compile(r"([<xo]?)(--+[-xo>]|==+[=xo>]|-?\.+-+[xo>]?|~~~+)\s*")
BEGUN_LINK = re.compile(r"([<xo]?)(--|==|-\.)\s*")
REST_OF_LINK = {
    "--": re.compile(r"\s*(--+[-xo>])\s*"),
    "==": re.compile(r"\s*(==+[=xo>])\s*"),
    "-.": re.compile(r"\s*(\.+-+[xo>]?)\s*"),
}
LINK_LABEL = re.compile(r"\|([^|]*)\|\s*")
MARKS = {"": Mark.NONE, "-": Mark.NONE, "=": Mark.NONE, ".": Mark.NONE, "~": Mark.NONE}
MARKS |= {"<": Mark.ARROW, ">": Mark.ARROW, "o": Mark.CIRCLE, "x": Mark.CROSS}
IGNORED = re.compile(r"(?:classDef|class|style|linkStyle|click|accTitle|accDescr|title)\b", re.IGNORECASE)
SUBGRAPH = re.compile(r"subgraph\b\s*(.*)", re.IGNORECASE)
SUBGRAPH_TITLE = re.compile(r"([^\s\[\"]+)\s*\[(.*)\]$")
END = re.compile(r"end$", re.IGNORECASE)
QUOTED = re.compile(r'\s*"([^"]*)"\s*')
ATTRIBUTE = re.compile(r"(\w+)\s*:\s*(\"[^\"]*\"|[^,}]+)")

OPENINGS = (
    ("(((", (")))",), Shape.DOUBLE_CIRCLE),
    ("((", ("))",), Shape.CIRCLE),
    ("([", ("])",), Shape.STADIUM),
    ("(-", ("-)",), Shape.STADIUM),
    ("(", (")",), Shape.ROUND),
    ("[[", ("]]",), Shape.SUBROUTINE),
    ("[(", (")]",), Shape.CYLINDER),
    ("[/", ("/]", "\\]"), Shape.LEAN_RIGHT),
    ("[\\", ("\\]", "/]"), Shape.LEAN_LEFT),
    ("[", ("]",), Shape.RECTANGLE),
    ("{{", ("}}",), Shape.HEXAGON),
    ("{", ("}",), Shape.DIAMOND),
    (">", ("]",), Shape.FLAG),
)
MIXED = {("[/", "\\]"): Shape.TRAPEZOID, ("[\\", "/]"): Shape.TRAPEZOID_UPSIDE_DOWN}
NAMED_SHAPES = {
    "rounded": Shape.ROUND,
    "event": Shape.ROUND,
    "stadium": Shape.STADIUM,
    "pill": Shape.STADIUM,
    "terminal": Shape.STADIUM,
    "subproc": Shape.SUBROUTINE,
    "subprocess": Shape.SUBROUTINE,
    "subroutine": Shape.SUBROUTINE,
    "fr-rect": Shape.SUBROUTINE,
    "cyl": Shape.CYLINDER,
    "cylinder": Shape.CYLINDER,
    "database": Shape.CYLINDER,
    "db": Shape.CYLINDER,
    "circle": Shape.CIRCLE,
    "circ": Shape.CIRCLE,
    "dbl-circ": Shape.DOUBLE_CIRCLE,
    "diam": Shape.DIAMOND,
    "diamond": Shape.DIAMOND,
    "decision": Shape.DIAMOND,
    "question": Shape.DIAMOND,
    "hex": Shape.HEXAGON,
    "hexagon": Shape.HEXAGON,
    "prepare": Shape.HEXAGON,
    "lean-r": Shape.LEAN_RIGHT,
    "in-out": Shape.LEAN_RIGHT,
    "lean-l": Shape.LEAN_LEFT,
    "out-in": Shape.LEAN_LEFT,
    "trap-b": Shape.TRAPEZOID,
    "trap-t": Shape.TRAPEZOID_UPSIDE_DOWN,
    "odd": Shape.FLAG,
    "notch-rect": Shape.NOTE,
    "card": Shape.NOTE,
    "doc": Shape.NOTE,
    "fork": Shape.BAR,
    "join": Shape.BAR,
    "text": Shape.TEXT,
}


def read_flowchart(source: str) -> Graph:
    reader = _Reader(front_title(source))
    begun = False
    for statement in statements(source):
        if not begun:
            begun = True
            reader.begin(statement)
        else:
            reader.read(statement, statement.text)
    return reader.finish()


class _Reader:
    def __init__(self, title: str) -> None:
        self._graph = Graph(title=title)
        self._open: list[str] = []
        self._members: set[str] = set()

    def begin(self, statement: Statement) -> None:
        head = HEAD.match(statement.text)
        if head is None:
            raise not_understood(statement)
        word = (head[1] or "TB").upper()
        self._graph.direction = DIRECTIONS[SIGNS.get(word, word)]
        if rest := statement.text[head.end() :]:
            if head[1] is None:
                raise not_understood(statement)
            self.read(statement, rest)

    def read(self, statement: Statement, text: str) -> None:
        """Read the statements of one line."""
        if IGNORED.match(text) and not FULL_LINK.search(text):
            return
        if found := SUBGRAPH.match(text):
            self._begin_group(found[1].rstrip("; "))
            return
        at = 0
        while at < len(text):
            if text[at] in "; \t":
                at += 1
                continue
            at = self._statement(statement, text, at)

    def finish(self) -> Graph:
        if self._open:
            raise DiagramError("A subgraph has no end.")
        graph = self._graph
        # A subgraph can be used as an end of an edge before it is written down.
        for group in graph.groups:
            graph.nodes.pop(group, None)
        for node in graph.nodes.values():
            if node.group and node.group not in graph.groups:
                node.group = ""
        return graph

    def _begin_group(self, words: str) -> None:
        found = SUBGRAPH_TITLE.match(words)
        id_ = found[1] if found is not None else words.strip('"') or f"subgraph {len(self._graph.groups) + 1}"
        title = label_text(found[2] if found is not None else words)
        while id_ in self._graph.groups:
            id_ += "'"
        parent = self._open[-1] if self._open else ""
        self._graph.groups[id_] = Group(id_, title.replace("\n", " "), parent)
        self._open.append(id_)

    def _statement(self, statement: Statement, text: str, at: int) -> int:
        """Read nodes and links up to the end of a statement; returns the place after it."""
        rest = text[at:].rstrip("; \t")
        if END.match(rest):
            if not self._open:
                raise not_understood(statement)
            self._open.pop()
            return len(text)
        if (direction := direction_of(rest)) is not None:
            if self._open:
                self._graph.groups[self._open[-1]].direction = direction
            else:
                self._graph.direction = direction
            return len(text)
        sources, at = self._nodes(statement, text, at)
        while at < len(text) and text[at] != ";":
            edge, at = self._link(statement, text, at)
            targets, at = self._nodes(statement, text, at)
            self._graph.edges += [
                Edge(source, target, edge.label, edge.style, edge.tail, edge.head, length=edge.length)
                for source in sources
                for target in targets
            ]
            sources = targets
        return at + 1

    def _nodes(self, statement: Statement, text: str, at: int) -> tuple[list[str], int]:
        """One node, or several with ``&`` between them."""
        found: list[str] = []
        while True:
            id_, at = self._node(statement, text, at)
            found.append(id_)
            at = _skip_blanks(text, at)
            if not text.startswith("&", at):
                return found, at
            at = _skip_blanks(text, at + 1)

    def _node(self, statement: Statement, text: str, at: int) -> tuple[str, int]:
        name = ID.match(text, at)
        if name is None:
            raise not_understood(statement)
        id_, at = name[0], name.end()
        graph = self._graph
        known = id_ in graph.nodes
        node = graph.nodes.setdefault(id_, Node(id_, id_))
        if self._open and id_ not in self._members:
            # The first subgraph that names a node contains it.
            if not known or not node.group:
                node.group = self._open[-1]
            self._members.add(id_)
        at = self._shape(statement, text, at, node)
        if found := CLASS.match(text, at):
            at = found.end()
        return id_, at

    def _shape(self, statement: Statement, text: str, at: int, node: Node) -> int:
        if text.startswith("@{", at):
            return _attributes(statement, text, at, node)
        for opening, closings, shape in OPENINGS:
            if not text.startswith(opening, at):
                continue
            begin = at + len(opening)
            quoted = QUOTED.match(text, begin)
            if quoted is None and text[begin:].lstrip().startswith('"'):
                raise not_understood(statement)
            after = quoted.end() if quoted is not None else begin
            ends = [(end, closing) for closing in closings if (end := text.find(closing, after)) >= 0]
            if not ends:
                continue
            end, closing = min(ends)
            node.shape = MIXED.get((opening, closing), shape)
            node.label = label_text(text[begin:end])
            return end + len(closing)
        if text[at : at + 1] in "([{" and at < len(text):
            raise not_understood(statement)
        return at

    def _link(self, statement: Statement, text: str, at: int) -> tuple[Edge, int]:
        if found := EDGE_ID.match(text, at):
            at = found.end()
        full = FULL_LINK.match(text, at)
        label = ""
        if full is not None:
            tail, line, at = full[1], full[2], full.end()
        else:
            begun = BEGUN_LINK.match(text, at)
            rest = REST_OF_LINK[begun[2]].search(text, begun.end()) if begun is not None else None
            if begun is None or rest is None:
                raise not_understood(statement)
            label = text[begun.end() : rest.start()]
            tail, line, at = begun[1], rest[1], rest.end()
        if found := LINK_LABEL.match(text, at):
            label, at = found[1], found.end()
        style = _style(line)
        length = line.count(".") if style is LineStyle.DOTTED else len(line.rstrip("xo>")) - 1
        if style is not LineStyle.DOTTED and line[-1] not in "xo>":
            length -= 1
        edge = Edge("", "", label_text(label), style, MARKS[tail], MARKS[line[-1]], length=max(1, length))
        return edge, at


def _style(line: str) -> LineStyle:
    if "." in line:
        return LineStyle.DOTTED
    if line.startswith("~"):
        return LineStyle.HIDDEN
    return LineStyle.THICK if line.startswith("=") else LineStyle.SOLID


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def _attributes(statement: Statement, text: str, at: int, node: Node) -> int:
    """A shape written as ``@{ shape: name, label: "text" }``."""
    end = text.find("}", at)
    if end < 0:
        raise not_understood(statement)
    for name, value in ATTRIBUTE.findall(text[at + 2 : end]):
        if name == "label":
            node.label = label_text(value)
        elif name == "shape":
            node.shape = NAMED_SHAPES.get(value.strip().strip('"'), Shape.RECTANGLE)
    return end + 1
