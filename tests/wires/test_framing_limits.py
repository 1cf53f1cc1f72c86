"""How much is taken, and that taking it costs no more per byte when there is more of it."""

from __future__ import annotations

import time

import pytest

from tui.domain.errors import ErrorKind, ProviderError
from tui.wires.framing.json_frames import JsonArrayFramer, NdjsonFramer
from tui.wires.framing.sse import SseFramer

MB = 1024 * 1024
ONE_LINE = {
    SseFramer: (b'data: {"t":"', b'"}\n\n'),
    NdjsonFramer: (b'{"t":"', b'"}\n'),
    JsonArrayFramer: (b'[{"t":"', b'"}]'),
}
SMALL = {SseFramer: b"data: x\n\n", NdjsonFramer: b"{}\n", JsonArrayFramer: b"{},"}


def fed(framer, body: bytes, size: int) -> int:
    return sum(len(framer.feed(body[start : start + size])) for start in range(0, len(body), size))


@pytest.mark.parametrize("kind", ONE_LINE)
@pytest.mark.parametrize("size", [1024, 64 * MB], ids=["in small chunks", "at once"])
def test_an_event_over_the_cap_is_refused(kind, size):
    start, end = ONE_LINE[kind]
    framer = kind(event_cap=MB)

    with pytest.raises(ProviderError) as refused:
        fed(framer, start + b"x" * MB + end, size)
    assert refused.value.kind is ErrorKind.TOO_LARGE
    assert not refused.value.retryable


@pytest.mark.parametrize("kind", ONE_LINE)
def test_an_event_under_the_cap_is_taken(kind):
    start, end = ONE_LINE[kind]

    assert fed(kind(event_cap=MB), start + b"x" * (MB - 100) + end, 4096) == 1


@pytest.mark.parametrize("kind", ONE_LINE)
def test_a_stream_over_the_cap_is_refused(kind):
    framer = kind(stream_cap=MB)

    with pytest.raises(ProviderError) as refused:
        fed(framer, b"\n" * (MB + 1), 4096)
    assert refused.value.kind is ErrorKind.TOO_LARGE


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ONE_LINE)
def test_the_caps_are_sixteen_and_sixty_four_megabytes(kind):
    framer = kind()
    start, end = ONE_LINE[kind]

    assert fed(framer, start + b"x" * (15 * MB) + end, MB) == 1
    with pytest.raises(ProviderError, match="16 MB"):
        fed(kind(), start + b"x" * (16 * MB) + end, MB)


@pytest.mark.long
@pytest.mark.parametrize("kind", SMALL)
def test_a_million_tiny_events_are_all_seen(kind):
    opening = b"[" if kind is JsonArrayFramer else b""

    assert fed(kind(), opening + SMALL[kind] * 1_000_000, 65536) == 1_000_000


def cpu(work) -> float:
    best = 1e9
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("kind", ONE_LINE)
def test_a_line_ten_times_as_long_takes_about_ten_times_as_long(kind):
    start, end = ONE_LINE[kind]
    short, long = (start + b"x" * size + end for size in (MB, 10 * MB))

    assert cpu(lambda: fed(kind(), long, 1024)) <= 25 * max(cpu(lambda: fed(kind(), short, 1024)), 0.002)
