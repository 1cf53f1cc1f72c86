"""Spellings: how a thinking plan is converted to the wire fields of one vendor, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import cast

from tui.catalog.toml_values import Table, packaged_table
from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass

Fields = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """One table of ``spellings.toml``, where the keys are explained."""

    name: str
    on: Table = field(default_factory=dict)
    on_budget: Table | None = None
    on_toggle: Table | None = None
    on_word: str = "on"
    off: Table | None = None
    off_word: str | int = "off"
    off_note: str = ""
    always: Table = field(default_factory=dict)
    effort_at: str | None = None
    effort_case: str = "as_is"
    effort_with_budget: bool = False
    budget_at: str | None = None
    summary_at: str | None = None
    summary_words: Table = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    tool_headers: Mapping[str, str] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()
    sends_max_output: bool = False
    budget_needs_max_output: bool = False
    plain_chat: bool = False

    def effort(self, word: str) -> str:
        """Return the effort word as this wire spells it."""
        return word.lower() if self.effort_case == "lower" else word


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, Table]:
    return cast(Mapping[str, Table], packaged_table("spellings.toml"))


def spelling_names() -> tuple[str, ...]:
    """Return the names of all spellings."""
    return tuple(_tables())


@lru_cache(maxsize=64)
def spelling(name: str) -> Spelling:
    """Return the spelling with that name."""
    tables = _tables()
    if name not in tables:
        raise ConfigError(f"there is no spelling `{name}`", key="spelling", nearest=spelling_names())
    table = dict(tables[name])
    like = table.pop("like", None)
    known = spelling(cast(str, like)) if like else Spelling(name=name)
    if "refuses" in table:
        table["refuses"] = tuple(cast("list[str]", table["refuses"]))
    return replace(known, name=name, **table)  # type: ignore[arg-type]  # packaged data, every table has a test


def merge_tables(*parts: Table) -> Fields:
    """Merge nested tables into a new one. Later tables take precedence."""
    result: Fields = {}
    for part in parts:
        for key, value in part.items():
            if isinstance(value, Mapping):
                below = result.get(key)
                result[key] = merge_tables(below if isinstance(below, dict) else {}, value)
            else:
                result[key] = list(value) if isinstance(value, list) else value
    return result


def nested(path: str, value: object) -> Fields:
    """Return ``{"a": {"b": value}}`` for the path ``a.b``."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return cast(Fields, value)
