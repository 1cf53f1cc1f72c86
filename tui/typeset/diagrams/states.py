"""Reads ``stateDiagram`` and ``stateDiagram-v2``."""

from __future__ import annotations

import re

from tui.typeset.diagrams.graph import (
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
    read_statements,
)

IGNORED = re.compile(r"(?:classDef|class|style|click|hide|scale|accTitle|accDescr|title)\b|---+$", re.IGNORECASE)
NAME = r"(?:\[\*\]|\[H\*?\]|[^\s:\"{}]+?)"
TRANSITION = re.compile(rf"({NAME})(?::::?[\w-]+)?\s*-->\s*({NAME})(?::::[\w-]+)?\s*(?::\s*(.*))?$")
ALIAS = re.compile(r'state\s+"([^"]*)"\s+as\s+(\S+?)\s*(\{)?$')
STATE = re.compile(r"state\s+(\S+?)\s*(?:<<(\w+)>>|\[\[(\w+)\]\])?\s*(\{)?$")
DESCRIPTION = re.compile(r"([^\s:]+)\s*:\s*(.+)$")
NOTE_LINE = re.compile(r"note\s+(?:left|right)\s+of\s+(\S+?)\s*:\s*(.*)$", re.IGNORECASE)
NOTE = re.compile(r"note\s+(?:left|right)\s+of\s+(\S+)$", re.IGNORECASE)
FLOATING_NOTE = re.compile(r'note\s+"([^"]*)"\s+as\s+(\S+)$', re.IGNORECASE)
END_NOTE = re.compile(r"end\s*note$", re.IGNORECASE)
BARE = re.compile(r"([^\s:\[\]{}\"]+)(?::::[\w-]+)?$")
KINDS = {"fork": Shape.BAR, "join": Shape.BAR, "choice": Shape.CHOICE, "start": Shape.START, "end": Shape.END}


def read_states(source: str) -> Graph:
    reader = _Reader(front_title(source))
    read_statements(source, reader.read)
    return reader.finish()


class _Reader:
    def __init__(self, title: str) -> None:
        self._graph = Graph(title=title)
        self._open: list[str] = []
        self._regions: dict[str, int] = {}
        self._note: tuple[str, list[str]] | None = None

    def read(self, statement: Statement) -> None:
        text = statement.text.rstrip(";")
        if self._note is not None:
            self._read_note(text)
        elif IGNORED.match(text) and "-->" not in text and text != "--":
            return
        elif found := TRANSITION.match(text):
            source, target = self._state(found[1], is_source=True), self._state(found[2], is_source=False)
            self._graph.edges.append(Edge(source, target, label_text(found[3] or "")))
        elif not (self._structure(text) or self._describe(text)):
            raise not_understood(statement)

    def finish(self) -> Graph:
        if self._open or self._note is not None:
            raise DiagramError("A state or note has no end.")
        graph = self._graph
        for group in graph.groups:
            graph.nodes.pop(group, None)
        return graph

    def _read_note(self, text: str) -> None:
        assert self._note is not None
        state, lines = self._note
        if END_NOTE.match(text):
            self._add_note(state, "\n".join(lines))
            self._note = None
        else:
            lines.append(text)

    def _structure(self, text: str) -> bool:
        """Braces, regions, directions and notes."""
        if text == "}":
            if not self._open:
                return False
            while self._open.pop().startswith("region "):
                pass
        elif text == "--":
            return self._next_region()
        elif (direction := direction_of(text)) is not None:
            if self._open:
                self._graph.groups[self._open[-1]].direction = direction
            else:
                self._graph.direction = direction
        elif found := NOTE_LINE.match(text):
            self._add_note(found[1], found[2])
        elif found := NOTE.match(text):
            self._note = (found[1], [])
        elif not FLOATING_NOTE.match(text):
            return False
        return True

    def _describe(self, text: str) -> bool:
        """States that are declared, with a kind, a description or a body."""
        if found := ALIAS.match(text):
            if found[3]:
                self._begin(found[2], label_text(found[1]))
            else:
                self._node(found[2]).label = label_text(found[1])
        elif found := STATE.match(text):
            self._declare(found)
        elif found := DESCRIPTION.match(text):
            self._add_description(found[1], label_text(found[2]))
        elif BARE.match(text):
            self._node(text.split(":::")[0])
        else:
            return False
        return True

    def _declare(self, found: re.Match[str]) -> None:
        kind = KINDS.get((found[2] or found[3] or "").lower())
        if found[4]:
            self._begin(found[1], found[1])
            return
        node = self._node(found[1])
        if kind is not None:
            node.shape, node.label = kind, ""

    def _add_description(self, id_: str, text: str) -> None:
        if id_ in self._graph.groups:
            self._graph.groups[id_].title = text
            return
        node = self._node(id_)
        node.label = text if node.label == node.id else f"{node.label}\n{text}"

    def _begin(self, id_: str, title: str) -> None:
        parent = self._open[-1] if self._open else ""
        if id_ in self._graph.groups:
            raise DiagramError(f"The state {id_} has two bodies.")
        before = self._graph.nodes.get(id_)
        if before is not None:
            title = before.label if before.label != id_ else title
            parent = before.group
        self._graph.groups[id_] = Group(id_, title.replace("\n", " "), parent)
        self._open.append(id_)

    def _next_region(self) -> bool:
        """Put what was read so far into a frame of its own, and what follows into the next one."""
        if not self._open:
            return False
        if self._open[-1].startswith("region "):
            self._open.pop()
            outer = self._open[-1]
        else:
            outer = self._open[-1]
            first = self._new_region(outer)
            for node in self._graph.nodes.values():
                node.group = first if node.group == outer else node.group
            for group in self._graph.groups.values():
                if group.parent == outer and not group.id.startswith("region "):
                    group.parent = first
        self._open.append(self._new_region(outer))
        return True

    def _new_region(self, outer: str) -> str:
        number = self._regions[outer] = self._regions.get(outer, 0) + 1
        id_ = f"region {outer} {number}"
        self._graph.groups[id_] = Group(id_, "", outer)
        return id_

    def _state(self, name: str, *, is_source: bool) -> str:
        """The id of one end of a transition; every frame has a start and an end of its own."""
        inside = self._open[-1] if self._open else ""
        if name == "[*]":
            id_ = f"{'start' if is_source else 'end'} of {inside}"
            node = self._graph.nodes.setdefault(id_, Node(id_, group=inside))
            node.shape = Shape.START if is_source else Shape.END
            return id_
        if name.startswith("[H"):
            id_ = f"history of {inside}"
            self._graph.nodes.setdefault(id_, Node(id_, name[1:-1], Shape.CIRCLE, group=inside))
            return id_
        if name not in self._graph.groups:
            self._node(name)
        return name

    def _node(self, id_: str) -> Node:
        inside = self._open[-1] if self._open else ""
        return self._graph.nodes.setdefault(id_, Node(id_, id_, Shape.ROUND, group=inside))

    def _add_note(self, state: str, text: str) -> None:
        if state not in self._graph.groups:
            self._node(state)
        id_ = f"note {len(self._graph.nodes)}"
        group = (self._graph.ancestors(state) or [""])[0]
        self._graph.nodes[id_] = Node(id_, label_text(text), Shape.NOTE, group=group)
        self._graph.edges.append(Edge(state, id_, style=LineStyle.DOTTED, head=Mark.NONE))
