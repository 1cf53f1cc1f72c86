"""Textual calls a widget's method ``key_NAME`` when the key of that name is pressed: ``key_at`` when `@` is typed."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).resolve().parents[2]


def not_for_keys(source: str) -> list[str]:
    """Members of classes named like handlers of keys that cannot be called as one."""
    return [
        f"{of.name}.{member.name}"
        for of in nodes_of(source)
        if isinstance(of, ast.ClassDef)
        for member in of.body
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
        and member.name.lstrip("_").startswith("key_")
        and [argument.arg for argument in member.args.args] not in (["self"], ["self", "event"])
    ]


def test_they_are_found() -> None:
    source = "class List:\n def key_at(self, number): ...\n def key_tab(self): ...\n def key_k(self, event): ...\n"
    assert not_for_keys(source) == ["List.key_at"]


def test_every_method_named_like_the_handler_of_a_key_is_one() -> None:
    paths = sorted((ROOT / "tui" / "ui").rglob("*.py"))
    found = {path.name: not_for_keys(path.read_text(encoding="utf-8")) for path in paths}
    assert {name: members for name, members in found.items() if members} == {}
