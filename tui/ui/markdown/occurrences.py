"""Locates search terms in laid-out lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.runs import CODE_HEAD_ROLES, Line, plain, width_of, wrapped_after

NOWHERE = "\ufdd1"
"""Stands for the characters of a drawn formula, whose source is searched instead. No text contains it."""
BEFORE_TEXT = " ▎┊"
"""Characters that precede the text of a line: indents, bars of quotes and thinking."""


class Occurrence(NamedTuple):
    """An occurrence: from a column of one line to a column of this or a later one."""

    line: int
    column: int | None = None
    """None if the occurrence cannot be located: markup hides it."""
    last: int = 0
    end: int = 0

    def moved(self, lines: int, columns: int = 0) -> Occurrence:
        """The occurrence moved down and to the right."""
        column = None if self.column is None else self.column + columns
        return Occurrence(self.line + lines, column, self.last + lines, self.end + columns)


def without_marks(source: str) -> str:
    """Markdown without the marks that may occur within a phrase or a word."""
    return source.replace("*", "").replace("`", "").replace("~~", "")


def is_in_markdown(terms: SearchTerms, source: str) -> bool:
    """Whether the terms occur in the rendered text of the source."""
    return terms.is_in(source) or terms.is_in(without_marks(source))


def count_in_markdown(terms: SearchTerms, source: str) -> int:
    """How often the terms occur in the rendered text of the source, counted without layout."""
    if not any(mark in source for mark in "*`~"):
        return len(terms.spans(source))
    return sum(max(len(terms.spans(part)), len(terms.spans(without_marks(part)))) for part in source.split("\n\n"))


def _searched(line: Line) -> str:
    """A line's characters; those above a code block, which its source does not have, are blanks."""
    if any(run.role in CODE_HEAD_ROLES for run in line):
        return " " * sum(width_of(run.text) for run in line)
    return plain(line)


def occurrences(terms: SearchTerms, lines: Sequence[Line]) -> list[Occurrence]:
    """Every occurrence, including those broken over lines, and those in the source of a formula."""
    texts = [plain(line) for line in lines]
    flat = ""
    starts: list[int] = []
    skipped: list[int] = []
    for line, text in zip(lines, texts, strict=True):
        before = wrapped_after(line)
        flat += "" if before or not flat else " "
        begin = before or len(text) - len(text.lstrip(BEFORE_TEXT))
        starts.append(len(flat))
        skipped.append(begin)
        searched = _without_formulas(line) if any(run.written for run in line) else text
        flat += searched[begin:] if before else searched[begin : len(text.rstrip())]
    found = list(_in_formulas(terms, lines))
    for first, last in terms.spans(flat):
        top, bottom = bisect_right(starts, first) - 1, bisect_right(starts, max(first, last - 1)) - 1
        column = width_of(texts[top][: skipped[top] + first - starts[top]])
        end = width_of(texts[bottom][: skipped[bottom] + last - starts[bottom]])
        found.append(Occurrence(top, column, bottom, end))
    return sorted(found, key=lambda each: (each.line, each.column or 0))


def _without_formulas(line: Line) -> str:
    return "".join(NOWHERE * len(run.text) if run.written else run.text for run in line)


def _in_formulas(terms: SearchTerms, lines: Sequence[Line]) -> Iterator[Occurrence]:
    """Occurrences in the sources of drawn formulas, each at the first row of its formula."""
    formula = ""
    for number, line in enumerate(lines):
        column = 0
        for run in line:
            width = width_of(run.text)
            if run.written and run.written != formula:
                for _ in terms.spans(run.written):
                    yield Occurrence(number, column, number, column + width)
            if run.written or run.text.strip(BEFORE_TEXT):
                formula = run.written
            column += width
        formula = formula if any(run.written for run in line) else ""
