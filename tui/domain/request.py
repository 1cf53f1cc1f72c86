"""A request as the wire encodes it. Selection and repair of the history are already done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.blocks import Block
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Origin, Role
from tui.domain.thinking import ThinkingPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """A tool definition as sent to the model. ``parameters`` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool that the provider runs itself. Its definition is in the wire's own form."""

    name: str
    item: Mapping[str, object]
    """Its item in the request's list of tools."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """Other fields of the body; lists are added to those that are there."""
    tokens: int = 0
    """Approximate tokens of the provider's own description."""


class Reason(StrEnum):
    """Why a block is sent, changed or not sent."""

    SENT = "sent"
    REQUIRED = "sent: the model requires its earlier thinking"
    POLICY = "not sent: your settings"
    IGNORED_BY_PROVIDER = "not sent: this model does not accept earlier thinking"
    FOREIGN = "not sent: signed for another provider or model"
    AS_TEXT = "sent as plain text: from another provider"
    INTERRUPTED = "not sent: the answer was interrupted before its thinking was signed"
    SUPERSEDED = "not sent: this attempt was retried"
    ENDED_EARLY = "not sent: you ended this thinking"
    FAILED = "not sent: the request failed without an answer"
    COMPRESSED = "not sent: replaced by a summary"
    ORPHAN = "not sent: tool result without its call"
    BROKEN_CALL = "not sent: incomplete tool call"
    EMPTY = "not sent: empty"
    UNSUPPORTED_INPUT = "not sent: this model does not accept this kind of input"
    UNREAD = "not sent: this version cannot read it"
    BINDING = "not sent: its signature covers history that has changed"
    REPAIR = "not sent: the provider refused it"
    FLATTENED = "sent as plain text: tool calls are not allowed here"
    THINKING_OFF = "not sent: thinking is off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether one stored block is sent, and why."""

    message_id: str
    block: int
    """Index in the stored message."""
    kind: str
    sent: bool
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message to be sent. Its provider state is valid for the target."""

    role: Role
    blocks: tuple[Block, ...]
    origin: Origin | None = None
    source_id: str | None = None
    """Id of the stored message; None for a message inserted to keep the history valid."""
    in_open_loop: bool = False
    joined: bool = False
    """Whether to send it as one message with the previous one, which has the same role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """The selection that encoder, meter and inspector share."""

    messages: tuple[OutgoingMessage, ...]
    verdicts: tuple[Verdict, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFormat:
    """How a JSON Schema for the answer is asked for."""

    fields: Mapping[str, object] = field(default_factory=dict)
    """Fields of the body, as the wire has them; empty if the server has none."""
    instruction: str = ""
    """The schema in words."""
    in_words: bool = False
    """The words are sent, at the end of the system prompt: the server has no fields for it or may ignore them."""


def with_project(system: str, project: str) -> str:
    """The system prompt followed by the instructions of the project."""
    return "\n\n".join(text for text in (system, project) if text.strip())


def with_instruction(system: str, instruction: str) -> str:
    """The system prompt with an instruction at its end."""
    return f"{system}\n\n{instruction}" if system.strip() else instruction


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One complete request to a model."""

    model: str
    """The provider's model id."""
    outgoing: Outgoing
    plan: ThinkingPlan
    system: str = ""
    project: str = ""
    """The part of ``system`` that comes from files of the working folder."""
    tools: tuple[ToolSchema, ...] = ()
    server_tools: tuple[ServerTool, ...] = ()
    max_output: int | None = None
    """Output limit to send; None omits it where the wire allows that."""
    temperature: float | None = None
    top_p: float | None = None
    num_ctx: int | None = None
    """Context size for servers that truncate silently (Ollama)."""
    continuation: str | None = None
    """Gemini's continuation token from the previous response."""
    cache_key: str | None = None
    """A stable id of the conversation, for prompt caches that accept one."""
    cache_ttl: str | None = None
    """How long the server is asked to keep the prefix (``5m``, ``30m``, ``1h``), or ``off``; None says nothing about
    it, because the server decides by itself."""
    answer_format: AnswerFormat | None = None
    """None lets the model answer in any form."""
    stream: bool = True
    without: tuple[str, ...] = ()
    """Body fields to omit because the server rejected them as unknown."""
    extra_body: Mapping[str, object] = field(default_factory=dict)
    """Additional body fields from the user, merged last."""
