"""What docs/architecture.md names exists: rooms, modules, and every step on the way of a prompt."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WAY = re.search(r"^```\n(Composer.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
NOT_OURS = {"Textual", "StreamEvents"}


def _methods(classes: set[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    defined = re.compile(rf"^ *class (?:{'|'.join(classes)})\b", re.MULTILINE)
    for path in (ROOT / "tui").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if defined.search(source) else ():
            if isinstance(node, ast.ClassDef):
                functions = (item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
                found.setdefault(node.name, set()).update(function.name for function in functions)
    return found


def test_the_table_of_rooms_lists_every_room() -> None:
    rooms = {path.stem for path in (ROOT / "tui").iterdir() if path.suffix in ("", ".py")}
    rooms -= {"__init__", "__main__", "__pycache__"}
    assert set(re.findall(r"^\| `([a-z]+)` \|", PAGE, re.MULTILINE)) == rooms


def test_every_class_and_method_on_the_way_of_a_prompt_exists() -> None:
    assert WAY is not None
    steps = re.findall(r"\b([A-Z][A-Za-z]+)(?:\.([a-z_]+))?", WAY[1])
    classes = {name for name, _ in steps} - NOT_OURS
    methods = _methods(classes)
    assert len(classes) > 15
    assert classes - methods.keys() == set()
    assert {f"{name}.{method}" for name, method in steps if method and method not in methods.get(name, ())} == set()


def test_every_module_that_is_named_exists() -> None:
    assert WAY is not None
    named = {*re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)`", PAGE), *re.findall(r"[a-z_]+(?:/[a-z_]+)+\.py", WAY[1])}
    assert len(named) > 20
    assert {name for name in named if not ((ROOT / "tui" / name).is_file() or (ROOT / name).is_file())} == set()
