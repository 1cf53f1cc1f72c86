"""Short readings that follow each other closely are made less often; all others come as soon as they can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream

from tests.fakes.clock import virtually
from tui.providers.http.paced_stream import BETWEEN_S, RUN, SHORT, PacedStream


class Server(ByteStream):
    """Pieces that arrive at fixed times; a reading takes all that has arrived, at most ``max_bytes``."""

    def __init__(self, pieces: list[tuple[float, bytes]]) -> None:
        self._pieces = pieces
        self._left = b""

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return {}

    async def receive(self, max_bytes: int = 65536) -> bytes:
        clock = asyncio.get_running_loop().time
        if not self._left:
            if not self._pieces:
                raise anyio.EndOfStream
            await asyncio.sleep(max(0.0, self._pieces[0][0] - clock()))
        while self._pieces and self._pieces[0][0] <= clock():
            self._left += self._pieces.pop(0)[1]
        read, self._left = self._left[:max_bytes], self._left[max_bytes:]
        return read

    async def send(self, item: bytes) -> None:
        raise NotImplementedError

    async def send_eof(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


def read(pieces: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
    """All readings of a paced stream with the time of each, in virtual time that begins at 0."""
    readings: list[tuple[float, bytes]] = []

    async def run() -> None:
        stream = PacedStream(Server(list(pieces)))
        while True:
            try:
                received = await stream.receive()
            except anyio.EndOfStream:
                return
            readings.append((asyncio.get_running_loop().time(), received))

    virtually(run())
    return readings


def every(seconds: float, pieces: list[bytes]) -> list[tuple[float, bytes]]:
    return [(number * seconds, piece) for number, piece in enumerate(pieces, 1)]


WORDS = [f"{number:04d};".encode() for number in range(200)]


def test_words_that_come_closely_are_read_a_few_at_a_time_and_none_is_lost() -> None:
    readings = read(every(0.005, WORDS))
    assert b"".join(words for _, words in readings) == b"".join(WORDS)
    took = readings[-1][0]
    assert took <= 200 * 0.005 + BETWEEN_S
    assert len(readings) <= RUN + took / BETWEEN_S + 2


def test_the_first_words_come_at_once() -> None:
    assert [at for at, _ in read(every(0.005, WORDS))[:RUN]] == pytest.approx([0.005 * n for n in range(1, RUN + 1)])


def test_words_come_as_soon_as_they_can_if_they_come_seldom() -> None:
    every_s = BETWEEN_S * 1.1
    readings = read(every(every_s, WORDS))
    assert [words for _, words in readings] == WORDS
    assert [at for at, _ in readings] == pytest.approx([every_s * n for n in range(1, len(WORDS) + 1)])


def test_after_a_silence_words_come_at_once_again() -> None:
    silent_until = 0.2 + BETWEEN_S * 3
    readings = read([*every(0.005, WORDS[:40]), (silent_until, b"y"), (silent_until + 0.001, b"z")])
    assert [at for at, _ in readings[-2:]] == pytest.approx([silent_until, silent_until + 0.001])


def test_a_download_is_not_held_up() -> None:
    blocks = [bytes(SHORT)] * 100
    assert read(every(0.0001, blocks))[-1][0] == pytest.approx(100 * 0.0001)
