"""The fast framer against the slow one the standard describes, on streams of every shape."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.wires.cuts import at_random
from tui.wires.framing.sse import SseFramer

pytestmark = pytest.mark.timeout(1800 if os.environ.get("PONDER_LONG") else 180)
LINES = st.sampled_from(
    [
        b"data: x",
        b"data: {}",
        b"data:y",
        b"data",
        b"event: a",
        b"event: b",
        b"event:",
        b": c",
        b"id: 1",
        b"",
        b"",
        b"junk",
    ]
)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])
REGULAR = st.lists(
    st.sampled_from([b"event: a\ndata: 1", b"event: b\ndata: 2", b"event: a\ndata: 3\ndata: 4", b"data: 5"])
)


def by_the_book(body: bytes) -> list[tuple[str, bytes]]:
    frames: list[tuple[str, bytes]] = []
    name, data = b"", list[bytes]()
    *lines, _ = re.split(rb"\r\n|\n|\r", body.removeprefix(b"\xef\xbb\xbf"))
    for line in lines:
        field, _, value = line.partition(b":")
        if not line:
            if data:
                frames.append((name.decode(), b"\n".join(data)))
            name, data = b"", []
        elif field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    return frames


def framed(chunks: list[bytes]) -> list[tuple[str, bytes]]:
    framer = SseFramer()
    return [frame for chunk in chunks for frame in framer.feed(chunk)]


@given(st.lists(st.tuples(LINES, ENDS), max_size=30), st.integers(0, 9999))
@example([(line, b"\n") for line in (b"data: x", b"", b": c", b"", b"", b": c", b"", b"data: y", b"")], 0)
@example([(line, b"\n") for line in (b"event: a", b"data: x", b"", b"event: a", b"", b"data: y", b"")], 0)
def test_lines_in_any_order_with_any_ends_are_read_by_the_book(lines, seed):
    body = b"".join(line + end for line, end in lines)

    assert framed([body]) == by_the_book(body)
    assert framed(at_random(body, seed, pieces=6)) == by_the_book(body)


@given(REGULAR, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.integers(0, 9999))
def test_usual_streams_are_read_by_the_book(events, end, seed):
    body = b"".join(event + b"\n\n" for event in events).replace(b"\n", end)

    assert framed([b"data: first" + end * 2, body, body]) == [("", b"first"), *by_the_book(body + body)]
    assert framed(at_random(body, seed, pieces=4)) == by_the_book(body)
