"""Rows about models: their keys, how they are layered, and the facts made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tui.catalog.facts import (
    EFFORT_CUTS,
    WORDS,
    BudgetRange,
    EchoRule,
    Lifecycle,
    ModelFacts,
    Quirks,
    ThinkingControls,
    ThinkingCounted,
)
from tui.catalog.name_matching import best_match, normalized_name
from tui.catalog.toml_values import (
    Check,
    Table,
    check_table,
    in_json_schema,
    is_count,
    is_count_table,
    is_flag,
    is_number,
    is_table,
    is_text,
    is_text_table,
    is_texts,
    nearest,
    one_of,
    packaged_table,
)
from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.domain.thinking import ThinkingForm

if TYPE_CHECKING:
    from tui.catalog.prices import Price

MODELS = Path(__file__).parent / "models"


@in_json_schema(type="array", items={"type": "integer", "minimum": 0}, minItems=2, maxItems=2)
def _is_range(value: object) -> bool:
    """Two numbers of tokens, least and most."""
    return isinstance(value, list) and len(value) == 2 and all(map(is_count, value)) and value[0] <= value[1]


@in_json_schema(type=["array", "object"], items={"type": "number", "minimum": 0})
def _is_price(value: object) -> bool:
    """Dollars per million: input, output, cache read, cache write (the last two may be left out)."""
    if isinstance(value, Mapping):
        return {"input", "output"} <= value.keys() <= {*_PRICE_KINDS, "cache_write_1h"} and all(
            map(is_number, value.values())
        )
    return isinstance(value, list) and len(value) in (0, 2, 3, 4) and all(map(is_number, value))


_PRICE_KINDS = ("input", "output", "cache_read", "cache_write")
"""The order of the numbers of a price that is a list."""


ROW_KEYS: Mapping[str, Check] = {
    "wire": one_of(tuple(WireName)),
    "spelling": is_text,
    "family": is_text,
    "tokenizer": is_text,
    "default": is_text,
    "retires": is_text,
    "successor": is_text,
    "like": is_text,
    "form": one_of(tuple(ThinkingForm)),
    "prompt_cache": one_of(("automatic", "marks", "options")),
    "echo": one_of(tuple(EchoRule)),
    "counted": one_of(tuple(ThinkingCounted)),
    "lifecycle": one_of(tuple(Lifecycle)),
    "levels_by": one_of(("auto", "effort", "budget", "toggle")),
    "context_window": is_count,
    "max_input": is_count,
    "max_output": is_count,
    "thinks": is_flag,
    "can_disable": is_flag,
    "zero_is_off": is_flag,
    "open_top": is_flag,
    "bound": is_flag,
    "line": is_flag,
    "tools": is_flag,
    "chat_tools_without_thinking": is_flag,
    "aliases": is_texts,
    "efforts": is_texts,
    "inputs": is_texts,
    "notes": is_texts,
    "budget": _is_range,
    "price": _is_price,
    "levels": is_text_table,
    "cuts": is_count_table,
    "recommended": is_table,
    "quirks": is_table,
    "resold": is_table,
}
CONTROL_KEYS = frozenset({"thinks", "efforts", "budget", "can_disable"})
"""A row with one of these keys describes the model's thinking. Other rows only name the model."""
_NOT_INHERITED = frozenset({"aliases", "notes", "lifecycle", "retires", "successor", "like", "line"})
_EFFORT_WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_TYPE_CHECKS: Mapping[type, Check] = {str: is_text, bool: is_flag, tuple: is_texts}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredRow:
    """A row with the source of each of its keys."""

    row: Table = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def with_layer(self, row: Table, source: str) -> LayeredRow:
        """Return a copy with ``row`` on top."""
        return LayeredRow(row={**self.row, **row}, sources={**self.sources, **dict.fromkeys(row, source)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One packaged file with the models of a maker or a server."""

    name: str
    maker: bool
    """The provider of this name makes these models, so other providers that resell them get their facts."""
    vendors: tuple[str, ...]
    """What stands before the slash of these models' names at other providers (``anthropic/claude-opus-4-5``)."""
    different: frozenset[str]
    """Segments of a name that mark another kind of model (``image``, ``tts`` …)."""
    rows: Mapping[str, Table]
    """Model id → its row, with the file's defaults and the rows named by ``like`` already applied."""
    unknown: tuple[Table, ...]
    names: Mapping[str, str]
    """Every id and alias → the row's id."""
    normalized_names: Mapping[str, str]
    """The same with each name as it is compared."""

    @property
    def source(self) -> str:
        """Name of this file in provenance."""
        return f"packaged: models/{self.name}.toml"

    def match(self, model: str) -> str | None:
        """Return the id of the row for ``model``."""
        found = best_match(model, self.names, self.different)
        return self.names[found] if found is not None else None

    def sent_as(self, model: str) -> str:
        """Return the id to send: the row's id for an alias, ``-latest`` or another case, else the name as typed."""
        typed = normalized_name(model)
        return self.normalized_names.get(typed) or self.normalized_names.get(typed.removesuffix("-latest"), model)

    def listed(self) -> tuple[str, ...]:
        """Return the ids of models. Rows for a whole line of models are excluded."""
        return tuple(id_ for id_, row in self.rows.items() if not row.get("line", False))

    def is_another_kind(self, model: str) -> bool:
        """Whether the name has a segment that marks another kind of model (``image``, ``tts`` …)."""
        return bool(set(model.lower().replace(".", "-").split("-")) & self.different)

    def rule_for(self, model: str) -> Table | None:
        """Return the assumptions for a model of this maker that is not in the file."""
        if self.is_another_kind(model):
            return {"thinks": False, "spelling": "nothing", "efforts": [], "echo": "ignored"}
        for rule in self.unknown:
            if best_match(model, cast("list[str]", rule["prefixes"])) or _starts(model, rule["prefixes"]):
                return {key: value for key, value in rule.items() if key != "prefixes"}
        return None


def _starts(model: str, prefixes: object) -> bool:
    """Return whether the model is in one of the lines. Unlike in ``best_match``, ``gemini-3.9`` is in ``gemini-3``."""
    return any(model.lower().startswith((f"{prefix}-", f"{prefix}.")) for prefix in cast("list[str]", prefixes))


@lru_cache(maxsize=64)
def model_file(name: str) -> ModelFile:
    """Return a packaged file. It is read once."""
    data = packaged_table(f"models/{name}.toml")
    defaults = cast(Table, data.get("defaults", {}))
    raw = cast(Mapping[str, Table], data["models"])
    file = f"models/{name}.toml"
    rows = {id_: check_row({**defaults, "aliases": [], **_inherited(id_, raw)}, id_, file) for id_ in raw}
    unknown = tuple({**defaults, **rule} for rule in cast("list[Table]", data.get("unknown", [])))
    names = {name: id_ for id_, row in rows.items() for name in (id_, *_texts(row, "aliases"))}
    return ModelFile(
        name=name,
        maker=bool(data.get("maker", False)),
        vendors=tuple(cast("list[str]", data.get("vendors", []))),
        different=frozenset(cast("list[str]", data.get("different", []))),
        rows=rows,
        unknown=unknown,
        names=names,
        normalized_names={normalized_name(name): id_ for name, id_ in names.items()},
    )


@lru_cache(maxsize=1)
def packaged_files() -> tuple[str, ...]:
    """Return the names of all packaged files."""
    return tuple(sorted(path.stem for path in MODELS.glob("*.toml")))


def _inherited(id_: str, raw: Mapping[str, Table]) -> Table:
    row = raw[id_]
    if "like" not in row:
        return row
    like = _inherited(str(row["like"]), raw)
    kept = {key: value for key, value in like.items() if key not in _NOT_INHERITED}
    return {**kept, **{key: value for key, value in row.items() if key != "like"}}


def check_row(row: object, where: str, file: str) -> Table:
    """Check that a row has only known keys with valid values."""
    table = check_table(row, ROW_KEYS, where=where, file=file)
    for word in cast("list[str]", table.get("efforts", [])):
        if word.lower() not in _EFFORT_WORDS:
            raise ConfigError(
                f"{file}: `{where}.efforts` cannot contain `{word}`",
                file=file,
                key=f"{where}.efforts",
                nearest=nearest(word, _EFFORT_WORDS),
            )
    check_quirks(table.get("quirks", {}), f"{where}.quirks", file)
    if "resold" in table:
        check_row(table["resold"], f"{where}.resold", file)
    return table


def check_quirks(table: object, where: str, file: str) -> Table:
    """Check a table of quirk fields."""
    return check_table(table, quirk_checks() if table else {}, where=where, file=file)


@cache
def quirk_checks() -> Mapping[str, Check]:
    return {
        quirk.name: one_of(WORDS[quirk.name]) if quirk.name in WORDS else _TYPE_CHECKS[type(quirk.default)]
        for quirk in fields(Quirks)
    }


def effort_rank(word: str) -> int:
    """Return 0 for none … 6 for max."""
    return _EFFORT_WORDS.index(word.lower())


def facts_from(layered: LayeredRow, *, provider: str, model: str, wire: WireName, known: bool) -> ModelFacts:
    """Return the facts of a row. Missing keys get safe defaults."""
    row = layered.row
    return ModelFacts(
        provider=provider,
        id=model,
        wire=wire,
        spelling=str(row.get("spelling", "nothing")),
        controls=_controls(row),
        aliases=_texts(row, "aliases"),
        family=str(row.get("family", "")),
        context_window=_count(row, "context_window"),
        max_input=_count(row, "max_input"),
        max_output=_count(row, "max_output"),
        echo=EchoRule(str(row.get("echo", EchoRule.ALLOWED))),
        bound=bool(row.get("bound", False)),
        counted=ThinkingCounted(str(row.get("counted", ThinkingCounted.OPEN_TURN))),
        form=ThinkingForm(str(row.get("form", ThinkingForm.FULL))),
        inputs=frozenset(_texts(row, "inputs") or ("text",)),
        tools=bool(row.get("tools", True)),
        chat_tools_without_thinking=bool(row.get("chat_tools_without_thinking", False)),
        price=_price(row),
        prompt_cache=str(row.get("prompt_cache", "automatic")),
        tokenizer=str(row.get("tokenizer", "")),
        lifecycle=Lifecycle(str(row.get("lifecycle", Lifecycle.CURRENT))),
        retires=_text(row, "retires"),
        successor=_text(row, "successor"),
        recommended=cast(Table, row.get("recommended", {})),
        quirks=cast(Table, row.get("quirks", {})),
        notes=_texts(row, "notes"),
        known=known,
        provenance=dict(layered.sources),
    )


def _controls(row: Table) -> ThinkingControls:
    span = cast("list[int] | None", row.get("budget"))
    budget = None
    if span:
        budget = BudgetRange(
            min=span[0],
            max=span[1],
            zero_is_off=bool(row.get("zero_is_off", False)),
            open_top=bool(row.get("open_top", False)),
        )
    cuts = cast("Mapping[str, int] | None", row.get("cuts"))
    return ThinkingControls(
        thinks=bool(row.get("thinks", True)),
        can_disable=bool(row.get("can_disable", False)),
        efforts=tuple(sorted(_texts(row, "efforts"), key=effort_rank)),
        budget=budget,
        levels=cast("Mapping[str, str]", row.get("levels", {})),
        default=_text(row, "default"),
        levels_by=str(row.get("levels_by", "auto")),
        cuts=EFFORT_CUTS if cuts is None else cuts,
    )


def _price(row: Table) -> Price | None:
    given = row.get("price")
    if not given:
        return None
    from tui.catalog.prices import flat_price  # only for prices of the user and of providers' lists

    rates = given if isinstance(given, Mapping) else dict(zip(_PRICE_KINDS, cast("list[float]", given), strict=False))
    return flat_price(cast("Mapping[str, float]", rates), "")


def _texts(row: Table, key: str) -> tuple[str, ...]:
    return tuple(cast("list[str]", row.get(key, [])))


def _text(row: Table, key: str) -> str | None:
    value = row.get(key)
    return None if value is None else str(value)


def _count(row: Table, key: str) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) else None
