"""What the mermaid languages share: comments, front matter, labels."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from tui.typeset.diagrams.graph import DIRECTIONS, DiagramError, Direction

LONGEST_STATEMENT = 3_000
"""Characters; the patterns of some languages take quadratic time."""
BLANKS = re.compile(r"[^\S\n]{2,}")
"""They mean one blank, and would take patterns with several ``\\s*`` cubic time."""
DIRECTION = re.compile(r"direction\s+(TD|TB|BT|LR|RL)$", re.IGNORECASE)
COMMENT = re.compile(r"^\s*%%(?!\{).*$")
COMMENT_AFTER = re.compile(r"\s%%(?!\{).*$")
OPEN_QUOTE = re.compile(r"\"`(?:(?!`\").)*$")
"""A text in markdown that its line does not end."""
DIRECTIVE = re.compile(r"%%\{(?:(?!%%\{).)*?\}%%", re.DOTALL)
FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(.*?)\n[ \t]*---[ \t]*(?:\n|\Z)", re.DOTALL)
TITLE = re.compile(r"^[^\S\n]*title\s*:[^\S\n]*(.+?)[^\S\n]*$", re.MULTILINE)
BREAK = re.compile(r"<br\s*/?>|\\n", re.IGNORECASE)
TAG = re.compile(r"</?(?:b|i|u|s|em|strong|small|sub|sup|code|span|div|p|font|center)(?:\s[^<>]*)?>", re.IGNORECASE)
ENTITY = re.compile(r"#(\w+);")
ICON = re.compile(r"\bfa[bsrlk]?:fa-[\w-]+\s*")
EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
ACCESSIBILITY = re.compile(r"^[^\S\n]*accDescr\s*\{[^}]*\}?|^[^\S\n]*acc(?:Title|Descr)\s*:.*$", re.MULTILINE)


class Statement(NamedTuple):
    number: int
    """The line in the source, from 1."""
    text: str


def front_title(source: str) -> str:
    """The title in the front matter."""
    front = FRONT_MATTER.match(source)
    title = TITLE.search(front[1]) if front is not None else None
    return label_text(title[1]) if title is not None else ""


def statements(source: str) -> Iterator[Statement]:
    """Lines without comments, directives and accessibility texts."""
    front = FRONT_MATTER.match(source)
    if front is not None:
        source = "\n" * source[: front.end()].count("\n") + source[front.end() :]
    for pattern in (DIRECTIVE, ACCESSIBILITY):
        source = pattern.sub(lambda found: "\n" * found[0].count("\n"), source)
    for number, line in _lines(source):
        if not COMMENT.match(line) and line.strip():
            text = BLANKS.sub(" ", COMMENT_AFTER.sub("", line)).strip()
            if len(text) > LONGEST_STATEMENT:
                raise DiagramError(f"Line {number} is too long to draw.")
            yield Statement(number, text)


def read_statements(source: str, read: Callable[[Statement], None]) -> None:
    """Read all statements but the first, which names the kind of the diagram."""
    for statement in islice(statements(source), 1, None):
        read(statement)


def direction_of(text: str) -> Direction | None:
    """The direction of a statement ``direction LR``; None for other statements."""
    found = DIRECTION.match(text)
    return DIRECTIONS[found[1].upper()] if found is not None else None


def _lines(source: str) -> Iterator[Statement]:
    """The lines; a text in quotes that begins with a backtick continues to the line that ends it."""
    begun: list[str] = []
    first = 0
    for number, line in enumerate(source.split("\n"), 1):
        opens = OPEN_QUOTE.search(line) is not None
        if begun:
            begun.append(line.strip())
            if '`"' in line:
                yield Statement(first, "<br/>".join(begun))
                begun = []
        elif opens:
            begun, first = [line], number
        else:
            yield Statement(number, line)
    if begun:
        yield Statement(first, "\n".join(begun))


def label_text(text: str) -> str:
    """The text of a label: without quotes and tags, breaks as line ends."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    if len(text) > 1 and text[0] == text[-1] == "`":
        text = EMPHASIS.sub(r"\2", text[1:-1])
    text = ICON.sub("", TAG.sub("", BREAK.sub("\n", text)))
    text = ENTITY.sub(lambda found: html.unescape(f"&{'#' if found[1].isdigit() else ''}{found[1]};"), text)
    text = html.unescape(text).replace("\t", " ")
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()


def not_understood(statement: Statement) -> DiagramError:
    return DiagramError(f"Line {statement.number} is not understood.")
