"""The table of models to download is made from the list that the program uses."""

from __future__ import annotations

import os
from pathlib import Path

from tui.domain.format_numbers import data_size, tokens
from tui.providers.local.known_models import known_models

PAGE = Path(__file__).resolve().parents[2] / "docs" / "local.md"
BEGIN, END = "<!-- known models: begin -->", "<!-- known models: end -->"


def table() -> str:
    lines = ["| name | model | download | memory | window | licence | good for |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| `{name}` | [{model.title}](https://huggingface.co/{model.repository}) | {data_size(model.download)} "
        f"| {model.memory} GB | {tokens(model.window)} | {model.licence} | {model.good_for} |"
        for name, model in known_models().items()
    ]
    return "\n".join(lines)


def test_the_page_shows_the_models_of_the_list() -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    fresh = f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"
    if os.environ.get("PONDER_UPDATE"):
        PAGE.write_text(fresh, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == fresh
