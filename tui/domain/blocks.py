"""What a message is made of: ordered, immutable blocks, each with whatever its provider wants back.

A block keeps what the provider said, unfiltered. Deciding what goes back is ``context.outgoing``'s work,
spelling it is the wire's.
"""

from __future__ import annotations

from typing import Literal

from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ThinkingForm

DENIED = "Denied by the user. Not executed."
"""How the result of a call begins to which the user said no; their reason may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """Opaque provider state that must go back byte for byte, at the block it came on."""

    id: str | None = None
    """The provider's own id of the item (``rs_…``, ``msg_…``, ``fc_…``, Gemini's call id)."""
    signature: str | None = None
    """Anthropic ``signature``, Gemini ``thoughtSignature``, Mistral ``signature``."""
    encrypted: str | None = None
    """Anthropic ``redacted_thinking.data``, Responses ``encrypted_content``."""
    raw: str | None = None
    """JSON text of the provider's item, where it must be rebuilt with fields we do not model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Words of the user or of the model."""

    text: str
    seal: Seal | None = None
    refusal: bool = False
    """The provider marked these words as a refusal."""
    partial: bool = False
    """The stream broke or was stopped inside this block."""
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBlock:
    """One stretch of thinking; empty text with a seal is a block too."""

    text: str
    form: ThinkingForm
    wire_field: str | None = None
    """Where a chat-style server put it (``reasoning_content``, ``reasoning``, ``think_tags`` …)."""
    seal: Seal | None = None
    tokens: int | None = None
    seconds: float | None = None
    partial: bool = False
    kind: Literal["thinking"] = "thinking"

    @property
    def nature(self) -> str:
        """``summary``, ``encrypted`` or ``hidden by provider``; "" for the thinking itself."""
        if self.text:
            return "summary" if self.form is ThinkingForm.SUMMARY else ""
        return "encrypted" if self.seal is not None and self.seal.encrypted else "hidden by provider"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallBlock:
    """The model asks for a tool. Arguments stay the raw JSON text; they are parsed where they are run."""

    call_id: str
    name: str
    arguments: str
    seal: Seal | None = None
    partial: bool = False
    """The arguments never finished: such a call is neither run nor sent back."""
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBlock:
    """A picture: inline base64 data with its media type, or a URL."""

    media_type: str
    data: str | None = None
    """Base64 text."""
    url: str | None = None
    name: str | None = None
    """What the user called it (a file name); never sent."""
    seal: Seal | None = None
    """A picture the model made may be signed (Gemini)."""
    kind: Literal["image"] = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultBlock:
    """What a tool answered, or why it did not."""

    call_id: str
    name: str
    content: tuple[TextBlock | ImageBlock, ...]
    failed: bool = False
    seconds: float | None = None
    """How long the call ran; None where it did not."""
    kind: Literal["tool_result"] = "tool_result"

    @property
    def denied(self) -> bool:
        """Nothing went wrong: the user did not want the call."""
        first = self.content[0] if self.failed and self.content else None
        return isinstance(first, TextBlock) and first.text.startswith(DENIED)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueBlock:
    """A provider item we do not model (server-run tools, compaction …), kept whole and in place."""

    label: str
    """The provider's own type name, shown to the user."""
    raw: str
    """The item's JSON text."""
    unread: bool = False
    """Nothing a provider said: what the store holds here could not be read by this version. Never sent."""
    kind: Literal["opaque"] = "opaque"


Block = TextBlock | ThinkingBlock | ToolCallBlock | ToolResultBlock | ImageBlock | OpaqueBlock
