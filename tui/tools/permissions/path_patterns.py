"""Glob patterns over path segments: ``*`` and ``?`` within a segment, ``**`` over any number of them, ``{a,b}``.

Matching is linear per segment whatever the pattern (``fnmatch`` does not backtrack): no pattern can hang it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from functools import lru_cache

MAX_ALTERNATIVES = 64
"""Patterns one pattern with braces may stand for; more braces are taken literally."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ESCAPED = re.compile(r"\[[*?[]\]")
_WILDCARD = re.compile(r"[*?[]")


def alternatives(pattern: str) -> tuple[str, ...]:
    """The patterns without braces that one with braces stands for."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None or len(done) + len(waiting) >= MAX_ALTERNATIVES:
            done.append(one)
            continue
        waiting += [one[: braces.start()] + word + one[braces.end() :] for word in braces[1].split(",")]
    return tuple(done)


def segments_match(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether path segments fit pattern segments, all of them."""
    reached = {0}
    for segment in pattern:
        if segment == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else reached
        else:
            fits = _segment(segment)
            reached = {at + 1 for at in reached if at < len(parts) and fits.match(parts[at])}
        if not reached:
            return False
    return len(parts) in reached


def path_matches(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern of the same kind (both relative, or both absolute)."""
    return segments_match(_segments(path), _segments(pattern))


def literal_length(pattern: str) -> int:
    """Segments before the first wildcard: how much of a path the pattern pins down."""
    count = 0
    for segment in _segments(pattern):
        if has_wildcard(segment):
            break
        count += 1
    return count


def has_wildcard(pattern: str) -> bool:
    """Whether the pattern fits more than one path; ``[*]`` and the like are literal characters."""
    return bool(_WILDCARD.search(_ESCAPED.sub("", pattern)))


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment and segment != "."]


@lru_cache(maxsize=512)
def _segment(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern), re.DOTALL)
