"""Finds the request field that an error is about, by searching the error for the names of the fields sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tui.domain.errors import ErrorKind, ProviderError

ESSENTIAL = frozenset({"model", "messages", "input", "contents", "instructions", "system", "systemInstruction"})
"""Fields that every request needs."""
_NOT_WANTED = re.compile(
    r"\bnot (?:be )?(?:allowed|permitted|supported|recogni[sz]ed|accepted|defined|expected|known|implemented|available)"
    r"|\bunexpected\b|\bunknown\b|\bunrecogni[sz]ed\b|\bunsupported\b|\bundefined\b|\bunpermitted\b|\bextra_forbidden\b"
    r"|\badditional (?:properties|fields|keys|parameters)\b|\b(?:does|do)(?:n't| not) support\b"
    r"|\binvalid (?:parameter|field)",
    re.IGNORECASE,
)
"""Matches errors that reject a field itself; a value out of range must be corrected by the user."""
_QUOTED = "['\"`/]"
_NOT = r"(?:not (?:yet )?|un)(?:supported|available|implemented|allowed)"
_WHATEVER_THE_STATUS = (
    (re.compile(rf"\bstream(?:ing|ed)?\b[^.]{{0,30}} {_NOT}|not support stream", re.IGNORECASE), "stream"),
    (
        re.compile(
            r"\b(?:tools?|functions?)(?: |_|-)?(?:choice|calls?|calling|use|param)?\b[^.]{0,30} "
            rf"(?:{_NOT}|requires? -)|not support (?:tool|function)",
            re.IGNORECASE,
        ),
        "tools",
    ),
)
"""Features that some servers lack; llama.cpp and others report that as a server error."""


def name_refused_field(error: ProviderError, body: Mapping[str, object], whole_body: str = "") -> None:
    """Set the error's kind and parameter, if the error rejects a field that it names.

    ``whole_body`` may quote the whole request, so it counts only if it names exactly one field.
    """
    if error.status not in (400, 422, 500, 501):
        return
    for pattern, name in _WHATEVER_THE_STATUS:
        if (name in body or name == "stream") and pattern.search(error.message):
            error.kind, error.param, error.retryable = ErrorKind.UNSUPPORTED, name, False
            return
    if error.status >= 500 or error.kind not in (ErrorKind.INVALID_REQUEST, ErrorKind.UNSUPPORTED):
        return
    names = sorted(set(_names(body)) - ESSENTIAL, key=len, reverse=True)
    if _leaf(error.param or "") in names or not _NOT_WANTED.search(error.message):
        return
    named = _named_in(error.message, names)[:1] or _named_in(whole_body, names)
    if len(named) == 1:
        error.kind, error.param = ErrorKind.UNSUPPORTED, named[0]


def _named_in(text: str, names: Sequence[str]) -> list[str]:
    """Return the names found in a text. A name that is an English word counts only in quotes or after a colon."""
    found = []
    for name in names:
        word = re.escape(name)
        bare = "_" in name or not name.islower()
        if re.search((r"(?<![\w-])" if bare else f"(?:{_QUOTED}|: )") + rf"{word}(?![\w-])", text):
            found.append(name)
    return found


def _names(table: Mapping[str, object], depth: int = 2) -> Iterator[str]:
    """Yield the field names of the body and of nested objects, which contain the thinking options."""
    for name, value in table.items():
        yield name
        if isinstance(value, Mapping) and depth:
            yield from _names(value, depth - 1)


def _leaf(name: str) -> str:
    return re.split(r"[.\[\]]", name.rstrip("]"))[-1]
