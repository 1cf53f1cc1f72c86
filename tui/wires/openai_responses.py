"""The OpenAI Responses wire, the way back: stream events and whole responses to ours, refusals to errors.

The way out is spelled in ``responses_encode``; what an output item turns into stands in ``responses_items``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from tui.catalog.quirks import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest
from tui.domain.stream import (
    BlockSealed,
    ResponseFinished,
    ResponseStarted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.wires.classify import refused, reported_error
from tui.wires.error_body import ErrorParts, error_parts
from tui.wires.json_text import NotJSON, loads
from tui.wires.read import Json, child, children, maybe_text, text, whole
from tui.wires.responses_encode import encode
from tui.wires.responses_end import ending, inclusive_usage
from tui.wires.responses_items import (
    NOT_WRITING,
    CallItem,
    Contradiction,
    CustomCallItem,
    Item,
    MessageItem,
    MessagePart,
    ReasoningItem,
    Writing,
    new_item,
    placed,
)
from tui.wires.wire import Encoded, Frame, Framing, Reply

NOTHING: tuple[StreamEvent, ...] = ()
TEXT_DELTA = "response.output_text.delta"

# decoder state


class ResponsesDecoder:
    """One response; its items are kept by ``output_index``, because ids change from event to event at some servers."""

    def __init__(self, quirks: Quirks) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._items: dict[int, Item] = {}
        self._writing = NOT_WRITING
        self._next_index = 0
        self._named: tuple[str | None, str | None] | None = None
        """Model and response id, once told."""
        self._bad_frame: NotJSON | None = None
        self._held: ProviderError | None = None
        """An ``error`` event waits for the ``response.failed`` that usually follows and says the same."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Events of one frame."""
        event: Any = None
        try:
            event = orjson.loads(frame[1])
            # Nearly every frame is one more piece of the open part, so nothing stands between the JSON and the event.
            open_ = self._writing
            if event["type"] == open_.kind and event["output_index"] == open_.at and event[open_.sub_name] == open_.sub:
                piece = event["delta"]
                if piece and piece.__class__ is str:
                    open_.keep(piece)
                    return (open_.make(open_.index, piece),)
        except orjson.JSONDecodeError:
            return self._on_odd_frame(frame)
        except (LookupError, TypeError):
            pass  # looked at again, with more care
        return self._on_event(event) if isinstance(event, dict) else NOTHING

    def _on_event(self, event: Json) -> Sequence[StreamEvent]:
        name = event.get("type")
        handler = (
            HANDLERS.get(name, ResponsesDecoder._on_unknown) if isinstance(name, str) else self.__class__._on_unknown
        )
        if self.complete:
            return NOTHING
        if self._held is not None and handler not in (ResponsesDecoder._on_failed, ResponsesDecoder._on_unknown):
            raise self._held
        return handler(self, event)

    def _on_odd_frame(self, frame: Frame) -> Sequence[StreamEvent]:
        """What the fast reader refuses, read tolerantly; no JSON at all is remembered."""
        try:
            event = loads(frame[1])
        except NotJSON as fault:
            if frame[1].strip() != b"[DONE]":
                self._bad_frame = self._bad_frame or fault
            return NOTHING
        return self._on_event(event) if isinstance(event, dict) else NOTHING

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Events of an unstreamed response."""
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
        """End of bytes; the response must have ended before."""
        if self.complete:
            return NOTHING
        fault = self._held or self._bad_frame
        if fault is not None:
            raise fault
        raise ProviderError(ErrorKind.TRUNCATED, "The stream ended before the response did")

    def _new_index(self) -> int:
        index = self._next_index
        self._next_index += 1
        return index

    def _item(self, event: Json, name: str) -> Item | None:
        """The item an event is about, made where none was announced; None where the event is about another kind."""
        position = event.get("output_index")
        if not isinstance(position, int):
            position = max(self._items, default=-1) + (not self._items)
        item = self._items.get(position)
        if item is None:
            item = self._items[position] = new_item(name, self._new_index)
        return item if item.name == name else None

    # one per event

    def _on_started(self, event: Json) -> Sequence[StreamEvent]:
        response = child(event, "response")
        if self._named is not None or not response:
            return NOTHING
        self._named = (maybe_text(response, "model"), maybe_text(response, "id"))
        return (ResponseStarted(*self._named),)

    def _on_text_delta(self, event: Json) -> Sequence[StreamEvent]:
        return self._on_words(event, "text")

    def _on_words(self, event: Json, kind: str) -> Sequence[StreamEvent]:
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
        self._writing = Writing(delta, at, "content_index", position, part.pieces.append, TextDelta, part.index)
        return part, events

    def _on_refusal_delta(self, event: Json) -> Sequence[StreamEvent]:
        return self._on_words(event, "refusal")

    def _on_part_added(self, event: Json) -> Sequence[StreamEvent]:
        kind = text(event, "part", "type")
        if kind not in ("output_text", "refusal"):
            return NOTHING
        item = self._item(event, "message")
        return self._part(item, event, kind)[1] if isinstance(item, MessageItem) and item.done is None else NOTHING

    def _on_text_done(self, event: Json) -> Sequence[StreamEvent]:
        item = self._item(event, "message")
        told = text(event, "text") or text(event, "refusal")
        if not isinstance(item, MessageItem) or item.done is not None or not told:
            return NOTHING
        part, events = self._part(item, event, "refusal" if "refusal" in event else "text")
        with contextlib.suppress(Contradiction):  # the finished item will say so again, and with it all is told anew
            events += part.complete(told)
        return events

    def _on_summary_delta(self, event: Json) -> Sequence[StreamEvent]:
        return self._on_thinking(event, "summary", "summary_index")

    def _on_reasoning_delta(self, event: Json) -> Sequence[StreamEvent]:
        return self._on_thinking(event, "content", "content_index")

    def _on_thinking(self, event: Json, field: str, sub_name: str) -> Sequence[StreamEvent]:
        item = self._item(event, "reasoning")
        piece = text(event, "delta")
        if not isinstance(item, ReasoningItem) or item.done is not None or not piece:
            return NOTHING
        position = whole(event, sub_name) or 0
        events = item.add((field, position), piece)
        if item.current is not None and item.index is not None:
            at = event.get("output_index")
            keep = item.current.append
            self._writing = Writing(text(event, "type"), at, sub_name, position, keep, ThinkingDelta, item.index)
        return events

    def _on_arguments_delta(self, event: Json) -> Sequence[StreamEvent]:
        item = self._item(event, "function_call")
        piece = text(event, "delta")
        if not isinstance(item, CallItem) or item.done is not None or not piece:
            return NOTHING
        events = item.add(piece)
        if item.index is not None:
            at = event.get("output_index")
            keep = item.pieces.append
            self._writing = Writing(text(event, "type"), at, "output_index", at, keep, ToolArgsDelta, item.index)
        return events

    def _on_arguments_done(self, event: Json) -> Sequence[StreamEvent]:
        item = self._item(event, "function_call")
        if not isinstance(item, CallItem) or item.done is not None:
            return NOTHING
        try:
            return item.complete(text(event, "arguments"))
        except Contradiction:
            return NOTHING  # as for text

    def _on_input_delta(self, event: Json) -> Sequence[StreamEvent]:
        item = self._item(event, "custom_tool_call")
        piece = text(event, "delta")
        return item.add(piece) if isinstance(item, CustomCallItem) and item.done is None and piece else NOTHING

    def _on_item_added(self, event: Json) -> Sequence[StreamEvent]:
        raw = child(event, "item")
        item = self._item(event, text(raw, "type"))
        return item.start(raw) if item is not None else NOTHING

    def _on_item_done(self, event: Json) -> Sequence[StreamEvent]:
        raw = child(event, "item")
        if not raw:
            return NOTHING
        item = self._item(event, text(raw, "type") or "unknown")
        if item is None or item.done is not None:
            return NOTHING
        self._writing = NOT_WRITING
        return self._settle(item, raw)

    def _on_end(self, event: Json) -> Sequence[StreamEvent]:
        response = child(event, "response")
        events: list[StreamEvent] = list(self._on_started(event))
        status = text(response, "status") or text(event, "type").rpartition(".")[2]
        events += self._final_items(children(response, "output"), whole_response=status == "completed")
        usage = child(response, "usage")
        if usage:
            self.usage_raw = usage
            events.append(UsageReported(inclusive_usage(usage)))
        self._writing = NOT_WRITING
        self.complete = True
        events.append(ResponseFinished(ending(response, status, self._items.values())))
        return events

    def _on_failed(self, event: Json) -> Sequence[StreamEvent]:
        response = child(event, "response")
        self.usage_raw = child(response, "usage") or None
        self._writing = NOT_WRITING
        self.complete = True
        said = error_parts(response) or ErrorParts(message="")
        fault = reported_error(said) if said.message or self._held is None else self._held
        fault.finish_raw = "failed"
        raise fault

    def _on_error(self, event: Json) -> Sequence[StreamEvent]:
        self._writing = NOT_WRITING
        self._held = reported_error(error_parts(event) or ErrorParts(message=""))
        return NOTHING

    def _on_unknown(self, event: Json) -> Sequence[StreamEvent]:
        """Not for us, unless it is an error in another shape, or a response sent whole as one event."""
        if isinstance(event.get("error"), dict | str) and event["error"] and "response" not in event:
            return self._on_error(event)
        if event.get("object") == "response" and "output" in event:
            return self._on_end({"response": event})
        return NOTHING

    # parts of events

    def _settle(self, item: Item, raw: Json) -> Sequence[StreamEvent]:
        try:
            return item.settle(raw)
        except Contradiction:
            item.done = raw
            return self._tell_anew()

    def _tell_anew(self) -> Sequence[StreamEvent]:
        """What was said before is void; finished items are said again as they are, others when they finish."""
        events: list[StreamEvent] = [ResponseStarted(*(self._named or (None, None)), restarted=True)]
        finished = {position: item.done for position, item in self._items.items() if item.done is not None}
        self._items.clear()
        self._writing = NOT_WRITING
        for position, raw in finished.items():
            item = self._items[position] = new_item(text(raw, "type"), self._new_index)
            events += item.settle(raw)
        return events

    def _final_items(self, output: Sequence[Json], *, whole_response: bool) -> list[StreamEvent]:
        """The final list: items the stream left out, and encrypted thinking that comes nowhere else (Azure)."""
        events: list[StreamEvent] = []
        for position, raw in placed(self._items, output):
            item = self._items.get(position)
            if item is None:
                item = self._items[position] = new_item(text(raw, "type"), self._new_index)
            if item.done is None and (whole_response or not isinstance(item, CallItem)):
                events += self._settle(item, raw)
            elif isinstance(item, ReasoningItem) and not item.encrypted and raw.get("encrypted_content"):
                assert item.index is not None
                events.append(BlockSealed(item.index, item.seal(raw)))
        return events


# dispatch

HANDLERS: dict[str, Callable[[ResponsesDecoder, Json], Sequence[StreamEvent]]] = {
    TEXT_DELTA: ResponsesDecoder._on_text_delta,
    "response.reasoning_summary_text.delta": ResponsesDecoder._on_summary_delta,
    "response.reasoning_text.delta": ResponsesDecoder._on_reasoning_delta,
    "response.function_call_arguments.delta": ResponsesDecoder._on_arguments_delta,
    "response.created": ResponsesDecoder._on_started,
    "response.in_progress": ResponsesDecoder._on_started,
    "response.queued": ResponsesDecoder._on_started,
    "response.output_item.added": ResponsesDecoder._on_item_added,
    "response.output_item.done": ResponsesDecoder._on_item_done,
    "response.content_part.added": ResponsesDecoder._on_part_added,
    "response.output_text.done": ResponsesDecoder._on_text_done,
    "response.refusal.delta": ResponsesDecoder._on_refusal_delta,
    "response.refusal.done": ResponsesDecoder._on_text_done,
    "response.function_call_arguments.done": ResponsesDecoder._on_arguments_done,
    "response.custom_tool_call_input.delta": ResponsesDecoder._on_input_delta,
    "response.completed": ResponsesDecoder._on_end,
    "response.incomplete": ResponsesDecoder._on_end,
    "response.done": ResponsesDecoder._on_end,
    "response.cancelled": ResponsesDecoder._on_end,
    "response.failed": ResponsesDecoder._on_failed,
    "error": ResponsesDecoder._on_error,
    "response.error": ResponsesDecoder._on_error,
}

# refusal


class OpenAIResponses:
    """POST /responses."""

    @property
    def name(self) -> WireName:
        """Its name."""
        return WireName.OPENAI_RESPONSES

    @property
    def framing(self) -> Framing:
        """Events as SSE."""
        return "sse"

    def encode(self, request: ChatRequest, quirks: Quirks) -> Encoded:
        """Spell a request."""
        return encode(request, quirks)

    def decoder(self, quirks: Quirks) -> ResponsesDecoder:
        """A decoder for one response."""
        return ResponsesDecoder(quirks)

    def refusal(self, reply: Reply) -> ProviderError:
        """What an HTTP error means."""
        return refused(reply)


# the exported value

RESPONSES = OpenAIResponses()
