"""The JSON shapes errors come in, at every provider, made one; and what an HTML page has to say."""

from __future__ import annotations

import re

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.wires.json_text import NotJSON, loads
from tui.wires.read import child, children, maybe_text, text

_TITLE = lazy_regex(rb"<(title|h1)[^>]{0,200}>([^<]{1,400})", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorParts:
    """What an error body says; ``body`` is the JSON it was read from, for retry hints inside."""

    message: str
    code: str | None = None
    type: str | None = None
    param: str | None = None
    body: object = None


def error_parts(value: object) -> ErrorParts | None:
    """Read an error out of decoded JSON, whichever shape it has; None where there is none."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if isinstance(error, dict) and error:
        return _from_object(error, value)
    if isinstance(error, str) and error:
        return ErrorParts(message=error, code=_word(value.get("code")), type=_word(value.get("type")), body=value)
    return _without_error_key(value)


def read_error(body: bytes) -> ErrorParts | None:
    """The same from bytes, which may be no JSON, or SSE with an error in it."""
    stripped = body.strip()
    if stripped.startswith((b"data:", b"event:")):
        stripped = stripped[stripped.find(b"data:") + 5 :].split(b"\n", 1)[0]
    try:
        return error_parts(loads(stripped))
    except NotJSON:
        return None


def page_title(body: bytes) -> str | None:
    """The title of an HTML page; "" for a page without one, None for what is no page."""
    head = body[:16_384]
    opening = head.lstrip()[:512].lower()
    if not (opening.startswith((b"<!doctype", b"<html")) or b"<html" in opening or b"<head" in opening):
        return None
    found = _TITLE.search(head)
    if not found:
        return ""
    from html import unescape

    return unescape(found[2].decode("utf-8", "replace")).strip()


def _from_object(error: dict[str, object], around: dict[str, object]) -> ErrorParts:
    metadata = child(error, "metadata")
    upstream = text(metadata, "raw")
    message = text(error, "message") or text(error, "detail") or text(around, "message")
    if upstream and message in ("", "Provider returned error"):
        inner = read_error(upstream.encode("utf-8", "replace"))
        message = f"{message}: {inner.message if inner else upstream}".lstrip(": ")
    return ErrorParts(
        message=message,
        code=_word(text(error, "details", "error_code") or error.get("code") or metadata.get("provider_code")),
        type=_word(error.get("type") or error.get("status") or metadata.get("error_type")),
        param=maybe_text(error, "param"),
        body=around,
    )


def _without_error_key(value: dict[str, object]) -> ErrorParts | None:
    detail = value.get("detail")
    if isinstance(detail, dict) and (inner := error_parts(detail)) is not None:
        return inner  # FastAPI wraps whatever was raised
    if isinstance(detail, str):
        return ErrorParts(message=detail, code=_word(value.get("code")), type=_word(value.get("type")), body=value)
    if isinstance(detail, list) and detail:
        first = children(value, "detail")[:1]
        place = first[0].get("loc") if first else None
        where = [str(step) for step in place if step != "body"] if isinstance(place, list) else []
        said = text(first[0], "msg") if first else str(detail[0])
        message = f"{'.'.join(where)}: {said}" if where else said
        return ErrorParts(message=message, type=_word(first[0].get("type")) if first else None, body=value)
    status = child(value, "base_resp")
    if status.get("status_code") not in (None, 0):
        return ErrorParts(message=text(status, "status_msg"), code=_word(status.get("status_code")), body=value)
    message = text(value, "message") or text(value, "msg")
    if message or value.get("object") == "error" or value.get("type") == "error":
        code, kind = _word(value.get("code")), _word(value.get("type"))
        return ErrorParts(message=message, code=code, type=kind, param=maybe_text(value, "param"), body=value)
    return None


def _word(value: object) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    return str(value)[:200] if isinstance(value, str | int) and value != "" else None
