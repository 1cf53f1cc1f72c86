"""The README tells the truth: its tables are the registry's, its links lead somewhere, it opens with two commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.tables import id_table, key_table, slash_table, with_section
from tui.commands.builtin import registry
from tui.commands.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


@pytest.mark.parametrize(
    ("page", "name", "made"),
    [(README, "commands", slash_table), (README, "keys", key_table), (ROOT / "docs" / "keys.md", "ids", id_table)],
)
def test_the_tables_are_those_of_the_registry(page: Path, name: str, made: Callable[[Registry], str]) -> None:
    text = page.read_text()
    fresh = with_section(text, name, made(registry()))
    if os.environ.get("PONDER_UPDATE"):
        page.write_text(fresh)
    assert page.read_text() == fresh


@pytest.mark.parametrize("page", [README, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page: Path) -> None:
    torn: list[str] = []
    cells = 0
    for line in page.read_text().splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        found = len(re.findall(r"(?<!\\)\|", line))
        cells = cells or found
        torn += [line] if found != cells else []
    assert torn == []


def test_it_opens_with_exactly_two_commands() -> None:
    block = re.search(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    assert block is not None
    assert [line.split("&&")[-1].split()[0] for line in block[1].splitlines()] == [
        ".venv/bin/ponder",
        ".venv/bin/pytest",
    ]


@pytest.mark.parametrize("page", [README, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name)
def test_every_link_between_pages_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []
