"""Merges runs of deltas of one block into single deltas; everything else keeps its place."""

from __future__ import annotations

from tui.domain.events import Stamped, Streamed
from tui.domain.stream import StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta

Delta = TextDelta | ThinkingDelta | ToolArgsDelta

_Run = tuple[str, str, int, int, type[Delta], int]
"""What deltas must share to be merged: session, turn, round, attempt, kind, block."""


def _run_of(stamped: Stamped) -> _Run | None:
    match stamped.event:
        case Streamed(turn_id, round_, attempt, TextDelta() | ThinkingDelta() | ToolArgsDelta() as delta):
            return (stamped.session, turn_id, round_, attempt, type(delta), delta.index)
        case _:
            return None


def _delta(run: _Run, pieces: list[str]) -> Delta:
    return run[4](run[5], "".join(pieces))


def fold(events: list[Stamped]) -> list[Stamped]:
    """An equal list in which neighbouring deltas of one block are one; it carries the number of the last."""
    folded: list[Stamped] = []
    pieces: list[str] = []
    open_run: _Run | None = None
    last: Stamped | None = None

    def close() -> None:
        if open_run is None or last is None:
            return
        if len(pieces) == 1:
            folded.append(last)
            return
        session, turn_id, round_, attempt = open_run[:4]
        merged = Streamed(turn_id, round_, attempt, _delta(open_run, pieces))
        folded.append(Stamped(session, last.seq, merged))

    for stamped in events:
        run = _run_of(stamped)
        if run is None:
            close()
            open_run, pieces, last = None, [], None
            folded.append(stamped)
            continue
        if run != open_run:
            close()
            open_run, pieces = run, []
        pieces.append(_words(stamped))
        last = stamped
    close()
    return folded


def fold_stream(events: list[StreamEvent]) -> list[StreamEvent]:
    """The same for the events of one attempt."""
    stamped = fold([Stamped("", 0, Streamed("", 0, 0, event)) for event in events])
    return [entry.event.event for entry in stamped if isinstance(entry.event, Streamed)]


def _words(stamped: Stamped) -> str:
    event = stamped.event
    if isinstance(event, Streamed) and isinstance(event.event, TextDelta | ThinkingDelta | ToolArgsDelta):
        return event.event.text
    raise AssertionError("only deltas make runs")
