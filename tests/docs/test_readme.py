"""The README tells the truth: its tables are the registry's, its links lead somewhere, it opens with two commands."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tui.commands.table import registry
from tui.commands.tables import key_table, slash_table, with_section

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


@pytest.mark.parametrize(("name", "made"), [("commands", slash_table), ("keys", key_table)])
def test_the_tables_are_those_of_the_registry(name: str, made: object) -> None:
    text = README.read_text()
    fresh = with_section(text, name, made(registry()))
    if os.environ.get("PONDER_UPDATE"):
        README.write_text(fresh)
    assert README.read_text() == fresh


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
