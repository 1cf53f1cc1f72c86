"""The mark at the right end of a prompt that has siblings: ``‹ 2/3 ›``. A click on an end goes to that side."""

from __future__ import annotations

from collections.abc import Mapping

from tui.ui.markdown.runs import Line, Run, line_width

PREVIOUS, NEXT = "branch:previous", "branch:next"
STEPS: Mapping[str, int] = {PREVIOUS: -1, NEXT: 1}
"""What a click on a part of the mark does. Only prompts have marks, and their text has no links."""


def branch_mark(place: int, count: int) -> Line:
    """The mark of the turn that is number ``place`` (from 1) of ``count`` siblings."""
    return [Run(" ‹ ", "muted", href=PREVIOUS), Run(f"{place}/{count}", "muted"), Run(" › ", "muted", href=NEXT)]


def with_mark(line: Line, mark: Line, width: int) -> Line:
    """The line with the mark at its right end."""
    return [*line, Run(" " * max(0, width - line_width(line) - line_width(mark)), "user"), *mark]
