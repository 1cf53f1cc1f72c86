"""Limits that prose does not hold: lines per file, methods per class."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 500
MAX_METHODS = 30
MAX_TCSS_LINES = 200
EXEMPT: frozenset[str] = frozenset()

SOURCES = sorted(path for folder in ("tui", "tests", "bench") for path in (ROOT / folder).rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_is_longer_than_500_lines() -> None:
    long = {_name(path): lines for path in SOURCES if (lines := len(path.read_text().splitlines())) > MAX_LINES}
    assert {name: lines for name, lines in long.items() if name not in EXEMPT} == {}


def test_no_class_has_more_than_30_methods() -> None:
    crowded = {}
    for path in SOURCES:
        source = path.read_text()
        if not path.is_relative_to(ROOT / "tui") or source.count("def ") <= MAX_METHODS:
            continue
        for node in nodes_of(source):
            if isinstance(node, ast.ClassDef):
                methods = sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body)
                if methods > MAX_METHODS:
                    crowded[f"{_name(path)}:{node.name}"] = methods
    assert {name: count for name, count in crowded.items() if name not in EXEMPT} == {}


def test_no_stylesheet_is_longer_than_200_lines() -> None:
    sheets = (ROOT / "tui").rglob("*.tcss")
    assert [_name(path) for path in sheets if len(path.read_text().splitlines()) > MAX_TCSS_LINES] == []


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "misc", "manager", "base", "core"])
def test_no_module_has_a_name_into_which_everything_fits(word: str) -> None:
    assert [_name(path) for path in SOURCES if path.stem == word or path.parent.name == word] == []
