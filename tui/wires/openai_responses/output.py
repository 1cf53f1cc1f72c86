"""Events for the output of a Responses stream: finds the item and part of each event.

``decode`` handles the response itself: start, end and failure.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tui.domain.stream import (
    BlockSealed,
    ResponseStarted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
)
from tui.wires.openai_responses.items import (
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
from tui.wires.read import Json, child, text, whole

NOTHING: tuple[StreamEvent, ...] = ()
TEXT_DELTA = "response.output_text.delta"


class ResponseOutput:
    """The output items of one response by ``output_index``: the ids change between events at some servers."""

    def __init__(self) -> None:
        self.named: tuple[str | None, str | None] | None = None
        """Model and response id, once known."""
        self._items: dict[int, Item] = {}
        self._writing = NOT_WRITING
        self._next_index = 0

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
        self._writing = Writing(delta, at, "content_index", position, part.pieces.append, TextDelta, part.index)
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
            self._writing = Writing(text(event, "type"), at, sub_name, position, keep, ThinkingDelta, item.index)
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
            self._writing = Writing(text(event, "type"), at, "output_index", at, keep, ToolArgsDelta, item.index)
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
        item = self._item(event, text(raw, "type"))
        return item.start(raw) if item is not None else NOTHING

    def on_item_done(self, event: Json) -> Sequence[StreamEvent]:
        """Handle a finished item."""
        raw = child(event, "item")
        if not raw:
            return NOTHING
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

    def _settle(self, item: Item, raw: Json) -> Sequence[StreamEvent]:
        try:
            return item.settle(raw)
        except Contradiction:
            item.done = raw
            return self._restart()

    def _restart(self) -> Sequence[StreamEvent]:
        """Restart the response: finished items are sent again now, the others when they finish."""
        events: list[StreamEvent] = [ResponseStarted(*(self.named or (None, None)), restarted=True)]
        finished = {position: item.done for position, item in self._items.items() if item.done is not None}
        self._items.clear()
        self._writing = NOT_WRITING
        for position, raw in finished.items():
            item = self._items[position] = new_item(text(raw, "type"), self._new_index)
            events += item.settle(raw)
        return events

    def final_items(self, output: Sequence[Json], *, whole_response: bool) -> list[StreamEvent]:
        """Return the events of the final list: items that were not streamed, and encrypted reasoning (Azure)."""
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
    "response.refusal.done": ResponseOutput.on_text_done,
}
"""Handlers by event type."""
