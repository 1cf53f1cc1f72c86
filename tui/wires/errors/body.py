"""Reading of error bodies: the JSON shapes of all providers, and the title of an HTML page."""

from __future__ import annotations

import re

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.wires.json_text import Json, NotJSON, child, children, loads_leniently, maybe_text, text
from tui.wires.wire import Frame

_TITLE = lazy_regex(rb"<(title|h1)[^>]{0,200}>([^<]{1,400})", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorParts:
    """The fields of an error body; ``body`` is the JSON it was read from, which may contain retry hints."""

    message: str
    code: str | None = None
    type: str | None = None
    param: str | None = None
    body: object = None


def error_parts(value: object) -> ErrorParts | None:
    """Return the error in decoded JSON of any known shape, or None if it contains no error."""
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
    """Return the error in a body, which may be JSON or one server-sent event; None for anything else."""
    stripped = body.strip()
    if stripped.startswith((b"data:", b"event:")):
        stripped = stripped[stripped.find(b"data:") + 5 :].split(b"\n", 1)[0]
    try:
        return error_parts(loads_leniently(stripped))
    except NotJSON:
        return None


def error_frame(frame: Frame) -> Json | None:
    """Return the object in a frame that ``loads`` refuses for its numbers, if it reports an error; else None.

    Any other frame with such numbers stays a bad one: what they were cannot be known.
    """
    name, data = frame
    try:
        value = loads_leniently(data)
    except NotJSON:
        return None
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) and (name == "error" or _reports_error(value)) else None


def _reports_error(event: Json) -> bool:
    inner = (child(event, "response"), *children(event, "choices"))
    failed = event.get("type") == "response.failed" or any(isinstance(part.get("error"), dict | str) for part in inner)
    return failed or error_parts(event) is not None


def page_title(body: bytes) -> str | None:
    """Return the title of an HTML page, "" if it has no title, or None if the body is not HTML."""
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
        return inner  # FastAPI puts the error it raised into "detail"
    if isinstance(detail, str):
        return ErrorParts(message=detail, code=_word(value.get("code")), type=_word(value.get("type")), body=value)
    if isinstance(detail, list) and detail:
        first = children(value, "detail")[:1]
        location = first[0].get("loc") if first else None
        where = [str(step) for step in location if step != "body"] if isinstance(location, list) else []
        reason = text(first[0], "msg") if first else str(detail[0])
        message = f"{'.'.join(where)}: {reason}" if where else reason
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
