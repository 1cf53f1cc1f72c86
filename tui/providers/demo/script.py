"""What a demo answer is made of, before any wire spells it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple


class Think(NamedTuple):
    """A stretch of thinking, sealed at its end."""

    text: str


class Say(NamedTuple):
    """Words of the answer."""

    text: str


class Call(NamedTuple):
    """A tool call; ``arguments`` is JSON text."""

    name: str
    arguments: str


class Break(NamedTuple):
    """What goes wrong at this point of the stream."""

    how: Literal["cut", "overloaded"]


Piece = Think | Say | Call | Break


class Refusal(NamedTuple):
    """An HTTP error instead of an answer."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = {}


class Script(NamedTuple):
    """An answer, or the error instead of one."""

    pieces: tuple[Piece, ...] = ()
    refusal: Refusal | None = None
    slowness: float = 1.0


class Bill(NamedTuple):
    """Tokens, counted as the demo counts: four characters each."""

    input: int
    thinking: int
    answer: int


def tokens(text: str) -> int:
    """The demo's tokenizer."""
    return (len(text) + 3) // 4


_DELTA = re.compile(r"\s*\S{1,7}|\s+")


def deltas(text: str) -> Iterator[str]:
    """Text in the small pieces models send."""
    return (found[0] for found in _DELTA.finditer(text))
