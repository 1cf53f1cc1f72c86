"""Code blocks in parts: each is highlighted from the lexer state at its start, the open one line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.chunks import Chunk
from tui.ui.markdown.highlight import START, LexerState, highlight_from
from tui.ui.markdown.layout import code_head, code_lines
from tui.ui.markdown.runs import Line

FRESH_PARTS = 8
"""Consecutive parts highlighted with carried state; after that the state is reset, so that jumping stays cheap."""


@dataclass(slots=True)
class _Open:
    """The open part: lines laid out so far, their count in the source, and the lexer state."""

    lines: list[Line] = field(default_factory=list)
    done: int = 0
    place: LexerState | None = None


class CodeParts:
    """Lines of the chunks that are code."""

    def __init__(self, chunks: Sequence[Chunk], *, labels: bool) -> None:
        self._chunks = chunks
        self._labels = labels
        self._ends: dict[int, LexerState] = {}
        self._lexed: tuple[int, list[Line]] = (-1, [])
        self._open = _Open()
        self.sideways: int | None = None
        """The first visible column where lines are cut; None wraps them."""

    def restart(self) -> None:
        """Forget the open part after the part or the width changed."""
        self._open = _Open()

    def lines(self, place: int, width: int) -> list[Line]:
        """The lines of a finished part."""
        lines = self._lex(place, self._begin(place, self._chunks[place].part))
        return [*self._label(self._chunks[place], width), *code_lines(lines, width, self.sideways)]

    def open_lines(self, chunk: Chunk, whole: Sequence[str], unfinished: str, width: int) -> list[Line]:
        """The lines of the open part; ``whole`` is its source so far, which only grows between calls."""
        info = chunk.fence or ""
        known = self._open
        if known.place is None:
            known.place = self._begin(len(self._chunks), chunk.part)
        if len(whole) > known.done:
            fresh, known.place = highlight_from(whole[known.done :], info, known.place)
            known.lines.extend(code_lines(fresh, width, self.sideways))
            known.done = len(whole)
        ahead = highlight_from([unfinished], info, known.place)[0] if unfinished else []
        tail = code_lines(ahead, width, self.sideways)
        return [*self._label(chunk, width), *known.lines, *tail]

    def _label(self, chunk: Chunk, width: int) -> list[Line]:
        return [code_head(chunk.fence or "", width)] if self._labels and not chunk.part else []

    def _lex(self, place: int, begin: LexerState) -> list[Line]:
        if self._lexed[0] != place:
            chunk = self._chunks[place]
            lines, self._ends[place] = highlight_from(chunk.source.split("\n"), chunk.fence or "", begin)
            self._lexed = (place, lines)
        return self._lexed[1]

    def _begin(self, place: int, part: int) -> LexerState:
        """The lexer state above a part."""
        first = place - part % FRESH_PARTS
        known = next((before for before in range(place, first, -1) if before - 1 in self._ends), first)
        state = self._ends[known - 1] if known > first else START
        for before in range(known, place):
            self._lex(before, state)
            state = self._ends[before]
        return state
