"""Glob patterns over path segments: ``*`` and ``?`` within a segment, ``**`` over any number of them, ``{a,b}``.

Matching is linear per segment for any pattern (``fnmatch`` does not backtrack), so no pattern can hang it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

MAX_ALTERNATIVES = 64
"""Number of patterns one pattern with braces may expand to; beyond that, braces are literal."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ESCAPED = re.compile(r"\[[*?[]\]")
_WILDCARD = re.compile(r"[*?[]")
_PIECE = re.compile(r"\[([*?[])\]|\*\*|\*|\?|\[[^\]]*\]")
_ANY = "\x00"
"""A character that stands in no pattern and no path."""


def alternatives(pattern: str) -> tuple[str, ...]:
    """Expand braces."""
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
    """Whether all path segments match the pattern segments."""
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
    """Whether a path matches a pattern of the same kind (both relative, or both absolute)."""
    return segments_match(_segments(path), _segments(pattern))


def literal_length(pattern: str) -> int:
    """Segments before the first wildcard, a measure of how specific the pattern is."""
    count = 0
    for segment in _segments(pattern):
        if has_wildcard(segment):
            break
        count += 1
    return count


def split_pattern(pattern: str) -> tuple[Path, list[str]]:
    """The folder before the first wildcard of an absolute pattern, and the segments from there on."""
    segments, fixed = _segments(pattern), literal_length(pattern)
    return Path("/", *(_ESCAPED.sub(lambda sign: sign[0][1], part) for part in segments[:fixed])), segments[fixed:]


def has_wildcard(pattern: str) -> bool:
    """Whether the pattern can match several paths; ``[*]`` and similar are literal characters."""
    return bool(_WILDCARD.search(_ESCAPED.sub("", pattern)))


def example_of(pattern: str) -> str:
    """A path that the pattern matches and that no narrower pattern does."""
    return _PIECE.sub(lambda found: found[1] or _EXAMPLES.get(found[0], _ANY), pattern)


_EXAMPLES = {"**": f"{_ANY}{_ANY}/{_ANY}{_ANY}", "*": f"{_ANY}{_ANY}"}


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment and segment != "."]


@lru_cache(maxsize=512)
def _segment(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern), re.DOTALL)
