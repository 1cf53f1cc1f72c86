"""JSON parsing and writing for all wires: fast for usual input, tolerant of common server mistakes.

orjson does the work. It rejects lone surrogates (half an emoji split over two deltas), invalid UTF-8 and raw control
characters. Such input is parsed again with the standard library, within limits on depth and digits. If a key occurs
twice in an object, the last value counts.

``child``, ``text`` and the others read decoded JSON. They tolerate missing values and wrong types, which compatible
servers often send.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

import orjson

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.lazy_regex import lazy_regex

MAX_DEPTH = 512
"""Deepest nesting accepted; deeper input would exhaust the interpreter's stack."""
MAX_DIGITS = 400
"""Longest integer accepted; parsing longer ones takes quadratic time."""
BRACKETS_AND_STRINGS = lazy_regex(r'[{\[]|[}\]]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class NotJSON(ProviderError):
    """The server sent bytes that are not valid JSON."""

    def __init__(self, why: str) -> None:
        super().__init__(ErrorKind.BAD_FRAME, f"The server sent something that is not JSON: {why}", retryable=True)


def loads(data: bytes | str) -> object:
    """Parse JSON; raises NotJSON. Strings in the result may contain lone surrogates."""
    if len(data) > 2 * MAX_DEPTH:
        _check_depth(data)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _loads_slowly(data)


def loads_leniently(data: bytes | str) -> object:
    """Parse JSON that may hold ``NaN``, ``Infinity`` or absurd numbers, each read as None; raises NotJSON.

    For errors: their words matter even if a number beside them is wrong.
    """
    try:
        return loads(data)
    except NotJSON:
        _check_depth(data)
        return _loads_slowly(data, _LENIENT)


def dumps(value: object) -> str:
    """Return compact JSON text without escaping of non-ASCII characters; a lone surrogate becomes U+FFFD."""
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, UnicodeError):
        return _dumps_slowly(value)


def _loads_slowly(data: bytes | str, decoder: json.JSONDecoder | None = None) -> object:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = text.removeprefix("\ufeff")
    try:
        return (decoder or _TOLERANT).decode(text)
    except RecursionError:
        raise NotJSON("nested too deeply") from None
    except ValueError as error:
        raise NotJSON(str(error)[:120]) from None


def _dumps_slowly(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise NotJSON("nested too deeply") from None
    _check_depth(text)  # the depth at which Python itself gives up differs between versions
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _check_depth(data: bytes | str) -> None:
    """Raise NotJSON for deep nesting. Few brackets cannot nest deeply, so the slow scan runs for many only."""
    text = data.decode("latin-1") if isinstance(data, bytes) else data
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for found in BRACKETS_AND_STRINGS.finditer(text):
        mark = found.group()
        if mark in ("{", "["):
            depth += 1
            if depth > MAX_DEPTH:
                raise NotJSON("nested too deeply")
        elif mark in ("}", "]"):
            depth -= 1


def _refuse_constant(name: str) -> NoReturn:
    raise NotJSON(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotJSON("a number of absurd length")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotJSON("a number out of range")
    return value


_TOLERANT = json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_float)
"""Accepts raw control characters in strings, because small servers send them."""


def _integer_or_none(digits: str) -> int | None:
    return int(digits) if len(digits) <= MAX_DIGITS else None


def _float_or_none(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


_LENIENT = json.JSONDecoder(
    strict=False, parse_constant=lambda _: None, parse_int=_integer_or_none, parse_float=_float_or_none
)


def merge_fields(body: dict[str, object], fields: Mapping[str, object]) -> None:
    """Merge ``fields`` into ``body``: objects key by key; other values replace the present ones."""
    for key, value in fields.items():
        before = body.get(key)
        if isinstance(value, Mapping):
            inner = dict(before) if isinstance(before, dict) else {}
            merge_fields(inner, value)
            body[key] = inner
        else:
            body[key] = value


def extend_fields(body: dict[str, object], fields: Mapping[str, object]) -> None:
    """Merge ``fields`` into ``body`` like ``merge_fields``, but add to the lists that are there."""
    for key, value in fields.items():
        before = body.get(key)
        both = [*before, *value] if isinstance(value, list) and isinstance(before, list) else value
        merge_fields(body, {key: both})


Json = Mapping[str, object]
EMPTY: Json = {}
LARGEST = sys.float_info.max
LARGEST_COST = 1e6
"""Dollars for one request. Larger amounts are mistakes."""
LARGEST_COUNT = 2**53
"""Larger counts are rejected: a JSON parser may not represent them exactly."""


def child(value: object, *path: str) -> Json:
    """Return the object at ``path``, or an empty one."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else EMPTY


def children(value: object, *path: str) -> Sequence[Json]:
    """Return the objects in the list at ``path``; other elements are ignored."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()


def text(value: object, *path: str) -> str:
    """Return the string at ``path``, or ""."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def maybe_text(value: object, *path: str) -> str | None:
    """Return the string at ``path``, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def whole(value: object, *path: str) -> int | None:
    """Return the integer at ``path``, or None if it is missing, negative, not whole or too large."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT else None


def number(value: object, *path: str) -> float | None:
    """Return the number at ``path``, or None if it is missing or too large for a float."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST:
        return None
    return float(value)


def dollars(value: object, *path: str) -> float | None:
    """Return the cost at ``path``, or None if it is missing, negative or absurd."""
    amount = number(value, *path)
    return amount if amount is not None and 0 <= amount <= LARGEST_COST else None


KEPT = 256 * 1024
"""Characters of JSON that are kept and parsed. Of longer JSON only the nesting is known: the answer holds the text
itself, and a second copy of it would be most of what a long call costs."""

NOTHING = object()

_OUTSIDE = lazy_regex(r'["{}\[\]]')
_INSIDE = lazy_regex(r'(?:[^"\\]++|\\.)*+', re.DOTALL)


class ArrivingJson:
    """JSON that arrives in pieces."""

    __slots__ = ("_depth", "_dropped", "_is_in_string", "_is_object", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0
        self._dropped = False
        """The beginning was scanned and is not kept any more."""
        self._is_object = False
        self._depth = 0
        self._is_in_string = False

    def append(self, piece: str) -> None:
        """Add what arrived."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= KEPT:
            self._scan()

    @property
    def is_empty(self) -> bool:
        """Nothing arrived."""
        return not self._dropped and not self._pieces

    @property
    def is_blank(self) -> bool:
        """Nothing but blanks arrived."""
        return not self._dropped and not any(piece.strip() for piece in self._pieces)

    def is_json(self) -> bool:
        """Whether it is complete JSON; of long JSON, whether it is an object whose brackets and strings are closed."""
        return self._is_closed() if self._dropped else self._parsed() is not NOTHING

    def is_object(self) -> bool:
        """Whether it is a complete object."""
        return self._is_closed() if self._dropped else isinstance(self._parsed(), dict)

    def _parsed(self) -> object:
        try:
            return loads("".join(self._pieces))
        except NotJSON:
            return NOTHING

    def _is_closed(self) -> bool:
        self._scan()
        return self._is_object and self._depth == 0 and not self._is_in_string

    def _scan(self) -> None:
        """Follow the nesting through what is kept, and drop it; half an escape is kept."""
        text = "".join(self._pieces)
        if not self._dropped:
            self._dropped, self._is_object = True, text.lstrip().startswith("{")
        rest = self._follow(text)
        self._pieces, self._size = [rest] if rest else [], len(rest)

    def _follow(self, text: str) -> str:
        at = 0
        while at < len(text):
            if self._is_in_string:
                inside = _INSIDE.match(text, at)
                at = inside.end() if inside else at
                if at < len(text) and text[at] == "\\":
                    return text[at:]  # the escaped character is still to come
                self._is_in_string = at >= len(text)
                at += 1
                continue
            mark = _OUTSIDE.search(text, at)
            end = mark.start() if mark else len(text)
            if mark is not None:
                self._depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark.group(), 0)
                self._is_in_string = mark.group() == '"'
            at = end + 1
        return ""
