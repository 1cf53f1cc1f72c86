"""Reads and draws ``pie``, as bars: their lengths can be compared."""

from __future__ import annotations

import re

from tui.typeset.diagrams.canvas import Canvas
from tui.typeset.diagrams.graph import DiagramError
from tui.typeset.diagrams.source_text import front_title, label_text, not_understood, statements
from tui.typeset.drawing import Drawing, Measure

HEAD = re.compile(r"pie\b\s*(showData\b)?\s*(?:title\s+(.*))?$")
TITLE = re.compile(r"title\s+(.*)$")
SLICE = re.compile(r"\"([^\"]+)\"\s*:\s*(\d+(?:\.\d*)?|\.\d+)$")
IGNORED = re.compile(r"acc(?:Title|Descr)\b")
EIGHTHS = " ▏▎▍▌▋▊▉"
LONGEST_BAR, SHORTEST_BAR = 40, 8
MOST_SLICES = 200


def draw_pie(source: str, columns: int, measure: Measure) -> Drawing:
    title, shows_values, slices = front_title(source), False, list[tuple[str, float, str]]()
    for number, statement in enumerate(statements(source)):
        if not number:
            head = HEAD.match(statement.text)
            if head is None:
                raise not_understood(statement)
            shows_values, title = bool(head[1]), label_text(head[2] or "") or title
        elif found := SLICE.match(statement.text):
            slices.append((label_text(found[1]).replace("\n", " "), float(found[2]), found[2]))
        elif found := TITLE.match(statement.text):
            title = label_text(found[1])
        elif statement.text == "showData":
            shows_values = True
        elif not IGNORED.match(statement.text):
            raise not_understood(statement)
    total = sum(value for _, value, _ in slices)
    if not total or len(slices) > MOST_SLICES:
        raise DiagramError("The diagram is empty." if not total else "Too large to draw.")
    return _drawing(title, [(label, value / total, text if shows_values else "") for label, value, text in slices],
                    columns, measure)  # fmt: skip


def _drawing(title: str, slices: list[tuple[str, float, str]], columns: int, measure: Measure) -> Drawing:
    canvas = Canvas(measure)
    top = 2 if title else 0
    canvas.text(0, 0, title, "title")
    left = max(measure(label) for label, _, _ in slices) + 2
    value = max(len(text) for _, _, text in slices)
    room = max(SHORTEST_BAR, min(LONGEST_BAR, columns - left - 9 - (value + 2 if value else 0)))
    largest = max(share for _, share, _ in slices)
    for row, (label, share, text) in enumerate(slices, top):
        canvas.text(left - 2 - measure(label), row, label, "node")
        bar = bar_of(share / largest * room)
        canvas.text(left, row, bar, "bar")
        canvas.text(left + room + 1, row, f"{100 * share:5.1f} %", "label")
        canvas.text(left + room + 10 + value - len(text), row, text, "edge")
    return canvas.drawing()


def bar_of(length: float) -> str:
    """A bar in eighths of a column; what is not nothing is visible."""
    eighths = max(1, round(8 * length)) if length else 0
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()
