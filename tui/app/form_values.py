"""What the user enters into a form of an MCP server: the values, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from urllib.parse import urlsplit

from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.domain.forms import FieldKind, FormField, Value

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*")
_EXAMPLES = {
    "email": "name@example.com",
    "uri": "https://example.com/page",
    "date": "2026-12-31",
    "date-time": "2026-12-31T18:00:00+01:00",
}


def form_values(fields: Sequence[FormField], entered: Mapping[str, Value]) -> Mapping[str, Value]:
    """The values to send. Raises UsageError for the first field that is wrong; empty optional ones are left out."""
    return {field.name: value for field in fields if (value := field_value(field, entered.get(field.name))) is not None}


def field_value(field: FormField, entered: Value | None) -> Value | None:
    """The value of a field; None if it is empty. Raises UsageError if it is wrong."""
    if entered is None or entered == "" or entered == []:
        if field.required:
            raise UsageError(f"{field.title} is required.")
        return None
    if field.kind in (FieldKind.NUMBER, FieldKind.INTEGER):
        return _number(field, str(entered))
    if isinstance(entered, str) and field.kind is FieldKind.TEXT:
        _check_text(field, entered)
    if isinstance(entered, list):
        _check_size(field, len(entered), "choice")
    return entered


def _number(field: FormField, entered: str) -> int | float:
    whole = field.kind is FieldKind.INTEGER
    try:
        value = int(entered) if whole or re.fullmatch(r"\s*[-+]?[0-9]{1,15}\s*", entered) else float(entered)
    except ValueError:
        raise UsageError(f"{field.title} must be a {'whole ' if whole else ''}number.") from None
    if abs(value) > 1e300 or value != value:
        raise UsageError(f"{field.title} must be a {'whole ' if whole else ''}number.")
    if field.least is not None and value < field.least:
        raise UsageError(f"{field.title} must be at least {field.least:g}.")
    if field.most is not None and value > field.most:
        raise UsageError(f"{field.title} must be at most {field.most:g}.")
    return value


def _check_text(field: FormField, text: str) -> None:
    _check_size(field, len(text), "character")
    if field.format in _EXAMPLES and not _has_format(text, field.format):
        raise UsageError(f"{field.title} must look like {_EXAMPLES[field.format]}.")


def _check_size(field: FormField, size: int, what: str) -> None:
    if field.least is not None and size < field.least:
        raise UsageError(f"{field.title} needs at least {count(int(field.least), what)}.")
    if field.most is not None and size > field.most:
        raise UsageError(f"{field.title} takes at most {count(int(field.most), what)}.")


def _has_format(text: str, name: str) -> bool:
    try:
        match name:
            case "email":
                return _EMAIL.fullmatch(text) is not None
            case "uri":
                return bool(urlsplit(text).scheme) and " " not in text
            case "date":
                return len(text) == len("2026-12-31") and date.fromisoformat(text) is not None
            case _:
                return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def constraints(field: FormField) -> str:
    """What a field takes, in a few words."""
    kind = field.kind
    parts = [_EXAMPLES[field.format]] if field.format in _EXAMPLES else []
    if kind in (FieldKind.NUMBER, FieldKind.INTEGER):
        parts.append(kind.value)
    if field.least is not None or field.most is not None:
        limits = (f"at least {field.least:g}" if field.least is not None else "", _most(field.most))
        unit = {FieldKind.TEXT: " characters", FieldKind.CHOICES: " choices"}.get(kind, "")
        parts.append(", ".join(filter(None, limits)) + unit)
    parts.append("needed" if field.required else "may be empty")
    return " · ".join(parts)


def _most(limit: float | None) -> str:
    return f"at most {limit:g}" if limit is not None else ""
