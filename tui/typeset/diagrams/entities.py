"""Reads ``erDiagram``."""

from __future__ import annotations

import re

from tui.typeset.diagrams.graph import DiagramError, Edge, Graph, LineStyle, Mark, Node
from tui.typeset.diagrams.source_text import (
    Statement,
    direction_of,
    front_title,
    label_text,
    not_understood,
    read_statements,
)

SIGNS = {
    "|o": "0..1",
    "o|": "0..1",
    "||": "1",
    "}o": "0..n",
    "o{": "0..n",
    "}|": "1..n",
    "|{": "1..n",
}
WORDS = {
    "zero or one": "0..1",
    "one or zero": "0..1",
    "zero or more": "0..n",
    "zero or many": "0..n",
    "one or more": "1..n",
    "one or many": "1..n",
    "many(1)": "1..n",
    "many(0)": "0..n",
    "only one": "1",
    "1+": "1..n",
    "0+": "0..n",
    "one": "1",
    "1": "1",
}
COUNTS = SIGNS | WORDS
"""How many entities are at an end of a relation."""
NAME = r"(\"[^\"]+\"|[^\s\"{}\[\]:|<>]+)"
ALIAS = r"(?:\[\s*(\"[^\"]*\"|[^\]]*?)\s*\])?"
CLASS = r"(?::::[\w,-]+)?"
COUNT = f"({'|'.join(map(re.escape, COUNTS))})"
LINE = r"(--|\.\.|\.-|-\.|to|optionally to)"
RELATION = re.compile(rf"{NAME}{CLASS}\s*{COUNT}\s*{LINE}\s*{COUNT}\s*{NAME}{CLASS}\s*(?::\s*(.*))?$")
OPENING = re.compile(rf"{NAME}\s*{ALIAS}\s*{CLASS}\s*\{{\s*(.*?)\s*(\}})?$")
BARE = re.compile(rf"{NAME}\s*{ALIAS}\s*{CLASS}$")
ATTRIBUTE = re.compile(
    r"(?P<type>[\w.\[\]()<>,~*-]+\??)\s+(?P<name>[\w*.\[\]()-]+)\s*(?P<keys>(?:PK|FK|UK)(?:\s*,\s*(?:PK|FK|UK))*)?"
    r"\s*(?:\"(?P<comment>[^\"]*)\")?\s*$"
)
IGNORED = re.compile(r"(?:classDef|class|style|accTitle|accDescr|title)\s", re.IGNORECASE)


def read_entities(source: str) -> Graph:
    reader = _Reader(front_title(source))
    read_statements(source, reader.read)
    return reader.finish()


class _Reader:
    def __init__(self, title: str) -> None:
        self._graph = Graph(title=title)
        self._open: Node | None = None
        self._attributes: dict[str, list[tuple[str, str, str, str]]] = {}

    def read(self, statement: Statement) -> None:
        text = statement.text
        if self._open is not None:
            self._in_entity(statement, text)
        elif found := RELATION.match(text):
            source, target = self._entity(found[1]), self._entity(found[5])
            style = LineStyle.SOLID if found[3] in ("--", "to") else LineStyle.DOTTED
            label = label_text(found[6] or "")
            ends = COUNTS[found[2]], COUNTS[found[4]]
            self._graph.edges.append(
                Edge(source.id, target.id, label, style, head=Mark.NONE, tail_label=ends[0], head_label=ends[1])
            )
        elif (direction := direction_of(text)) is not None:
            self._graph.direction = direction
        elif IGNORED.match(text):
            return
        elif found := OPENING.match(text):
            self._open = self._entity(found[1], found[2])
            if found[3]:
                self._in_entity(statement, found[3])
            if found[4]:
                self._open = None
        elif found := BARE.match(text):
            self._entity(found[1], found[2])
        else:
            raise not_understood(statement)

    def finish(self) -> Graph:
        if self._open is not None:
            raise DiagramError(f"The entity {self._open.label} has no end.")
        for id_, attributes in self._attributes.items():
            types = max(len(type_) for type_, *_ in attributes)
            names = max(len(name) for _, name, _, _ in attributes)
            keys = max(len(key) for _, _, key, _ in attributes)
            self._graph.nodes[id_].parts = (
                tuple(
                    f"{type_:{types}}  {name:{names}}  {key:{keys}}  {comment}".rstrip()
                    for type_, name, key, comment in attributes
                ),
            )
        return self._graph

    def _in_entity(self, statement: Statement, text: str) -> None:
        assert self._open is not None
        ends = text.endswith("}")
        text = text.removesuffix("}").strip()
        if text:
            found = ATTRIBUTE.match(text)
            if found is None:
                raise not_understood(statement)
            keys = ",".join(key.strip() for key in (found["keys"] or "").split(","))
            comment = label_text(found["comment"] or "").replace("\n", " ")
            self._attributes.setdefault(self._open.id, []).append((found["type"], found["name"], keys, comment))
        if ends:
            self._open = None

    def _entity(self, name: str, alias: str | None = None) -> Node:
        id_ = label_text(name)
        node = self._graph.nodes.setdefault(id_, Node(id_, id_))
        if alias:
            node.label = label_text(alias)
        return node
