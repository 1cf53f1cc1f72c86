"""The line below an answer: why it ended early, and what its turn took."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.blocks import ThinkingBlock
from tui.domain.cost import cost_of
from tui.domain.format_numbers import count, duration, input_text, tokens
from tui.domain.messages import CRASHED, Message
from tui.domain.printable import one_line
from tui.domain.stream import Finish
from tui.ui.markdown.runs import Run
from tui.ui.transcript.blocks import Caption

CANCELLED = "cancelled"
"""The reason that is stored with an answer that the user stopped."""
STOPS = {
    Finish.LENGTH: "cut at the output limit",
    Finish.FILTER: "stopped by the provider's filter",
    Finish.REFUSAL: "refused",
    Finish.CONTEXT_FULL: "context window full",
    Finish.MALFORMED_CALL: "invalid tool call",
}


def usage_line(message: Message, bill: Sequence[Message]) -> Caption | None:
    """Why an answer ended early, if it did, and the sums of the answers in ``bill``."""
    runs: list[Run] = []
    if message.interrupted:
        why = "the program ended" if message.interrupted == CRASHED else one_line(message.interrupted, 80)
        runs.append(Run("⚠ stopped by you" if why == CANCELLED else f"⚠ incomplete: {why}", "warning"))
    elif message.stop is not None and message.stop.finish in STOPS:
        detail = f": {one_line(message.stop.detail, 80)}" if message.stop.detail else ""
        runs.append(Run(f"⚠ {STOPS[message.stop.finish]}{detail}", "warning"))
    spent = bill_of(bill)
    if spent:
        runs.append(Run(f" · {spent}" if runs else spent, "muted"))
    return Caption(*runs) if runs else None


def bill_of(answers: Sequence[Message]) -> str:
    """``in 8.2k (6.1k cached, 1.2k written) · out 1.9k · thinking 12.4k · 44 s · $0.36``, as far as known.

    The sums of all requests of a turn, with their number if there were several.
    """
    parts = [count(len(answers), "request")] if len(answers) > 1 else []
    usages = [message.usage for message in answers if message.usage is not None]
    whole = [usage.input for usage in usages if usage.input is not None]
    if whole:
        read = sum(usage.cache_read or 0 for usage in usages)
        written = sum(usage.cache_write or 0 for usage in usages)
        parts.append(f"in {input_text(sum(whole), read, written)}")
    output = [usage.output for usage in usages if usage.output is not None]
    thought = sum(usage.thinking or 0 for usage in usages)
    if output:
        parts.append(f"out {tokens(max(0, sum(output) - thought))}")
    is_unknown = any(_thinks_uncounted(message) for message in answers)
    if thought:
        parts.append(f"thinking {'≥ ' if is_unknown else ''}{tokens(thought)}")
    elif is_unknown:
        parts.append("thinking unknown (in out)" if output else "thinking unknown")
    searches = sum(usage.searches or 0 for usage in usages)
    if searches:
        parts.append(count(searches, "search", "searches"))
    seconds = [message.seconds for message in answers if message.seconds is not None]
    if seconds:
        parts.append(duration(sum(seconds)))
    if any(message.cost is not None for message in answers):
        parts.append(cost_of(answers).amount)
    if any(message.answered_early for message in answers):
        parts.append("answered early")
    return " · ".join(parts)


def _thinks_uncounted(message: Message) -> bool:
    usage = message.usage
    thinks = any(isinstance(block, ThinkingBlock) for block in message.blocks)
    return usage is not None and usage.thinking is None and thinks
