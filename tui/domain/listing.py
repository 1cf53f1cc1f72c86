"""Rows of lists: sessions, tools, models and servers as commands and screens show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.thinking import Asked, ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A stored session, for lists."""

    id: str
    title: str
    model: str
    turns: int
    cost: float | None
    """Dollars for all requests of the session on every branch, as far as known."""
    updated: float
    """Seconds since the epoch."""
    unpriced: int = 0
    """Requests whose cost is unknown or incomplete; counted only if another cost is known."""
    pinned: bool = False
    deleted: bool = False
    private: bool = False
    """It is not stored."""
    snippet: str = ""
    """Text around a search hit. Hits are enclosed in \x02 and \x03."""
    hit_message: str | None = None
    hit_turn: str | None = None
    hit_terms: tuple[str, ...] = ()
    """The search terms to find in the text."""


MOST_LISTED = 200
"""Sessions that a list shows; the others are found by searching."""


def number_of_sessions(found: int, how_to_find: str) -> str:
    """How many sessions are listed, and how to find the others if there are more."""
    if found <= MOST_LISTED:
        return count(found, "session")
    return f"the first {MOST_LISTED} sessions · {how_to_find} others"


class Activity(StrEnum):
    """What an open session does, or did since the user last saw it."""

    IDLE = "open"
    RUNNING = "running"
    ASKS = "asks"
    """It waits for the user's answer."""
    DONE = "done, unread"
    FAILED = "failed, unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSessionInfo:
    """A session that is open, or that ended its work since the user last saw it."""

    id: str
    title: str
    activity: Activity
    on_screen: bool = False
    private: bool = False
    queued: int = 0
    """Prompts that wait behind the running turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInfo:
    """A turn of a session's tree, on the active path or on another branch."""

    id: str
    parent: str | None
    """The turn before it; None for a first turn."""
    prompt: str
    """The start of the prompt."""
    model: str = ""
    """The model that answered last; "" if none did."""
    level: str = ""
    cost: float | None = None
    """Dollars, as far as known."""
    open: bool = False
    """It is still running."""


LONGEST_PROMPT = 2_000
"""Characters of a prompt in ``TurnInfo``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """A tool, for lists."""

    name: str
    source: str
    """``built in`` or the MCP server's name."""
    enabled: bool
    policy: str
    """``allow``, ``ask`` or ``deny``."""
    tokens: int
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTokens:
    """Tokens that the tool definitions add to the next request."""

    tokens: int
    """Tokens as the meter counts them; 0 if no definitions are sent."""
    shared: int = 0
    """Of these, the tokens the server adds once, independent of the number of tools."""
    why_none: str = ""
    """Why no definitions are sent although tools are enabled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """An MCP server, for lists."""

    name: str
    state: str
    tools: int
    detail: str = ""
    prompts: int = 0
    resources: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """An argument of a prompt of an MCP server."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPrompt:
    """A prompt that an MCP server offers."""

    server: str
    theirs: str
    """The name on the server."""
    word: str
    """The slash word: ``server:prompt``."""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpResource:
    """A resource that an MCP server offers, or a template of addresses."""

    server: str
    uri: str
    title: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A row of the model picker."""

    spec: ModelSpec
    provider: str
    available: bool
    reason: str = ""
    """Why it is unavailable: ``no key: /key openai``, ``server not running`` …"""
    window: int | None = None
    price: tuple[float | None, float | None] = (None, None)
    """Dollars per million tokens in and out; None is unknown."""
    thinking: str = ""
    """How thinking is controlled: effort, budget, always on, none."""
    recent: bool = False
    favourite: bool = False
    note: str = ""
    """Retired, retiring, unknown, demo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelInfo:
    """A row of the thinking picker: a level that the model accepts, with its native value."""

    asked: Asked
    label: str
    native: str
    """What will be sent: ``adaptive, effort high`` or ``59,904 tokens``."""
    current: bool = False
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """Whether a provider can be used: the key or local server found at start-up."""

    provider: str
    title: str
    ready: bool
    detail: str
    """``ANTHROPIC_API_KEY found``, ``3 models``, ``no key: /key openai``."""
    spec: ModelSpec | None = None
    """A model to start with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheck:
    """The result of testing a key before it is saved."""

    works: bool
    message: str
    """``Works: 14 models.``, or why the key may be invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeInfo:
    """The last request and response, for the inspector."""

    request: Mapping[str, object] = field(default_factory=dict)
    """Method, URL, headers (masked) and body."""
    events: tuple[str, ...] = ()
    seconds: float | None = None
