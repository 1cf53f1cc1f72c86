"""Rebuilds a sequence from its drawing, from the characters alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile

from tests.typeset.diagrams.cells import MARKS, Cells, arms_of, words
from tui.typeset.diagrams.graph import LineStyle
from tui.typeset.diagrams.sequence import Begin, Message, Sequence, SequenceNote
from tui.typeset.drawing import Drawing

LEFT, RIGHT = (-1, 0), (1, 0)


@dataclass(frozen=True)
class ReadMessage:
    source: str
    target: str
    text: str
    tail: str
    head: str
    style: str


@dataclass
class ReadSequence:
    participants: list[str] = field(default_factory=list)
    messages: list[ReadMessage] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    """The titles of frames and their sections, from above."""
    notes: list[str] = field(default_factory=list)


class SequenceReader:
    def __init__(self, drawing: Drawing) -> None:
        self.cells = Cells(drawing)
        self.found = ReadSequence()
        self.lifelines: dict[int, str] = {}
        self.first = 0
        self._titles: list[tuple[int, int, int]] = []
        self._read_heads()

    def sequence(self) -> ReadSequence:
        for y in range(self.first, self.cells.height):
            for x in range(self.cells.width):
                cell = self.cells[x, y]
                if cell in {"┌", "├"} and self.cells[x + 1, y] == "┄":
                    self._read_frame(x, y)
                elif cell == "┌" and self.cells[x + 1, y] == "─":
                    self._read_note(x, y)
            self._read_messages(y)
        return self.found

    def _read_heads(self) -> None:
        y = 0
        while not any(self.cells[x, y] in {"┌", "╭"} for x in range(self.cells.width)):
            y += 1
        bottom = y
        tops: list[tuple[int, int]] = []
        while not tops or any(self.cells[x, bottom] in {"┌", "╭", "│"} for x in range(self.cells.width)):
            tops += [(x, bottom) for x in range(self.cells.width) if self.cells[x, bottom] in {"┌", "╭"}]
            bottom += 1
            if any(self.cells[x, bottom] in {"└", "╰"} for x in range(self.cells.width)):
                break
        for x, top in sorted(tops):
            right = next(n for n in range(x + 1, self.cells.width) if self.cells[n, bottom] in {"┘", "╯"})
            text = "".join(self.cells.text(x + 1, row, right - x - 1) for row in range(top + 1, bottom))
            self.lifelines[(x + right) // 2] = words(text)
            self.found.participants.append(words(text))
        self.first = bottom + 1

    def _read_frame(self, x: int, y: int) -> None:
        title, at = "", x + 2
        while self.cells[at, y] not in {"┄", "┐", "┤"} and not arms_of(self.cells[at, y]):
            title += self.cells[at, y]
            at += 1
        self.found.frames.append(words(title))
        self._titles.append((x, at, y))

    def _read_note(self, x: int, y: int) -> None:
        right = next(n for n in range(x + 1, self.cells.width) if self.cells[n, y] == "╮")
        text, row = "", y + 1
        while self.cells[x, row] == "│":
            text += self.cells.text(x + 1, row, right - x - 1)
            row += 1
        self.found.notes.append(words(text))

    def _read_messages(self, y: int) -> None:
        for x, name in self.lifelines.items():
            marked = self.cells[x + 1, y] in MARKS
            if not marked and (RIGHT not in self.cells.arms((x, y)) or LEFT in self.cells.arms((x, y))):
                continue
            end = x + 1
            styles = {""}
            while end not in self.lifelines or {LEFT, RIGHT} <= self.cells.arms((end, y)):
                if self.cells[end, y] not in MARKS and not {LEFT, RIGHT} <= self.cells.arms((end, y)):
                    break
                styles.add("dotted" if self.cells[end, y] == "╌" else "")
                end += 1
            if end in self.lifelines:
                marks = MARKS.get(self.cells[x + 1, y], ""), MARKS.get(self.cells[end - 1, y], "")
                self._add(name, self.lifelines[end], marks, max(styles), self._text(x, end, y))
            elif self.cells[end, y] == "┐":
                mark = MARKS.get(self.cells[x + 1, y + 1], "")
                self._add(name, name, ("", mark), max(styles), self._text(x, None, y))

    def _add(self, left: str, right: str, marks: tuple[str, str], style: str, text: str) -> None:
        first, second = (left, marks[0]), (right, marks[1])
        if marks[0] and not marks[1]:
            first, second = second, first
        self.found.messages.append(ReadMessage(first[0], second[0], text, first[1], second[1], style))

    def _text(self, left: int, right: int | None, y: int) -> str:
        """The rows of text above a line."""
        rows: list[str] = []
        while y > self.first:
            y -= 1
            if any(row == y and begin < left + 1 < end for begin, end, row in self._titles):
                break
            cells = [self.cells[x, y] for x in range(left + 1, self.cells.width if right is None else right)]
            if right is None:
                # Up to the next lifeline or the side of a frame.
                cells = list(takewhile(lambda cell: not arms_of(cell) and cell != "┊", cells))
            if not "".join(cells).strip() or "┄" in cells or any(arms_of(cell) & {LEFT, RIGHT} for cell in cells):
                break
            if any(cell in MARKS for cell in cells):
                break
            rows.insert(0, "".join(cell for cell in cells if not arms_of(cell) and cell != "┊"))
        return words("".join(rows))


def read_sequence_drawing(drawing: Drawing) -> ReadSequence:
    return SequenceReader(drawing).sequence()


def expected_sequence(sequence: Sequence) -> ReadSequence:
    names = {one.id: words(one.label) for one in sequence.participants.values()}
    order = list(sequence.participants)
    found = ReadSequence(list(names.values()))
    for event in sequence.events:
        if isinstance(event, Message):
            first, second = (event.source, event.tail.value), (event.target, event.head.value)
            if bool(first[1]) == bool(second[1]) and order.index(second[0]) < order.index(first[0]):
                first, second = second, first
            style = "dotted" if event.style is LineStyle.DOTTED else ""
            text = words(event.text)
            found.messages.append(ReadMessage(names[first[0]], names[second[0]], text, first[1], second[1], style))
        elif isinstance(event, SequenceNote):
            found.notes.append(words(event.text))
        elif isinstance(event, Begin) and event.kind != "rect":
            found.frames.append(words(f"{event.kind} [{event.text}]" if event.text else event.kind))
    return found
