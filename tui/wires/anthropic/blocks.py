"""Events for the content blocks of a streamed Anthropic message: start, deltas and stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from tui.domain.blocks import ProviderState
from tui.domain.fast_dataclass import dataclass
from tui.domain.stream import (
    BlockFinished,
    BlockKind,
    BlockStarted,
    CitationsReceived,
    ProviderRemark,
    ProviderStateReceived,
    SearchReported,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.wires.anthropic.web_search import citations_of, is_search, search_of
from tui.wires.json_text import ArrivingJson, Json, NotJSON, child, dumps, loads, text

KINDS: dict[str, BlockKind] = {
    "text": "text",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
}
KIND_OF_DELTA: dict[str, BlockKind] = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_call",
}
"""The kind of block to open for a delta whose ``content_block_start`` is missing; other deltas are ignored."""


EventMaker = Callable[[int, str], StreamEvent]
CARRIERS: dict[BlockKind, tuple[str, EventMaker | None]] = {
    "text": ("text", TextDelta),
    "thinking": ("thinking", ThinkingDelta),
    "tool_call": ("partial_json", ToolArgsDelta),
    "opaque": ("partial_json", None),
    "search": ("partial_json", None),
}
"""Per block kind: the delta field with its text, and the event made from it; opaque blocks and searches give none."""
_ITEMS_WITH_JSON = frozenset({"opaque", "search"})


@dataclass(slots=True)
class OpenBlock:
    """A block between its start and its stop, with the parts that are only complete at the stop."""

    index: int
    kind: BlockKind
    raw: Json
    carrier: str
    delta: EventMaker | None
    json_pieces: ArrivingJson | list[str] | None
    """The JSON arguments so far: a list where they become part of the item; None if this kind has no arguments."""
    signatures: list[str] = field(default_factory=list)
    """Pieces of the signature. It is only known whole at the stop, and thinking without its stop is not sent back."""
    citations: list[object] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)
    """Pieces of the string fields of unknown deltas, added to the raw item of an opaque block."""


def open_block(index: int, kind: BlockKind, raw: Json) -> OpenBlock:
    """Return a new block of this kind."""
    carrier, delta = CARRIERS.get(kind, ("", None))
    pieces: ArrivingJson | list[str] | None = ArrivingJson() if kind == "tool_call" else None
    if kind in _ITEMS_WITH_JSON:
        pieces = []
    return OpenBlock(index, kind, raw, carrier, delta, pieces)


def kind_of(item: Json) -> BlockKind:
    """Return the kind of block for an item of the content."""
    return "search" if is_search(item) else KINDS.get(text(item, "type"), "opaque")


def start_events(block: OpenBlock) -> list[StreamEvent]:
    """Return the events of the block's start, including text that the start event already contains."""
    opener = _open_search if block.kind == "search" else OPENERS.get(text(block.raw, "type"), _open_opaque)
    return opener(block)


def delta_events(block: OpenBlock, delta: Json) -> list[StreamEvent]:
    """Return the events of one delta of any type."""
    if piece := text(delta, block.carrier):
        if block.json_pieces is not None:
            block.json_pieces.append(piece)
        return [] if block.delta is None else [block.delta(block.index, piece)]
    name = text(delta, "type")
    if name == "signature_delta" and block.kind == "thinking":
        block.signatures.append(text(delta, "signature"))
    elif name == "citations_delta" and block.kind == "text":
        block.citations.append(delta.get("citation"))
    elif block.kind in ("opaque", "search"):
        for key, value in delta.items():
            if key != "type" and isinstance(value, str):
                block.extra.setdefault(key, []).append(value)
    return []


def stop_events(block: OpenBlock, *, empty_signatures: bool) -> list[StreamEvent]:
    """Return the events of the block's stop; none for a tool call whose arguments are not valid JSON."""
    index = block.index
    if block.kind == "tool_call":
        return _close_call(block)
    if block.kind == "opaque":
        return [ProviderStateReceived(index, ProviderState(raw=dumps(_whole_item(block)))), BlockFinished(index)]
    if block.kind == "search":
        item = _whole_item(block)
        return [
            SearchReported(index, search_of(item)),
            ProviderStateReceived(index, ProviderState(raw=dumps(item))),
            BlockFinished(index),
        ]
    if block.citations:
        return [
            ProviderStateReceived(index, ProviderState(raw=dumps({"citations": block.citations}))),
            CitationsReceived(index, citations_of(block.citations)),
            BlockFinished(index),
        ]
    signature = "".join(block.signatures)
    if signature or (empty_signatures and text(block.raw, "type") == "thinking"):
        return [ProviderStateReceived(index, ProviderState(signature=signature)), BlockFinished(index)]
    return [BlockFinished(index)]


def _close_call(block: OpenBlock) -> list[StreamEvent]:
    arrived = block.json_pieces
    if not isinstance(arrived, ArrivingJson) or arrived.is_blank:
        whole_input = block.raw.get("input")
        arguments = dumps(whole_input if whole_input is not None else {})
        return [ToolArgsDelta(block.index, arguments), BlockFinished(block.index)]
    return [BlockFinished(block.index)] if arrived.is_json() else []


def _open_text(block: OpenBlock) -> list[StreamEvent]:
    events: list[StreamEvent] = [BlockStarted(block.index, "text")]
    citations = block.raw.get("citations")
    if isinstance(citations, list):
        block.citations.extend(citations)
        events.append(CitationsReceived(block.index, ()))
    if content := text(block.raw, "text"):
        events.append(TextDelta(block.index, content))
    return events


def _open_thinking(block: OpenBlock) -> list[StreamEvent]:
    events: list[StreamEvent] = [BlockStarted(block.index, "thinking")]
    if content := text(block.raw, "thinking"):
        events.append(ThinkingDelta(block.index, content))
    if signature := text(block.raw, "signature"):
        block.signatures.append(signature)
        events.append(ProviderStateReceived(block.index, ProviderState(signature=signature)))
    return events


def _open_redacted(block: OpenBlock) -> list[StreamEvent]:
    return [
        BlockStarted(block.index, "thinking", form=ThinkingForm.HIDDEN),
        ProviderStateReceived(block.index, ProviderState(encrypted=text(block.raw, "data"))),
    ]


def _open_call(block: OpenBlock) -> list[StreamEvent]:
    events: list[StreamEvent] = [
        BlockStarted(block.index, "tool_call", name=text(block.raw, "name"), call_id=text(block.raw, "id") or None)
    ]
    caller = child(block.raw, "caller")
    if caller and caller.get("type") != "direct":
        # A call made by server-run code must be sent back with its "caller" field.
        events.append(ProviderStateReceived(block.index, ProviderState(raw=dumps({"caller": caller}))))
    return events


def _open_search(block: OpenBlock) -> list[StreamEvent]:
    return [
        BlockStarted(block.index, "search", name=text(block.raw, "type")),
        SearchReported(block.index, search_of(block.raw)),
    ]


def _open_opaque(block: OpenBlock) -> list[StreamEvent]:
    label = text(block.raw, "type")
    events: list[StreamEvent] = [BlockStarted(block.index, "opaque", name=label)]
    substitute = text(block.raw, "to", "model")
    if label == "fallback" and substitute:
        events.append(
            ProviderRemark("fallback", f"{substitute} answers in place of {text(block.raw, 'from', 'model')}")
        )
    return events


OPENERS: dict[str, Callable[[OpenBlock], list[StreamEvent]]] = {
    "text": _open_text,
    "thinking": _open_thinking,
    "redacted_thinking": _open_redacted,
    "tool_use": _open_call,
}


def _whole_item(block: OpenBlock) -> dict[str, object]:
    """Return the complete item, assembled from its start and its deltas."""
    item = dict(block.raw)
    for key, pieces in block.extra.items():
        before = item.get(key)
        item[key] = "".join([before if isinstance(before, str) else "", *pieces])
    arguments = "".join(block.json_pieces) if isinstance(block.json_pieces, list) else ""
    if arguments.strip():
        try:
            item["input"] = loads(arguments)
        except NotJSON:
            item["input"] = {}
    return item
