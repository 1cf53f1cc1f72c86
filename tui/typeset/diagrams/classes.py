"""Reads ``classDiagram``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tui.typeset.diagrams.graph import DiagramError, Edge, Graph, Group, LineStyle, Mark, Node, Shape
from tui.typeset.diagrams.source_text import (
    Statement,
    direction_of,
    front_title,
    label_text,
    not_understood,
    read_statements,
)

NAME = r"(`[^`]+`|[\w.\-]*\w(?:~[^~]*(?:~[^~]*~)*~?)?)"
COUNT = r"(?:\"([^\"]*)\")?"
LINE = r"(<\||<|\*|o|\(\))?(--|\.\.)(\|>|>|\*|o(?=[\s\"])|\(\))?"
RELATION = re.compile(rf"{NAME}\s*{COUNT}\s*{LINE}\s*{COUNT}\s*{NAME}\s*(?::(?!::)\s*(.*))?$")
CLASS = re.compile(rf"class\s+{NAME}\s*(?:\[\"?([^\]\"]*)\"?\])?\s*(?::::\w+)?\s*(?:<<(\w+)>>)?\s*(\{{)?\s*(\}})?$")
MEMBER = re.compile(rf"{NAME}\s*:(?!::)\s*(.+)$")
ANNOTATION = re.compile(rf"<<\s*([\w ]+?)\s*>>\s*{NAME}?$")
NAMESPACE = re.compile(r"namespace\s+([\w.\-]+)\s*\{$")
NOTE = re.compile(rf"note\s+(?:for\s+{NAME}\s+)?\"([^\"]*)\"$")
IGNORED = re.compile(r"(?:classDef|cssClass|style|click|link|callback|accTitle|accDescr|title)\b")
MARKS = {
    None: Mark.NONE,
    "<|": Mark.TRIANGLE,
    "|>": Mark.TRIANGLE,
    "*": Mark.FULL_DIAMOND,
    "o": Mark.DIAMOND,
    "<": Mark.ARROW,
    ">": Mark.ARROW,
    "()": Mark.CIRCLE,
}
GENERIC = re.compile(r"~([^~]*)~")


@dataclass(slots=True)
class _Members:
    annotations: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)


def read_classes(source: str) -> Graph:
    reader = _Reader(front_title(source))
    read_statements(source, reader.read)
    return reader.finish()


class _Reader:
    def __init__(self, title: str) -> None:
        self._graph = Graph(title=title)
        self._members: dict[str, _Members] = {}
        self._class = ""
        self._group = ""

    def read(self, statement: Statement) -> None:
        text = statement.text.rstrip(";")
        if self._class:
            self._in_class(text)
        elif found := RELATION.match(text):
            self._relate(found)
        elif not (self._structure(text) or self._describe(text) or IGNORED.match(text)):
            raise not_understood(statement)

    def finish(self) -> Graph:
        if self._class or self._group:
            raise DiagramError("A class or namespace has no end.")
        for id_, members in self._members.items():
            node = self._graph.nodes[id_]
            node.label = "\n".join([*(f"«{word}»" for word in members.annotations), node.label])
            parts = (tuple(members.fields), tuple(members.methods))
            node.parts = tuple(part for part in parts if part)
        return self._graph

    def _relate(self, found: re.Match[str]) -> None:
        source, target = self._id(found[1]), self._id(found[7])
        style = LineStyle.SOLID if found[4] == "--" else LineStyle.DOTTED
        edge = Edge(source, target, label_text(found[8] or ""), style, MARKS[found[3]], MARKS[found[5]])
        edge.tail_label, edge.head_label = label_text(found[2] or ""), label_text(found[6] or "")
        self._graph.edges.append(edge)

    def _structure(self, text: str) -> bool:
        if text == "}" and self._group:
            self._group = ""
        elif found := NAMESPACE.match(text):
            self._group = found[1]
            self._graph.groups.setdefault(found[1], Group(found[1], found[1]))
        elif (direction := direction_of(text)) is not None:
            self._graph.direction = direction
        elif found := NOTE.match(text):
            self._add_note(found[1], label_text(found[2]))
        else:
            return False
        return True

    def _describe(self, text: str) -> bool:
        if found := CLASS.match(text):
            id_ = self._id(found[1])
            if found[2]:
                self._graph.nodes[id_].label = label_text(found[2])
            if found[3]:
                self._members[id_].annotations.append(found[3])
            self._class = id_ if found[4] and not found[5] else ""
        elif (found := ANNOTATION.match(text)) and found[2]:
            self._members[self._id(found[2])].annotations.append(found[1])
        elif (found := MEMBER.match(text)) and not text.startswith("class "):
            self._add_member(self._id(found[1]), found[2])
        else:
            return False
        return True

    def _in_class(self, text: str) -> None:
        ends = text.endswith("}") and text.count("}") > text.count("{")
        text = text.removesuffix("}").strip() if ends else text
        if found := ANNOTATION.match(text):
            self._members[self._class].annotations.append(found[1])
        elif text:
            self._add_member(self._class, text)
        if ends:
            self._class = ""

    def _add_member(self, id_: str, text: str) -> None:
        shown = " ".join(_generic(text).rstrip("$*").split())
        members = self._members[id_]
        (members.methods if "(" in shown else members.fields).append(shown)

    def _id(self, name: str) -> str:
        plain = name.strip("`").split("~")[0]
        if plain not in self._graph.nodes:
            self._graph.nodes[plain] = Node(plain, plain, group=self._group)
            self._members[plain] = _Members()
        if "~" in name:
            self._graph.nodes[plain].label = _generic(name)
        return plain

    def _add_note(self, about: str | None, text: str) -> None:
        id_ = f"note {len(self._graph.nodes)}"
        self._graph.nodes[id_] = Node(id_, text, Shape.NOTE)
        if about:
            self._graph.edges.append(Edge(self._id(about), id_, style=LineStyle.DOTTED, head=Mark.NONE))


def _generic(text: str) -> str:
    """``List~int~`` as ``List<int>``."""
    while (replaced := GENERIC.sub(r"<\1>", text)) != text:
        text = replaced
    return text
