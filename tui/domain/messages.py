"""Who said what: messages and turns."""

from __future__ import annotations

from enum import StrEnum

from tui.domain.blocks import Block
from tui.domain.fast_dataclass import dataclass
from tui.domain.stream import Stop
from tui.domain.usage import Usage


class Role(StrEnum):
    """Who a message is from. Tool results are messages of their own."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class WireName(StrEnum):
    """The five wire formats."""

    ANTHROPIC = "anthropic"
    OPENAI_RESPONSES = "openai-responses"
    OPENAI_CHAT = "openai-chat"
    GEMINI = "gemini"
    OLLAMA = "ollama"


CRASHED = "crashed"
"""``Message.interrupted`` of what was still coming when the program ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an assistant message came from. A seal only goes back to an equal place."""

    provider: str
    wire: WireName
    host: str
    """Host of the base URL: signatures do not cross endpoints."""
    model: str
    family: str = ""
    """Models that read each other's seals (from the catalogue); "" is the model alone."""
    account: str = ""
    """A short hash of the key's tail, never the key; "" when unknown."""
    level: str = ""
    """The level in force (``ThinkingPlan.level``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, whole or partial."""

    id: str
    role: Role
    blocks: tuple[Block, ...]
    origin: Origin | None = None
    usage: Usage | None = None
    stop: Stop | None = None
    answered_by: str | None = None
    """The model the provider says answered, where it differs from the one asked."""
    interrupted: str | None = None
    """Why the message is incomplete ("cancelled", "stream cut" …); None for a whole one."""
    superseded: bool = False
    """An attempt that was retried: stored and shown folded, never sent."""
    seconds: float | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """What came of a block of an open message since it was last written."""

    position: int
    """Which block of the message."""
    at: int
    """Characters of the block before these."""
    block: Block
    """The block as it is now, with only the new characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One prompt and all it caused, tool rounds included."""

    id: str
    messages: tuple[Message, ...]
    open: bool = False
    """The tool loop of this turn is not finished: nothing in it may be stripped."""
