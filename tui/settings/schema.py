"""All settings: key, type, default, help, and how a value is parsed and checked.

Used by /set, config.toml, the docs and the screen.

Keys are camelCase because users type them. The docstring under a field is its help text. The sections are plain
dataclasses; pydantic validates user input and is only loaded for that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args, get_origin, get_type_hints

from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import parse_number

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class NumberRange:
    """Bounds of a number, inclusive unless ``above``; pydantic reads them like ``annotated_types.Interval``."""

    __is_annotated_types_grouped_metadata__: ClassVar[Literal[True]] = True

    def __init__(self, least: float, most: float | None = None, *, above: bool = False) -> None:
        self._least = least
        self._most = most
        self._above = above
        """The number must be greater than ``least``."""

    def __iter__(self) -> Iterator[object]:
        from annotated_types import Ge, Gt, Le

        yield Gt(self._least) if self._above else Ge(self._least)
        if self._most is not None:
            yield Le(self._most)


Tokens = Annotated[int, NumberRange(0, 100_000_000)]
Dollars = Annotated[float, NumberRange(0, 1_000_000)]
Seconds = Annotated[float, NumberRange(0, 86_400)]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class Section:
    """A group of settings; unknown keys are reported as the user's errors."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "forbid", "use_attribute_docstrings": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning(Section):
    """How much the model thinks, and how its thinking is shown and sent again."""

    enabled: bool = True
    """Whether models think; false asks for no thinking where the model allows that."""
    includeInContext: Literal["auto", "true", "false"] = "auto"
    """Whether the thinking of finished turns is sent again; auto follows the model's facts."""
    includeInResponse: bool = True
    """Whether thinking is shown; it is stored in any case."""
    effort: Effort | None = None
    """An effort sent instead of the level's, for models that accept efforts."""
    maxTokens: Tokens | None = None
    """A thinking budget in tokens, instead of the level's."""
    format: Literal["auto", "native", "field"] = "auto"
    """How thinking from another provider is sent: auto and native omit it, field sends it as plain text."""
    stripFromContext: Literal["none", "allButLast", "all"] = "none"
    """The finished turns that are sent without their thinking."""
    dynamicBudget: bool = False
    """Limit thinking budgets to 10,000 tokens when the context exceeds dynamicBudgetAbove."""
    dynamicBudgetAbove: Tokens = 150_000
    """Effective tokens above which dynamicBudget applies."""
    summary: Literal["auto", "concise", "detailed", "off"] = "auto"
    """Detail of the summary requested for hidden thinking (OpenAI-style APIs)."""
    language: str = ""
    """The language that models are asked to think in, as its name or code; not asked for if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation(Section):
    """Other request parameters."""

    system: str = ""
    """The system prompt."""
    temperature: Annotated[float, NumberRange(0, 2)] | None = None
    """Sampling temperature; omitted for models that refuse it."""
    topP: Annotated[float, NumberRange(0, 1, above=True)] | None = None
    """Nucleus sampling; omitted for models that refuse it."""
    maxOutput: Annotated[int, NumberRange(16)] | None = None
    """Output limit of an answer, including thinking; the model's maximum if not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Section):
    """The context window and its compression."""

    limit: Annotated[int, NumberRange(1_000, 100_000_000)] | None = None
    """A context window smaller than the model's."""
    compressAt: Annotated[float, NumberRange(0.1, 1)] = 0.85
    """Compress when effective tokens exceed this share of the window minus the reserve."""
    compress: bool = True
    """Whether the history is compressed automatically."""
    keepTurns: Annotated[int, NumberRange(0, 100)] = 3
    """Number of latest turns that are never compressed."""
    reserve: Tokens | None = None
    """Tokens reserved for the answer; if not set, a quarter of the window or the output limit, whichever is less."""
    compressionModel: str | None = None
    """The model that writes summaries; the current model if not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Section):
    """Prompt caches of providers."""

    ttl: Literal["auto", "5m", "1h", "off"] = "auto"
    """How long providers are asked to keep what was sent, for a lower price of the next request; auto is 1h on the
    screen, 5m under -p if tools may be called, otherwise off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Section):
    """Spending limits in dollars. A request that may exceed one is sent only if you allow it; -p ends with code 4."""

    turn: Dollars | None = None
    """What one turn may cost, including its tool rounds and retries; no limit if not set."""
    session: Dollars | None = None
    """What one session may cost, including what it cost before it was resumed; no limit if not set."""
    day: Dollars | None = None
    """What all sessions and windows may cost since midnight; no limit if not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools(Section):
    """Tool use and its limits."""

    enabled: bool = True
    """Whether tools are offered to the model."""
    webSearch: bool = False
    """Whether the model may search the web on its provider's servers, if that is offered. Searches cost extra."""
    maxParallel: Annotated[int, NumberRange(1, 32)] = 8
    """The most calls that run at the same time."""
    maxCalls: Annotated[int, NumberRange(1, 1000)] = 50
    """The most calls in one turn."""
    timeout: Seconds = 120
    """Seconds one call may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui(Section):
    """Appearance and signals."""

    theme: str = "auto"
    """Name of a theme; auto follows the terminal's background."""
    motion: bool = True
    """Whether animations are shown."""
    plain: bool = False
    """Output for screen readers: no box drawing, nothing repainted in place."""
    sidebar: Literal["auto", "wide", "narrow", "off"] = "auto"
    """The sidebar with models, thinking and meter; auto shows a narrow one from 110 columns."""
    thinking: Literal["folded", "peek", "full"] = "folded"
    """How finished thinking is shown at first."""
    bell: Literal["off", "bell", "notify"] = "bell"
    """The signal when an answer ends or a tool asks while the terminal does not have the focus."""
    images: Literal["auto", "kitty", "sixel", "blocks", "off"] = "auto"
    """How pictures are shown: by kitty's protocol, as sixels, as half blocks, or only their captions; auto is the best
    that the terminal has."""
    levelKey: bool = True
    """Whether shift+tab in the composer changes the thinking level."""
    vim: bool = False
    """Whether the composer has the keys of vim."""
    titles: Literal["prompt", "model"] = "prompt"
    """Titles of sessions: the first words of the prompt, or written by the model, which takes a small request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Section):
    """Timeouts and plain http."""

    connectTimeout: Seconds = 10
    """Seconds to wait for a connection."""
    headerTimeout: Seconds | None = None
    """Seconds to wait for the first byte; if not set, 120, or 600 for servers on this machine."""
    idleTimeout: Seconds = 300
    """Seconds a stream may send nothing but keep-alives; 0 waits for ever."""
    allowHttp: bool = False
    """Whether keys may be sent over plain http to hosts outside this machine and network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local(Section):
    """Models on this machine that ponder runs itself."""

    server: Literal["own", "llama-server"] = "own"
    """What runs them: own is the llama.cpp of the package xllamacpp, llama-server the program of that name on PATH."""
    idle: Annotated[float, NumberRange(0, 100_000)] = 15
    """Minutes without a request after which a model leaves the memory; with 0 it stays until the last ponder ends."""
    context: Annotated[int, NumberRange(256, 100_000_000)] | None = None
    """Context window in tokens; a smaller one takes less memory. If not set, the model's, as far as memory allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Section):
    """All settings."""

    model: str | None = None
    """The model to start with, as provider/model/level."""
    favourites: tuple[str, ...] = ()
    """Models listed first in the picker."""
    reasoning: Reasoning = Reasoning()
    generation: Generation = Generation()
    context: Context = Context()
    cache: Cache = Cache()
    budget: Budget = Budget()
    tools: Tools = Tools()
    ui: Ui = Ui()
    network: Network = Network()
    local: Local = Local()


SUGGESTED = {
    "reasoning.language": (
        *("Arabic", "Chinese", "Czech", "Dutch", "English", "French", "German", "Hindi", "Italian", "Japanese"),
        *("Korean", "Polish", "Portuguese", "Russian", "Spanish", "Swedish", "Turkish", "Ukrainian", "Vietnamese"),
    ),
}
"""Some values of settings that accept any text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting. Properties that are rarely needed are computed on access."""

    name: str
    default: object

    @property
    def help(self) -> str:
        """The help text."""
        return _helps(self._group).get(self._leaf, "")

    @property
    def choices(self) -> tuple[str, ...]:
        """The accepted values if they are a short list."""
        return _choices(self._plain)

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Values for completion: all accepted ones, or some of them."""
        return self.choices or SUGGESTED.get(self.name, ())

    @property
    def kind(self) -> str:
        """What the setting accepts, in words: a number, text, true or false, one of a few."""
        choices = self.choices
        return f"one of {', '.join(choices)}" if choices else _kind(self._plain)

    @property
    def adapter(self) -> TypeAdapter[object]:
        """Validates a value."""
        return _adapter(self._group, self._leaf)

    @property
    def _group(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def _leaf(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def _plain(self) -> object:
        """The type without its bounds."""
        declared = _types(self._group)[self._leaf]
        return get_args(declared)[0] if get_origin(declared) is Annotated else declared


@cache
def keys() -> Mapping[str, Key]:
    """All settings by dotted name, in the order of the sections."""
    found: dict[str, Key] = {}
    for top in fields(Settings):
        if isinstance(top.default, Section):
            for inner in fields(_section(top.name)):
                name = f"{top.name}.{inner.name}"
                found[name] = Key(name=name, default=inner.default)
        else:
            found[top.name] = Key(name=top.name, default=top.default)
    return found


def top_names() -> tuple[str, ...]:
    """Names at the top level of a file: groups, and settings without a group."""
    return tuple(field.name for field in fields(Settings))


def is_group(name: str) -> bool:
    """Whether this name is a group of settings."""
    return isinstance(getattr(Settings(), name, None), Section)


def validated(values: Mapping[str, object]) -> Settings:
    """Settings from nested tables."""
    return _settings_adapter().validate_python(values) if values else Settings()


@cache
def _settings_adapter() -> TypeAdapter[Settings]:
    from pydantic import TypeAdapter

    return TypeAdapter(Settings)


def _section(
    group: str,
) -> type[Reasoning | Generation | Context | Cache | Budget | Tools | Ui | Network | Local | Settings]:
    return type(getattr(Settings(), group)) if group else Settings


@cache
def _adapter(group: str, leaf: str) -> TypeAdapter[object]:
    from pydantic import TypeAdapter

    return TypeAdapter(_types(group)[leaf])  # type: ignore[arg-type]  # a type made at run time


@cache
def _types(group: str) -> Mapping[str, object]:
    return get_type_hints(_section(group), include_extras=True)


@cache
def _helps(group: str) -> Mapping[str, str]:
    """The docstrings under the fields."""
    from pydantic import TypeAdapter

    described = TypeAdapter(_section(group)).json_schema()["properties"]
    return {name: str(row.get("description", "")) for name, row in described.items()}


def _choices(annotation: object) -> tuple[str, ...]:
    if annotation is bool:
        return ("true", "false")
    if get_origin(annotation) is Literal:
        return tuple(str(word) for word in get_args(annotation))
    inner = [_choices(part) for part in get_args(annotation) if part is not type(None)]
    return inner[0] if len(inner) == 1 else ()


def _kind(annotation: object) -> str:
    type_name = str(annotation)
    if "int" in type_name:
        return "a whole number (16000 or 16k)"
    if "float" in type_name:
        return "a number"
    return "a list of names" if "tuple" in type_name else "text"


def nearest(word: str, known: list[str]) -> tuple[str, ...]:
    """At most three known words similar to this one."""
    from difflib import get_close_matches

    lower = {name.lower(): name for name in known}
    hits = [lower[hit] for hit in get_close_matches(word.lower(), lower, n=3, cutoff=0.5)]
    tails = [name for name in known if name.lower().rpartition(".")[2] == word.lower().rpartition(".")[2]]
    return tuple(dict.fromkeys([*tails, *hits]))[:3]


def find_key(name: str) -> Key:
    """The setting of this name, ignoring case; an unknown name raises ConfigError with similar names."""
    table = keys()
    by_lower = {known.lower(): known for known in table}
    exact = by_lower.get(name.strip().lower())
    if exact is None:
        raise ConfigError(f"There is no setting `{name}`.", key=name, nearest=nearest(name, list(table)))
    return table[exact]


def parse(name: str, text: str) -> tuple[str, object]:
    """The key in its correct spelling and the parsed value."""
    key = find_key(name)
    return key.name, checked_value(key, _value(key, text.strip()))


def checked_value(key: Key, value: object) -> object:
    """The validated value; raises ConfigError with what the setting accepts."""
    from pydantic import ValidationError

    if isinstance(value, bool) and "auto" in key.choices:
        value = str(value).lower()
    meant: object = value
    if isinstance(value, str) and not key.choices and key.kind != "text":
        number = parse_number(value.strip())
        meant = value if number is None else number
    try:
        return key.adapter.validate_python(meant, strict=False)
    except ValidationError as error:
        shown = json.dumps(value, ensure_ascii=False, default=str)
        why = error.errors()[0]["msg"].lower()
        hint = nearest(str(value), list(key.choices)) if key.choices else ()
        sentence = f"`{key.name}` takes {key.kind}; {shown} is not that."
        if not key.choices and "valid" not in why:
            sentence = (
                f"`{key.name}` takes {key.kind}; {shown} is out of range ({why.removeprefix('input should be ')})."
            )
        raise ConfigError(sentence, key=key.name, nearest=hint) from None


def _value(key: Key, text: str) -> object:
    if key.choices:
        lower = {choice.lower(): choice for choice in key.choices}
        word = {"on": "true", "off": "false", "yes": "true", "no": "false"}.get(text.lower(), text.lower())
        if text.lower() in lower or word not in lower:
            return lower.get(text.lower(), text)
        return lower[word]
    if text.lower() in {"none", "unset", "default"} and key.default is None:
        return None
    if key.kind.startswith("a list"):
        return tuple(part for part in re.split(r"[\s,]+", text) if part)
    number = parse_number(text) if key.kind != "text" else None
    return text if number is None else number


def flattened(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested TOML tables as dotted keys."""
    found: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found.update(flattened(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found
