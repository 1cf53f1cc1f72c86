"""The numbers of cited sources: markers in the text of an answer, and the list below it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from tui.domain.blocks import Block, TextBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.domain.printable import one_line
from tui.domain.web_search import Citation, Source, WebSearch

LONGEST_TITLE = 200
LONGEST_ADDRESS = 400
MOST_IN_A_ROW = 4
"""Consecutive numbers of one place that are written out."""
FARTHEST = 100
"""Characters between a cited part and its marker. A server may put each citation behind a million blanks."""


class SourceNumbers:
    """Numbers sources in the order in which they are first cited, from 1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sources: list[Source] = []

    def number(self, cited: Source) -> int:
        """Return the number of a source; the same address is the same source."""
        number = self._numbers.setdefault(cited.url or cited.title, len(self._sources) + 1)
        if number > len(self._sources):
            self._sources.append(cited)
        elif cited.title and not self._sources[number - 1].title:
            self._sources[number - 1] = cited
        return number

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources in the order of their numbers."""
        return tuple(self._sources)


_FENCE = lazy_regex(r"(?m)^ {0,3}(`{3,}|~{3,})")
_CLOSERS = "*_~`\"'”’»)]"
"""Characters that belong to the words before them: a marker is put behind them."""
_WRITTEN_MARKER = lazy_regex(r"\s*\[\[\d{1,4}\]\]\([^()\s]*\)")
"""A marker that the provider itself wrote into the text (xAI)."""


@dataclass(slots=True)
class _Marks:
    """Changes of a text: what is put where, and what is taken out."""

    at: dict[int, dict[int, None]] = field(default_factory=dict)
    """Position → numbers to put there, in order."""
    gone: list[tuple[int, int]] = field(default_factory=list)


def marked_text(text: str, citations: Sequence[Citation], numbers: SourceNumbers) -> str:
    """Return the text with the number of its source, as ``[1]``, behind each cited part."""
    marks = _Marks()
    fences = _fenced(text) if "```" in text or "~~~" in text else []
    for citation in sorted(citations, key=lambda one: len(text) if one.end is None else one.end):
        number = numbers.number(citation.source)
        if citation.end is None:
            continue
        if _WRITTEN_MARKER.fullmatch(text, citation.start, citation.end):
            marks.gone.append((citation.start, citation.end))
            position = citation.start
        else:
            position = _behind(text, min(citation.end, len(text)))
        if _is_within(position, fences):
            continue
        marks.at.setdefault(position, {})[number] = None
    return _with_marks(text, marks)


def _behind(text: str, end: int) -> int:
    """Return where the marker of words that end there goes: before white space and the edge of a table's cell."""
    farthest = min(end + FARTHEST, len(text))
    while end < farthest and text[end] in _CLOSERS and not text[end - 1 : end].isspace():
        end += 1
    at, nearest = end, max(end - FARTHEST, 0)
    while at > nearest and (text[at - 1].isspace() or text[at - 1] == "|"):
        at -= 1
    return at or end


def _fenced(text: str) -> list[tuple[int, int]]:
    """Return where the text is code: a marker there would be part of the code."""
    spans: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for found in _FENCE.finditer(text):
        if opened is None:
            opened = (found.start(), found[1])
        elif found[1].startswith(opened[1]):
            spans.append((opened[0], found.end()))
            opened = None
    return spans if opened is None else [*spans, (opened[0], len(text) + 1)]


def _is_within(position: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the position is inside one of the spans, which are in order."""
    before = bisect_left(spans, (position, 0)) - 1
    return before >= 0 and spans[before][0] < position < spans[before][1]


def _with_marks(text: str, marks: _Marks) -> str:
    if not marks.at:
        return text
    gone = {start: max(end for begin, end in marks.gone if begin == start) for start, _ in marks.gone}
    pieces: list[str] = []
    at = 0
    for position in sorted({*marks.at, *gone}):
        if position < at:
            continue
        pieces.append(text[at:position])
        at = gone.get(position, position)
        mark = marker([*marks.at.get(position, ())])
        # What follows must not make a link of the marker, and a word must not run into it.
        before = " " if position and not text[position - 1].isspace() else ""
        after = " " if text[at : at + 1] in ("(", "[", ":") else ""
        pieces.append(f"{before}{mark}{after}")
    return "".join([*pieces, text[at:]])


def marker(numbers: Sequence[int]) -> str:
    """The numbers of one place: ``[1][2]``, and ``[3–20]`` for many in a row."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return "".join(
        f"[{run[0]}–{run[-1]}]" if len(run) > MOST_IN_A_ROW else "".join(f"[{number}]" for number in run)
        for run in runs
    )


def text_groups(blocks: Sequence[Block]) -> list[list[TextBlock]]:
    """Return the texts that have words, in groups that are shown as one.

    A provider that cites cuts its text at every citation, so these parts belong together.
    """
    groups: list[list[TextBlock]] = []
    previous: Block | None = None
    for block in blocks:
        if isinstance(block, TextBlock) and block.text:
            if previous is not None and previous.kind == "text" and _belong_together(previous, block):
                groups[-1].append(block)
            else:
                groups.append([block])
            previous = block
        elif block.kind != "text":
            previous = None
    return groups


def _belong_together(one: TextBlock, other: TextBlock) -> bool:
    ids = [block.provider_state.id if block.provider_state is not None else None for block in (one, other)]
    return bool(one.citations or other.citations) and ids[0] == ids[1]


def has_citations(blocks: Iterable[Block]) -> bool:
    """Return whether any text cites a source."""
    return any(block.kind == "text" and block.citations for block in blocks)


def with_markers(blocks: Sequence[Block], numbers: SourceNumbers) -> list[Block]:
    """Return the blocks as they are shown: texts that belong together as one, with markers for their sources."""
    if not has_citations(blocks):
        return list(blocks)
    first_of = {id(group[0]): group for group in text_groups(blocks)}
    inner = {id(block) for group in first_of.values() for block in group[1:]}
    shown: list[Block] = []
    for block in blocks:
        if id(block) in first_of and block.kind == "text":
            group = first_of[id(block)]
            shown.append(replace(block, text=marked_group(group, numbers), citations=(), partial=group[-1].partial))
        elif id(block) not in inner:
            shown.append(block)
    return shown


def marked_group(group: Sequence[TextBlock], numbers: SourceNumbers) -> str:
    """Return the text of a group with markers."""
    citations: list[Citation] = []
    length = 0
    for block in group:
        for citation in block.citations:
            moved = (citation.start + length, None if citation.end is None else citation.end + length)
            citations.append(replace(citation, start=moved[0], end=moved[1]))
        length += len(block.text)
    return marked_text("".join(block.text for block in group), citations, numbers)


def sources_of(blocks: Sequence[Block], numbers: SourceNumbers | None = None) -> tuple[Source, ...]:
    """Return the cited sources in the order of their markers."""
    numbers = numbers or SourceNumbers()
    for group in text_groups(blocks):
        if any(block.citations for block in group):
            marked_group(group, numbers)
    return numbers.sources


def searches_of(blocks: Iterable[Block]) -> list[WebSearch]:
    """Return the searches, each with its result."""
    found: list[WebSearch] = []
    position: dict[str, int] = {}
    for block in blocks:
        if block.kind != "opaque" or block.search is None:
            continue
        search = block.search
        if search.id and search.id in position:
            found[position[search.id]] = found[position[search.id]].with_result(search)
            continue
        if search.id:
            position[search.id] = len(found)
        found.append(search)
    return found


def shown_title(page: Source) -> str:
    """Return the title on one line, without characters that hide or reorder text."""
    return one_line(page.title, LONGEST_TITLE)


def shown_address(page: Source) -> str:
    """Return the address, likewise."""
    return one_line(page.url, LONGEST_ADDRESS)


def source_lines(sources: Sequence[Source]) -> list[str]:
    """Return each source on one line: ``[1] Title  https://…``."""
    return [
        f"[{number}] {'  '.join(filter(None, (shown_title(page), shown_address(page))))}"
        for number, page in enumerate(sources, 1)
    ]


def text_with_sources(blocks: Sequence[Block]) -> str:
    """Return the texts of a message as they are shown, with the sources below them."""
    numbers = SourceNumbers()
    texts = [block.text for block in with_markers(blocks, numbers) if isinstance(block, TextBlock) and block.text]
    if numbers.sources:
        texts.append("\n".join(["Sources:", *source_lines(numbers.sources)]))
    return "\n\n".join(texts)
