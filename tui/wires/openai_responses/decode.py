"""Decoding of OpenAI Responses: streamed events, whole bodies and HTTP errors.

``ResponseOutput`` finds the item and part of each event, ``items`` turns items into events, and the decoder handles the
response itself: start, end and failure.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import orjson

from tui.catalog.facts import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import (
    Finish,
    ProviderStateReceived,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.usage import Usage
from tui.wires.errors.body import ErrorParts, error_frame, error_parts
from tui.wires.errors.classify import reported_error
from tui.wires.json_text import Json, NotJSON, child, children, dollars, loads, maybe_text, text, whole
from tui.wires.openai_responses.items import (
    NOT_WRITING,
    CallItem,
    Contradiction,
    CustomCallItem,
    Item,
    MessageItem,
    MessagePart,
    OpenPart,
    ReasoningItem,
    SearchItem,
    new_item,
    with_output_index,
)
from tui.wires.openai_responses.web_search import charged_searches
from tui.wires.wire import Frame

NOTHING: tuple[StreamEvent, ...] = ()
TEXT_DELTA = "response.output_text.delta"

MOST_RESTARTS = 16
"""Each one sends all finished items again."""


class ResponseOutput:
    """The output items of one response by ``output_index``: the ids change between events at some servers."""

    def __init__(self) -> None:
        self.named: tuple[str | None, str | None] | None = None
        """Model and response id, once known."""
        self._items: dict[int, Item] = {}
        self._writing = NOT_WRITING
        self._next_index = 0
        self._restarts = 0
        self._finished_calls: dict[tuple[str, str], CallItem] = {}
        """By id and call id."""

    def next_piece(self, event: Any) -> StreamEvent | None:
        """Fast path: return the event of a delta of the open part; None or LookupError for any other event."""
        open_ = self._writing
        if event["type"] == open_.kind and event["output_index"] == open_.at and event[open_.sub_name] == open_.sub:
            piece = event["delta"]
            if piece and piece.__class__ is str:
                open_.keep(piece)
                return open_.make(open_.index, piece)
        return None

    def stop_writing(self) -> None:
        """Leave the fast path: no part is open."""
        self._writing = NOT_WRITING

    @property
    def items(self) -> Collection[Item]:
        """All output items."""
        return self._items.values()

    def on_words(self, event: Json, kind: str) -> Sequence[StreamEvent]:
        """Handle a delta of text or refusal."""
        item = self._item(event, "message")
        piece = text(event, "delta")
        if not isinstance(item, MessageItem) or item.done is not None or not piece:
            return NOTHING
        part, events = self._part(item, event, kind)
        part.pieces.append(piece)
        events.append(TextDelta(part.index, piece))
        return events

    def _part(self, item: MessageItem, event: Json, kind: str) -> tuple[MessagePart, list[StreamEvent]]:
        position = whole(event, "content_index") or 0
        part, events = item.part(position, "refusal" if kind == "refusal" else "text")
        delta = "response.refusal.delta" if part.kind == "refusal" else TEXT_DELTA
        at = event.get("output_index")
        self._writing = OpenPart(delta, at, "content_index", position, part.pieces.append, TextDelta, part.index)
        return part, events

    def on_part_added(self, event: Json) -> Sequence[StreamEvent]:
        """Handle the start of a message part."""
        kind = text(event, "part", "type")
        if kind not in ("output_text", "refusal"):
            return NOTHING
        item = self._item(event, "message")
        return self._part(item, event, kind)[1] if isinstance(item, MessageItem) and item.done is None else NOTHING

    def on_text_done(self, event: Json) -> Sequence[StreamEvent]:
        """Handle the whole text of a part, sent again at its end."""
        item = self._item(event, "message")
        final = text(event, "text") or text(event, "refusal")
        if not isinstance(item, MessageItem) or item.done is not None or not final:
            return NOTHING
        part, events = self._part(item, event, "refusal" if "refusal" in event else "text")
        with contextlib.suppress(Contradiction):  # the finished item has the same text and replaces all
            events += part.complete(final)
        return events

    def on_annotation(self, event: Json) -> Sequence[StreamEvent]:
        """Handle the source of a part of a text; the finished item has all of them again."""
        item = self._item(event, "message")
        annotation = child(event, "annotation")
        if not isinstance(item, MessageItem) or item.done is not None or not annotation:
            return NOTHING
        part, events = self._part(item, event, "text")
        return [*events, *part.annotate(annotation)]

    def on_thinking(self, event: Json, field: str, sub_name: str) -> Sequence[StreamEvent]:
        """Handle a delta of a summary or of the reasoning itself."""
        item = self._item(event, "reasoning")
        piece = text(event, "delta")
        if not isinstance(item, ReasoningItem) or item.done is not None or not piece:
            return NOTHING
        position = whole(event, sub_name) or 0
        events = item.add((field, position), piece)
        if item.current is not None and item.index is not None:
            at = event.get("output_index")
            keep = item.current.append
            self._writing = OpenPart(text(event, "type"), at, sub_name, position, keep, ThinkingDelta, item.index)
        return events

    def on_arguments_delta(self, event: Json) -> Sequence[StreamEvent]:
        """Handle a delta of a call's arguments."""
        item = self._item(event, "function_call")
        piece = text(event, "delta")
        if not isinstance(item, CallItem) or item.done is not None or not piece:
            return NOTHING
        events = item.add(piece)
        if item.index is not None:
            at = event.get("output_index")
            keep = item.pieces.append
            self._writing = OpenPart(text(event, "type"), at, "output_index", at, keep, ToolArgsDelta, item.index)
        return events

    def on_arguments_done(self, event: Json) -> Sequence[StreamEvent]:
        """Handle the whole arguments, sent again at their end."""
        item = self._item(event, "function_call")
        if not isinstance(item, CallItem) or item.done is not None:
            return NOTHING
        try:
            return item.complete(text(event, "arguments"))
        except Contradiction:
            return NOTHING  # as in on_text_done

    def on_input_delta(self, event: Json) -> Sequence[StreamEvent]:
        """Handle a delta of a custom call's input."""
        item = self._item(event, "custom_tool_call")
        piece = text(event, "delta")
        return item.add(piece) if isinstance(item, CustomCallItem) and item.done is None and piece else NOTHING

    def on_item_added(self, event: Json) -> Sequence[StreamEvent]:
        """Handle the start of an item."""
        raw = child(event, "item")
        self._place_repetition(event, raw)
        item = self._item(event, text(raw, "type"))
        return item.start(raw) if item is not None else NOTHING

    def on_item_done(self, event: Json) -> Sequence[StreamEvent]:
        """Handle a finished item."""
        raw = child(event, "item")
        if not raw:
            return NOTHING
        self._place_repetition(event, raw)
        item = self._item(event, text(raw, "type") or "unknown")
        if item is None or item.done is not None:
            return NOTHING
        self._writing = NOT_WRITING
        return self._settle(item, raw)

    def _new_index(self) -> int:
        index = self._next_index
        self._next_index += 1
        return index

    def _item(self, event: Json, name: str) -> Item | None:
        """Return the item of an event, new if it was not announced; None if its type differs from ``name``."""
        position = event.get("output_index")
        if not isinstance(position, int):
            position = max(self._items, default=-1) + (not self._items)
        item = self._items.get(position)
        if item is None:
            item = self._items[position] = new_item(name, self._new_index)
        return item if item.name == name else None

    def _place_repetition(self, event: Json, raw: Json) -> None:
        """Let a call that is sent again at another position be the finished one: it must not be executed twice."""
        position = event.get("output_index")
        names = (text(raw, "id"), text(raw, "call_id"))
        if not isinstance(position, int) or position in self._items or not all(names):
            return
        if (finished := self._finished_calls.get(names)) is not None:
            self._items[position] = finished

    def _settle(self, item: Item, raw: Json) -> Sequence[StreamEvent]:
        try:
            events = item.settle(raw)
            if isinstance(item, CallItem):
                self._finished_calls.setdefault((text(raw, "id"), text(raw, "call_id")), item)
            return events
        except Contradiction:
            item.done = raw
            self._restarts += 1
            if self._restarts > MOST_RESTARTS:
                why = "The server contradicts again and again what it has sent before"
                raise ProviderError(ErrorKind.BAD_FRAME, why, retryable=False) from None
            return self._restart()

    def _restart(self) -> Sequence[StreamEvent]:
        """Restart the response: finished items are sent again now, the others when they finish."""
        events: list[StreamEvent] = [ResponseStarted(*(self.named or (None, None)), restarted=True)]
        finished: dict[int, Json] = {}
        for position, item in self._items.items():
            if item.done is not None and item.done not in finished.values():  # a repeated call is there twice
                finished[position] = item.done
        self._items.clear()
        self._finished_calls.clear()
        self._writing = NOT_WRITING
        for position, raw in finished.items():
            item = self._items[position] = new_item(text(raw, "type"), self._new_index)
            events += self._settle(item, raw)
        return events

    def final_items(self, output: Sequence[Json], *, whole_response: bool) -> list[StreamEvent]:
        """Return the events of the final list: items that were not streamed, and encrypted reasoning (Azure)."""
        events: list[StreamEvent] = []
        for position, raw in with_output_index(self._items, output):
            item = self._items.get(position)
            if item is None:
                item = self._items[position] = new_item(text(raw, "type"), self._new_index)
            if item.done is None and (whole_response or not isinstance(item, CallItem)):
                events += self._settle(item, raw)
            elif isinstance(item, ReasoningItem) and not item.encrypted and raw.get("encrypted_content"):
                assert item.index is not None
                events.append(ProviderStateReceived(item.index, item.provider_state(raw)))
        return events


OUTPUT_HANDLERS: Mapping[str, Callable[[ResponseOutput, Json], Sequence[StreamEvent]]] = {
    TEXT_DELTA: lambda output, event: output.on_words(event, "text"),
    "response.refusal.delta": lambda output, event: output.on_words(event, "refusal"),
    "response.reasoning_summary_text.delta": lambda output, event: output.on_thinking(
        event, "summary", "summary_index"
    ),
    "response.reasoning_text.delta": lambda output, event: output.on_thinking(event, "content", "content_index"),
    "response.function_call_arguments.delta": ResponseOutput.on_arguments_delta,
    "response.function_call_arguments.done": ResponseOutput.on_arguments_done,
    "response.custom_tool_call_input.delta": ResponseOutput.on_input_delta,
    "response.output_item.added": ResponseOutput.on_item_added,
    "response.output_item.done": ResponseOutput.on_item_done,
    "response.content_part.added": ResponseOutput.on_part_added,
    "response.output_text.done": ResponseOutput.on_text_done,
    "response.output_text.annotation.added": ResponseOutput.on_annotation,
    "response.refusal.done": ResponseOutput.on_text_done,
}
"""Handlers by event type."""


INCOMPLETE = {
    "max_output_tokens": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.FILTER,
}
ENDINGS = frozenset({"completed", "incomplete", "failed", "cancelled"})


def inclusive_usage(raw: Json, searches: int | None = None) -> Usage:
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
        searches=searches,
        cost=_cost(raw),
    )


TICKS = 1e10
"""Ticks of a dollar, in which xAI reports what a response costs, its searches included."""


def _cost(raw: Json) -> float | None:
    ticks = whole(raw, "cost_in_usd_ticks")
    return dollars(raw, "cost") if ticks is None else dollars({"cost": ticks / TICKS}, "cost")


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
            if (error := error_frame(frame)) is not None:
                return self._on_event(error)
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
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server answered with JSON that is not a response")
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
            searches = [item.done for item in self._output.items if isinstance(item, SearchItem) and item.done]
            events.append(UsageReported(inclusive_usage(usage, charged_searches(searches, usage))))
        self._output.stop_writing()
        self.complete = True
        events.append(ResponseFinished(ending(response, status, self._output.items)))
        return events

    def _on_failed(self, event: Json) -> Sequence[StreamEvent]:
        response = child(event, "response")
        self.usage_raw = child(response, "usage") or None
        self._output.stop_writing()
        self.complete = True
        reported = error_parts(response) or ErrorParts(message="")
        fault = reported_error(reported) if reported.message or self._held is None else self._held
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
