"""Ways to cut bytes into chunks."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator


def byte_by_byte(body: bytes) -> list[bytes]:
    """One byte at a time, an empty chunk after each."""
    return [piece for index in range(len(body)) for piece in (body[index : index + 1], b"")]


def in_two_everywhere(body: bytes) -> Iterator[list[bytes]]:
    """Every way to cut once."""
    return ([body[:cut], body[cut:]] for cut in range(len(body) + 1))


def everywhere_once(body: bytes, *, apart: int) -> Iterator[list[bytes]]:
    """Bodies cut at places that are so far apart; together they are cut at every place, each exactly once."""
    for first in range(min(apart, len(body) + 1)):
        cuts = range(first, len(body) + 1, apart)
        yield [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


def at_random(body: bytes, seed: int, *, pieces: int) -> list[bytes]:
    """Cut at random places."""
    cuts = sorted(random.Random(seed).choices(range(len(body) + 1), k=pieces - 1))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


def event_by_event(body: bytes) -> list[bytes]:
    """As a slow server sends it: a chunk for each event or line."""
    return re.findall(rb".*?(?:\r\n\r\n|\n\n|\r\r)|.+\Z", body, re.DOTALL)
