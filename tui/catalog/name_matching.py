"""Finds the row of a model name by the longest prefix that ends on a segment boundary, never by a substring.

``gpt-5`` is the row of ``gpt-5-2025-08-07`` but not of ``gpt-5.7``: a longer version number is another model.
Dots and dashes are equivalent, because resellers write ``claude-opus-4.5``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from tui.domain.lazy_regex import lazy_regex

_BOUNDARY = "-/:@"
_NEXT_VERSION = lazy_regex(r"-\d{1,2}(?=$|[-/:@])")
_SIZE = lazy_regex(r"-\d+(-\d+)?[bm](?=$|[-/:@])")
_EDITION = lazy_regex(r"(-(latest|preview|exp|experimental|\d{3,8}|\d{4}-\d\d-\d\d|\d\d-\d\d|\d\d-\d{4}))+|@\d{8}")


def normalized_name(name: str) -> str:
    """Return the form of a name that is compared."""
    return name.lower().replace(".", "-")


def best_match(name: str, known: Iterable[str], different: Collection[str] = ()) -> str | None:
    """Return the known name that ``name`` equals or starts with; None if there is none.

    ``different`` are segments (``image``, ``tts`` …) that mark another kind of model with the same prefix.
    """
    wanted = normalized_name(name)
    best: str | None = None
    for candidate in known:
        prefix = normalized_name(candidate)
        if _reaches(wanted, prefix) and (best is None or len(prefix) > len(normalized_name(best))):
            best = candidate
    if best is None:
        return None
    rest = wanted[len(normalized_name(best)) :]
    if _is_next_version(normalized_name(best), rest) or set(re.split(r"[-/:@]", rest)) & set(different):
        return None
    return best


def same_model(name: str, known: str) -> bool:
    """Return whether the name is the known one, or a dated, preview or latest edition of it."""
    wanted, prefix = normalized_name(name), normalized_name(known)
    if not wanted.startswith(prefix):
        return False
    rest = wanted[len(prefix) :]
    return not rest or (_EDITION.fullmatch(rest) is not None and not _is_next_version(prefix, rest))


def _reaches(wanted: str, prefix: str) -> bool:
    return wanted == prefix or (wanted.startswith(prefix) and wanted[len(prefix)] in _BOUNDARY)


def _is_next_version(prefix: str, rest: str) -> bool:
    return prefix[-1:].isdigit() and _NEXT_VERSION.match(rest) is not None and _SIZE.match(rest) is None


_CHANNELS = (".gguf", ":latest", ":free", ":nitro", ":floor", ":exacto")
"""Suffixes that routers and local servers append to a name of the same model."""


def is_same_model(asked: str, answered: str, aliases: tuple[str, ...] = ()) -> bool:
    """Equal except for the vendor prefix and a date or release suffix."""
    bare = _bare(answered)
    return any(same_model(bare, _bare(name)) or same_model(_bare(name), bare) for name in (asked, *aliases))


def _bare(name: str) -> str:
    bare = name.strip().lower().rsplit("/", 1)[-1]
    for channel in _CHANNELS:
        bare = bare.removesuffix(channel)
    return bare
