"""Domain values ⇄ JSON objects, exactly. The same objects are the rows of the database and the JSON of exports.

Written by hand so that opening a session loads no validation library. Fields at their defaults are left out.
A block of a kind this version does not know stays the object it was, and is an ``OpaqueBlock`` marked unread.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import TypeVar

from tui.domain.blocks import (
    Block,
    ImageBlock,
    OpaqueBlock,
    Seal,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.messages import Message, Origin, Role, WireName
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import ModelSpec, ThinkingForm, ThinkingLevel
from tui.domain.usage import Usage

Json = Mapping[str, object]
MAX_DIGITS = 400
"""Longer numbers are never meant; reading them is quadratic."""
LARGEST_NUMBER = sys.float_info.max
"""Larger ones fit into no float; NaN is not less."""
UNREADABLE = "unreadable"
"""The kind of a block whose row is damaged."""

_Word = TypeVar("_Word", bound=StrEnum)


class Unreadable(ValueError):
    """JSON that does not say what it should."""


def dumps(value: object) -> str:
    """JSON in ASCII: NUL and lone surrogates are escapes, so any string survives."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def loads(text: str) -> object:
    """Parse JSON; any fault is ``Unreadable``."""
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as fault:
        raise Unreadable(str(fault)) from None


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Unreadable("a number of absurd length")
    return int(digits)


def to_object(value: object) -> dict[str, object]:
    """Any of the domain's dataclasses: its fields by name, those at their defaults left out, ``kind`` always in."""
    return {
        field.name: _plain(item)
        for field in fields(value)  # type: ignore[arg-type]  # every caller passes a dataclass
        if (item := getattr(value, field.name)) != field.default or field.name == "kind"
    }


def _plain(value: object) -> object:
    match value:
        case StrEnum():
            return value.value
        case str() | int() | float() | None:
            return value
        case tuple():
            return [_plain(item) for item in value]
        case _:
            return to_object(value)


def block_object(block: Block) -> dict[str, object]:
    """A block; what could not be read goes back to what it was."""
    if isinstance(block, OpaqueBlock) and block.unread:
        kept = loads(block.raw)
        if isinstance(kept, dict):
            return kept
    return to_object(block)


def message_meta(message: Message) -> dict[str, object]:
    """All of a message but its id, role and blocks."""
    meta = to_object(message)
    for name in ("id", "role", "blocks"):
        meta.pop(name, None)
    return meta


def block_from(found: Json) -> Block:
    """The block; one of an unknown kind, or one that is wrong inside, comes as unread."""
    reader = _READERS.get(str(found.get("kind")))
    if reader is not None:
        try:
            return reader(found)
        except Unreadable:
            pass
    return OpaqueBlock(label=str(found.get("kind", UNREADABLE)), raw=dumps(found), unread=True)


def checked_block(found: Json) -> Block:
    """The block of a foreign file: a known kind must be right, an unknown one is kept as it is."""
    reader = _READERS.get(text_of(found, "kind"))
    return block_from(found) if reader is None else reader(found)


def message_from(identity: str, role: str, meta: Json, blocks: tuple[Block, ...]) -> Message:
    """A message of its parts. Raises Unreadable."""
    return Message(
        id=identity,
        role=_word(Role, role),
        blocks=blocks,
        origin=_child(meta, "origin", _origin),
        usage=_child(meta, "usage", _usage),
        stop=_child(meta, "stop", _stop),
        answered_by=_text_or_none(meta, "answered_by"),
        interrupted=_text_or_none(meta, "interrupted"),
        superseded=_flag(meta, "superseded"),
        seconds=number_of(meta, "seconds"),
        cost=number_of(meta, "cost"),
    )


def spec_from(found: Json) -> ModelSpec:
    """A model as the user names it."""
    asked = found.get("asked")
    if asked is not None and not isinstance(asked, int | str):
        raise Unreadable("`asked` is neither a level nor a number")
    return ModelSpec(
        provider=text_of(found, "provider"),
        model=text_of(found, "model"),
        asked=_word(ThinkingLevel, asked) if isinstance(asked, str) else asked,
    )


def text_of(found: Json, name: str, default: str | None = None) -> str:
    """A string that must be there unless there is a default."""
    value = found.get(name, default)
    if not isinstance(value, str):
        raise Unreadable(f"`{name}` is not a text")
    return value


def number_of(found: Json, name: str) -> float | None:
    """A finite number, or None where it is not known."""
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST_NUMBER:
        raise Unreadable(f"`{name}` is not a number")
    return value


def whole_or_none(found: Json, name: str) -> int | None:
    """A whole number, or None where it is not known."""
    value = found.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise Unreadable(f"`{name}` is not a whole number")
    return value


def _text_or_none(found: Json, name: str) -> str | None:
    return None if found.get(name) is None else text_of(found, name)


def _flag(found: Json, name: str) -> bool:
    value = found.get(name, False)
    if not isinstance(value, bool):
        raise Unreadable(f"`{name}` is neither true nor false")
    return value


def _word(kind: type[_Word], value: str) -> _Word:
    try:
        return kind(value)
    except ValueError:
        raise Unreadable(f"`{value}` is no {kind.__name__}") from None


_Made = TypeVar("_Made")


def _child(found: Json, name: str, make: Callable[[Json], _Made]) -> _Made | None:
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Unreadable(f"`{name}` is not an object")
    return make(value)


def _seal(found: Json) -> Seal:
    return Seal(
        id=_text_or_none(found, "id"),
        signature=_text_or_none(found, "signature"),
        encrypted=_text_or_none(found, "encrypted"),
        raw=_text_or_none(found, "raw"),
    )


def _origin(found: Json) -> Origin:
    return Origin(
        provider=text_of(found, "provider"),
        wire=_word(WireName, text_of(found, "wire")),
        host=text_of(found, "host"),
        model=text_of(found, "model"),
        family=text_of(found, "family", ""),
        account=text_of(found, "account", ""),
        level=text_of(found, "level", ""),
    )


def _usage(found: Json) -> Usage:
    return Usage(
        input=whole_or_none(found, "input"),
        cache_read=whole_or_none(found, "cache_read"),
        cache_write=whole_or_none(found, "cache_write"),
        output=whole_or_none(found, "output"),
        thinking=whole_or_none(found, "thinking"),
        total=whole_or_none(found, "total"),
        cost=number_of(found, "cost"),
    )


def _stop(found: Json) -> Stop:
    return Stop(_word(Finish, text_of(found, "finish")), _text_or_none(found, "raw"), _text_or_none(found, "detail"))


def _text(found: Json) -> TextBlock:
    return TextBlock(
        text=text_of(found, "text"),
        seal=_child(found, "seal", _seal),
        refusal=_flag(found, "refusal"),
        partial=_flag(found, "partial"),
    )


def _thinking(found: Json) -> ThinkingBlock:
    return ThinkingBlock(
        text=text_of(found, "text"),
        form=_word(ThinkingForm, text_of(found, "form")),
        wire_field=_text_or_none(found, "wire_field"),
        seal=_child(found, "seal", _seal),
        tokens=whole_or_none(found, "tokens"),
        seconds=number_of(found, "seconds"),
        partial=_flag(found, "partial"),
    )


def _tool_call(found: Json) -> ToolCallBlock:
    return ToolCallBlock(
        call_id=text_of(found, "call_id"),
        name=text_of(found, "name"),
        arguments=text_of(found, "arguments"),
        seal=_child(found, "seal", _seal),
        partial=_flag(found, "partial"),
    )


def _image(found: Json) -> ImageBlock:
    return ImageBlock(
        media_type=text_of(found, "media_type"),
        data=_text_or_none(found, "data"),
        url=_text_or_none(found, "url"),
        name=_text_or_none(found, "name"),
        seal=_child(found, "seal", _seal),
    )


def _tool_result(found: Json) -> ToolResultBlock:
    items = found.get("content")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreadable("`content` is not a list of objects")
    content = tuple(_image(item) if item.get("kind") == "image" else _text(item) for item in items)
    return ToolResultBlock(
        call_id=text_of(found, "call_id"),
        name=text_of(found, "name"),
        content=content,
        failed=_flag(found, "failed"),
        seconds=number_of(found, "seconds"),
    )


def _opaque(found: Json) -> OpaqueBlock:
    return OpaqueBlock(label=text_of(found, "label"), raw=text_of(found, "raw"))


_READERS: dict[str, Callable[[Json], Block]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "image": _image,
    "opaque": _opaque,
}
