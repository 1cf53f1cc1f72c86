"""Looking for garbage when nobody waits: a full collection takes as long as a frame that is late.

Young objects are looked through in small portions, as they always are. The old ones, which are most of a long
conversation, are looked through only once the program has stood still for a while.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence

from textual.strip import Strip

YOUNG = 2_000
"""New objects before the young ones are looked through: half a millisecond."""
NEVER = 1_000_000
"""Collections of the young before the older ones are looked through by themselves."""
STILL_S = 5
"""Seconds without anything new after which the old ones are looked through."""
LONGEST_S = 600
"""Seconds after which the old ones are looked through in any case: hours of work must not pile up what is in cycles."""
STIRRED = 200
"""New objects of a second in which the program did something; an idle screen makes fewer."""
WORTH = 20_000
"""Objects that have grown old since the last time, before it is worth looking."""

MUCH = 100_000
"""The same, after which a pause between two answers has to do: whoever goes on and on never stands still."""
PAUSE_S = 3
"""Seconds without an answer that are a pause; typing does not end it. Right after an answer one scrolls and reads."""


def divide_without_cycles() -> None:
    """Keep Textual's strips from storing themselves in their own cache.

    ``Strip.divide`` caches ``[self]`` where nothing is cut off, and the compositor asks that of every row it paints.
    Such a strip, with 5 KB of caches, is only freed by a full collection: 0.3 MB for every answer that was painted.
    """
    divide = Strip.divide
    if divide.__name__ == _divide.__name__:
        return

    def either(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
        return _divide(strip, list(cuts), divide)

    either.__name__ = _divide.__name__
    Strip.divide = either  # type: ignore[assignment, method-assign]  # the fault is in the library


def _divide(
    strip: Strip, cuts: list[int], divide: Callable[[Strip, Iterable[int]], Sequence[Strip]]
) -> Sequence[Strip]:
    return [strip] if cuts == [strip.cell_length] else divide(strip, cuts)


class GcSchedule:
    """Counts the seconds that nothing happened in; ``tick`` is called once in each."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._still = 0
        self._pause = 0
        self._since = 0
        self._young = 0
        self._rounds = 0

    def begin(self) -> None:
        """The screen stands: what was loaded for it is never garbage, what comes from now on may be."""
        divide_without_cycles()
        gc.freeze()
        gc.set_threshold(YOUNG, NEVER, NEVER)
        gc.enable()

    def tick(self) -> bool:
        """Look for garbage if it is time; whether it was."""
        young, rounds, _ = gc.get_count()
        busy = self._is_busy()
        stirred = busy or rounds != self._rounds or abs(young - self._young) > STIRRED
        self._still = 0 if stirred else self._still + 1
        self._since += 1
        self._young, self._rounds = young, rounds
        self._pause = 0 if busy else self._pause + 1
        much = self._pause >= PAUSE_S and rounds * YOUNG >= MUCH
        due = much or self._still == STILL_S or self._since >= LONGEST_S
        if not due or rounds * YOUNG < WORTH:
            return False
        gc.collect()
        self._since = 0
        self._young, self._rounds, _ = gc.get_count()
        return True
