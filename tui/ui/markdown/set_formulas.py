"""Shows formulas: set where the source can be set, else as written."""

from __future__ import annotations

from unicodedata import normalize

from tui.domain.lazy_regex import lazy_regex
from tui.typeset.math.in_markdown import MATH_FENCE
from tui.ui.markdown.chunks import Chunk
from tui.ui.markdown.row_breaks import cut_row, wrap_code
from tui.ui.markdown.runs import Line, Look, Run, line_width, width_of, wrap

INDENT = 4
"""Columns left of a display, where there is room."""
LEAST_INDENT = 2
UNBROKEN = 100_000
"""Columns in which no display is broken."""


def is_display(chunk: Chunk) -> bool:
    """Whether a chunk is a whole code block that is a formula."""
    return chunk.fence == MATH_FENCE and not chunk.part and not chunk.tight


BOLD = lazy_regex("[\U0001d400-\U0001d433\U0001d6a8-\U0001d6e1\U0001d7ce-\U0001d7d7]+")
"""Mathematical bold letters and digits, which few fonts of terminals have: they are drawn as bold letters."""


def drawn_runs(text: str, look: Look, href: str, written: str) -> Line:
    """The runs of a formula's text."""
    if not BOLD.search(text):
        return [Run(text, "formula", look, href, written)]
    found: Line = []
    at = 0
    for bold in BOLD.finditer(text):
        if bold.start() > at:
            found.append(Run(text[at : bold.start()], "formula", look, href, written))
        found.append(Run(normalize("NFKC", bold[0]), "formula", look | Look.BOLD, href, written))
        at = bold.end()
    return [*found, Run(text[at:], "formula", look, href, written)] if at < len(text) else found


def formula_runs(source: str, look: Look, href: str, *, is_open: bool = False) -> Line:
    """A formula in a line of text; one that is still open is shown as written."""
    # Imported with the first formula: most answers have none.
    from tui.typeset.math.typesetting import set_line

    shown = set_line(source) if not is_open else None
    if shown is None:
        return [Run(source.replace("\n", " "), "math", look, href)]
    return drawn_runs(shown, look, href, source)


def formula_lines(source: str, width: int, sideways: int | None = None, *, written: str = "") -> list[Line]:
    """The rows of a display; one that is too wide is broken, or set in one line of text that is wrapped.

    ``sideways`` is the first visible column of rows that are cut instead; ``written`` is what copying gives.
    """
    from tui.typeset.math.typesetting import set_display, set_line

    room = max(4, width - LEAST_INDENT)
    drawing = set_display(source, width_of, room if sideways is None else UNBROKEN)
    copied = written or source
    if drawing is not None and (drawing.width <= room or sideways is not None):
        indent = max(LEAST_INDENT, min(INDENT, width - drawing.width))
        texts = ["".join(span.text for span in row).rstrip() for row in drawing.rows]
        return _rows([drawn_runs(text or " ", Look.PLAIN, "", copied) for text in texts], indent, room, sideways)
    line = set_line(source) if drawing is not None else None
    if line is None:
        rows: list[Line] = [[Run(text, "math")] if text else [] for text in copied.split("\n")]
        return _rows(rows, LEAST_INDENT, room - LEAST_INDENT, sideways)
    return _rows(wrap(drawn_runs(line, Look.PLAIN, "", copied), room), LEAST_INDENT, room, None)


def _rows(lines: list[Line], indent: int, room: int, sideways: int | None) -> list[Line]:
    """Indented rows. If one is too long, all are cut at the same column, or it is wrapped."""
    is_wide = any(line_width(line) > room for line in lines)
    if not is_wide:
        found = lines
    elif sideways is not None:
        found = [cut_row(line, sideways, room) for line in lines]
    else:
        found = [part for line in lines for part in (wrap_code(line, room) if line else [line])]
    return [[Run(" " * indent), *row] for row in found]
