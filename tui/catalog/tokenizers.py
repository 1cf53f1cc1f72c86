"""The tokenizer family that a model's name tells, whoever serves it and whatever they put in front of the name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from tui.catalog.name_matching import normal
from tui.catalog.toml_values import read_toml

_PLACES = re.compile(r"^(?:[a-z]+\.)+(?=[a-z])")
"""What Bedrock puts before a name: a region and a vendor, each with a dot."""


def tokenizer_of(model: str) -> str:
    """The family's name; "" where the name tells none."""
    bare = normal(_PLACES.sub("", model.lower().rsplit("/", 1)[-1]))
    fitting = [beginning for beginning in _beginnings() if bare.startswith(beginning)]
    return _beginnings()[max(fitting, key=len)] if fitting else ""


def tokenizer_of_vocabulary(size: int | None) -> str:
    """The family whose vocabulary has that many tokens; "" for an unknown size."""
    return _vocabularies().get(size, "") if size is not None else ""


@cache
def _beginnings() -> dict[str, str]:
    return {beginning: family for family, names in _table("families").items() for beginning in names}


@cache
def _vocabularies() -> dict[int, str]:
    return {size: family for family, sizes in _table("vocabularies").items() for size in sizes}


def _table(name: str) -> dict[str, list[Any]]:
    table = read_toml(Path(__file__).with_name("tokenizers.toml"))[name]
    assert isinstance(table, dict)
    return table
