"""What a decoder says while one response arrives.

Plain slotted dataclasses (not frozen: these are made by the hundred per second and never kept).
``index`` numbers the blocks of one response in the order they opened, starting at 0.
A block is always opened before its deltas, even when no text will follow; a seal never depends on text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tui.domain.blocks import Seal
from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage

BlockKind = Literal["text", "refusal", "thinking", "tool_call", "image", "opaque"]


class Finish(StrEnum):
    """Why a response ended."""

    STOP = "stop"
    TOOL_USE = "tool_use"
    LENGTH = "length"
    FILTER = "filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    """The provider wants the conversation sent again with this turn appended (Anthropic pause_turn)."""
    CONTINUATION = "continuation"
    """Send the same request again with the token in ``Stop.detail`` (Gemini long decode)."""
    CONTEXT_FULL = "context_full"
    MALFORMED_CALL = "malformed_call"
    """The model wrote a tool call the provider could not read; worth one retry."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a response: our word for it, the provider's, and any explanation or token."""

    finish: Finish
    raw: str | None = None
    detail: str | None = None


@dataclass(slots=True)
class ResponseStarted:
    """The provider named the model that answers and its id for the response."""

    model: str | None
    response_id: str | None
    restarted: bool = False
    """The server began anew in mid-stream: every block before this one is void, indices go on counting."""


@dataclass(slots=True)
class BlockStarted:
    """A block opens."""

    index: int
    kind: BlockKind
    name: str | None = None
    """Tool name; the provider's type name for opaque blocks; the media type for images."""
    call_id: str | None = None
    form: ThinkingForm | None = None
    wire_field: str | None = None
    """Thinking: the wire field it came in, where that matters for sending it back."""


@dataclass(slots=True)
class TextDelta:
    """More words of a text or refusal block."""

    index: int
    text: str


@dataclass(slots=True)
class ThinkingDelta:
    """More words of a thinking block."""

    index: int
    text: str


@dataclass(slots=True)
class ThinkingBreak:
    """A new part of the same thinking block begins (drawn as a blank line, not part of the wire's text)."""

    index: int


@dataclass(slots=True)
class ToolArgsDelta:
    """More characters of a tool call's JSON arguments."""

    index: int
    text: str


@dataclass(slots=True)
class ImageData:
    """The whole of an image block: base64 data, or a URL."""

    index: int
    data: str | None
    url: str | None


@dataclass(slots=True)
class BlockSealed:
    """Opaque state for a block; a later seal of the same block replaces the former."""

    index: int
    seal: Seal


@dataclass(slots=True)
class BlockNamed:
    """A tool call's name or id came after the block had opened; None leaves the field as it was."""

    index: int
    name: str | None
    call_id: str | None


@dataclass(slots=True)
class BlockFinished:
    """A block is complete; a tool call without this must not be run."""

    index: int
    form: ThinkingForm | None = None
    """Thinking: what its text turned out to be, where the start could only guess."""


@dataclass(slots=True)
class UsageReported:
    """The newest full reading; it replaces the one before."""

    usage: Usage


@dataclass(slots=True)
class ProviderRemark:
    """Something the provider did that the user should hear (a thinking block dropped, a warning)."""

    code: str
    text: str


@dataclass(slots=True)
class ResponseFinished:
    """The wire's own end was seen; without this a response is incomplete, whatever arrived."""

    stop: Stop


StreamEvent = (
    ResponseStarted
    | BlockStarted
    | TextDelta
    | ThinkingDelta
    | ThinkingBreak
    | ToolArgsDelta
    | ImageData
    | BlockSealed
    | BlockNamed
    | BlockFinished
    | UsageReported
    | ProviderRemark
    | ResponseFinished
)
