"""Decides whether a failed request is sent again: a pure function from error and budget to a decision.

One budget limits the cost of one answer: HTTP requests, attempts, seconds slept. Nothing else in the program
retries a request that reached the provider.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from enum import StrEnum

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.fast_dataclass import dataclass

REQUESTS_PER_STEP = 6
ATTEMPTS_BEFORE_FIRST_EVENT = 5
ATTEMPTS_WITH_PARTIAL = 3
SLEEP_PER_STEP_S = 120.0
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
LEAST_OUTPUT = 256
"""With fewer output tokens left, the history is compressed instead of asking for a shorter answer."""
SILENT_HINT_S = 60.0
"""A longer wait needs the user's consent."""
LONGEST_HINT_S = 300.0
"""A longer wait is not offered: the error says when the limit resets."""
LONGEST_CREDIBLE_HINT_S = 7 * 24 * 3600.0

RESUMED = "resumed"
"""Error code for a connection lost while the computer was suspended: retried at once."""

NOT_TAKEN = "thinking_not_taken"
"""Error code for an uncatalogued server that may not accept earlier thinking at all."""

MALFORMED_CALL = "malformed_call"
"""Error code for a tool call that cannot be parsed."""


class Repair(StrEnum):
    """Changes to a refused request; each is tried once per step."""

    COMPRESS = "compress"
    WITHOUT_THINKING = "without thinking"
    BLANK_THINKING = "blank thinking"
    SHORTER_OUTPUT = "shorter output"
    WITHOUT_PARAMETER = "without parameter"
    ASK_AGAIN = "ask again"
    NUDGE = "nudge"
    """Ask again after an answer that was empty or only thinking."""


REPAIRS = {
    ErrorKind.CONTEXT_OVERFLOW: Repair.COMPRESS,
    ErrorKind.INVALID_SIGNATURE: Repair.WITHOUT_THINKING,
    ErrorKind.THINKING_MISSING: Repair.BLANK_THINKING,
    ErrorKind.UNSUPPORTED: Repair.WITHOUT_PARAMETER,
    ErrorKind.EMPTY: Repair.NUDGE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriesUsed:
    """The part of its budget a step has used."""

    requests: int = 0
    failed_before_first: int = 0
    failed_with_partial: int = 0
    slept_s: float = 0.0
    repairs: frozenset[Repair] = frozenset()
    refused: frozenset[str] = frozenset()
    """Parameters that were refused and omitted; each allows one more request."""

    @property
    def failures(self) -> int:
        """Counted failures."""
        return self.failed_before_first + self.failed_with_partial

    def failed(self, *, partial: bool) -> RetriesUsed:
        """Add a failed attempt."""
        if partial:
            return replace(self, failed_with_partial=self.failed_with_partial + 1)
        return replace(self, failed_before_first=self.failed_before_first + 1)


@dataclass(frozen=True, slots=True)
class Wait:
    """Send the request again after ``seconds``."""

    seconds: float
    needs_consent: bool = False


@dataclass(frozen=True, slots=True)
class SendRepaired:
    """Change the request and send it again at once; does not count as an attempt."""

    repair: Repair


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop retrying; ``advice`` is appended to the error's advice unless empty."""

    advice: str = ""


Decision = Wait | SendRepaired | GiveUp


def decide(error: ProviderError, spent: RetriesUsed, *, partial: bool, draw: float, now: float) -> Decision:
    """Decide what to do after a failed attempt; ``spent`` does not include that failure yet.

    ``partial``: part of the answer was shown. ``draw`` is a random number from 0 to 1, ``now`` the epoch.
    """
    if spent.requests >= REQUESTS_PER_STEP:
        return GiveUp(_reset_sentence(error, now))
    repair = _repair(error, spent)
    if repair is not None:
        return GiveUp() if _was_tried(repair, error, spent) else SendRepaired(repair)
    if not error.retryable or _attempts_used_up(spent.failed(partial=partial)):
        return GiveUp(_reset_sentence(error, now))
    return _wait(error, spent, draw, now)


def _repair(error: ProviderError, spent: RetriesUsed) -> Repair | None:
    if (error.output_room or 0) >= LEAST_OUTPUT and Repair.SHORTER_OUTPUT not in spent.repairs:
        return Repair.SHORTER_OUTPUT
    if error.kind is ErrorKind.UNSUPPORTED and not error.param:
        return None
    if error.code == MALFORMED_CALL:
        return Repair.ASK_AGAIN
    return REPAIRS.get(error.kind)


def _was_tried(repair: Repair, error: ProviderError, spent: RetriesUsed) -> bool:
    if repair is Repair.WITHOUT_PARAMETER:
        return error.param in spent.refused
    return repair in spent.repairs


def attempts_left(spent: RetriesUsed) -> int:
    """How many more attempts may fail."""
    return (ATTEMPTS_WITH_PARTIAL if spent.failed_with_partial else ATTEMPTS_BEFORE_FIRST_EVENT) - spent.failures


def _attempts_used_up(spent: RetriesUsed) -> bool:
    return attempts_left(spent) <= 0


def _wait(error: ProviderError, spent: RetriesUsed, draw: float, now: float) -> Decision:
    if error.code == RESUMED:
        return Wait(0.0)
    hint = credible_hint(error.retry_after_s)
    if hint is None:
        seconds = min(FIRST_DELAY_S * 2.0**spent.failures, LONGEST_DELAY_S) * (0.5 + draw / 2)
    elif hint > LONGEST_HINT_S:
        return GiveUp(_reset_sentence(error, now))
    else:
        seconds = hint + draw * min(1.0, hint * 0.2)
    if hint is not None and hint > SILENT_HINT_S:
        return Wait(seconds, needs_consent=True)
    if spent.slept_s + seconds > SLEEP_PER_STEP_S:
        return GiveUp(_reset_sentence(error, now))
    return Wait(seconds)


def credible_hint(seconds: float | None) -> float | None:
    """The server's retry hint if it is plausible: finite, above zero, at most a week."""
    if seconds is None or not math.isfinite(seconds) or not 0 < seconds <= LONGEST_CREDIBLE_HINT_S:
        return None
    return seconds


def _reset_sentence(error: ProviderError, now: float) -> str:
    hint = credible_hint(error.retry_after_s)
    if hint is None or hint <= SILENT_HINT_S:
        return ""
    reset = time.localtime(now + hint)
    today = time.localtime(now)
    same_day = (reset.tm_year, reset.tm_yday) == (today.tm_year, today.tm_yday)
    return f"Limit reached until {time.strftime('%H:%M' if same_day else '%a %d %b, %H:%M', reset)}."
