"""The content of a demo response, independent of the wire format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal

from tui.domain.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking, signed at its end."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """Text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Break:
    """A failure at this point of the stream."""

    how: Literal["cut", "overloaded"]


Piece = Think | Say | Call | Break


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error instead of an answer."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Script:
    """The pieces of a response, or the error sent instead."""

    pieces: tuple[Piece, ...] = ()
    refusal: Refusal | None = None
    slowness: float = 1.0


@dataclass(frozen=True, slots=True)
class Bill:
    """The token usage of a response."""

    input: int
    thinking: int
    answer: int


def tokens(text: str) -> int:
    """Return the tokens of a text: one for four characters."""
    return (len(text) + 3) // 4


_DELTA = re.compile(r"\s*\S{1,7}|\s+")


def deltas(text: str) -> Iterator[str]:
    """Split text into small pieces, as models send it."""
    return (found[0] for found in _DELTA.finditer(text))
