"""The page on settings lists exactly the settings there are."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from tui.settings.profiles import SECTIONS, parse_profile
from tui.settings.schema import find_key, keys

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
BETWEEN = re.compile(r"(<!-- settings:[^>]*-->\n).*?(<!-- /settings -->)", re.DOTALL)


def table() -> str:
    rows = ["| key | takes | default | what it does |", "|---|---|---|---|"]
    for key in keys().values():
        shown = key.default
        default = "" if shown in (None, "", ()) else str(shown).lower() if isinstance(shown, bool) else str(shown)
        rows.append(f"| `{key.name}` | {key.kind} | {default} | {' '.join(key.help.split())} |")
    return "\n".join(rows) + "\n"


def test_the_table_is_made_from_the_schema() -> None:
    text = PAGE.read_text()
    fresh = BETWEEN.sub(lambda found: found[1] + table() + found[2], text)
    if os.environ.get("PONDER_UPDATE"):
        PAGE.write_text(fresh)
    assert PAGE.read_text() == fresh


def test_the_examples_of_the_page_are_right() -> None:
    examples = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    config, profile = (tomllib.loads(example) for example in examples)
    for section, values in config.items():
        for name in values if isinstance(values, dict) else ():
            find_key(f"{section}.{name}")
    assert parse_profile("example", examples[1], shipped=False).model == profile["model"]


def test_the_page_names_what_a_profile_may_hold_and_which_are_shipped() -> None:
    text = PAGE.read_text()
    shipped = sorted(path.stem for path in (PAGE.parents[1] / "tui" / "settings" / "examples").glob("*.toml"))
    assert all(f"`{word}`" in text for word in (*SECTIONS, *shipped))
