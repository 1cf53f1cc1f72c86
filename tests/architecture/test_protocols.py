"""A Protocol needs two implementations, or a room that must not import the one there is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).resolve().parents[2]

ALONE = {
    "tui.engine.ports.Clock": "tests replace the time",
}
"""Protocols with one implementation, and why they are needed all the same."""


@dataclass(frozen=True)
class Class:
    """A class of the tree: its names, those of its bases, and what the class itself defines."""

    name: str
    bases: tuple[str, ...]
    members: frozenset[str]

    @property
    def is_protocol(self) -> bool:
        return "Protocol" in self.bases


def classes_in(source: str, module: str) -> Iterator[Class]:
    for node in nodes_of(source):
        if isinstance(node, ast.ClassDef):
            bases = tuple(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
            yield Class(f"{module}.{node.name}", bases, frozenset(_members(node)))


def _members(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            yield item.name
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id
        elif isinstance(item, ast.Assign):
            yield from (target.id for target in item.targets if isinstance(target, ast.Name))
    for inner in ast.walk(node):
        targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield target.attr


def implementations(classes: Iterable[Class]) -> dict[str, set[str]]:
    """Each Protocol with the classes that have all its members, their own or those of a base class in the tree."""
    known = list(classes)
    by_name = {each.name.rpartition(".")[2]: each for each in known}

    def all_members(each: Class) -> frozenset[str]:
        inherited = [all_members(by_name[base]) for base in each.bases if base in by_name and by_name[base] != each]
        return each.members.union(*inherited)

    return {
        protocol.name: {each.name for each in known if not each.is_protocol and protocol.members <= all_members(each)}
        for protocol in known
        if protocol.is_protocol and protocol.members != {"__call__"}  # the type of a function with named parameters
    }


def the_tree() -> list[Class]:
    return [
        found
        for path in sorted((ROOT / "tui").rglob("*.py"))
        for found in classes_in(
            path.read_text(encoding="utf-8"), ".".join(path.relative_to(ROOT).with_suffix("").parts)
        )
    ]


def test_implementations_are_counted_by_their_members() -> None:
    source = """
class Speaker(Protocol):
    volume: int
    def say(self): ...
class Loud:
    def __init__(self): self.volume = 1
    def say(self): ...
class Louder(Loud): ...
class Mute:
    volume: int = 0
"""
    assert implementations(classes_in(source, "m")) == {"m.Speaker": {"m.Loud", "m.Louder"}}


def test_every_protocol_has_two_implementations_or_a_reason() -> None:
    lonely = {name for name, classes in implementations(the_tree()).items() if len(classes) < 2}
    assert lonely - ALONE.keys() == set()
