"""A session as lines of a list: title, model, turns, cost, age, and where the search found something."""

from __future__ import annotations

import re

from textual.content import Content

from tui.commands.context import SessionInfo
from tui.domain.cost import Cost
from tui.domain.counting import count
from tui.domain.printable import one_line
from tui.ui.graphemes import line_within
from tui.ui.markdown.runs import width_of
from tui.ui.panels.row_list import Row

HIT = re.compile("\x02(.*?)\x03", re.DOTALL)


def age(seconds: float) -> str:
    """How long ago, roughly."""
    if seconds < 60:
        return "now"
    for limit, unit, word in ((3_600, 60, "min"), (86_400, 3_600, "h"), (86_400 * 60, 86_400, "d")):
        if seconds < limit:
            return f"{int(seconds // unit)} {word}"
    return f"{int(seconds // (86_400 * 30))} mon"


def session_row(row: SessionInfo, width: int, now: float, *, current: bool) -> Row:
    """Two lines, three with a snippet."""
    mark = "● " if current else "◆ " if row.pinned else "  "
    when = age(max(0.0, now - row.updated))
    title = line_within(row.title or "untitled", max(8, width - len(when) - 4))
    gap = " " * max(1, width - 2 - width_of(title) - len(when))
    head = Content.styled(mark, "$focus") + Content.styled(title, "bold $foreground")
    head = head + Content.styled(gap + when, "$muted-text")
    cost = Cost(dollars=row.cost, unknown=row.unpriced).words or "cost unknown"
    words = [row.model or "no answer yet", count(row.turns, "turn"), cost]
    if row.pinned:
        words.append("pinned")
    if row.deleted:
        words.append("deleted")
    if current:
        words.append("open")
    lines = [head, Content.styled("  " + line_within(" · ".join(words), width - 2), "$muted-text")]
    if row.snippet:
        lines.append(snippet(row.snippet, width - 2))
    return Row(row.id, Content("\n").join(lines))


def snippet(text: str, width: int) -> Content:
    """The words around the hits; the hits themselves stand out, in brackets of their own for eyes without colour."""
    line = Content("  ")
    at, used = 0, 0
    for found in HIT.finditer(text):
        before = one_line(text[at : found.start()].replace("\x02", "").replace("\x03", ""), 200)
        hit = one_line(found[1], 60)
        before = _spaced(text[at : found.start()], before)
        if used + width_of(before) + width_of(hit) > width:
            break
        line = line + Content.styled(before, "$muted-text") + Content.styled(hit, "bold underline $accent")
        used += width_of(before) + width_of(hit)
        at = found.end()
    rest = text[at:].replace("\x02", "").replace("\x03", "")
    room = width - used - rest[:1].isspace() - rest[-1:].isspace()
    if room <= 0:
        return line
    return line + Content.styled(_spaced(rest, line_within(rest, room)), "$muted-text")


def _spaced(raw: str, shown: str) -> str:
    """One line of it, with the blanks at its ends that stood there."""
    left = " " if raw[:1].isspace() else ""
    right = " " if raw[-1:].isspace() and shown else ""
    return f"{left}{shown}{right}"
