"""JSON in and out for wires: fast on the usual, tolerant where servers are odd, strict where it matters.

orjson does the work. It refuses lone surrogates (half an emoji split over two deltas) and integers past 64 bits,
so what it refuses is tried again with the standard library, within limits on depth and digits.
"""

from __future__ import annotations

import json
from typing import NoReturn

import orjson

from tui.domain.errors import ErrorKind, ProviderError

MAX_DEPTH = 512
"""Deeper nesting is an attack or a bug, and would exhaust the interpreter's stack."""
MAX_DIGITS = 400
"""Longer numbers are never meant; parsing them is quadratic."""


class NotJSON(ProviderError):
    """Bytes that should be JSON and are not."""

    def __init__(self, why: str) -> None:
        super().__init__(ErrorKind.BAD_FRAME, f"The server sent something that is not JSON: {why}", retryable=True)


def _refuse_constant(name: str) -> NoReturn:
    raise NotJSON(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotJSON("a number of absurd length")
    return int(digits)


def loads(data: bytes | str) -> object:
    """Parse JSON; any fault is ``NotJSON``."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _loads_slowly(data)


def _loads_slowly(data: bytes | str) -> object:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse_constant, parse_int=_integer)
    except RecursionError:
        raise NotJSON("nested too deeply") from None
    except ValueError as error:
        raise NotJSON(str(error)[:120]) from None


def dumps(value: object) -> str:
    """Compact JSON text, characters as they are."""
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, UnicodeError):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
