"""Merges runs of deltas of one block into longer deltas; everything else keeps its place."""

from __future__ import annotations

from collections.abc import Iterable

from tui.domain.events import Stamped, Streamed
from tui.domain.stream import StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta

Delta = TextDelta | ThinkingDelta | ToolArgsDelta
DELTAS = (TextDelta, ThinkingDelta, ToolArgsDelta)

LONG = 16 * 1024
"""Characters from which a delta is not merged with its neighbours: copying it again and again would cost more, and
whoever keeps it would hold a copy of its own."""

_Run = tuple[str, str, int, int, type[Delta], int]
"""What deltas must share to be merged: session, turn, round, attempt, kind, block."""


def text_size(stamped: Stamped) -> int:
    """Characters of text in an event of a stream; 0 for every other event."""
    event = stamped.event
    if isinstance(event, Streamed) and isinstance(event.event, DELTAS):
        return len(event.event.text)
    return 0


def merge(events: list[Stamped]) -> list[Stamped]:
    """An equal list in which neighbouring deltas of one block are merged; they carry the number of the last."""
    merged: list[Stamped] = []
    parts: list[str] = []
    size = 0
    run: _Run | None = None
    last: Stamped | None = None

    def close() -> None:
        if run is None or last is None:
            return
        if len(parts) == 1:
            merged.append(last)
            return
        session, turn_id, round_, attempt, kind, index = run
        merged.append(Stamped(session, last.seq, Streamed(turn_id, round_, attempt, kind(index, "".join(parts)))))

    for stamped in events:
        event = stamped.event
        if not isinstance(event, Streamed) or not isinstance(event.event, DELTAS):
            close()
            run, last = None, None
            merged.append(stamped)
            continue
        delta = event.event
        found = (stamped.session, event.turn_id, event.round, event.attempt, type(delta), delta.index)
        if found != run or size >= LONG or len(delta.text) >= LONG:
            close()
            run, parts, size = found, [], 0
        parts.append(delta.text)
        size += len(delta.text)
        last = stamped
    close()
    return merged


def merge_stream(events: Iterable[StreamEvent]) -> list[StreamEvent]:
    """The same for the events of one attempt."""
    merged: list[StreamEvent] = []
    parts: list[str] = []
    size = 0
    last: Delta | None = None

    def close() -> None:
        if last is not None:
            merged.append(last if len(parts) == 1 else type(last)(last.index, "".join(parts)))

    for event in events:
        if not isinstance(event, DELTAS):
            close()
            last = None
            merged.append(event)
            continue
        if (
            last is None
            or type(event) is not type(last)
            or event.index != last.index
            or size >= LONG
            or len(event.text) >= LONG
        ):
            close()
            parts, size = [], 0
        parts.append(event.text)
        size += len(event.text)
        last = event
    close()
    return merged
