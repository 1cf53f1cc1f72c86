"""Regular expressions that are compiled when they are first used.

Compiling takes up to a millisecond each, and a start needs few of the many that are only for errors, for secrets or
for scripts that are not in sight.
"""

from __future__ import annotations

import re
from typing import AnyStr, cast


class _LazyRegex:
    """Becomes the pattern, method by method, as it is used."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def lazy_regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What ``re.compile`` returns, later; a mistake in the expression shows at its first use."""
    return cast("re.Pattern[AnyStr]", _LazyRegex(source, flags))
