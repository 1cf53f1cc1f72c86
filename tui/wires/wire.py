"""The interface of a wire: encoding of requests and decoding of responses in one provider format.

``wire_named`` finds a wire and imports it on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol, cast

from tui.catalog.facts import Quirks
from tui.domain.errors import ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest
from tui.domain.stream import StreamEvent

Frame = tuple[str, bytes]
"""One unit of a stream: the event name ("" where the framing has none) and its data."""

Framing = Literal["sse", "ndjson"]
"""The framing of a wire's streams. Gemini may also send a JSON array, and any wire one whole JSON body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRequest:
    """A request in a provider's format, without host and key."""

    path: str
    """Appended to the provider's base URL; may contain a query."""
    body: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorResponse:
    """An HTTP error response. The body may be cut off at a size limit."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Decoder(Protocol):
    """Decodes one response. Invalid input of any kind raises ProviderError."""

    complete: bool
    """Whether the format's own end marker was seen."""
    usage_raw: Mapping[str, object] | None
    """The latest usage object as received; for inspection only."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events of one frame.

        Raises ProviderError for an error that the server reports inside the stream. A frame that is not JSON is
        skipped; ``finish`` raises for it unless the end marker came later.
        """
        ...

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Return the events of a JSON body that was not streamed, including ResponseFinished."""
        ...

    def finish(self) -> Sequence[StreamEvent]:
        """Return the closing events at the end of the body.

        Raises ProviderError(TRUNCATED) if no end was seen. ResponseFinished comes exactly once, here or with the end
        marker; UsageReported never comes after it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A wire format. The module or package that implements one has it as ``WIRE``."""

    name: WireName
    framing: Framing = "sse"
    encode: Callable[[ChatRequest, Quirks], EncodedRequest]
    """Encode a request; nothing is omitted."""
    decoder: Callable[[Quirks], Decoder]
    """Return a decoder for one response."""
    refusal: Callable[[ErrorResponse], ProviderError]
    """Return the error for an HTTP error response."""


def wire_named(name: WireName | str) -> Wire:
    """Return the wire with this name, imported on first use; raises ValueError for an unknown name."""
    package = WireName(name).value.replace("-", "_")
    return cast(Wire, importlib.import_module(f"tui.wires.{package}").WIRE)
