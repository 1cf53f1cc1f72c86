"""Boxes and edges: what flowcharts, states, classes and entities have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class DiagramError(ValueError):
    """A source that cannot be drawn; the message says why."""


class Direction(StrEnum):
    """Where edges lead."""

    DOWN = "TD"
    UP = "BT"
    RIGHT = "LR"
    LEFT = "RL"

    @property
    def is_vertical(self) -> bool:
        return self in (Direction.DOWN, Direction.UP)

    @property
    def is_backward(self) -> bool:
        """Whether edges lead against the order of rows or columns."""
        return self in (Direction.UP, Direction.LEFT)


DIRECTIONS = {
    "TD": Direction.DOWN,
    "TB": Direction.DOWN,
    "BT": Direction.UP,
    "LR": Direction.RIGHT,
    "RL": Direction.LEFT,
}


class Shape(StrEnum):
    """The outline of a box."""

    RECTANGLE = "rectangle"
    ROUND = "round"
    STADIUM = "stadium"
    SUBROUTINE = "subroutine"
    CYLINDER = "cylinder"
    CIRCLE = "circle"
    DOUBLE_CIRCLE = "double circle"
    DIAMOND = "diamond"
    HEXAGON = "hexagon"
    FLAG = "flag"
    LEAN_RIGHT = "lean right"
    LEAN_LEFT = "lean left"
    TRAPEZOID = "trapezoid"
    TRAPEZOID_UPSIDE_DOWN = "trapezoid upside down"
    NOTE = "note"
    START = "start"
    END = "end"
    CHOICE = "choice"
    BAR = "bar"
    """The bar at which paths part or join."""
    TEXT = "text"


class LineStyle(StrEnum):
    """How an edge is drawn."""

    SOLID = "solid"
    DOTTED = "dotted"
    THICK = "thick"
    HIDDEN = "hidden"
    """Not drawn, but it places its ends."""


class Mark(StrEnum):
    """What is drawn at the end of an edge."""

    NONE = ""
    ARROW = "arrow"
    CIRCLE = "circle"
    CROSS = "cross"
    TRIANGLE = "triangle"
    FULL_DIAMOND = "full diamond"
    DIAMOND = "diamond"


@dataclass(slots=True)
class Node:
    id: str
    label: str = ""
    shape: Shape = Shape.RECTANGLE
    parts: tuple[tuple[str, ...], ...] = ()
    """Rows below the label, such as the members of a class; a rule precedes each part."""
    group: str = ""
    """The id of the group that contains it."""


@dataclass(slots=True)
class Edge:
    source: str
    target: str
    label: str = ""
    style: LineStyle = LineStyle.SOLID
    tail: Mark = Mark.NONE
    """At the source."""
    head: Mark = Mark.ARROW
    """At the target."""
    tail_label: str = ""
    head_label: str = ""
    length: int = 1
    """The least number of layers from source to target."""


@dataclass(slots=True)
class Group:
    """A frame around nodes and other groups."""

    id: str
    title: str = ""
    parent: str = ""
    direction: Direction | None = None


@dataclass(slots=True)
class Graph:
    direction: Direction = Direction.DOWN
    title: str = ""
    nodes: dict[str, Node] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def ancestors(self, id_: str) -> list[str]:
        """The groups that contain a node or group, from the innermost one to "", the diagram itself."""
        found: list[str] = []
        at = self.nodes[id_].group if id_ in self.nodes else self.groups[id_].parent
        while at:
            found.append(at)
            at = self.groups[at].parent
        return [*found, ""]
