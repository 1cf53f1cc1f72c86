"""The text that a selection copies: rows as they are shown, formulas as they were written."""

from __future__ import annotations

from tui.ui.markdown.occurrences import BEFORE_TEXT
from tui.ui.markdown.runs import Line, wrapped_after


class CopiedText:
    """Takes the rows of a selection from top to bottom."""

    def __init__(self) -> None:
        self._rows: list[str] = []
        self._formula = ""
        """The source of the formula at the end of the rows; its other rows and parts add nothing."""

    def add(self, line: Line, start: int, end: int | None) -> None:
        """Add the characters of a line between two positions; ``end`` is None for all of them."""
        before = wrapped_after(line)
        continued = self._formula
        text = self._characters(line, max(before, start), end)
        # A row that continues the one above is joined to it, so that copied text has the original line breaks.
        if self._rows and before:
            self._rows[-1] += text
        elif not continued or text.strip(BEFORE_TEXT) or all(run.written != continued for run in line):
            self._rows.append(text)

    def _characters(self, line: Line, start: int, end: int | None) -> str:
        found = ""
        at = 0
        for run in line:
            if run.role == "code-copy":
                continue
            first, last = max(0, start - at), len(run.text) if end is None else max(0, end - at)
            at += len(run.text)
            part = run.text[first:last]
            if not run.written:
                self._formula = "" if part.strip(BEFORE_TEXT) else self._formula
                found += part
            elif part and run.written != self._formula:
                self._formula = run.written
                found = run.written if found.isspace() else found + run.written
        if not any(run.written for run in line):
            self._formula = ""
        return found

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self._rows)
