"""Rows for lists, as the rooms that keep sessions and tools hand them to whoever shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import Asked, ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A stored session, for lists."""

    id: str
    title: str
    model: str
    turns: int
    cost: float | None
    """Dollars for everything asked in it, on every branch, as far as they are known."""
    updated: float
    """Seconds since the epoch."""
    unpriced: int = 0
    """Requests whose cost is not known or not whole; counted only if the cost of others is known."""
    pinned: bool = False
    deleted: bool = False
    snippet: str = ""
    """Where the search found something; hits stand between \x02 and \x03."""
    hit_message: str | None = None
    hit_turn: str | None = None
    hit_terms: tuple[str, ...] = ()
    """What the search looked for in the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """A tool, for lists."""

    name: str
    source: str
    """built in, or the MCP server's name."""
    enabled: bool
    policy: str
    """allow, ask, deny."""
    tokens: int
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTokens:
    """What the tool definitions add to the next request."""

    tokens: int
    """As the meter counts them, 0 when none are sent."""
    shared: int = 0
    """Of these, what the server adds once, whatever the number of tools."""
    why_none: str = ""
    """Why no definitions are sent, although tools are switched on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """An MCP server, for lists."""

    name: str
    state: str
    tools: int
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A line of the model picker."""

    spec: ModelSpec
    provider: str
    available: bool
    reason: str = ""
    """Why it is greyed: ``no key: /key openai``, ``server not running`` …"""
    window: int | None = None
    price: tuple[float | None, float | None] = (None, None)
    """Dollars per million tokens in and out; None is unknown."""
    thinking: str = ""
    """In a word or two: effort, budget, always on, none."""
    recent: bool = False
    favourite: bool = False
    note: str = ""
    """Retired, retiring, unknown, demo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelInfo:
    """A line of the thinking picker: only what the model takes, with the native value."""

    asked: Asked
    label: str
    native: str
    """What will be sent, in a sentence fragment: ``adaptive, effort high`` or ``59,904 tokens``."""
    current: bool = False
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """What was found at the start: a key, a local server, or their absence."""

    provider: str
    title: str
    ready: bool
    detail: str
    """``ANTHROPIC_API_KEY found``, ``3 models``, ``no key: /key openai``."""
    spec: ModelSpec | None = None
    """A model to begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheck:
    """What is known of a key before it is saved."""

    works: bool
    said: str
    """``Works: 14 models.``, or why it is in doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeInfo:
    """The last exchange with the provider, for the inspector."""

    request: Mapping[str, object] = field(default_factory=dict)
    """method, url, headers (masked), body."""
    events: tuple[str, ...] = ()
    seconds: float | None = None
