"""Folded events say what the unfolded ones said."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from tui.bus import LONG, Bus, merge, text_size
from tui.domain.assemble import Assembler
from tui.domain.events import AppEvent, Notice, RequestStarted, Severity, Stamped, Streamed
from tui.domain.stream import BlockFinished, BlockStarted, StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta
from tui.domain.thinking import ModelSpec, PlanState, ThinkingPlan
from tui.engine.session import Channel
from tui.engine.state import SessionState, SessionView

SPEC = ModelSpec(provider="p", model="m")
PLAN = ThinkingPlan(asked=1, nominal=None, sent=None, state=PlanState.ON)
START = SessionView(session="s", seq=0, spec=SPEC, plan=PLAN)

_text = st.text(max_size=4)
_index = st.integers(0, 2)
_stream_events = st.one_of(
    st.builds(TextDelta, _index, _text),
    st.builds(ThinkingDelta, _index, _text),
    st.builds(ToolArgsDelta, _index, _text),
    st.builds(BlockStarted, _index, st.sampled_from(["text", "thinking", "tool_call"])),
    st.builds(BlockFinished, _index),
)
_events: st.SearchStrategy[AppEvent] = st.one_of(
    st.builds(Streamed, st.just("t"), st.integers(0, 1), st.just(1), _stream_events),
    st.builds(Streamed, st.just("t"), st.just(0), st.just(1), _stream_events),
    st.builds(RequestStarted, st.just("t"), st.integers(0, 1), st.just(1), st.just(SPEC), st.just(PLAN)),
    st.builds(Notice, st.just(Severity.INFO), _text),
)
_runs = st.lists(_events, max_size=60)


def _stamped(events: list[AppEvent]) -> list[Stamped]:
    return [Stamped("s", number, event) for number, event in enumerate(events, 1)]


def _is_delta(stamped: Stamped) -> bool:
    event = stamped.event
    return isinstance(event, Streamed) and isinstance(event.event, TextDelta | ThinkingDelta | ToolArgsDelta)


def _blocks(events: list[Stamped]) -> object:
    assemblers: dict[tuple[int, int], Assembler] = {}
    for stamped in events:
        if isinstance(stamped.event, Streamed):
            key = (stamped.event.round, stamped.event.attempt)
            assemblers.setdefault(key, Assembler()).feed(stamped.event.event)
    return {key: assembler.blocks() for key, assembler in assemblers.items()}


@given(_runs)
def test_folded_events_put_together_are_the_unfolded_ones_put_together(events: list[AppEvent]) -> None:
    stamped = _stamped(events)
    assert _blocks(merge(stamped)) == _blocks(stamped)


@given(_runs)
def test_folding_keeps_everything_that_is_not_a_delta_in_its_place(events: list[AppEvent]) -> None:
    stamped = _stamped(events)
    folded = merge(stamped)
    assert [s for s in folded if not _is_delta(s)] == [s for s in stamped if not _is_delta(s)]
    assert [s.seq for s in folded] == sorted(s.seq for s in folded)


@given(_runs)
def test_folding_twice_changes_nothing_more_and_leaves_its_input_alone(events: list[AppEvent]) -> None:
    stamped = _stamped(events)
    before = repr(stamped)
    assert merge(merge(stamped)) == merge(stamped)
    assert repr(stamped) == before


@given(_runs, st.sets(st.integers(0, 60)))
def test_two_subscribers_that_drain_at_different_times_agree(events: list[AppEvent], drains: set[int]) -> None:
    bus: Bus[Stamped] = Bus(merge)
    lazy, eager = bus.subscribe(), bus.subscribe()
    seen: list[Stamped] = []
    for number, stamped in enumerate(_stamped(events)):
        bus.publish(stamped)
        if number in drains:
            seen += eager.drain()
    seen += eager.drain()
    assert _blocks(seen) == _blocks(lazy.drain())


@given(_runs, st.integers(0, 60))
def test_attaching_anywhere_gives_the_same_screen(events: list[AppEvent], at: int) -> None:
    channel = Channel(START)
    for event in events[:at]:
        channel.publish(event)
    view, subscription = channel.attach()
    for event in events[at:]:
        channel.publish(event)
    follower = SessionState(view)
    seen = [stamped for stamped in subscription.drain() if stamped.seq > view.seq]
    for stamped in seen:
        follower.apply(stamped.event)
    expected = channel.view()
    assert view.seq == min(at, len(events))
    assert follower.view(expected.seq) == expected


def test_runs_of_one_block_become_one_delta_with_the_last_number() -> None:
    deltas: list[StreamEvent] = [
        TextDelta(0, "a"),
        TextDelta(0, "b"),
        TextDelta(1, "c"),
        ThinkingDelta(1, "d"),
        ThinkingDelta(1, "e"),
    ]
    stamped = _stamped([Streamed("t", 0, 1, delta) for delta in deltas])
    assert merge(stamped) == [
        Stamped("s", 2, Streamed("t", 0, 1, TextDelta(0, "ab"))),
        Stamped("s", 3, Streamed("t", 0, 1, TextDelta(1, "c"))),
        Stamped("s", 5, Streamed("t", 0, 1, ThinkingDelta(1, "de"))),
    ]


def test_folding_takes_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        stamped = _stamped([Streamed("t", 0, 1, TextDelta(0, "x")) for _ in range(count)])
        best = float("inf")
        for _ in range(3):
            began = time.thread_time()
            merge(stamped)
            best = min(best, time.thread_time() - began)
        return best

    assert seconds(40_000) < seconds(4_000) * 30 + 0.01


def test_long_deltas_are_not_copied_into_longer_ones() -> None:
    long = "x" * LONG
    stamped = _stamped([Streamed("t", 0, 1, TextDelta(0, text)) for text in (long, "a", "b", long, "c")])
    folded = merge(stamped)
    assert [text_size(entry) for entry in folded] == [LONG, 2, LONG, 1]
    assert folded[0] is stamped[0]
