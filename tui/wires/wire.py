"""The seam between formats and the rest: what a wire is, what it takes, what it gives. No sockets here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from tui.catalog.quirks import Quirks
from tui.domain.errors import ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest
from tui.domain.stream import StreamEvent

Frame = tuple[str, bytes]
"""One unit of a stream: the event name ("" where the framing has none) and its data."""

Framing = Literal["sse", "ndjson"]
"""What the wire streams; Gemini may also answer with a JSON array, any wire with one whole JSON body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A request as it goes on the wire, but for host and key."""

    path: str
    """Joined to the provider's base URL; may carry a query."""
    body: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An HTTP answer that is not a stream: what a refusal is read from. The body may be cut at a cap."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Decoder(Protocol):
    """Fresh state for one response. Every fault is a ProviderError, whatever the bytes."""

    complete: bool
    """The wire's own end marker was seen."""
    usage_raw: Mapping[str, object] | None
    """The usage object as on the wire, last reading; for inspection only."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Events of one frame.

        Raises ProviderError for an error the server reports in-band. A frame that is not JSON is remembered and
        passed over; ``finish`` raises for it unless the stream's own end came after all.
        """
        ...

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Events of a whole, unstreamed JSON body, up to and including ResponseFinished."""
        ...

    def finish(self) -> Sequence[StreamEvent]:
        """End of bytes: the closing events.

        Raises ProviderError(TRUNCATED) where no end was seen. ResponseFinished comes exactly once, here or when
        the end marker came; UsageReported never comes after it.
        """
        ...


class Wire(Protocol):
    """One wire format; a module-level value per format."""

    @property
    def name(self) -> WireName:
        """Its name."""
        ...

    @property
    def framing(self) -> Framing:
        """How its streams are framed."""
        ...

    def encode(self, request: ChatRequest, quirks: Quirks) -> Encoded:
        """Spell a request. Pure; filters nothing."""
        ...

    def decoder(self, quirks: Quirks) -> Decoder:
        """A decoder for one response."""
        ...

    def refusal(self, reply: Reply) -> ProviderError:
        """What an HTTP error (or a body that is no answer) means."""
        ...
