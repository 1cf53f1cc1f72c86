"""A line on stderr that shows how far a download is."""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from collections.abc import Callable

from tui.domain.format_numbers import data_size, duration
from tui.domain.printable import one_line

REDRAW_S = 0.1
RATE_OVER_S = 8.0
"""The rate is that of the last seconds."""
BAR = 24
NARROW = 60
"""Columns below which there is no bar."""
STEP = 10
"""Per cent between the lines where stderr is not a terminal."""


class ProgressBar:
    """Shows the progress of one file: redrawn in place on a terminal, a line for every tenth elsewhere."""

    def __init__(self, name: str, total: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._total = max(total, 1)
        self._clock = clock
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._seen: deque[tuple[float, int]] = deque()
        self._drawn_at = -REDRAW_S
        self._printed_step = -1

    def show(self, there: int) -> None:
        """Show that so many bytes are there. Fewer than before means that the file begins again."""
        now = self._clock()
        if self._seen and there < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, there))
        while len(self._seen) > 2 and now - self._seen[0][0] > RATE_OVER_S:
            self._seen.popleft()
        if not self._terminal:
            step = 100 * there // self._total // STEP * STEP
            if step > self._printed_step:
                self._printed_step = step
                print(progress_line(self._name, there, self._total, self._rate(), columns=0), file=sys.stderr)
        elif now - self._drawn_at >= REDRAW_S or there >= self._total:
            self._drawn_at = now
            columns = shutil.get_terminal_size().columns
            line = progress_line(self._name, there, self._total, self._rate(), columns=columns)
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line."""
        if self._terminal and self._seen:
            print(file=sys.stderr)

    def _rate(self) -> float:
        """Bytes in a second, or 0.0 while it is not known."""
        (begun, before), (now, there) = self._seen[0], self._seen[-1]
        return (there - before) / (now - begun) if now - begun >= REDRAW_S else 0.0


def progress_line(name: str, there: int, total: int, rate: float, *, columns: int) -> str:
    """``NAME  ████░░░░  412 of 639 MB  12.3 MB/s  18 s left``, cut to the columns; 0 columns mean no limit."""
    parts = [f"{data_size(there)} of {data_size(total)}"]
    if rate > 0 and there < total:
        parts += [f"{rate / 1e6:.1f} MB/s", f"{duration((total - there) / rate)} left"]
    if not columns or columns >= NARROW:
        filled = BAR * there // total
        parts.insert(0, "█" * filled + "░" * (BAR - filled))
    figures = "  ".join(parts)
    if not columns:
        return f"{one_line(name, 80)}  {figures}"
    room = columns - 1 - len(figures) - 2
    return f"{one_line(name, room)}  {figures}" if room >= 8 else figures[: columns - 1]
