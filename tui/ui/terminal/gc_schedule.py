"""Runs garbage collection when the user is idle: a full collection takes long enough to delay a frame.

Young objects are collected in small portions as usual. Old ones are collected only after the program has been idle for
a while, and what is left then is exempt from the next collections: otherwise each would look at the whole conversation.
Cycles of exempt objects are found when nothing has happened for a minute.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence

from textual.strip import Strip

from tui.ui.terminal.textual_private import free_finished_workers

YOUNG = 2_000
"""New objects before a young collection, which takes half a millisecond."""
NEVER = 1_000_000
"""Young collections before older generations are collected automatically: in effect never."""
STILL_S = 5
"""Idle seconds after which old objects are collected."""
LOOKS_AT_REST = 12
"""Further ticks at rest, five seconds apart, after which exempt objects are collected, too: nobody waits then."""
LONGEST_S = 600
"""Seconds after which old objects are collected in any case, so that cycles from hours of work do not pile up."""
STIRRED = 200
"""New objects per second that show activity; an idle screen makes fewer."""
WORTH = 20_000
"""Objects that must have grown old since the last time to make a collection worthwhile."""

MUCH = 100_000
"""The same, for collecting in a pause between two answers: a user who never stops is never idle."""
MOST_STYLES = 2_000
"""Styles whose codes Textual may keep, of up to 16,000 with 0.7 KB each. Nearly all belong to rows that are gone: the
line number of a row is part of its styles."""
PAUSE_S = 3
"""Seconds without an answer that count as a pause, even while typing. Right after an answer users scroll and read."""


def divide_without_cycles() -> None:
    """Keep Textual's strips from storing themselves in their own cache.

    ``Strip.divide`` caches ``[self]`` if nothing is cut off, and the compositor calls it for every row it paints.
    Such a strip, with 5 KB of caches, is only freed by a full collection: 0.3 MB per painted answer.
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
    """Counts idle seconds; ``tick`` is called once per second, and less often at rest."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._still = 0
        """Ticks in a row without activity."""
        self._pause = 0
        """Ticks in a row without an answer, even while the user types."""
        self._since = 0
        """Ticks since the last full collection."""
        self._young = 0
        """New objects at the last tick."""
        self._rounds = 0
        """Young collections at the last tick, since the last full one."""
        self._exempted = 0
        """Collections since exempt objects were looked at."""

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing has happened since the collection after the last activity."""
        return self._still > STILL_S

    def begin(self) -> None:
        """Start: exempt what start-up loaded from collection, and collect what comes later."""
        divide_without_cycles()
        free_finished_workers()
        gc.freeze()
        gc.set_threshold(YOUNG, NEVER, NEVER)
        gc.enable()

    def tick(self) -> bool:
        """Collect if it is time; returns whether it did."""
        if Strip.render_ansi.cache_info().currsize > MOST_STYLES:
            Strip.render_ansi.cache_clear()
        young, rounds, _ = gc.get_count()
        busy = self._is_busy()
        stirred = busy or rounds != self._rounds or abs(young - self._young) > STIRRED
        self._still = 0 if stirred else self._still + 1
        self._since += 1
        self._young, self._rounds = young, rounds
        self._pause = 0 if busy else self._pause + 1
        much = self._pause >= PAUSE_S and rounds * YOUNG >= MUCH
        due = much or self._still == STILL_S or self._since >= LONGEST_S
        if due and rounds * YOUNG >= WORTH:
            self._exempted += 1
        elif self._exempted and self._still == STILL_S + LOOKS_AT_REST:
            self._exempted = 0
            gc.unfreeze()
        else:
            return False
        gc.collect()
        gc.freeze()
        self._since = 0
        self._young, self._rounds, _ = gc.get_count()
        return True
