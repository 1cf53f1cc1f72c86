"""Decoding of OpenAI Responses: streamed events, whole bodies and HTTP errors.

``output`` and ``items`` turn the output items into events.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import orjson

from tui.catalog.quirks import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest
from tui.domain.stream import (
    Finish,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    UsageReported,
)
from tui.domain.usage import Usage
from tui.wires.errors.body import ErrorParts, error_parts
from tui.wires.errors.classify import refused, reported_error
from tui.wires.json_text import NotJSON, loads
from tui.wires.openai_responses.encode import encode
from tui.wires.openai_responses.items import CallItem, Item, MessageItem
from tui.wires.openai_responses.output import OUTPUT_HANDLERS, ResponseOutput
from tui.wires.read import Json, child, children, maybe_text, number, text, whole
from tui.wires.wire import Encoded, Frame, Framing, Reply

INCOMPLETE = {
    "max_output_tokens": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.FILTER,
}
ENDINGS = frozenset({"completed", "incomplete", "failed", "cancelled"})


def inclusive_usage(raw: Json) -> Usage:
    """Return inclusive totals. If more tokens were cached than sent, the server counts them separately (xAI)."""
    sent, output = whole(raw, "input_tokens"), whole(raw, "output_tokens")
    cached = whole(raw, "input_tokens_details", "cached_tokens")
    total = whole(raw, "total_tokens")
    if sent is not None and cached is not None and cached > sent:
        sent += cached
        total = None
    if total is None and sent is not None and output is not None:
        total = sent + output
    return Usage(
        input=sent,
        cache_read=cached,
        cache_write=whole(raw, "input_tokens_details", "cache_write_tokens"),
        output=output,
        thinking=whole(raw, "output_tokens_details", "reasoning_tokens"),
        total=total,
        cost=number(raw, "cost"),
    )


def ending(response: Json, status: str, items: Collection[Item]) -> Stop:
    """Return the stop. An unknown status in a final event counts as completed."""
    status = status if status in ENDINGS else "completed"
    reason = text(response, "incomplete_details", "reason")
    if reason or status == "incomplete":
        return Stop(INCOMPLETE.get(reason, Finish.OTHER), reason or status)
    if status != "completed":
        return Stop(Finish.OTHER, status)
    if any(isinstance(item, CallItem) and item.runnable for item in items):
        return Stop(Finish.TOOL_USE, status)
    refused_to = any(isinstance(item, MessageItem) and item.refused for item in items)
    return Stop(Finish.REFUSAL if refused_to else Finish.STOP, status)


NOTHING: tuple[StreamEvent, ...] = ()


class ResponsesDecoder:
    """Decodes one response."""

    def __init__(self, quirks: Quirks) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._output = ResponseOutput()
        self._bad_frame: NotJSON | None = None
        self._held: ProviderError | None = None
        """The error of an ``error`` event, held until the ``response.failed`` that usually follows."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events of one frame."""
        event: Any = None
        try:
            event = orjson.loads(frame[1])
            # Fast path: nearly every frame is one more piece of the open part.
            if (piece := self._output.next_piece(event)) is not None:
                return (piece,)
        except orjson.JSONDecodeError:
            return self._on_odd_frame(frame)
        except (LookupError, TypeError):
            pass  # not a usual frame: decoded below
        return self._on_event(event) if isinstance(event, dict) else NOTHING

    def _on_event(self, event: Json) -> Sequence[StreamEvent]:
        name = event.get("type")
        if self.complete:
            return NOTHING
        handler = HANDLERS.get(name) if isinstance(name, str) else None
        about_output = OUTPUT_HANDLERS.get(name) if isinstance(name, str) else None
        if self._held is not None and (about_output or handler not in (None, ResponsesDecoder._on_failed)):
            raise self._held
        if about_output is not None:
            return about_output(self._output, event)
        return self._on_unknown(event) if handler is None else handler(self, event)

    def _on_odd_frame(self, frame: Frame) -> Sequence[StreamEvent]:
        """Decode a frame that orjson rejects; a frame that is not JSON is stored for ``finish``."""
        try:
            event = loads(frame[1])
        except NotJSON as fault:
            if frame[1].strip() != b"[DONE]":
                self._bad_frame = self._bad_frame or fault
            return NOTHING
        return self._on_event(event) if isinstance(event, dict) else NOTHING

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Return the events of a response that was not streamed."""
        response = loads(body)
        parts = error_parts(response)
        if parts is not None and not text(response, "status"):
            raise reported_error(parts)
        if not isinstance(response, dict) or not ("output" in response or text(response, "status")):
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server's answer is not a response")
        if text(response, "status") == "failed":
            return self._on_failed({"response": response})
        return self._on_end({"response": response})

    def finish(self) -> Sequence[StreamEvent]:
        """Handle the end of the body; raises ProviderError if no final event came."""
        if self.complete:
            return NOTHING
        fault = self._held or self._bad_frame
        if fault is not None:
            raise fault
        raise ProviderError(ErrorKind.TRUNCATED, "The stream ended before the response did")

    # Handlers, one per event type.

    def _on_started(self, event: Json) -> Sequence[StreamEvent]:
        response = child(event, "response")
        if self._output.named is not None or not response:
            return NOTHING
        self._output.named = (maybe_text(response, "model"), maybe_text(response, "id"))
        return (ResponseStarted(*self._output.named),)

    def _on_end(self, event: Json) -> Sequence[StreamEvent]:
        response = child(event, "response")
        events: list[StreamEvent] = list(self._on_started(event))
        status = text(response, "status") or text(event, "type").rpartition(".")[2]
        events += self._output.final_items(children(response, "output"), whole_response=status == "completed")
        usage = child(response, "usage")
        if usage:
            self.usage_raw = usage
            events.append(UsageReported(inclusive_usage(usage)))
        self._output.stop_writing()
        self.complete = True
        events.append(ResponseFinished(ending(response, status, self._output.items)))
        return events

    def _on_failed(self, event: Json) -> Sequence[StreamEvent]:
        response = child(event, "response")
        self.usage_raw = child(response, "usage") or None
        self._output.stop_writing()
        self.complete = True
        said = error_parts(response) or ErrorParts(message="")
        fault = reported_error(said) if said.message or self._held is None else self._held
        fault.finish_raw = "failed"
        raise fault

    def _on_error(self, event: Json) -> Sequence[StreamEvent]:
        self._output.stop_writing()
        self._held = reported_error(error_parts(event) or ErrorParts(message=""))
        return NOTHING

    def _on_unknown(self, event: Json) -> Sequence[StreamEvent]:
        """Ignore an unknown event, unless it is an error in another shape or a whole response in one event."""
        if isinstance(event.get("error"), dict | str) and event["error"] and "response" not in event:
            return self._on_error(event)
        if event.get("object") == "response" and "output" in event:
            return self._on_end({"response": event})
        return NOTHING


HANDLERS: dict[str, Callable[[ResponsesDecoder, Json], Sequence[StreamEvent]]] = {
    "response.created": ResponsesDecoder._on_started,
    "response.in_progress": ResponsesDecoder._on_started,
    "response.queued": ResponsesDecoder._on_started,
    "response.completed": ResponsesDecoder._on_end,
    "response.incomplete": ResponsesDecoder._on_end,
    "response.done": ResponsesDecoder._on_end,
    "response.cancelled": ResponsesDecoder._on_end,
    "response.failed": ResponsesDecoder._on_failed,
    "error": ResponsesDecoder._on_error,
    "response.error": ResponsesDecoder._on_error,
}


class OpenAIResponses:
    """The wire of OpenAI's /responses."""

    @property
    def name(self) -> WireName:
        """The wire's name."""
        return WireName.OPENAI_RESPONSES

    @property
    def framing(self) -> Framing:
        """The framing of its streams."""
        return "sse"

    def encode(self, request: ChatRequest, quirks: Quirks) -> Encoded:
        """Encode a request."""
        return encode(request, quirks)

    def decoder(self, quirks: Quirks) -> ResponsesDecoder:
        """Return a decoder for one response."""
        return ResponsesDecoder(quirks)

    def refusal(self, reply: Reply) -> ProviderError:
        """Return the error for an HTTP error response."""
        return refused(reply)


RESPONSES = OpenAIResponses()
