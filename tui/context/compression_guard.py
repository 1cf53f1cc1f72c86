"""Whether to compress once more: a guard against loops that buy nothing and against failing for ever."""

from __future__ import annotations

from dataclasses import replace

from tui.domain.counting import count
from tui.domain.fast_dataclass import dataclass

USELESS_IN_A_ROW = 2
"""Compressions without a real gain before it stops by itself."""
REAL_GAIN = 0.10
"""A compression must win this share of the window's usable part."""
FAILURES_IN_A_ROW = 3
COOLDOWN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionLog:
    """What came of the latest compressions of a session, as a value."""

    useless: int = 0
    """Compressions in a row that won too little."""
    failures: int = 0
    """Summaries in a row that could not be had or used."""
    failed_at: float | None = None

    def finished(self, before: int, after: int, trigger: int | None) -> CompressionLog:
        """A compression took the effective count from ``before`` to ``after``."""
        wanted = (trigger if trigger is not None else before) * REAL_GAIN
        return CompressionLog(useless=0 if before - after >= wanted else self.useless + 1)

    def failed(self, now: float) -> CompressionLog:
        """A summary failed; the history is untouched."""
        return replace(self, failures=self.failures + 1, failed_at=now)

    def refusal(self, now: float) -> str | None:
        """Why no summary is asked for now; None where one may be. Asking by hand is always allowed."""
        if self.useless >= USELESS_IN_A_ROW:
            return f"The last {self.useless} compressions won less than {REAL_GAIN:.0%}: what is left does not shrink."
        if self.failures >= FAILURES_IN_A_ROW and self.failed_at is not None:
            left = self.failed_at + COOLDOWN_S - now
            if left > 0:
                failed = count(self.failures, "summary", "summaries")
                return f"{failed} failed in a row: the next is tried in {left:.0f} s."
        return None
