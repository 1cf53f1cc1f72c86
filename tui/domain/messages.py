"""Messages and turns."""

from __future__ import annotations

from enum import StrEnum

from tui.domain.blocks import Block
from tui.domain.fast_dataclass import dataclass
from tui.domain.stream import Stop
from tui.domain.usage import Usage


class Role(StrEnum):
    """The author of a message. Tool results are separate messages."""

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


CANCELLED = "cancelled"
"""``Message.interrupted`` of an answer that the user stopped."""
ENDED_EARLY = "ended early"
"""``Message.interrupted`` of thinking that the user ended to get the answer. It is superseded, so it is never sent."""
CRASHED = "crashed"
"""``Message.interrupted`` of a message that was still arriving when the program ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an assistant message came from. Provider state is sent only to an equal origin."""

    provider: str
    wire: WireName
    host: str
    """Host of the base URL. Signatures of one endpoint are not valid at another."""
    model: str
    family: str = ""
    """Group of models that accept each other's provider state (from the catalogue); "" for a model on its own."""
    account: str = ""
    """A short hash of the end of the key, never the key; "" if unknown."""
    level: str = ""
    """The level in force (``ThinkingPlan.level``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRecord:
    """What a request asked of the prompt cache. Stored with its answer, it tells later what the cache still has."""

    at: float
    """Unix time of the request, from which the lifetime counts."""
    ttl: str = ""
    """The lifetime: ``5m``, ``30m`` or ``1h``; "" if the provider states none."""
    tools: str = ""
    system: str = ""
    history: str = ""
    """Digests of the tools, of the system prompt and of the compression."""
    rules: str = ""
    """The settings that select which earlier thinking is sent."""
    thinking: str = ""
    """Digest of the thinking parameters: two levels can have the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, complete or partial."""

    id: str
    role: Role
    blocks: tuple[Block, ...]
    origin: Origin | None = None
    usage: Usage | None = None
    stop: Stop | None = None
    answered_by: str | None = None
    """The model that answered according to the provider, if it differs from the requested one."""
    interrupted: str | None = None
    """Why an answer is incomplete ("cancelled", "stream cut" …) or why a prompt got none; None otherwise."""
    superseded: bool = False
    """This attempt was retried. It is stored and shown folded, but never sent."""
    seconds: float | None = None
    first_token_s: float | None = None
    """Seconds until the first part of the answer, thinking included, arrived."""
    cost: float | None = None
    cache: CacheRecord | None = None
    """Set if the provider reported a use of its cache."""
    answered_early: bool = False
    """The user asked for this answer while the model was thinking."""
    language: str = ""
    """The language of thinking that was wanted when the user sent this prompt."""


@dataclass(frozen=True, slots=True)
class BlockGrowth:
    """What was added to a block of an open message since it was last stored."""

    position: int
    """Index of the block in the message."""
    at: int
    """Offset of the new characters in the block's text."""
    block: Block
    """The block in its current state, with only the new characters as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One prompt and the messages that follow from it, including tool rounds."""

    id: str
    messages: tuple[Message, ...]
    open: bool = False
    """The tool loop of this turn is unfinished, so no thinking in it may be removed."""

    @property
    def user_blocks(self) -> tuple[Block, ...]:
        """The prompt, and what the user added while the turn ran."""
        return tuple(block for message in self.messages if message.role is Role.USER for block in message.blocks)
