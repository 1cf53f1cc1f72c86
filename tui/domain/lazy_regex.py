"""Regular expressions that are compiled on first use.

Compiling an expression takes up to a millisecond. Most expressions are for errors, secrets or uncommon scripts and
are not needed at start-up.
"""

from __future__ import annotations

import re
from typing import AnyStr, cast


class _LazyRegex:
    """Proxy of a pattern. Each method is looked up on first use and then stored here."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def lazy_regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like ``re.compile``, but an invalid expression raises on first use."""
    return cast("re.Pattern[AnyStr]", _LazyRegex(source, flags))
