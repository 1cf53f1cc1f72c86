"""A small module that only one other module imports belongs in that module."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).resolve().parents[2]
SMALL = 40
ALONE = {
    "tui.ui.first_answer": "the first screen imports it, not what it loads",
    "tui.ui.terminal.without_palette": "runs before Textual's application is imported",
    "tui.wires.anthropic.web_search": "each wire has its searches in a module of this name",
}
"""Small modules with one importer, and why they are apart all the same."""


def importers(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """For each module, the modules that import it or something in it."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, source in sources.items():
        for node in nodes_of(source):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name in sources and name != module:
                    found[name].add(module)
    return found


def small_with_one_importer(sources: Mapping[str, str]) -> set[str]:
    found = importers(sources)
    return {name for name, source in sources.items() if len(source.splitlines()) < SMALL and len(found[name]) == 1}


def test_small_modules_with_one_importer_have_a_reason() -> None:
    sources = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text()
        for path in (ROOT / "tui").rglob("*.py")
        if path.name != "__init__.py"
    }
    assert small_with_one_importer(sources) == set(ALONE)


def test_such_modules_are_found() -> None:
    sources = {
        "tui.a": "from tui.b import f\nfrom tui import c\n",
        "tui.b": "import tui.c\n",
        "tui.c": "",
        "tui.large": "\n" * SMALL,
        "tui.d": "from tui.large import g\n",
    }
    assert small_with_one_importer(sources) == {"tui.b"}
