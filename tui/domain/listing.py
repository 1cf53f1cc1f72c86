"""Rows for lists, as the rooms that keep sessions and tools hand them to whoever shows them."""

from __future__ import annotations

from tui.domain.fast_dataclass import dataclass


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
