"""The outline of a text: its headings, and in thinking the sentences where the thought turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.domain.printable import printable
from tui.ui.markdown.chunks import Chunk, Splitter
from tui.ui.markdown.occurrences import without_marks

HEADING = lazy_regex(
    r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>[^\n]*)$"
    r"|^(?![ \t]*[-*+>|#])(?P<over>[^\n]+)\n(?P<under>=+|-{2,})[ \t]*$",
    re.MULTILINE,
)
BOLD = lazy_regex(r"^ {0,3}\*\*(?P<title>[^*\n]{1,120})\*\*:?[ \t]*$", re.MULTILINE)
"""A line in bold alone: some models give the parts of their thinking such titles."""
TURN = lazy_regex(
    r"(?:(?<=^)|(?<=[.!?:…][ \n])|(?<=\n))(?P<title>"
    r"(?:(?:but|oh|hmm+|ah|no|ok|okay),?\s+)?(?:wait|hold on)\b"
    r"|(?:so,?\s+|now,?\s+|ok,?\s+|okay,?\s+)?let(?:'s|’s| me| us)\s+(?:double[- ])?"
    r"(?:check|verify|re-?check|re-?consider|re-?think|re-?do|re-?examine|test|try|compute|look|think)\b"
    r"|(?:but\s+)?actually\b|alternatively\b|on the other hand\b|hmm+\b|another (?:way|approach|option|idea)\b"
    r")[^\n.!?]*",
    re.IGNORECASE,
)
"""A sentence that begins with a word by which thinking turns."""
CONCLUSION = lazy_regex(r"^(?P<title>(?:so|therefore|thus|in summary|in conclusion|finally)\b[^\n.!?]*)", re.IGNORECASE)
"""The beginning of a paragraph, likewise: within paragraphs these words are too common."""
LONGEST = 120
MOST = 5_000
TURN_LEVEL = 7
"""The level of a turn of thought, below every heading."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A place in a text."""

    title: str
    level: int
    """1 to 6 for headings, then turns of thought."""
    chunk: int
    number: int
    """How often the title occurs in its chunk before this place."""
    share: float
    """The share of the text above it."""


def chunks_of(text: str) -> list[Chunk]:
    """The chunks of a complete text."""
    splitter = Splitter()
    return splitter.feed(printable(text)) + splitter.finish()


def outline(chunks: Sequence[Chunk], *, thinking: bool) -> list[OutlineEntry]:
    """The entries in order."""
    size = sum(len(chunk.source) for chunk in chunks)
    found: list[OutlineEntry] = []
    above = 0
    for index, chunk in enumerate(chunks):
        if chunk.fence is None and not chunk.head and not chunk.label:
            for at, level, title in sorted(_places(chunk, thinking=thinking)):
                number = without_marks(chunk.source[:at]).count(title)
                found.append(OutlineEntry(title, level, index, number, (above + at) / max(1, size)))
        above += len(chunk.source)
        if len(found) >= MOST:
            break
    return found


def _places(chunk: Chunk, *, thinking: bool) -> Iterator[tuple[int, int, str]]:
    """Position, level and title of every entry of a chunk."""
    source = chunk.source
    if "#" in source or "\n-" in source or "\n=" in source:
        for heading in HEADING.finditer(source):
            level = len(heading["marks"]) if heading["marks"] else 1 if heading["under"][0] == "=" else 2
            # The closing marks are cut here: a pattern that looks for them takes quadratic time for `# # # …`.
            yield heading.start(), level, _title((heading["title"] or heading["over"] or "").rstrip(" \t#"))
    if not thinking:
        return
    for bold in BOLD.finditer(source):
        yield bold.start(), 1, _title(bold["title"])
    begun = CONCLUSION.match(source)
    if begun is not None:
        yield begun.start(), TURN_LEVEL, _title(begun[0])
    for turn in TURN.finditer(source):
        yield turn.start("title"), TURN_LEVEL, _title(turn[0])


def _title(text: str) -> str:
    return without_marks(text).strip()[:LONGEST].rstrip(" ,;:")
