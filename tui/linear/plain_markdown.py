"""Turns streamed markdown into plain lines for screen readers: a line is returned once it is complete.

Marks become words where they carry meaning (headings, quotes, code, tables) and nothing where they do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from tui.domain.format_numbers import count
from tui.linear.inline_text import formula_text, inline_text
from tui.typeset.diagrams.fence import is_mermaid
from tui.typeset.marks import ALERT, DETAILS, DETAILS_END, FOOTNOTE, SUMMARY, SUMMARY_END
from tui.typeset.math.in_markdown import DISPLAY, MATH_FENCE, MOST_LINES, display_closer

FENCE = re.compile(r"^(?P<indent> *)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*$")
UNDERLINE = re.compile(r"^ {0,3}(?P<mark>=+|-{2,})[ \t]*$")
RULE = re.compile(r"^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
ITEM = re.compile(r"^(?P<indent>\s*)(?P<mark>[-*+]|\d{1,9}[.)])[ \t]+(?P<text>.*)$")
TASK = re.compile(r"^\[(?P<done>[ xX])\][ \t]+")
QUOTE = re.compile(r"^ {0,3}> ?(?P<text>.*)$")
DELIMITER = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
CELLS = re.compile(r"(?<!\\)\|")
SOFT_LIMIT = 4_000
"""Characters after which a line is returned although it has not ended."""
MOST_QUOTED = 6
"""Levels of quotes that are distinguished."""


class PlainMarkdown:
    """Takes text as it arrives; returns the lines that are complete."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._pending = ""
        self._block: list[str] = []
        """Lines of a paragraph or list item that may go on."""
        self._indent = ""
        self._fence: re.Match[str] | None = None
        self._collected: list[str] | None = None
        """Lines of a formula."""
        self._closer = ""
        self._columns: list[str] = []
        """The heads of the table that is open."""
        self._rows = 0
        self._quoted: list[str] = []
        self._is_blank = True
        """The last returned line is empty, or there is none yet."""

    def feed(self, text: str) -> list[str]:
        """Add text; returns the lines that are complete now."""
        *whole, pending = (self._pending + text).split("\n")
        found: list[str] = []
        for line in whole:
            rest = self._cut(line.rstrip("\r"), found)
            found += self._given(self._take(rest), is_code=self._fence is not None)
        self._pending = self._cut(pending, found)
        return found

    def _cut(self, line: str, found: list[str]) -> str:
        """Emit the beginning of a line that is too long; returns the rest."""
        while len(line) > SOFT_LIMIT:
            blank = line.rfind(" ", SOFT_LIMIT // 2, SOFT_LIMIT)
            end = blank if blank > 0 else SOFT_LIMIT
            begin, line = line[:end], line[end:].lstrip(" ")
            found += self._given([*self._take(begin), *self._flushed()], is_code=self._fence is not None)
        return line

    def close(self) -> list[str]:
        """The rest."""
        pending, self._pending = self._pending, ""
        is_code = self._fence is not None
        found = [*(self._take(pending) if pending else ()), *self._flushed(), *self._end_quote()]
        if self._collected is not None:
            found += self._formula()
        if self._fence is not None:
            found += self._end_code()
        return self._given([*found, *self._end_table()], is_code=is_code)

    def _given(self, lines: Iterable[str], *, is_code: bool) -> list[str]:
        """The lines without a blank one after another, except in code."""
        found: list[str] = []
        for line in lines:
            if line or is_code or not self._is_blank:
                found.append(line)
            self._is_blank = not line
        return found

    def _take(self, line: str) -> Iterable[str]:
        if self._fence is not None:
            return self._code(line, self._fence)
        if self._collected is not None:
            return self._display(line)
        quoted = QUOTE.match(line) if self._depth < MOST_QUOTED else None
        if quoted is not None:
            before = [*self._flushed(), *self._end_table()] if not self._quoted else []
            self._quoted.append(quoted["text"])
            return before
        if self._quoted and line.strip() and not _begins_block(line):  # a quote goes on without its mark
            self._quoted.append(line)
            return ()
        return [*self._end_quote(), *self._outside(line)]

    def _outside(self, line: str) -> Iterator[str]:
        """A line that is neither in code, nor in a formula, nor in a quote."""
        if self._columns:
            if "|" in line and line.strip():
                yield self._row(line)
                return
            yield from self._end_table()
        if not line.strip():
            yield from self._flushed()
            yield ""
        elif (fence := FENCE.match(line)) is not None:
            yield from self._flushed()
            yield from self._begin_code(fence)
        elif DISPLAY.match(line) is not None and (line.lstrip()[:2] in ("$$", "\\[") or display_closer(line)):
            yield from self._flushed()
            yield from self._begin_display(line)
        elif len(self._block) == 1 and (under := UNDERLINE.match(line)) is not None and not ITEM.match(self._block[0]):
            yield from self._heading(1 if under["mark"][0] == "=" else 2, self._block.pop())
        elif (heading := HEADING.match(line)) is not None:
            yield from self._flushed()
            yield from self._heading(len(heading["marks"]), heading["title"] or "")
        elif self._block and "|" in self._block[-1] and "|" in line and DELIMITER.match(line):
            head = self._block.pop()
            yield from self._flushed()
            yield self._begin_table(head)
        else:
            yield from self._text(line)

    def _text(self, line: str) -> Iterator[str]:
        if RULE.match(line):
            yield from self._flushed()
            yield ""
        elif (opened := DETAILS.match(line)) is not None:
            yield from self._flushed()
            yield from self._take(opened["rest"]) if opened["rest"].strip() else ()
        elif (summary := SUMMARY.match(line)) is not None:
            yield from self._flushed()
            title, *rest = SUMMARY_END.split(summary["title"], maxsplit=1)
            yield f"Details: {inline_text(title.strip())}"
            yield from self._take(rest[0]) if rest and rest[0].strip() else ()
        elif "</" in line and (ended := DETAILS_END.match(line)) is not None:
            yield from self._take(ended["before"]) if ended["before"].strip() else ()
            yield from self._flushed()
            yield "End of details."
            yield from self._take(ended["rest"]) if ended["rest"].strip() else ()
        else:
            if ITEM.match(line) or FOOTNOTE.match(line):
                yield from self._flushed()
            self._block.append(line)

    # Lines that are returned

    def _flushed(self) -> Iterator[str]:
        block, self._block = self._block, []
        if not block:
            return
        first, mark = block[0], ""
        if (item := ITEM.match(first)) is not None:
            mark, first = f"{item['indent']}{item['mark'] if item['mark'][0].isdigit() else '-'} ", item["text"]
            if (task := TASK.match(first)) is not None:
                mark += "to do: " if task["done"] == " " else "done: "
                first = first[task.end() :]
        elif (note := FOOTNOTE.match(first)) is not None:
            mark, first = f"Note {note['label']}: ", note["rest"]
        text = inline_text("\n".join([first, *(line.strip() for line in block[1:])]))
        lines = text.strip().split("\n")
        yield f"{mark}{lines[0].strip()}"
        yield from (line.strip() for line in lines[1:])

    def _heading(self, level: int, title: str) -> Iterator[str]:
        yield ""
        yield f"Heading {level}: {inline_text(title.strip())}"

    def _begin_code(self, fence: re.Match[str]) -> Iterator[str]:
        self._fence = fence
        info = fence["info"].strip()
        if info == MATH_FENCE:
            self._fence, self._collected, self._closer = None, [], fence["mark"]
        elif is_mermaid(info):
            yield "Source of a diagram, mermaid:"
        else:
            yield f"Code, {info}:" if info else "Code:"

    def _code(self, line: str, fence: re.Match[str]) -> list[str]:
        bare = line.strip()
        if bare.startswith(fence["mark"]) and not bare.strip(fence["mark"][0]):
            return self._end_code()
        indent = len(fence["indent"])
        return [line[min(indent, len(line) - len(line.lstrip(" "))) :]]

    def _end_code(self) -> list[str]:
        is_diagram = self._fence is not None and is_mermaid(self._fence["info"])
        self._fence = None
        return ["End of the diagram." if is_diagram else "End of code."]

    def _begin_display(self, line: str) -> list[str]:
        self._closer = display_closer(line)
        self._collected = [line]
        return [] if self._closer else self._formula()

    def _display(self, line: str) -> list[str]:
        assert self._collected is not None
        is_fence = self._closer[0] in "`~"
        if is_fence and line.strip().startswith(self._closer):
            self._collected = ["$$", *self._collected, "$$"]
            return self._formula()
        self._collected.append(line)
        ends = (not is_fence and self._closer in line) or len(self._collected) > MOST_LINES
        return self._formula() if ends else []

    def _formula(self) -> list[str]:
        source, self._collected, self._closer = "\n".join(self._collected or ()), None, ""
        return [f"Formula: {formula_text(source.strip())}"] if source.strip() else []

    def _begin_table(self, head: str) -> str:
        self._columns, self._rows = [inline_text(cell) for cell in cells(head)], 0
        return f"Table with {count(len(self._columns), 'column')}: {', '.join(self._columns)}."

    def _row(self, line: str) -> str:
        """A row; the first cell names it, and of more than two columns each other cell has its head."""
        self._rows += 1
        first, *rest = [inline_text(cell) for cell in cells(line)]
        heads = [f"{head} " for head in self._columns[1:]] if len(self._columns) > 2 else []
        named = [f"{head}{cell}" for head, cell in zip_longest(heads, rest, fillvalue="") if cell]
        return f"{first}: {', '.join(named)}" if named else first

    def _end_table(self) -> list[str]:
        if not self._columns:
            return []
        self._columns = []
        return [f"End of the table, {count(self._rows, 'row')}."]

    def _end_quote(self) -> list[str]:
        lines, self._quoted = self._quoted, []
        if not lines:
            return []
        alert = ALERT.match(lines[0] + "\n")
        word = alert[1].capitalize() if alert is not None else "Quote"
        inner = PlainMarkdown(self._depth + 1)
        text = [line for line in [*inner.feed("\n".join(lines[alert is not None :])), *inner.close()] if line]
        if len(text) < 2:
            return [f"{word}: {' '.join(text)}"]
        return [f"{word}:", *text, f"End of the {word.lower()}."]


def cells(line: str) -> list[str]:
    """The cells of a table's row."""
    bare = line.strip().removeprefix("|")
    bare = bare[:-1] if bare.endswith("|") and not bare.endswith("\\|") else bare
    return [cell.strip().replace("\\|", "|") for cell in CELLS.split(bare)]


def _begins_block(line: str) -> bool:
    return any(pattern.match(line) for pattern in (FENCE, HEADING, ITEM, RULE))


def plain_lines(text: str) -> list[str]:
    """A complete text."""
    plain = PlainMarkdown()
    return [*plain.feed(text), *plain.close()]
