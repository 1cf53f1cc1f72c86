"""The bar of the meter: what is sent in eighths of a cell, where compression starts, and the reserve."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.domain.usage import MeterReading, Part

GROUPS: Sequence[tuple[str, tuple[Part, ...], str]] = (
    ("system+tools", (Part.SYSTEM, Part.TOOLS), "meter-system"),
    ("project files", (Part.PROJECT,), "meter-system"),
    ("you", (Part.USER, Part.DRAFT), "meter-user"),
    ("answers", (Part.ANSWERS,), "meter-answers"),
    ("tool results", (Part.TOOL_RESULTS,), "meter-tools"),
    ("thinking sent", (Part.THINKING_SENT,), "meter-thinking"),
)
"""Parts that are sent, in the order of the bar, with the theme variable of their cells."""
RESERVED = "reserved"
"""The room for the answer, which is no part of what is sent."""
MARK, LIGHT_MARK = "▪", "▫"
"""Of a part, and of the one that has the colour of the part before it."""


def mark_of(label: str) -> str:
    """The mark of a part in a list."""
    colours = [colour for _, _, colour in GROUPS]
    at = next((at for at, (text, _, _) in enumerate(GROUPS) if label.startswith(text)), 0)
    return LIGHT_MARK if at and colours[at] == colours[at - 1] else MARK


def part_counts(reading: MeterReading) -> list[tuple[str, int, str]]:
    """Label, tokens and colour of every part that has any."""
    rows = []
    for text, parts, colour in GROUPS:
        drafting = Part.DRAFT in parts and reading.parts.get(Part.DRAFT, 0)
        count = sum(reading.parts.get(part, 0) for part in parts)
        rows.append((f"{text} + draft" if drafting else text, count, colour))
    behind = {reading.label_of(Part.THINKING_STRIPPED): Part.THINKING_STRIPPED, RESERVED: Part.RESERVED}
    rows.extend((text, reading.parts.get(part, 0), "") for text, part in behind.items())
    return [row for row in rows if row[1]]


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
        cells.append((free, "$quiet on $meter-free"))
    if reading.trigger and reading.limit and (at := round(reading.trigger / whole * width)) < width:
        cells[at] = ("|" if plain else "┊", "$warning" if at < full else "$warning on $meter-free")
    line = Content("")
    start = 0
    for index in range(1, len(cells) + 1):
        if index == len(cells) or cells[index] != cells[start]:
            line = line + Content.styled(cells[start][0] * (index - start), cells[start][1])
            start = index
    return line
