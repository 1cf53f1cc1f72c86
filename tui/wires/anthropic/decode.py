"""Decoding of Anthropic Messages responses: streamed events, whole bodies and HTTP errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from orjson import JSONDecodeError
from orjson import loads as loads_plain

from tui.catalog.facts import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import (
    BlockFinished,
    BlockKind,
    BlockStarted,
    Finish,
    ProviderRemark,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    UsageReported,
)
from tui.domain.usage import Usage
from tui.wires.anthropic.blocks import (
    KIND_OF_DELTA,
    OpenBlock,
    delta_events,
    kind_of,
    open_block,
    start_events,
    stop_events,
)
from tui.wires.errors.body import ErrorParts, error_frame, error_parts
from tui.wires.errors.classify import provider_error, refusal_of
from tui.wires.json_text import (
    MAX_DEPTH,
    Json,
    NotJSON,
    child,
    children,
    dollars,
    loads,
    loads_leniently,
    maybe_text,
    text,
    whole,
)
from tui.wires.wire import ErrorResponse, Frame

NOTHING: tuple[StreamEvent, ...] = ()

FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "tool_use": Finish.TOOL_USE,
    "pause_turn": Finish.PAUSE,
    "refusal": Finish.REFUSAL,
    "model_context_window_exceeded": Finish.CONTEXT_FULL,
}
CUT_SHORT = frozenset({Finish.LENGTH, Finish.CONTEXT_FULL})
"""Stop reasons that mean an unparsable tool call was cut off, not merely malformed."""

STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status of each error type: an error inside a stream has a type and no status."""


class AnthropicDecoder:
    """Decodes one response. Blocks are numbered in the order they open; the server's indexes may repeat."""

    def __init__(self, quirks: Quirks) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._empty_signatures = quirks.empty_signatures
        self._usage: dict[str, object] = {}
        self._open: dict[int, OpenBlock] = {}
        self._next_index = 0
        self._started = False
        self._called_tools = False
        self._cut_calls: list[int] = []
        """Stopped tool calls with invalid arguments; the stop reason decides later whether they were cut off."""
        self._stop = Stop(Finish.OTHER)
        self._remarks: set[str] = set()
        self._bad_frame: NotJSON | None = None

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events of one frame.

        Fast path: nearly every frame is a delta of an open block, and only such a frame has all the keys read here.
        Any other frame raises and is decoded below. The decode benchmark measures this path.
        """
        try:
            event = loads_plain(frame[1])
            block = self._open[event["index"]]
            piece = event["delta"][block.carrier]
        except JSONDecodeError:
            return self._on_odd_frame(frame)
        except (KeyError, TypeError):
            return self._on_event(event) if len(frame[1]) <= MAX_DEPTH else self._on_odd_frame(frame)
        if piece.__class__ is not str or not piece:
            return NOTHING
        if block.json_pieces is not None:
            block.json_pieces.append(piece)
        return NOTHING if block.delta is None else (block.delta(block.index, piece),)

    def _on_odd_frame(self, frame: Frame) -> Sequence[StreamEvent]:
        """Decode a frame that orjson rejects, or that is long enough to be nested too deeply."""
        try:
            return self._on_event(loads(frame[1]))
        except NotJSON as fault:
            if (error := error_frame(frame)) is not None:
                return self._on_event(error)
            self._bad_frame = self._bad_frame or fault
            return NOTHING

    def _on_event(self, event: object) -> Sequence[StreamEvent]:
        if not isinstance(event, dict) or self.complete:
            return NOTHING
        name = event.get("type")
        handler = HANDLERS.get(name) if isinstance(name, str) else None
        if handler is not None:
            return handler(self, event)
        return self._on_error(event) if isinstance(event.get("error"), dict | str) else NOTHING

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Return the events of a message that was not streamed."""
        message = loads(body)
        if not isinstance(message, dict):
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server's answer is not a message")
        if "content" not in message and "stop_reason" not in message:
            if isinstance(message.get("error"), dict | str):
                self._on_error(message)
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server's answer is not a message")
        return [*self._on_message_start({"message": message}), *self._on_message_stop({})]

    def finish(self) -> Sequence[StreamEvent]:
        """Handle the end of the body; raises ProviderError if no ``message_stop`` came."""
        if self.complete:
            return NOTHING
        if self._bad_frame is not None:
            raise self._bad_frame
        raise ProviderError(ErrorKind.TRUNCATED, "The stream ended before the message did")

    # Handlers, one per event type.

    def _on_message_start(self, event: Json) -> Sequence[StreamEvent]:
        message = child(event, "message")
        restarted = self._started
        self._started = True
        self._open.clear()
        self._cut_calls.clear()
        self._called_tools = False
        self._usage = {}
        events: list[StreamEvent] = [
            ResponseStarted(maybe_text(message, "model"), maybe_text(message, "id"), restarted),
        ]
        events += self._remarks_of(message)
        events += self._usage_of(message)
        # A message that was not streamed has its blocks here. So has a stream in which server-run code made a call.
        for block in children(message, "content"):
            events += self._on_block_start({"index": -1, "content_block": block})
            events += self._on_block_stop({"index": -1})
        self._stop = _stop(message) or Stop(Finish.OTHER)
        return events

    def _on_block_start(self, event: Json) -> Sequence[StreamEvent]:
        position = event.get("index")
        raw = child(event, "content_block")
        name = text(raw, "type")
        if not isinstance(position, int) or not name:
            return NOTHING
        events: list[StreamEvent] = list(self._on_block_stop(event))
        events += start_events(self._open_block(position, kind_of(raw), raw))
        return events

    def _on_block_delta(self, event: Json) -> Sequence[StreamEvent]:
        """Handle what the fast path does not: signatures, citations, and deltas of blocks that were never started."""
        position = event.get("index")
        delta = child(event, "delta")
        if not isinstance(position, int):
            return NOTHING
        block = self._open.get(position)
        if block is None:
            kind = KIND_OF_DELTA.get(text(delta, "type"))
            if kind is None or not delta_events(open_block(self._next_index, kind, {}), delta):
                return NOTHING
            block = self._open_block(position, kind, {})
            return (BlockStarted(block.index, kind), *delta_events(block, delta))
        return delta_events(block, delta)

    def _on_block_stop(self, event: Json) -> Sequence[StreamEvent]:
        position = event.get("index")
        block = self._open.pop(position, None) if isinstance(position, int) else None
        return self._close(block) if block is not None else NOTHING

    def _on_message_delta(self, event: Json) -> Sequence[StreamEvent]:
        delta = child(event, "delta")
        self._stop = _stop(delta) or self._stop
        events: list[StreamEvent] = list(self._remarks_of(event))
        events += self._remarks_of(delta)
        events += self._usage_of(event)
        return events

    def _on_message_stop(self, _event: Json) -> Sequence[StreamEvent]:
        events: list[StreamEvent] = []
        for block in self._open.values():
            events += self._close(block)
        self._open.clear()
        stop = self._stop
        if stop.raw is None:
            stop = Stop(Finish.TOOL_USE if self._called_tools else Finish.STOP)
        if stop.finish not in CUT_SHORT:
            events += [BlockFinished(index) for index in self._cut_calls]
        self.complete = True
        events.append(ResponseFinished(stop))
        return events

    def _on_error(self, event: Json) -> Sequence[StreamEvent]:
        raise _stream_error(event)

    # Parts of events.

    def _open_block(self, position: int, kind: BlockKind, raw: Json) -> OpenBlock:
        block = self._open[position] = open_block(self._next_index, kind, raw)
        self._next_index += 1
        self._called_tools = self._called_tools or kind == "tool_call"
        return block

    def _close(self, block: OpenBlock) -> Sequence[StreamEvent]:
        events = stop_events(block, empty_signatures=self._empty_signatures)
        if not events:
            self._cut_calls.append(block.index)
        return events

    def _usage_of(self, event: Json) -> Sequence[StreamEvent]:
        usage = child(event, "usage")
        if not usage:
            return NOTHING
        self._usage.update((key, value) for key, value in usage.items() if value is not None)
        self.usage_raw = self._usage
        return (UsageReported(_usage(self._usage)),)

    def _remarks_of(self, event: Json) -> Sequence[StreamEvent]:
        """Return a remark for each change the server made to the request; later lists repeat earlier entries."""
        remarks: list[StreamEvent] = []
        for change in children(event, "input_transformations"):
            code = text(change, "type") or "input_transformation"
            description = ": ".join(part for part in (text(change, "path"), text(change, "reason")) if part)
            if (key := f"{code} {description}") not in self._remarks:
                self._remarks.add(key)
                remarks.append(ProviderRemark(code, description))
        return remarks


def _stop(event: Json) -> Stop | None:
    reason = text(event, "stop_reason")
    if not reason:
        return None
    details = child(event, "stop_details")
    explanation = ": ".join(part for part in (text(details, "category"), text(details, "explanation")) if part)
    return Stop(FINISHES.get(reason, Finish.OTHER), reason, explanation or maybe_text(event, "stop_sequence"))


def _usage(raw: Json) -> Usage:
    """Return inclusive totals: Anthropic's ``input_tokens`` does not include cache reads and writes."""
    uncached = whole(raw, "input_tokens")
    cache_read = whole(raw, "cache_read_input_tokens")
    cache_write = whole(raw, "cache_creation_input_tokens")
    sent = None if uncached is None else uncached + (cache_read or 0) + (cache_write or 0)
    output = whole(raw, "output_tokens")
    return Usage(
        input=sent,
        cache_read=cache_read,
        cache_write=cache_write,
        cache_write_1h=whole(raw, "cache_creation", "ephemeral_1h_input_tokens"),
        output=output,
        thinking=whole(raw, "output_tokens_details", "thinking_tokens"),
        total=None if sent is None or output is None else sent + output,
        searches=whole(raw, "server_tool_use", "web_search_requests") or None,
        cost=dollars(raw, "cost"),
    )


HANDLERS: dict[str, Callable[[AnthropicDecoder, Json], Sequence[StreamEvent]]] = {
    "message_start": AnthropicDecoder._on_message_start,
    "content_block_delta": AnthropicDecoder._on_block_delta,
    "content_block_start": AnthropicDecoder._on_block_start,
    "content_block_stop": AnthropicDecoder._on_block_stop,
    "message_delta": AnthropicDecoder._on_message_delta,
    "message_stop": AnthropicDecoder._on_message_stop,
    "error": AnthropicDecoder._on_error,
}


def _stream_error(event: Json) -> ProviderError:
    parts = error_parts(event) or ErrorParts(message="")
    return provider_error(
        status=STATUS_OF_TYPE.get(parts.type or ""),
        message=parts.message,
        code=parts.code,
        type_=parts.type,
        param=parts.param,
        request_id=maybe_text(event, "request_id"),
    )


def refusal(reply: ErrorResponse) -> ProviderError:
    """Return the error for an HTTP error response; its request id may be in the body only."""
    fault = refusal_of(reply)
    if fault.request_id is None:
        try:
            fault.request_id = maybe_text(loads_leniently(reply.body), "request_id")
        except NotJSON:
            return fault
    return fault
