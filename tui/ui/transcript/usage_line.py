"""The line below an answer: why it ended early, and what its turn took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.domain.blocks import ThinkingBlock
from tui.domain.cost import cost_of, is_usage_final
from tui.domain.format_numbers import count, duration, input_text, rate, tokens
from tui.domain.messages import CANCELLED, CRASHED, Message
from tui.domain.printable import one_line
from tui.domain.stream import Finish
from tui.ui.markdown.runs import Run, width_of
from tui.ui.transcript.blocks import Caption

STOPS = {
    Finish.LENGTH: "cut at the output limit",
    Finish.FILTER: "stopped by the provider's filter",
    Finish.REFUSAL: "refused",
    Finish.CONTEXT_FULL: "context window full",
    Finish.MALFORMED_CALL: "invalid tool call",
    Finish.OTHER: "ended in an unusual way",
}


LEAST_TIME_S = 0.5
"""Seconds of generating below which a number of tokens a second means nothing."""


LEAST_WAIT_S = 0.1
"""Seconds to the first token that are worth a word."""


class UsageLine(Caption):
    """What a turn took. In a narrow window waiting time, speed and what is unknown are left out rather than wrapped."""

    def __init__(self, why: Run | None, bills: Sequence[str]) -> None:
        """``bills`` has the longest first. The last is shown only if that saves a row."""
        super().__init__()
        self._why = [] if why is None else [why]
        self._bills = bills
        self._fitted: int | None = None
        self._fit(None)

    def height(self, width: int) -> int:
        if width != self._fitted:
            self._fit(width)
        return super().height(width)

    def _fit(self, width: int | None) -> None:
        self._fitted = width
        room = None if width is None else width - sum(width_of(run.text) + 3 for run in self._why)
        bill = next((bill for bill in self._bills if room is None or width_of(bill) <= room), self._bills[-2])
        shown = f" · {bill}" if self._why and bill else bill
        self.show(*self._why, *([Run(shown, "muted")] if shown else []))


def usage_line(message: Message, bill: Sequence[Message]) -> Caption | None:
    """Why an answer ended early, if it did, and the sums of the answers in ``bill``."""
    why: Run | None = None
    if message.interrupted:
        ended = "the program ended" if message.interrupted == CRASHED else one_line(message.interrupted, 80)
        why = Run("⚠ stopped by you" if ended == CANCELLED else f"⚠ incomplete: {ended}", "warning")
    elif message.stop is not None and message.stop.finish in STOPS:
        reason = message.stop.detail or (message.stop.raw if message.stop.finish is Finish.OTHER else "")
        detail = f": {one_line(reason, 80)}" if reason else ""
        why = Run(f"⚠ {STOPS[message.stop.finish]}{detail}", "warning")
    bills = [
        bill_of(bill),
        bill_of(bill, with_wait=False),
        bill_of(bill, with_wait=False, with_speed=False),
        bill_of(bill, with_wait=False, with_speed=False, with_unknown=False),
        bill_of(bill, with_wait=False, with_speed=False, with_unknown=False, with_cache=False),
    ]
    return UsageLine(why, bills) if why is not None or bills[0] else None


def bill_of(
    answers: Sequence[Message],
    *,
    with_wait: bool = True,
    with_speed: bool = True,
    with_unknown: bool = True,
    with_cache: bool = True,
) -> str:
    """``in 8.2k (6.1k cached) · out 1.9k · thinking 12.4k · 44 s · first token 0.8 s · 48 tok/s · $0.36``, if known.

    The sums of all requests of a turn, with their number if there were several: then each has its own first token.
    """
    parts = [count(len(answers), "request")] if len(answers) > 1 else []
    usages = [message.usage for message in answers if message.usage is not None]
    whole = [usage.input for usage in usages if usage.input is not None]
    if whole:
        read = sum(usage.cache_read or 0 for usage in usages if with_cache)
        written = sum(usage.cache_write or 0 for usage in usages if with_cache)
        parts.append(f"in {input_text(sum(whole), read, written)}")
    # A stream that was stopped has reported the first token at most.
    is_counted = any(map(is_usage_final, answers))
    output = [usage.output for usage in usages if usage.output is not None and is_counted]
    thought = sum(usage.thinking or 0 for usage in usages)
    if output:
        parts.append(f"out {tokens(max(0, sum(output) - thought))}")
    is_unknown = is_counted and any(_thinks_uncounted(message) for message in answers)
    if thought:
        parts.append(f"thinking {'≥ ' if is_unknown else ''}{tokens(thought)}")
    elif is_unknown and with_unknown:
        parts.append("thinking unknown (in out)" if output else "thinking unknown")
    searches = sum(usage.searches or 0 for usage in usages)
    if searches:
        parts.append(count(searches, "search", "searches"))
    parts.extend(_time_taken(answers, with_wait=with_wait, with_speed=with_speed))
    if any(message.cost is not None for message in answers):
        parts.append(cost_of(answers).amount)
    if any(message.answered_early for message in answers):
        parts.append("answered early")
    return " · ".join(parts)


def _time_taken(answers: Sequence[Message], *, with_wait: bool, with_speed: bool) -> Iterator[str]:
    seconds = [message.seconds for message in answers if message.seconds is not None]
    if seconds:
        yield duration(sum(seconds))
    waited = answers[0].first_token_s if with_wait and len(answers) == 1 else None
    if waited is not None and waited >= LEAST_WAIT_S:
        yield f"first token {duration(waited)}"
    speed = _tokens_a_second(answers) if with_speed else None
    if speed is not None:
        yield rate(speed)


def _tokens_a_second(answers: Sequence[Message]) -> float | None:
    """How fast the answers came from their first tokens on; None if unknown."""
    generated, took = 0, 0.0
    for message in answers:
        usage = message.usage
        if usage is None or usage.output is None or message.seconds is None or message.first_token_s is None:
            continue
        if not is_usage_final(message):
            continue
        # Thinking of which nothing arrives is over before the first token.
        is_before = usage.thinking and not any(isinstance(block, ThinkingBlock) for block in message.blocks)
        generated += usage.output - (usage.thinking or 0 if is_before else 0)
        took += message.seconds - message.first_token_s
    return generated / took if generated > 0 and took >= LEAST_TIME_S else None


def _thinks_uncounted(message: Message) -> bool:
    usage = message.usage
    thinks = any(isinstance(block, ThinkingBlock) for block in message.blocks)
    return usage is not None and usage.thinking is None and thinks
