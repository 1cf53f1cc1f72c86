"""The tree tells the truth about itself: no machine paths, module docstrings, modules that announce exports."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".md", ".toml", ".tcss", ".json", ".sql", ".txt", ""}
MACHINE_PATH = re.compile(r"/(?:wo" + r"rk|ro" + r"ot|ho" + r"me/[a-z]+)/[a-z]")


def _tracked() -> list[Path]:
    skipped = {".git", ".venv", "build", "dist", "__pycache__", "node_modules"}
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and path.suffix in TEXT
        and not skipped & set(path.relative_to(ROOT).parts)
        and not any(part.startswith(".") and part != ".ci" for part in path.relative_to(ROOT).parts)
    ]


def test_no_file_names_a_path_of_some_machine() -> None:
    hits = {}
    for path in _tracked():
        found = MACHINE_PATH.search(path.read_text(errors="replace"))
        if found:
            hits[path.relative_to(ROOT).as_posix()] = found.group()
    assert hits == {}


def test_the_top_level_is_the_one_we_promise() -> None:
    allowed = {
        "pyproject.toml",
        "README.md",
        "tui",
        "tests",
        "themes",
        "bench",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "docs",
        "build",
        "dist",
        "htmlcov",
        "ponder_tui.egg-info",
    }
    assert {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} <= allowed


def test_a_string_beside_an_attribute_describes_that_attribute() -> None:
    hits = []
    for path in sorted((ROOT / "tui").rglob("*.py")):
        for node in nodes_of(path.read_text(encoding="utf-8")):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                hits += [
                    f"{path.relative_to(ROOT).as_posix()}:{string.lineno}"
                    for before, string in pairwise(body)
                    if _is_string(string) and _is_string(before)
                ]
    assert hits == []


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
