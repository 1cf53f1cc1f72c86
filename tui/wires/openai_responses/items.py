"""Output items of a Responses stream: their text so far, and what the finished item adds or contradicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tui.domain.blocks import ProviderState
from tui.domain.stream import (
    BlockFinished,
    BlockKind,
    BlockNamed,
    BlockStarted,
    CitationsReceived,
    ProviderStateReceived,
    SearchReported,
    StreamEvent,
    TextDelta,
    ThinkingBreak,
    ThinkingDelta,
    ToolArgsDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.wires.json_text import Json, children, dumps, maybe_text, text
from tui.wires.openai_responses.web_search import CALL, citations_of, search_of

NewIndex = Callable[[], int]
MODELLED_OF_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "status"})
MODELLED_OF_MESSAGE = frozenset({"type", "id", "role", "content"})
ANNOTATIONS = "annotations"
"""In the state of a part of a message: its annotations as received."""


FEW = 16
"""Up to so many sources, each new one gives an event; of more, every sixteenth part does."""


class Contradiction(Exception):
    """The finished item does not start with the text of its deltas, so it replaces them."""


def remaining_text(streamed: str, final: str) -> str:
    """Return what ``final`` adds to ``streamed``; "" if ``final`` is empty. Raises Contradiction."""
    if not final:
        return ""
    if not final.startswith(streamed):
        raise Contradiction
    return final[len(streamed) :]


@dataclass(frozen=True, slots=True)
class OpenPart:
    """The open part and how to make events for it: the fast path compares each delta with it."""

    kind: str
    at: object
    sub_name: str
    sub: object
    keep: Callable[[str], None]
    make: Callable[[int, str], StreamEvent]
    index: int


NOT_WRITING = OpenPart("", None, "", None, lambda _: None, TextDelta, -1)


class Item:
    """An item of any other type, kept whole (server-run tools, compaction, future types)."""

    kind: BlockKind = "opaque"

    def __init__(self, name: str, new_index: NewIndex) -> None:
        self.name = name
        self.done: Json | None = None
        self._new_index = new_index
        self.index: int | None = None

    def start(self, item: Json) -> list[StreamEvent]:
        """Return the events of ``output_item.added``."""
        if self.index is not None:
            return []
        self.index = self._new_index()
        return [BlockStarted(self.index, self.kind, name=self.name)]

    def settle(self, item: Json) -> list[StreamEvent]:
        """Return the events of the finished item. Raises Contradiction."""
        events = self.start(item)
        assert self.index is not None
        self.done = item
        return [*events, ProviderStateReceived(self.index, ProviderState(raw=dumps(item))), BlockFinished(self.index)]


class SearchItem(Item):
    """A web search that the server ran."""

    kind: BlockKind = "search"

    def start(self, item: Json) -> list[StreamEvent]:
        """Open the search with what is known of it."""
        events = super().start(item)
        return [*events, SearchReported(self.index, search_of(item))] if events and self.index is not None else events

    def settle(self, item: Json) -> list[StreamEvent]:
        """Return what the finished item says, and the item, which must be sent back unchanged."""
        opened = self.start(item)
        assert self.index is not None
        return [*opened, SearchReported(self.index, search_of(item)), *super().settle(item)]


class ReasoningItem(Item):
    """A thinking block: parts of the summary, then parts of the reasoning itself."""

    kind: BlockKind = "thinking"

    def __init__(self, name: str, new_index: NewIndex) -> None:
        super().__init__(name, new_index)
        self.parts: dict[tuple[str, object], list[str]] = {}
        self.current: list[str] | None = None
        self.current_key: tuple[str, object] | None = None
        self.encrypted: str | None = None

    def start(self, item: Json) -> list[StreamEvent]:
        """Open the block at once, because hidden thinking may send no text for minutes."""
        if self.index is not None:
            return []
        self.index = self._new_index()
        return [BlockStarted(self.index, "thinking", form=ThinkingForm.SUMMARY)]

    def add(self, key: tuple[str, object], piece: str) -> Sequence[StreamEvent]:
        """Return the events of a delta."""
        if key == self.current_key and self.current is not None and self.index is not None:
            self.current.append(piece)
            return (ThinkingDelta(self.index, piece),)
        return self._begin_part(key, piece)

    def _begin_part(self, key: tuple[str, object], piece: str) -> list[StreamEvent]:
        events = self.start({})
        assert self.index is not None
        if self.parts:
            events.append(ThinkingBreak(self.index))
        self.current = self.parts.setdefault(key, [])
        self.current_key = key
        self.current.append(piece)
        events.append(ThinkingDelta(self.index, piece))
        return events

    def settle(self, item: Json) -> list[StreamEvent]:
        """Return the rest of the text, and the provider state: the whole item, which must be sent back unchanged."""
        final = [
            ((field, position), part_text)
            for field in ("summary", "content")
            for position, part in enumerate(children(item, field))
            if (part_text := text(part, "text"))
        ]
        events = self.start(item)
        if final:
            events += self._complete([part_text for _, part_text in final], [key for key, _ in final])
        assert self.index is not None
        self.done = item
        events.append(ProviderStateReceived(self.index, self.provider_state(item)))
        events.append(BlockFinished(self.index, self._form()))
        return events

    def _complete(self, final: list[str], keys: list[tuple[str, object]]) -> list[StreamEvent]:
        streamed = [part_text for part_text in map("".join, self.parts.values()) if part_text]
        if len(streamed) > len(final) or streamed[:-1] != final[: len(streamed[:-1])]:
            raise Contradiction
        events: list[StreamEvent] = []
        if streamed and (missing := remaining_text(streamed[-1], final[len(streamed) - 1])):
            assert self.current is not None
            assert self.index is not None
            self.current.append(missing)
            events.append(ThinkingDelta(self.index, missing))
        for position in range(len(streamed), len(final)):
            self.parts.pop(keys[position], None)
            events += self._begin_part(keys[position], final[position])
        return events

    def provider_state(self, item: Json) -> ProviderState:
        """Return the provider state that contains the whole item."""
        self.encrypted = maybe_text(item, "encrypted_content") or None
        return ProviderState(id=maybe_text(item, "id"), encrypted=self.encrypted, raw=dumps(item))

    def _form(self) -> ThinkingForm | None:
        fields = {field for (field, _), pieces in self.parts.items() if any(pieces)}
        if not fields:
            return ThinkingForm.HIDDEN
        return ThinkingForm.FULL if "content" in fields else None


class MessageItem(Item):
    """A message: one block per content part, each with the message's provider state."""

    kind: BlockKind = "text"

    def __init__(self, name: str, new_index: NewIndex) -> None:
        super().__init__(name, new_index)
        self.parts: dict[object, MessagePart] = {}
        self.refused = False

    def start(self, item: Json) -> list[StreamEvent]:
        """Return no events: the parts open the blocks."""
        return []

    def part(self, position: object, kind: BlockKind) -> tuple[MessagePart, list[StreamEvent]]:
        """Return the part at a position, and its start event if it is new."""
        part = self.parts.get(position)
        if part is not None:
            return part, []
        part = self.parts[position] = MessagePart(self._new_index(), kind)
        self.refused = self.refused or kind == "refusal"
        return part, [BlockStarted(part.index, kind)]

    def settle(self, item: Json) -> list[StreamEvent]:
        """Return the rest of each part, and the provider state."""
        events: list[StreamEvent] = []
        unmatched = dict(self.parts)
        added = False
        for position, raw in enumerate(children(item, "content")):
            refusal = text(raw, "type") == "refusal"
            final = text(raw, "refusal") if refusal else text(raw, "text")
            key_of_part = _streamed_position(final, position, unmatched)
            if not final and key_of_part is None:
                continue
            if key_of_part is None:
                added = True
                key_of_part = position if position not in self.parts else ("finished", position)
            unmatched.pop(key_of_part, None)
            part, opened = self.part(key_of_part, "refusal" if refusal else "text")
            part.annotations = list(children(raw, "annotations"))
            events += opened
            events += part.complete(final)
        if added and any(part.pieces for part in unmatched.values()):
            raise Contradiction
        self.done = item
        for part in self.parts.values():
            provider_state = self._provider_state(item, part.annotations)
            if provider_state is not None:
                events.append(ProviderStateReceived(part.index, provider_state))
            if part.annotations:
                events.append(CitationsReceived(part.index, citations_of(part.annotations)))
            events.append(BlockFinished(part.index))
        return events

    def _provider_state(self, item: Json, annotations: Sequence[Json]) -> ProviderState | None:
        extra = {key: item[key] for key in item if key not in MODELLED_OF_MESSAGE and item[key] is not None}
        if extra.get("status") == "completed":
            del extra["status"]
        if annotations:
            extra[ANNOTATIONS] = annotations
        identity = maybe_text(item, "id") or None
        return ProviderState(id=identity, raw=dumps(extra) if extra else None) if identity or extra else None


def _streamed_position(final: str, position: int, parts: Mapping[object, MessagePart]) -> object:
    """Return the index under which the finished item's part at ``position`` was streamed; None for a new part.

    Some gateways number the parts differently in the two, so the text decides before the index.
    """
    streamed = parts.get(position)
    if streamed is None or not streamed.pieces:
        for key_of_part, part in parts.items():
            so_far = "".join(part.pieces)
            if so_far and final.startswith(so_far):
                return key_of_part
    return None if streamed is None else position


class MessagePart:
    """A content part while it is streamed."""

    __slots__ = ("annotations", "index", "kind", "pieces", "reported")

    def __init__(self, index: int, kind: BlockKind) -> None:
        self.index = index
        self.kind = kind
        self.pieces: list[str] = []
        self.annotations: list[Json] = []
        self.reported = 0
        """How many of them the last event had."""

    def annotate(self, annotation: Json) -> list[StreamEvent]:
        """Add a source. An event has all so far, so of very many only some give one; the finished item has all."""
        self.annotations.append(annotation)
        if len(self.annotations) - self.reported <= self.reported // FEW:
            return []
        self.reported = len(self.annotations)
        return [CitationsReceived(self.index, citations_of(self.annotations))]

    def complete(self, final: str) -> list[StreamEvent]:
        """Return the rest of the text. Raises Contradiction."""
        missing = remaining_text("".join(self.pieces), final)
        if not missing:
            return []
        self.pieces.append(missing)
        return [TextDelta(self.index, missing)]


class CallItem(Item):
    """A function call. It must not be run before its finished item came."""

    kind: BlockKind = "tool_call"

    def __init__(self, name: str, new_index: NewIndex) -> None:
        super().__init__(name, new_index)
        self.pieces: list[str] = []
        self._named: tuple[str | None, str | None] = (None, None)

    def start(self, item: Json) -> list[StreamEvent]:
        """Open the call with its name and id, if known."""
        if self.index is not None:
            return []
        self.index = self._new_index()
        self._named = (maybe_text(item, "name"), maybe_text(item, "call_id"))
        return [BlockStarted(self.index, "tool_call", name=self._named[0], call_id=self._named[1])]

    def add(self, piece: str) -> list[StreamEvent]:
        """Return the events of a piece of its arguments."""
        events = self.start({})
        assert self.index is not None
        self.pieces.append(piece)
        events.append(ToolArgsDelta(self.index, piece))
        return events

    def complete(self, final: str) -> list[StreamEvent]:
        """Return the rest of the arguments. Raises Contradiction."""
        missing = remaining_text("".join(self.pieces), final)
        return self.add(missing) if missing else []

    def settle(self, item: Json) -> list[StreamEvent]:
        """Return the rest of the arguments, name, id and provider state."""
        events = [*self.start(item), *self.complete(self._arguments(item))]
        assert self.index is not None
        self.done = item
        named = (maybe_text(item, "name"), maybe_text(item, "call_id"))
        if named != self._named:
            events.append(BlockNamed(self.index, *named))
        if (provider_state := self._provider_state(item)) is not None:
            events.append(ProviderStateReceived(self.index, provider_state))
        if self.runnable:
            events.append(BlockFinished(self.index))
        return events

    @property
    def runnable(self) -> bool:
        """Whether the call is complete."""
        return self.done is not None and text(self.done, "status") != "incomplete"

    def _arguments(self, item: Json) -> str:
        return text(item, "arguments")

    def _provider_state(self, item: Json) -> ProviderState | None:
        extra = {key: item[key] for key in item if key not in MODELLED_OF_CALL and item[key] is not None}
        identity = maybe_text(item, "id") or None
        return ProviderState(id=identity, raw=dumps(extra) if extra else None) if identity or extra else None


class CustomCallItem(CallItem):
    """A call with free text as arguments. No such tool is ever declared, so the call is shown but not run."""

    @property
    def runnable(self) -> bool:
        """Always False: no tool can answer it."""
        return False

    def _arguments(self, item: Json) -> str:
        return text(item, "input")

    def _provider_state(self, item: Json) -> ProviderState | None:
        return ProviderState(id=maybe_text(item, "id"), raw=dumps(item))


ITEMS: dict[str, type[Item]] = {
    "reasoning": ReasoningItem,
    "message": MessageItem,
    "function_call": CallItem,
    "custom_tool_call": CustomCallItem,
    CALL: SearchItem,
}


def new_item(name: str, new_index: NewIndex) -> Item:
    """Return the state for a new item of this type."""
    return ITEMS.get(name, Item)(name or "unknown", new_index)


def with_output_index(items: Mapping[int, Item], output: Sequence[Json]) -> list[tuple[int, Json]]:
    """Return each final item with its ``output_index``, found by order, else by id, else a new one."""
    seen = sorted(items)
    names = [items[position].name for position in seen]
    if names == [text(raw, "type") or "unknown" for raw in output]:
        return list(zip(seen, output, strict=True))
    by_id = {text(items[position].done, "id"): position for position in seen if items[position].done}
    beyond = max(seen, default=-1) + 1
    with_output_index: list[tuple[int, Json]] = []
    for order, raw in enumerate(output):
        position = by_id.get(text(raw, "id") or "\0")
        if position is None and order in items and items[order].name == text(raw, "type"):
            position = order
        with_output_index.append((beyond + order if position is None else position, raw))
    return with_output_index
