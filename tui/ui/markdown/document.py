"""One text that may still be growing, as lines.

Finished pieces are parsed and laid out once per width; only the open end is read again. Inside a fence even that is
not needed: whole lines of code are highlighted in small groups as they come, and once more together when the fence
closes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from tui.domain.printable import printable
from tui.domain.value import dataclass
from tui.ui.markdown.growing_table import GrowingTable
from tui.ui.markdown.highlight import highlight
from tui.ui.markdown.layout import code_head, code_lines, lay, lay_code
from tui.ui.markdown.pieces import Piece, Splitter
from tui.ui.markdown.runs import Line, Run
from tui.ui.markdown.tokens import Code, Node, Words, parse

GROUP = 8
"""Lines of open code highlighted together: enough context for most strings and comments."""


UNSURE_END = re.compile(
    "\r\\Z|[^\x00-\x7f](?:[\u0300-\u036f\u200c\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d[^\x00-\x7f]?)*\\Z"
)
"""The end of a delta that the next one may belong to: half a line end, or half an emoji made of several."""
LONGEST_CLUSTER = 40


@dataclass(slots=True)
class _Fence:
    """The open code block: lines laid out so far, and how many source lines they are."""

    lines: list[Line] = field(default_factory=list)
    done: int = 0


MARKS = "*_`["
MOST_MARKS = 1_200
"""Marks of one piece; one that has more, and of them a third of its characters, is no prose but a heap of marks. It is
shown as it came: reading it would hold up the screen for longer than a keystroke may take."""


def too_dense(source: str) -> bool:
    """Whether reading the markup takes long and gains nothing."""
    marks = sum(map(source.count, MARKS)) if len(source) > MOST_MARKS else 0
    return marks > MOST_MARKS and marks * 3 > len(source)


class Document:
    """Markdown text with its lines at one width at a time."""

    def __init__(self, text: str = "", *, closed: bool = False) -> None:
        self._splitter = Splitter()
        self._pieces: list[tuple[Piece, tuple[Node, ...] | None]] = []
        self._links: dict[str, object] = {}
        self._width = 0
        self._lines: list[Line] = []
        self._laid = 0
        self._fence = _Fence()
        self._table: GrowingTable | None = None
        self._tail: list[Line] | None = None
        self._closed = False
        self._held = ""
        if text:
            self.append(text)
        if closed:
            self.close()

    def append(self, text: str) -> None:
        """More text; made printable here, so nothing foreign reaches the terminal."""
        text = self._held + text
        self._held = ""
        unsure = UNSURE_END.search(text, max(0, len(text) - LONGEST_CLUSTER))
        if unsure is not None:
            self._held, text = unsure[0], text[: unsure.start()]
        self._add(self._splitter.feed(printable(text)))
        self._tail = None

    def close(self) -> None:
        """No more comes."""
        if self._closed:
            return
        self._closed = True
        if self._held:
            self._add(self._splitter.feed(printable(self._held)))
        self._add(self._splitter.finish())
        self._tail = None

    def code_blocks(self) -> list[str]:
        """The fenced blocks so far, for copying."""
        return [piece.source for piece, _ in self._pieces if piece.fence is not None]

    def lines(self, width: int) -> Sequence[Line]:
        """All lines at this width. The list is the document's own: read it, don't keep it."""
        self.height(width)
        tail = self._open_lines()
        return self._lines + tail if tail else self._lines

    def height(self, width: int) -> int:
        """How many lines there are at this width."""
        if width != self._width:
            self._width, self._lines, self._laid = width, [], 0
            self._fence, self._table, self._tail = _Fence(), None, None
        while self._laid < len(self._pieces):
            self._lay_next()
        return len(self._lines) + len(self._open_lines())

    def line(self, number: int) -> Line:
        """One line, at the width last asked for."""
        if number < len(self._lines):
            return self._lines[number]
        return self._open_lines()[number - len(self._lines)]

    def _add(self, pieces: list[Piece]) -> None:
        self._pieces.extend((piece, None) for piece in pieces)
        if pieces:
            self._fence, self._table = _Fence(), None

    def _lay_next(self) -> None:
        piece, nodes = self._pieces[self._laid]
        if nodes is None:
            nodes = self._read(piece)
            self._pieces[self._laid] = (piece, nodes)
        if self._laid and nodes and not self._pieces[self._laid - 1][0].tight:
            self._lines.append([])
        self._lines.extend(lay(nodes, self._width))
        self._laid += 1

    def _read(self, piece: Piece) -> tuple[Node, ...]:
        if piece.fence is not None:
            return (Code(piece.source, piece.fence),)
        if too_dense(piece.source):
            return (Words([Run(piece.source.strip("\n"))]),)
        return tuple(parse(piece.source, self._links))

    def _open_lines(self) -> list[Line]:
        if self._tail is not None:
            return self._tail
        gap: list[Line] = [[]] if self._pieces and not self._pieces[-1][0].tight else []
        fence = self._splitter.open_fence_lines
        if fence is not None:
            self._tail = gap + self._open_code(*fence)
            return self._tail
        table = self._splitter.open_table_lines
        rows = self._open_table(*table) if table is not None else None
        piece = self._splitter.open_end()
        if rows is not None:
            self._tail = gap + rows
        else:
            self._tail = gap + lay(self._read(piece), self._width) if piece else []
        return self._tail

    def _open_table(self, whole: list[str], unfinished: str) -> list[Line] | None:
        if self._table is None or not self._table.head.startswith(whole[0] + "\n"):
            self._table = GrowingTable(whole[0], whole[1], self._width)
        return self._table.lines(whole[2:], unfinished, self._links)

    def _open_code(self, whole: list[str], unfinished: str) -> list[Line]:
        piece = self._splitter.open_end()
        info = piece.fence or "" if piece else ""
        fence = self._fence
        if len(whole) - fence.done >= GROUP:
            fence.lines.extend(code_lines(highlight(whole[fence.done :], info), self._width))
            fence.done = len(whole)
        rest = [*whole[fence.done :], unfinished] if unfinished else whole[fence.done :]
        tail = code_lines(highlight(rest, info), self._width) if rest else []
        return [code_head(info, self._width), *fence.lines, *tail]


def lay_markdown(text: str, width: int) -> Sequence[Line]:
    """Lines of a text that is complete."""
    return Document(text, closed=True).lines(width)


__all__ = ["Document", "lay_code", "lay_markdown"]
