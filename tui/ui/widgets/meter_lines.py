"""The meter and the session's bill as lines; pure, so that they can be compared before they are drawn."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.domain.messages import Turn
from tui.domain.usage import Certainty, MeterReading, Part
from tui.ui.transcript.figures import money, share, tokens

COLOURS = {
    Part.SYSTEM: "$meter-system",
    Part.TOOLS: "$meter-tools",
    Part.USER: "$meter-user",
    Part.ANSWERS: "$meter-answers",
    Part.THINKING_SENT: "$meter-thinking",
    Part.TOOL_RESULTS: "$meter-tools",
    Part.DRAFT: "$meter-user",
}
"""Parts that are sent, in the order of the bar."""

WORDS = {Part.USER: "you", Part.THINKING_STRIPPED: "stripped", Part.RESERVED: "reserved"}


def certainty_words(reading: MeterReading) -> str:
    """The word that must stand beside every figure."""
    return "reported" if reading.certainty is Certainty.REPORTED else "≈ estimated"


def bar(reading: MeterReading, width: int, *, plain: bool = False) -> Content:
    """The window as cells: each part in its colour, what is free, and where compression starts."""
    full, free, mark = ("#", "-", "|") if plain else ("▰", "▱", "┊")
    whole = reading.limit or max(reading.effective, 1)
    trigger = round(reading.trigger / whole * width) if reading.trigger and reading.limit else None
    cells: list[tuple[str, str]] = []
    total = max(sum(reading.parts.get(part, 0) for part in COLOURS), 1)
    filled = min(width, max(1 if reading.effective else 0, round(reading.effective / whole * width)))
    used = 0
    for part, colour in COLOURS.items():
        used += reading.parts.get(part, 0)
        upto = min(filled, round(used / total * filled))
        cells.extend([(full, colour)] * (upto - len(cells)))
    cells.extend([(full, "$meter-fill")] * (filled - len(cells)))
    cells.extend([(free, "$meter-free")] * (width - len(cells)))
    if trigger is not None and 0 <= trigger < width:
        cells[trigger] = (mark, "$warning")
    line = Content("")
    start = 0
    for place in range(1, len(cells) + 1):
        if place == len(cells) or cells[place] != cells[start]:
            line = line + Content.styled(cells[start][0] * (place - start), cells[start][1])
            start = place
    return line


def meter_lines(reading: MeterReading, width: int, *, plain: bool = False) -> Content:
    """Bar, sent, stored, parts, and where compression starts."""
    lines: list[Content] = []
    if reading.limit:
        percent = share(reading.effective, reading.limit)
        room = max(4, width - len(percent) - 1)
        lines.append(bar(reading, room, plain=plain) + Content.styled(f" {percent}", "bold $foreground"))
        near = reading.trigger is not None and reading.effective >= reading.trigger
        style = "bold $warning" if near else "bold $foreground"
        sent = Content.styled(f"{tokens(reading.effective)} sent", style)
        lines.append(sent + Content.styled(f" of {tokens(reading.limit)}", "$muted-text"))
    else:
        lines.append(bar(reading, width, plain=plain))
        lines.append(Content.styled(f"{tokens(reading.effective)} sent, window unknown", "$foreground"))
    lines.append(Content.styled(f"{tokens(reading.raw)} stored", "$muted-text"))
    lines.extend(part_lines(reading, width, plain=plain))
    if reading.trigger is not None:
        lines.append(_pair("compress at", tokens(reading.trigger), width))
    return Content("\n").join(lines)


def part_lines(reading: MeterReading, width: int, *, plain: bool = False) -> list[Content]:
    """A line for each part that is there, with the colour it has in the bar."""
    lines = []
    dot = "#" if plain else "▪"
    for part in Part:
        count = reading.parts.get(part, 0)
        if not count:
            continue
        mark = Content.styled(f"{dot} ", COLOURS[part]) if part in COLOURS else Content("  ")
        lines.append(mark + _pair(WORDS.get(part, part.value), tokens(count), width - 2))
    return lines


def _pair(words: str, figure: str, width: int) -> Content:
    gap = " " * max(1, width - len(words) - len(figure))
    return Content.styled(words, "$muted-text") + Content(gap) + Content.styled(figure, "$foreground")


def bill_lines(turns: Sequence[Turn], width: int) -> Content:
    """Turns, cost, and how much of what was generated is thinking; unknown prices say so."""
    answers = [message for turn in turns for message in turn.messages if message.usage is not None]
    costs = [message.cost for turn in turns for message in turn.messages if message.cost is not None]
    unknown = sum(message.cost is None for message in answers)
    spent = money(sum(costs)) if costs else "cost unknown" if answers else "nothing spent"
    if costs and unknown:
        spent += f" + {unknown} unknown"
    lines = [_pair(f"{len(turns)} turn{'s' if len(turns) != 1 else ''}", spent, width)]
    usages = [message.usage for message in answers if message.usage is not None]
    output = sum(usage.output or 0 for usage in usages)
    thought = sum(usage.thinking or 0 for usage in usages)
    if output:
        lines.append(_pair("thinking", f"{share(thought, output)} of output", width))
    return Content("\n").join(lines)
