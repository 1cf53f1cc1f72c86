"""A worker may be replaced before it begins: given a coroutine, that one never runs and Python warns of it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).resolve().parents[2]


def workers_without_a_thread(source: str) -> list[int]:
    """The lines that call ``run_worker`` without ``thread``."""
    return [
        node.lineno
        for node in nodes_of(source)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run_worker"
        and all(keyword.arg != "thread" for keyword in node.keywords)
    ]


def test_they_are_found() -> None:
    assert workers_without_a_thread("app.run_worker(look())\napp.run_worker(look, thread=True)\n") == [1]


def test_every_worker_is_given_a_function() -> None:
    paths = [path for path in sorted((ROOT / "tui").rglob("*.py")) if path.name != "workers.py"]
    sources = {path.name: path.read_text(encoding="utf-8") for path in paths}
    found = {name: workers_without_a_thread(source) for name, source in sources.items() if "run_worker" in source}
    assert {name: lines for name, lines in found.items() if lines} == {}
