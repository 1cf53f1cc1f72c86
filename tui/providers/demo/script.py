"""What a demo answer is made of, before any wire spells it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal

from tui.domain.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Think:
    """A stretch of thinking, sealed at its end."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """Words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Break:
    """What goes wrong at this point of the stream."""

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
    """An answer, or the error instead of one."""

    pieces: tuple[Piece, ...] = ()
    refusal: Refusal | None = None
    slowness: float = 1.0


@dataclass(frozen=True, slots=True)
class Bill:
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
