"""Exact conversion between domain values and JSON objects, used for database rows and for exports.

Written by hand so that opening a session loads no validation library. Fields at their defaults are omitted.
A block of unknown kind keeps its object and becomes an ``OpaqueBlock`` marked unread.
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
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.messages import CacheRecord, Message, Origin, Role, WireName
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import ModelSpec, ThinkingForm, ThinkingLevel
from tui.domain.usage import Usage
from tui.domain.web_search import Citation, Source, WebSearch

Json = Mapping[str, object]
MAX_DIGITS = 400
"""Longer numbers are rejected, because parsing them takes quadratic time."""
LARGEST_NUMBER = sys.float_info.max
"""Larger numbers do not fit into a float; comparing with it also rejects NaN."""
STORED_NAMES = {"provider_state": "seal"}
"""Fields that have another name in stored sessions."""
UNREADABLE = "unreadable"
"""The kind of a block whose row is damaged."""

_Word = TypeVar("_Word", bound=StrEnum)


class Unreadable(ValueError):
    """JSON that does not have the expected structure."""


def dumps(value: object) -> str:
    """Serialize as ASCII: NUL and lone surrogates become escapes, so every string survives."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def loads(text: str) -> object:
    """Parse JSON. Raises Unreadable."""
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as fault:
        raise Unreadable(str(fault)) from None


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Unreadable("a number of absurd length")
    return int(digits)


def to_object(value: object) -> dict[str, object]:
    """Convert a domain dataclass to a dict: fields at their defaults are omitted, ``kind`` is always included."""
    return {
        STORED_NAMES.get(field.name, field.name): _plain(item)
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
    """Convert a block; an unread one becomes the object it was read from."""
    if isinstance(block, OpaqueBlock) and block.unread:
        kept = loads(block.raw)
        if isinstance(kept, dict):
            return kept
    return to_object(block)


def message_meta(message: Message) -> dict[str, object]:
    """All fields of a message except its id, role and blocks."""
    meta = to_object(message)
    for name in ("id", "role", "blocks"):
        meta.pop(name, None)
    return meta


def block_from(found: Json) -> Block:
    """Convert to a block; an unknown or invalid one becomes an unread ``OpaqueBlock``."""
    reader = _READERS.get(str(found.get("kind")))
    if reader is not None:
        try:
            return reader(found)
        except Unreadable:
            pass
    return OpaqueBlock(label=str(found.get("kind", UNREADABLE)), raw=dumps(found), unread=True)


def checked_block(found: Json) -> Block:
    """Convert a block of an imported file: known kinds must be valid, unknown ones are kept."""
    reader = _READERS.get(text_of(found, "kind"))
    return block_from(found) if reader is None else reader(found)


def message_from(identity: str, role: str, meta: Json, blocks: tuple[Block, ...]) -> Message:
    """Build a message from its parts. Raises Unreadable."""
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
        first_token_s=number_of(meta, "first_token_s"),
        cost=_cost(meta),
        cache=_child(meta, "cache", _cache_record),
        answered_early=_flag(meta, "answered_early"),
        language=_text_or_none(meta, "language") or "",
    )


def spec_from(found: Json) -> ModelSpec:
    asked = found.get("asked")
    if asked is not None and not isinstance(asked, int | str):
        raise Unreadable("`asked` is neither a level nor a number")
    return ModelSpec(
        provider=text_of(found, "provider"),
        model=text_of(found, "model"),
        asked=_word(ThinkingLevel, asked) if isinstance(asked, str) else asked,
    )


def text_of(found: Json, name: str, default: str | None = None) -> str:
    """A string; required unless a default is given."""
    value = found.get(name, default)
    if not isinstance(value, str):
        raise Unreadable(f"`{name}` is not a text")
    return value


def number_of(found: Json, name: str) -> float | None:
    """A finite number, or None if it is missing."""
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST_NUMBER:
        raise Unreadable(f"`{name}` is not a number")
    return value


def _cost(found: Json) -> float | None:
    """The cost, or None if it is missing or negative: a forged one would lower the sum of all."""
    cost = number_of(found, "cost")
    return None if cost is None or cost < 0 else cost


def whole_or_none(found: Json, name: str) -> int | None:
    """An integer, or None if it is missing."""
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


def _provider_state(found: Json) -> ProviderState:
    return ProviderState(
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
        cache_write_1h=whole_or_none(found, "cache_write_1h"),
        output=whole_or_none(found, "output"),
        thinking=whole_or_none(found, "thinking"),
        total=whole_or_none(found, "total"),
        searches=_searches(found),
        cost=_cost(found),
    )


def _searches(found: Json) -> int | None:
    """The searches, or None if they are missing or negative, as with the cost."""
    count = whole_or_none(found, "searches")
    return None if count is None or count < 0 else count


def _cache_record(found: Json) -> CacheRecord:
    ttl = text_of(found, "ttl", "")
    return CacheRecord(
        at=number_of(found, "at") or 0.0,
        ttl=ttl if ttl in ("5m", "30m", "1h") else "",
        tools=text_of(found, "tools", ""),
        system=text_of(found, "system", ""),
        history=text_of(found, "history", ""),
        rules=text_of(found, "rules", ""),
        thinking=text_of(found, "thinking", ""),
    )


def _stop(found: Json) -> Stop:
    return Stop(_word(Finish, text_of(found, "finish")), _text_or_none(found, "raw"), _text_or_none(found, "detail"))


def _text(found: Json) -> TextBlock:
    return TextBlock(
        text=text_of(found, "text"),
        provider_state=_child(found, "seal", _provider_state),
        refusal=_flag(found, "refusal"),
        partial=_flag(found, "partial"),
        citations=tuple(_citation(item) for item in _objects(found, "citations")),
    )


def _citation(found: Json) -> Citation:
    start = whole_or_none(found, "start") or 0
    end = whole_or_none(found, "end")
    if start < 0 or (end is not None and end < start):
        raise Unreadable("a citation without a place")
    return Citation(source=_child(found, "source", _source) or Source(url=""), start=start, end=end)


def _source(found: Json) -> Source:
    return Source(url=text_of(found, "url"), title=text_of(found, "title", ""))


def _search(found: Json) -> WebSearch:
    queries = found.get("queries", [])
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise Unreadable("`queries` is not a list of texts")
    action = text_of(found, "action", "search")
    return WebSearch(
        id=text_of(found, "id", ""),
        action="open" if action == "open" else "find" if action == "find" else "search",
        queries=tuple(queries),
        page=text_of(found, "page", ""),
        results=tuple(_source(item) for item in _objects(found, "results")) if "results" in found else None,
        error=text_of(found, "error", ""),
        done=_flag(found, "done"),
    )


def _objects(found: Json, name: str) -> list[Json]:
    """The objects of a list; an absent list is empty."""
    items = found.get(name, [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreadable(f"`{name}` is not a list of objects")
    return items


def _thinking(found: Json) -> ThinkingBlock:
    return ThinkingBlock(
        text=text_of(found, "text"),
        form=_word(ThinkingForm, text_of(found, "form")),
        wire_field=_text_or_none(found, "wire_field"),
        provider_state=_child(found, "seal", _provider_state),
        tokens=whole_or_none(found, "tokens"),
        seconds=number_of(found, "seconds"),
        partial=_flag(found, "partial"),
    )


def _tool_call(found: Json) -> ToolCallBlock:
    return ToolCallBlock(
        call_id=text_of(found, "call_id"),
        name=text_of(found, "name"),
        arguments=text_of(found, "arguments"),
        provider_state=_child(found, "seal", _provider_state),
        partial=_flag(found, "partial"),
    )


def _image(found: Json) -> ImageBlock:
    return ImageBlock(
        media_type=text_of(found, "media_type"),
        data=_text_or_none(found, "data"),
        url=_text_or_none(found, "url"),
        name=_text_or_none(found, "name"),
        provider_state=_child(found, "seal", _provider_state),
    )


def _document(found: Json) -> DocumentBlock:
    pages = number_of(found, "pages")
    return DocumentBlock(data=text_of(found, "data"), name=text_of(found, "name"), pages=int(pages or 0))


def _tool_result(found: Json) -> ToolResultBlock:
    if "content" not in found:
        raise Unreadable("`content` is missing")
    items = _objects(found, "content")
    content = tuple(_image(item) if item.get("kind") == "image" else _text(item) for item in items)
    return ToolResultBlock(
        call_id=text_of(found, "call_id"),
        name=text_of(found, "name"),
        content=content,
        failed=_flag(found, "failed"),
        seconds=number_of(found, "seconds"),
        note=text_of(found, "note", ""),
        diff=text_of(found, "diff", ""),
    )


def _opaque(found: Json) -> OpaqueBlock:
    return OpaqueBlock(
        label=text_of(found, "label"), raw=text_of(found, "raw"), search=_child(found, "search", _search)
    )


_READERS: dict[str, Callable[[Json], Block]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "image": _image,
    "document": _document,
    "opaque": _opaque,
}
