"""Every setting: its key as the user types it, its type, default and help. One table for /set, config, docs, screen.

Keys are camelCase because they are the user's words. The docstring under a field is its help text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Tokens = Annotated[int, Field(ge=0, le=100_000_000)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class Section(BaseModel):
    """A group of settings; unknown keys are the user's mistakes and are told."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Reasoning(Section):
    """How much the model thinks, and what becomes of its thinking."""

    enabled: bool = True
    """Whether models think at all; false asks for no thinking wherever that is possible."""
    includeInContext: Literal["auto", "true", "false"] = "auto"
    """Whether thinking of finished turns is sent back: auto does what the model's facts ask for."""
    includeInResponse: bool = True
    """Whether thinking is shown; it is kept either way."""
    effort: Effort | None = None
    """An effort word sent instead of the level's, where the model takes efforts."""
    maxTokens: Tokens | None = None
    """A thinking budget in tokens, instead of the level's."""
    format: Literal["auto", "native", "field"] = "auto"
    """How thinking from another provider goes back: auto and native leave it out, field sends it as plain text."""
    stripFromContext: Literal["none", "allButLast", "all"] = "none"
    """Which finished turns lose their thinking on the way out."""
    dynamicBudget: bool = False
    """Cut thinking budgets to at most 10,000 tokens once the context passes dynamicBudgetAbove."""
    dynamicBudgetAbove: Tokens = 150_000
    """Effective tokens above which dynamicBudget acts."""
    summary: Literal["auto", "concise", "detailed", "off"] = "auto"
    """How detailed a summary of hidden thinking to ask for (OpenAI-style APIs)."""


class Generation(Section):
    """What else goes into a request."""

    system: str = ""
    """The system prompt."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Sampling temperature; left out where the model refuses it."""
    topP: Annotated[float, Field(gt=0, le=1)] | None = None
    """Nucleus sampling; left out where the model refuses it."""
    maxOutput: Annotated[int, Field(ge=16)] | None = None
    """Limit for an answer, thinking included; the model's own maximum when not set."""


class Context(Section):
    """The window, and when it is compressed."""

    limit: Tokens | None = None
    """A smaller context window than the model's."""
    compressAt: Annotated[float, Field(ge=0.1, le=1)] = 0.85
    """Compress when effective tokens pass this share of the window less the reserve."""
    compress: bool = True
    """Whether compression happens by itself."""
    keepTurns: Annotated[int, Field(ge=0, le=100)] = 3
    """The last turns that compression leaves alone."""
    reserve: Tokens | None = None
    """Tokens kept free for the answer; a quarter of the window or the output limit, whichever is less, when not set."""
    compressionModel: str | None = None
    """The model that writes summaries; the current one when not set."""


class Tools(Section):
    """What models may call."""

    enabled: bool = True
    """Whether tools are offered to the model."""
    maxParallel: Annotated[int, Field(ge=1, le=32)] = 8
    """How many calls run at once."""
    maxCalls: Annotated[int, Field(ge=1, le=1000)] = 50
    """How many calls one turn may make."""
    timeout: Seconds = 120
    """Seconds one call may take."""


class Ui(Section):
    """How it looks and moves."""

    theme: str = "auto"
    """A theme's name; auto follows the terminal's background."""
    motion: bool = True
    """Whether anything moves by itself."""
    plain: bool = False
    """For screen readers: no box drawing, nothing repainted in place."""
    sidebar: Literal["auto", "shown", "hidden"] = "auto"
    """Auto shows it from 100 columns on."""
    thinking: Literal["folded", "peek", "full"] = "folded"
    """How finished thinking starts out."""
    levelKey: bool = True
    """Whether shift+tab in the composer steps the thinking level."""


class Network(Section):
    """Limits on waiting, and proxies."""

    connectTimeout: Seconds = 10
    """Seconds to wait for a connection."""
    headerTimeout: Seconds | None = None
    """Seconds to wait for the first byte; 120, or 600 for servers on this machine, when not set."""
    idleTimeout: Seconds = 300
    """Seconds a stream may say nothing but keep-alives; 0 waits for ever."""
    allowHttp: bool = False
    """Whether keys may go over plain http to hosts that are not on this machine or network."""


class Settings(Section):
    """All of it."""

    model: str | None = None
    """The model to start with, as provider/model/level."""
    favourites: tuple[str, ...] = ()
    """Models listed first in the picker."""
    reasoning: Reasoning = Reasoning()
    generation: Generation = Generation()
    context: Context = Context()
    tools: Tools = Tools()
    ui: Ui = Ui()
    network: Network = Network()


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting, for people and for parsing."""

    name: str
    help: str
    default: object
    choices: tuple[str, ...]
    """What it may be, where that is a short list."""
    kind: str
    """A word for what it takes: a number, text, true or false, one of …"""
    adapter: TypeAdapter[object]


@cache
def keys() -> Mapping[str, Key]:
    """Every setting by its dotted name, in the order of the sections."""
    found: dict[str, Key] = {}
    for name, info in Settings.model_fields.items():
        section = info.annotation
        if isinstance(section, type) and issubclass(section, Section):
            for field, inner in section.model_fields.items():
                found[f"{name}.{field}"] = _key(f"{name}.{field}", inner.annotation, inner.metadata, inner)
        else:
            found[name] = _key(name, info.annotation, info.metadata, info)
    return found


def _key(name: str, annotation: object, metadata: list[object], info: object) -> Key:
    whole = Annotated[(annotation, *metadata)] if metadata else annotation
    choices = _choices(annotation)
    return Key(
        name=name,
        help=str(getattr(info, "description", "") or ""),
        default=getattr(info, "default", None),
        choices=choices,
        kind=f"one of {', '.join(choices)}" if choices else _kind(annotation),
        adapter=TypeAdapter(whole),  # type: ignore[arg-type]  # a type made at run time
    )


def _choices(annotation: object) -> tuple[str, ...]:
    if annotation is bool:
        return ("true", "false")
    if get_origin(annotation) is Literal:
        return tuple(str(word) for word in get_args(annotation))
    inner = [_choices(part) for part in get_args(annotation) if part is not type(None)]
    return inner[0] if len(inner) == 1 else ()


def _kind(annotation: object) -> str:
    words = str(annotation)
    if "int" in words:
        return "a whole number (16000 or 16k)"
    if "float" in words:
        return "a number"
    return "a list of names" if "tuple" in words else "text"
