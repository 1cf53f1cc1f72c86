"""The parts of a message: ordered, immutable blocks with the provider state that must be sent back.

A block stores the provider's output unfiltered. ``context.select`` decides which blocks are sent back, the wire
encodes them.
"""

from __future__ import annotations

from typing import Literal

from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ThinkingForm
from tui.domain.web_search import Citation, WebSearch

DENIED = "Denied by the user. Not executed."
"""First words of the result of a denied call. The user's reason may follow."""
STOPPED = "Interrupted by the user"
"""First words of the result of a call that the user stopped while or before it ran."""
FROM_SERVER = "of the MCP server `"
"""Is in every message of the user that holds text of an MCP server, whose author is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """Opaque provider state that must be sent back byte for byte with the block it came with."""

    id: str | None = None
    """The provider's own id of the item (``rs_…``, ``msg_…``, ``fc_…``, Gemini's call id)."""
    signature: str | None = None
    """Anthropic ``signature``, Gemini ``thoughtSignature``, Mistral ``signature``."""
    encrypted: str | None = None
    """Anthropic ``redacted_thinking.data``, Responses ``encrypted_content``."""
    raw: str | None = None
    """JSON text of the provider's item, if it has fields that have no block attribute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Text of the user or of the model."""

    text: str
    provider_state: ProviderState | None = None
    refusal: bool = False
    """The provider marked this text as a refusal."""
    partial: bool = False
    """The stream ended or was stopped inside this block."""
    citations: tuple[Citation, ...] = ()
    """Sources of the text as the provider gave them, for the user. What is sent back is in the provider state."""
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBlock:
    """Thinking text. The text may be empty if there is provider state."""

    text: str
    form: ThinkingForm
    wire_field: str | None = None
    """Response field of a Chat Completions server (``reasoning_content``, ``reasoning``, ``think_tags`` …)."""
    provider_state: ProviderState | None = None
    tokens: int | None = None
    seconds: float | None = None
    partial: bool = False
    kind: Literal["thinking"] = "thinking"

    @property
    def nature(self) -> str:
        """``summary``, ``encrypted`` or ``hidden by provider``; "" for the full thinking text."""
        if self.text:
            return "summary" if self.form in (ThinkingForm.SUMMARY, ThinkingForm.NARRATION) else ""
        return (
            "encrypted" if self.provider_state is not None and self.provider_state.encrypted else "hidden by provider"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallBlock:
    """A tool call by the model. The arguments are raw JSON text, parsed when the tool runs."""

    call_id: str
    name: str
    arguments: str
    provider_state: ProviderState | None = None
    partial: bool = False
    """The arguments are incomplete. The call is neither run nor sent back."""
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBlock:
    """An image: inline base64 data with its media type, or a URL."""

    media_type: str
    data: str | None = None
    """Base64 text."""
    url: str | None = None
    name: str | None = None
    """File name given by the user. Never sent."""
    provider_state: ProviderState | None = None
    """Gemini may sign an image that the model generated."""
    kind: Literal["image"] = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBlock:
    """A PDF that the user attached."""

    data: str
    """Base64 text."""
    name: str
    """File name given by the user; sent, because it distinguishes several documents."""
    pages: int = 0
    """0 if they could not be counted."""
    media_type: str = "application/pdf"
    kind: Literal["document"] = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultBlock:
    """The output of a tool, or the reason for its failure."""

    call_id: str
    name: str
    content: tuple[TextBlock | ImageBlock, ...]
    failed: bool = False
    seconds: float | None = None
    """How long the call ran; None if it did not run."""
    note: str = ""
    """The outcome in two or three words, for the user: ``3 hits``. Never sent."""
    diff: str = ""
    """What it changed in a file, for the user. Never sent."""
    kind: Literal["tool_result"] = "tool_result"

    @property
    def denied(self) -> bool:
        """Whether the user denied the call."""
        return self._failed_with(DENIED)

    @property
    def stopped(self) -> bool:
        """Whether the user stopped the call."""
        return self._failed_with(STOPPED)

    def _failed_with(self, words: str) -> bool:
        first = self.content[0] if self.failed and self.content else None
        return isinstance(first, TextBlock) and first.text.startswith(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueBlock:
    """A provider item without a block type of its own (server-run tools, compaction …), stored whole and in order."""

    label: str
    """The provider's type name, shown to the user."""
    raw: str
    """The item's JSON text."""
    search: WebSearch | None = None
    """What the item says about a web search, for the user."""
    unread: bool = False
    """The stored block could not be read by this version of the program. Never sent."""
    kind: Literal["opaque"] = "opaque"


Block = TextBlock | ThinkingBlock | ToolCallBlock | ToolResultBlock | ImageBlock | DocumentBlock | OpaqueBlock


_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def picture_type(head: bytes) -> str | None:
    """Return the media type of an image by its first bytes; None for everything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _BEGINNINGS if head.startswith(magic)), None)
