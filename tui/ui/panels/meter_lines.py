"""Formats the meter and the bill as lines; pure functions, so that results can be compared before drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui.context.bill import ModelBill, bill_of
from tui.domain.compression import SummaryRun
from tui.domain.cost import Paid, cost_of, money
from tui.domain.format_numbers import count, share, tokens
from tui.domain.printable import one_line
from tui.domain.usage import Certainty, MeterReading, Part
from tui.ui.chat.status_line import cache_text

if TYPE_CHECKING:
    from tui.context.prompt_cache import CacheState

GROUPS: Sequence[tuple[str, tuple[Part, ...], str]] = (
    ("system+tools", (Part.SYSTEM, Part.TOOLS), "meter-system"),
    ("project files", (Part.PROJECT,), "meter-system"),
    ("you", (Part.USER, Part.DRAFT), "meter-user"),
    ("answers", (Part.ANSWERS,), "meter-answers"),
    ("tool results", (Part.TOOL_RESULTS,), "meter-tools"),
    ("thinking sent", (Part.THINKING_SENT,), "meter-thinking"),
)
"""Parts that are sent, in the order of the bar, with the theme variable of their cells."""
BEHIND: Sequence[tuple[str, Part]] = (("thinking not sent", Part.THINKING_STRIPPED), ("reserved", Part.RESERVED))
"""Parts that are not sent: omitted thinking, and room reserved for the answer."""


def part_counts(reading: MeterReading) -> list[tuple[str, int, str]]:
    """Label, tokens and colour of every part that has any."""
    rows = []
    for text, parts, colour in GROUPS:
        drafting = Part.DRAFT in parts and reading.parts.get(Part.DRAFT, 0)
        count = sum(reading.parts.get(part, 0) for part in parts)
        rows.append((f"{text} + draft" if drafting else text, count, colour))
    rows.extend((text, reading.parts.get(part, 0), "") for text, part in BEHIND)
    return [row for row in rows if row[1]]


def certainty_label(reading: MeterReading) -> str:
    """The label that states how certain a reading is."""
    return "reported" if reading.certainty is Certainty.REPORTED else "≈ estimated"


EIGHTHS = " ▏▎▍▌▋▊▉█"
"""Blocks that fill none to eight eighths of a cell."""


def bar(reading: MeterReading, width: int, *, plain: bool = False) -> Content:
    """A known context window: each part in its colour, the free rest, where compression starts, and the reserve."""
    whole = max(1, reading.limit or 0)
    filled = min(float(width), max(1 / 8 if reading.effective else 0.0, reading.effective / whole * width))
    full = int(filled)
    cells: list[tuple[str, str]] = []
    sent = [(count, colour) for _, count, colour in part_counts(reading) if colour]
    total = max(sum(count for count, _ in sent), 1)
    colour, used = "$meter-fill", 0
    for weight, colour in sent:
        used += weight
        upto = min(full, round(used / total * full))
        cells.extend([("#" if plain else EIGHTHS[-1], colour := f"${colour}")] * (upto - len(cells)))
    cells.extend([("#" if plain else EIGHTHS[-1], "$meter-fill")] * (full - len(cells)))
    if full < width and not plain and (rest := EIGHTHS[round((filled - full) * 8)]) != " ":
        cells.append((rest, f"{cells[-1][1] if cells else colour} on $meter-free"))
    reserved = width - round(reading.reserved / whole * width) if reading.reserved else width
    for at in range(len(cells), width):
        free = ("=" if plain else "░") if at >= reserved else "-" if plain else " "
        cells.append((free, "$muted-text on $meter-free"))
    if reading.trigger and reading.limit and (at := round(reading.trigger / whole * width)) < width:
        cells[at] = ("|" if plain else "┊", "$warning" if at < full else "$warning on $meter-free")
    line = Content("")
    start = 0
    for index in range(1, len(cells) + 1):
        if index == len(cells) or cells[index] != cells[start]:
            line = line + Content.styled(cells[start][0] * (index - start), cells[start][1])
            start = index
    return line


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
        lines.append(sent + Content.styled(f" sent of {tokens(reading.limit)}", "$muted-text"))
    else:
        lines.append(Content.styled(f"{tokens(reading.effective)} sent, window unknown", "$foreground"))
    if cached is not None:
        lines.append(Content.styled(cache_text(cached), "$muted-text"))
    if reading.raw != reading.effective and (cached is None or not low):
        lines.append(Content.styled(f"{tokens(reading.raw)} stored", "$muted-text"))
    lines.extend(part_lines(reading, width, plain=plain))
    if reading.trigger is not None:
        mark = Content.styled("| " if plain else "┊ ", "$warning")
        lines.append(mark + _pair("compress at", tokens(reading.trigger), width - 2))
    return Content("\n").join(lines)


def part_lines(reading: MeterReading, width: int, *, plain: bool = False) -> list[Content]:
    """A line per part, in its colour of the bar."""
    dot, behind = ("#", "=") if plain else ("▪", "░")
    lines = []
    for text, weight, colour in part_counts(reading):
        is_reserve = text == BEHIND[-1][0]
        mark = Content.styled(f"{dot if colour else behind if is_reserve else ' '} ", f"${colour or 'muted-text'}")
        lines.append(mark + _pair(text, tokens(weight), width - 2, "$foreground" if colour else "$muted-text"))
    return lines


def _pair(text: str, value: str, width: int, style: str = "$foreground") -> Content:
    gap = " " * max(1, width - len(text) - len(value))
    return Content.styled(text, "$muted-text") + Content(gap) + Content.styled(value, style)


def bill_lines(turns: int, paid: Sequence[Paid], width: int, *, saved: float | None = None) -> Content:
    """Turns, the session's cost, and the share of thinking in the output.

    By model if there were several; the sum includes the cost of summaries, which also have a line of their own.
    ``saved`` is what prompt caches saved, if known.
    """
    bill = bill_of(paid)
    if not turns and not paid:
        return Content.styled("nothing spent", "$muted-text")
    lines = [_pair(count(turns, "turn"), bill.cost.words or "nothing spent", width)]
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
