"""Compares two texts line by line, in bounded time."""

from __future__ import annotations

import difflib
from itertools import accumulate

DIFF_LINES = 20_000
"""Longer texts are not compared line by line: difflib takes minutes for them."""
MOST_WORK = 10_000_000
"""Pairs of equal lines that are looked at; half a second. Lines that repeat can make it a thousand times as many."""
CONTEXT = 3
"""Unchanged lines shown around a change."""


def diff_of(before: str, after: str, name: str) -> str:
    """A unified diff. Where comparing would take too long, all between the first and last difference is one hunk."""
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    try:
        hunks = _hunks(old, new) if len(old) + len(new) <= DIFF_LINES else _one_hunk(old, new)
    except _TooMuchWorkError:
        hunks = _one_hunk(old, new)
    lines = [f"--- a/{name}\n", f"+++ b/{name}\n", *hunks]
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends; unlike with ``splitlines``, only a newline ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


class _TooMuchWorkError(Exception):
    """Comparing the texts would take too long."""


class _Matcher(difflib.SequenceMatcher[str]):
    """Ends when it has looked at too many pairs: each search for a match looks at all pairs of equal lines again."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, old, new)
        places: dict[str, list[int]] = vars(self)["b2j"]  # public, but the types do not know it
        # For each line of the old text, how many lines of the new one are compared with it and those above.
        self._pairs = list(accumulate((1 + len(places.get(line, ())) for line in old), initial=0))
        self._left = MOST_WORK

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        self._left -= self._pairs[-1 if ahi is None else ahi] - self._pairs[alo]
        if self._left < 0:
            raise _TooMuchWorkError
        return super().find_longest_match(alo, ahi, blo, bhi)


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """The hunks as ``difflib.unified_diff`` writes them, which makes a matcher of its own."""
    lines: list[str] = []
    for group in _Matcher(old, new).get_grouped_opcodes(CONTEXT):
        (_, first, _, start, _), (_, _, last, _, end) = group[0], group[-1]
        lines.append(f"@@ -{_range(first, last)} +{_range(start, end)} @@\n")
        for kind, old_start, old_end, new_start, new_end in group:
            if kind == "equal":
                lines += [f" {line}" for line in old[old_start:old_end]]
                continue
            lines += [f"-{line}" for line in old[old_start:old_end]]
            lines += [f"+{line}" for line in new[new_start:new_end]]
    return lines


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _one_hunk(old: list[str], new: list[str]) -> list[str]:
    """One hunk in linear time; difflib takes quadratic time."""
    shortest = min(len(old), len(new))
    first = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    behind = next((at for at in range(shortest - first) if old[-1 - at] != new[-1 - at]), shortest - first)
    removed, added = old[first : len(old) - behind], new[first : len(new) - behind]
    head = f"@@ -{first + 1},{len(removed)} +{first + 1},{len(added)} @@\n"
    return [head, *(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
