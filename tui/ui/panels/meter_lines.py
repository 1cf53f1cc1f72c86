"""Formats the meter and the bill as lines; pure functions, so that results can be compared before drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.content import Content

from tui.context.bill import ModelBill, bill_of
from tui.domain.compression import SummaryRun
from tui.domain.cost import Paid, cost_of, money
from tui.domain.format_numbers import count, share, tokens
from tui.domain.printable import one_line
from tui.domain.usage import Certainty, MeterReading, Part
from tui.ui.chat.status_line import cache_text
from tui.ui.panels.meter_bar import RESERVED, bar, mark_of, part_counts

if TYPE_CHECKING:
    from tui.context.prompt_cache import CacheState


def certainty_label(reading: MeterReading) -> str:
    """The label that states how certain a reading is."""
    return "reported" if reading.certainty is Certainty.REPORTED else "≈ estimated"


def without_arriving_thinking(reading: MeterReading, known: int) -> MeterReading:
    """The reading with at most ``known`` tokens of thinking that is not sent.

    Whether arriving thinking will be sent is decided when its turn ends.
    """
    arriving = reading.parts.get(Part.THINKING_STRIPPED, 0) - known
    if arriving <= 0:
        return reading
    parts = {**reading.parts, Part.THINKING_STRIPPED: known}
    return replace(reading, parts=parts, raw=max(reading.effective, reading.raw - arriving))


def meter_lines(
    reading: MeterReading, width: int, *, plain: bool = False, cached: CacheState | None = None, low: bool = False
) -> Content:
    """Bar, sent, cached, stored, parts, and where compression starts. On a low screen *cached* replaces *stored*."""
    lines: list[Content] = []
    if reading.limit:
        percent = share(reading.effective, reading.limit).rjust(4)
        room = max(4, width - len(percent) - 1)
        lines.append(bar(reading, room, plain=plain) + Content.styled(f" {percent}", "bold $foreground"))
        near = reading.trigger is not None and reading.effective >= reading.trigger
        style = "bold $warning" if near else "bold $foreground"
        sent = Content.styled(tokens(reading.effective), style)
        lines.append(sent + Content.styled(f" sent of {tokens(reading.limit)}", "$quiet"))
    else:
        lines.append(Content.styled(f"{tokens(reading.effective)} sent, window unknown", "$foreground"))
    if cached is not None:
        lines.append(Content.styled(cache_text(cached), "$quiet"))
    if tokens(reading.raw) != tokens(reading.effective) and (cached is None or not low):
        lines.append(Content.styled(f"{tokens(reading.raw)} stored", "$quiet"))
    lines.extend(part_lines(reading, width, plain=plain))
    if reading.trigger is not None:
        mark = Content.styled("| " if plain else "┊ ", "$warning")
        lines.append(mark + _pair("compress at", tokens(reading.trigger), width - 2))
    return Content("\n").join(lines)


def part_lines(reading: MeterReading, width: int, *, plain: bool = False) -> list[Content]:
    """A line per part, in its colour of the bar."""
    behind = "=" if plain else "░"
    lines = []
    for text, weight, colour in part_counts(reading):
        is_reserve = text == RESERVED
        dot = "#" if plain else mark_of(text)
        mark = Content.styled(f"{dot if colour else behind if is_reserve else ' '} ", f"${colour or 'quiet'}")
        lines.append(mark + _pair(text, tokens(weight), width - 2, "$foreground" if colour else "$quiet"))
    return lines


def _pair(text: str, value: str, width: int, style: str = "$foreground") -> Content:
    gap = " " * max(1, width - len(text) - len(value))
    return Content.styled(text, "$quiet") + Content(gap) + Content.styled(value, style)


def bill_lines(turns: int, paid: Sequence[Paid], width: int, *, saved: float | None = None) -> Content:
    """Turns, the session's cost, and the share of thinking in the output.

    By model if there were several; the sum includes the cost of summaries, which also have a line of their own.
    ``saved`` is what prompt caches saved, if known.
    """
    bill = bill_of(paid)
    if not turns and not paid:
        return Content.styled("nothing spent", "$quiet")
    lines = [_pair(count(turns, "turn") if turns else "first turn", bill.cost.words or "nothing spent", width)]
    models = [row for row in bill.models if not row.for_summaries]
    shown = [(row.name.partition("/")[2], row.cost) for row in models] if len(models) > 1 else []
    summaries = [run for run in paid if isinstance(run, SummaryRun) and not run.aside]
    if summaries:
        shown.append(("summaries", cost_of(summaries)))
    for text, cost in shown:
        lines.append(_pair(one_line(text, width - len(cost.amount) - 1), cost.amount, width))
    if (share_text := thinking_share_text(models)) != "–":
        lines.append(_pair("thinking", share_text, width))
    if searches := sum(row.searches or 0 for row in bill.models):
        lines.append(_pair("web searches", f"{searches:,}", width))
    if saved is not None:
        lines.append(_pair("saved by the cache", money(saved), width))
    return Content("\n").join(lines)


def thinking_share_text(models: Sequence[ModelBill]) -> str:
    """The share of thinking in the output, as far as providers report it."""
    output = sum(row.output or 0 for row in models)
    if not output:
        return "unknown" if any(row.thinking_unknown for row in models) else "–"
    thought = [row.thinking for row in models if row.thinking is not None]
    if not any(row.thinking_unknown for row in models):
        return f"{share(sum(thought), output)} of output"
    return f"≥ {share(sum(thought), output)} of output" if sum(thought) else "unknown"
