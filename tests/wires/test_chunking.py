"""Where the network cuts a body changes nothing, and neither does what stands between its events."""

from __future__ import annotations

import os

import pytest

from tests.corpus_cases import WIRES, own_cases
from tests.wires.cuts import at_random, byte_by_byte, event_by_event, everywhere_once, in_two_everywhere
from tests.wires.recordings import read, streams_of

LONG = bool(os.environ.get("PONDER_LONG"))
SEEDS = range(200) if LONG else range(4)
pytestmark = pytest.mark.timeout(1800 if os.environ.get("PONDER_LONG") else 180)
SMALL = 8192
NOISE = {
    "anthropic": b'event: ping\ndata: {"type": "ping"}\n\nevent: future\ndata: {"type":"future","x":[1]}\n\n',
    "openai-responses": b'event: future.thing\ndata: {"type":"response.future.thing","x":[1]}\n\n',
    "openai-chat": b'data: {"object":"future.thing","choices":[]}\n\n',
    "gemini": b'data: {"futureThing":{"x":[1]}}\n\n',
    "ollama": b'\n{"futureThing":{"x":[1]}}\n',
}
COMMENTS = b": keep-alive\n\n:\n\nid: 7\nretry: 10\n\n"


@pytest.mark.one_in(5)
@pytest.mark.parametrize("wire", WIRES)
def test_any_random_cutting_gives_the_same_events(wire):
    for case in streams_of(wire):
        body = case.body
        whole = read(case, [body])
        assert b"".join(event_by_event(body)) == body
        assert read(case, event_by_event(body)) == whole, str(case)
        for seed in SEEDS:
            assert read(case, at_random(body, seed, pieces=2 + 3 * seed)) == whole, (str(case), seed)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", [case for case in own_cases() if case.status < 400], ids=str)
def test_any_single_cut_of_a_small_body_gives_the_same_events(case):
    body = case.body
    whole = read(case, [body])

    assert len(body) <= SMALL, "hand-made cases are small"
    assert read(case, byte_by_byte(body)) == whole
    # Cuts that are 61 bytes apart are not in each other's way: most fields and lines are cut once in a reading.
    for chunks in in_two_everywhere(body) if LONG else everywhere_once(body, apart=61):
        assert read(case, chunks) == whole, len(chunks[0])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("wire", WIRES)
def test_recorded_bodies_byte_by_byte_give_the_same_events(wire):
    for case in streams_of(wire):
        if len(case.body) <= (1 << 20 if LONG else SMALL):
            assert read(case, byte_by_byte(case.body)) == read(case, [case.body]), str(case)


def with_noise(body: bytes, noise: bytes, *, lines: bool) -> bytes:
    if lines:
        return b"".join(line + noise for line in body.splitlines(keepends=True))
    events = body.replace(b"\r\n", b"\n").split(b"\n\n")
    return b"".join(event + b"\n\n" + noise for event in events[:-1]) + events[-1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wire", WIRES)
def test_pings_comments_and_unknown_events_between_events_change_nothing(wire):
    lines = wire == "ollama"
    for case in streams_of(wire):
        if case.body_file.suffix == ".json" or not case.body.strip():
            continue
        noise = NOISE[wire] + (b"" if lines else COMMENTS)
        assert read(case, [with_noise(case.body, noise, lines=lines)]) == read(case, [case.body]), str(case)
