"""The events that a decoder emits for one response.

The dataclasses are not frozen, because hundreds per second are created and none is kept.
``index`` numbers the blocks of one response in opening order, starting at 0.
A block is always opened before its deltas, even if no text follows. Provider state does not require text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tui.domain.blocks import ProviderState
from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.domain.web_search import Citation, WebSearch

BlockKind = Literal["text", "refusal", "thinking", "tool_call", "image", "opaque", "search"]
"""A ``search`` is stored like an opaque item, with what is known about the search."""


class Finish(StrEnum):
    """Why a response ended."""

    STOP = "stop"
    TOOL_USE = "tool_use"
    LENGTH = "length"
    FILTER = "filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    """The provider expects the conversation again with this turn appended (Anthropic pause_turn)."""
    CONTINUATION = "continuation"
    """The same request must be sent again with the token in ``Stop.detail`` (Gemini long decode)."""
    CONTEXT_FULL = "context_full"
    MALFORMED_CALL = "malformed_call"
    """The provider could not parse the model's tool call. One retry is worthwhile."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a response: the unified reason, the provider's reason, and any explanation or token."""

    finish: Finish
    raw: str | None = None
    detail: str | None = None


@dataclass(slots=True)
class ResponseStarted:
    """The provider reported the answering model and the response id."""

    model: str | None
    response_id: str | None
    restarted: bool = False
    """The server restarted within the stream. All earlier blocks are discarded; indices keep counting."""


@dataclass(slots=True)
class BlockStarted:
    """A block was opened."""

    index: int
    kind: BlockKind
    name: str | None = None
    """Tool name; the provider's type name for opaque blocks; the media type for images."""
    call_id: str | None = None
    form: ThinkingForm | None = None
    wire_field: str | None = None
    """Thinking: the wire field it came in, if that matters for sending it back."""


@dataclass(slots=True)
class TextDelta:
    """Text appended to a text or refusal block."""

    index: int
    text: str


@dataclass(slots=True)
class ThinkingDelta:
    """Text appended to a thinking block."""

    index: int
    text: str


@dataclass(slots=True)
class ThinkingBreak:
    """A new part of a thinking block starts. It is drawn as a blank line, which the wire's text does not contain."""

    index: int


@dataclass(slots=True)
class ToolArgsDelta:
    """Text appended to a tool call's JSON arguments."""

    index: int
    text: str


@dataclass(slots=True)
class ImageData:
    """The complete content of an image block: base64 data or a URL."""

    index: int
    data: str | None
    url: str | None


@dataclass(slots=True)
class ProviderStateReceived:
    """The opaque state of a block. Later state of the same block replaces it."""

    index: int
    provider_state: ProviderState


@dataclass(slots=True)
class SearchReported:
    """What is known about the web search of a block. It replaces the earlier report of the same block."""

    index: int
    search: WebSearch


@dataclass(slots=True)
class CitationsReceived:
    """All sources of a text block so far. An empty list says that its text belongs to that of its neighbours."""

    index: int
    citations: tuple[Citation, ...]
    in_bytes: bool = False
    """The places count UTF-8 bytes, not characters."""


@dataclass(slots=True)
class BlockNamed:
    """The name or id of an open tool call. None leaves the field unchanged."""

    index: int
    name: str | None
    call_id: str | None


@dataclass(slots=True)
class BlockFinished:
    """A block is complete. A tool call without this event must not be run."""

    index: int
    form: ThinkingForm | None = None
    """Thinking: the form of the text, if it was not known at the start of the block."""


@dataclass(slots=True)
class UsageReported:
    """The latest complete usage. It replaces the previous one."""

    usage: Usage


@dataclass(slots=True)
class ProviderRemark:
    """A remark of the provider for the user (a dropped thinking block, a warning)."""

    code: str
    text: str


@dataclass(slots=True)
class ModelLoading:
    """The model is being loaded on this machine; the request is sent when that is done."""

    share: float | None
    """How much of it is loaded; None if unknown."""
    done: bool = False


@dataclass(slots=True)
class PromptRead:
    """The server has read this share of the prompt (llama.cpp); the answer begins after that."""

    share: float


@dataclass(slots=True)
class ResponseFinished:
    """The wire's end marker arrived. A response without it is incomplete."""

    stop: Stop


StreamEvent = (
    ResponseStarted
    | BlockStarted
    | TextDelta
    | ThinkingDelta
    | ThinkingBreak
    | ToolArgsDelta
    | ImageData
    | ProviderStateReceived
    | SearchReported
    | CitationsReceived
    | BlockNamed
    | BlockFinished
    | UsageReported
    | ProviderRemark
    | ModelLoading
    | PromptRead
    | ResponseFinished
)


def begins_answer(event: StreamEvent) -> bool:
    """Whether this is the text of an answer or a tool call. Some servers open a text with white space."""
    match event:
        case TextDelta(_, text):
            return bool(text) and not text.isspace()
        case BlockStarted(_, "tool_call"):
            return True
        case _:
            return False
