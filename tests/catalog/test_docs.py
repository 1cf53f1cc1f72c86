from __future__ import annotations

import os
import re
from pathlib import Path

from tests.catalog.asking import CATALOG, planned
from tests.catalog.provider_table import with_table
from tui.catalog.model_rows import ROW_KEYS
from tui.domain.thinking import ThinkingLevel

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_providers_page_shows_the_providers_there_are() -> None:
    page = DOCS / "providers.md"
    fresh = with_table(page.read_text(encoding="utf-8"), CATALOG)
    if os.environ.get("PONDER_UPDATE"):
        page.write_text(fresh, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == fresh


def test_the_providers_page_names_every_key_of_a_row() -> None:
    page = (DOCS / "providers.md").read_text(encoding="utf-8")
    assert {key for key in ROW_KEYS if f"`{key}`" not in page} == {"like", "line", "resold"}


def test_the_budgets_on_the_thinking_page_are_the_ones_that_are_sent() -> None:
    page = (DOCS / "thinking.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:claude|gemini-2)[^|]+) \|([^|]+)\|([^|]+)\|([^|]+)\|([^|]+)\|$", page, re.MULTILINE)
    assert len(rows) == 5
    for names, *cells in rows:
        for name in names.split(", "):
            provider = "anthropic" if name.startswith("claude") else "google"
            for level, cell in zip(ThinkingLevel, cells, strict=True):
                sent = planned(f"{provider}/{name}", level).sent
                assert (f"{sent:,}" if isinstance(sent, int) and sent else "off") in cell
