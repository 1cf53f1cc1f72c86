"""Draws sequences: lifelines side by side, messages below each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui.domain.format_numbers import count
from tui.typeset.diagrams.boxes import make_box, wrapped
from tui.typeset.diagrams.canvas import Canvas, strokes
from tui.typeset.diagrams.graph import DiagramError, LineStyle, Node, Shape
from tui.typeset.diagrams.picture import MARKS, Frame
from tui.typeset.diagrams.sequence import Activation, Begin, End, Message, Sequence, SequenceNote
from tui.typeset.drawing import Drawing, Measure

TEXT_WIDTHS = (40, 26, 16)
"""Columns of the texts; the first is used if the diagram fits."""
MOST_EVENTS, MOST_PARTICIPANTS = 600, 60
GAP = 3
"""Least columns between the boxes of two participants."""
SELF_REACH = 3
"""Columns that a message to oneself goes to the right."""


def draw_sequence(sequence: Sequence, columns: int, measure: Measure) -> Drawing:
    """The drawing, with texts narrow enough to fit into the columns if that is possible."""
    if len(sequence.events) > MOST_EVENTS or len(sequence.participants) > MOST_PARTICIPANTS:
        participants = count(len(sequence.participants), "participant")
        raise DiagramError(f"Too large to draw: {participants}, {count(len(sequence.events), 'event')}.")
    found: Drawing | None = None
    for widest in TEXT_WIDTHS:
        drawing = _SequenceDrawing(sequence, widest, measure).drawing()
        if found is None or drawing.width < found.width:
            found = drawing
        if drawing.width <= columns:
            break
    assert found is not None
    return found


@dataclass(slots=True)
class _OpenFrame:
    begin: Begin
    top: int
    left: int = 1_000_000
    right: int = -1
    sections: list[tuple[int, str]] = field(default_factory=list)
    inner: int = 0
    """Frames nested in it."""

    def widen(self, left: int, right: int) -> None:
        self.left, self.right = min(self.left, left), max(self.right, right)


class _SequenceDrawing:
    def __init__(self, sequence: Sequence, widest: int, measure: Measure) -> None:
        self._sequence = sequence
        self._widest = widest
        self._measure = measure
        self._canvas = Canvas(measure)
        self._ids = list(sequence.participants)
        self._boxes = [
            make_box(
                Node(one.id, one.label, Shape.ROUND if one.is_actor else Shape.RECTANGLE),
                widest // 2 + 4,
                measure,
                vertical=True,
                pins=1,
                loops=0,
            )
            for one in sequence.participants.values()
        ]
        self._x: dict[str, int] = {}
        self._y = 0
        self._frames: list[_OpenFrame] = []
        self._done: list[_OpenFrame] = []
        self._active: dict[str, list[int]] = {}
        self._bars: list[tuple[str, int, int]] = []
        self._first = 0
        self._left = 0
        self._needs: dict[int, list[tuple[int, int]]] = {}

    def drawing(self) -> Drawing:
        self._place_columns()
        self._draw_heads()
        for event in self._sequence.events:
            self._draw_event(event)
        for id_, begins in self._active.items():
            for begin in begins:
                self._bars.append((id_, begin, self._y))
        self._draw_lifelines()
        for frame in self._done:
            self._draw_frame(frame)
        return self._canvas.drawing()

    # Columns

    def _place_columns(self) -> None:
        self._collect_needs()
        places: list[int] = []
        for number, box in enumerate(self._boxes):
            half = box.width // 2
            least = (
                max(self._left, half) if not number else places[-1] + self._boxes[number - 1].width // 2 + half + GAP
            )
            place = max([least, *(places[first] + need for first, need in self._needs.get(number, ()))])
            places.append(place)
        self._x = dict(zip(self._ids, places, strict=True))

    def _collect_needs(self) -> None:
        """How far apart the texts keep the lifelines."""
        index = {id_: number for number, id_ in enumerate(self._ids)}
        margin = self._left = self._margin()
        for number in range(len(self._ids) - 1):
            self._need(number, number + 1, margin + 2)
        for event in self._sequence.events:
            if isinstance(event, Message):
                first, last = sorted((index[event.source], index[event.target]))
                width = self._width(event.text)
                if first == last:
                    self._need(first, first + 1, max(width, SELF_REACH) + 4 + margin)
                else:
                    self._need(first, last, width + 4)
            elif isinstance(event, SequenceNote):
                places = sorted(index[name] for name in event.participants)
                self._need_for_note(event, places[0], places[-1], margin)

    def _need_for_note(self, note: SequenceNote, first: int, last: int, margin: int) -> None:
        width = self._width(note.text) + 4
        if note.side == "right":
            self._need(last, last + 1, width + 3 + margin)
        elif note.side == "left":
            self._need(first - 1, first, width + 3 + margin)
        elif first != last:
            self._need(first, last, width - 5)
        else:
            self._need(first - 1, first, width // 2 + 3 + margin)
            self._need(first, first + 1, width // 2 + 3 + margin)

    def _need(self, first: int, last: int, columns: int) -> None:
        if first < 0:
            self._left = max(self._left, columns)
        else:
            self._needs.setdefault(last, []).append((first, columns))

    def _margin(self) -> int:
        """Columns beside a lifeline for the frames around it."""
        depth = deepest = 0
        for event in self._sequence.events:
            if isinstance(event, Begin) and event.kind not in ("else", "and", "option", "rect"):
                depth += 1
                deepest = max(deepest, depth)
            elif isinstance(event, End):
                depth = max(0, depth - 1)
        return 2 * deepest + 1 if deepest else 0

    def _width(self, text: str) -> int:
        return max(map(self._measure, wrapped(text, self._widest, self._measure)))

    # Rows

    def _draw_heads(self) -> None:
        if self._sequence.title:
            self._canvas.text(0, 0, self._sequence.title, "title")
            self._y = 2
        height = max(box.height for box in self._boxes)
        for id_, box in zip(self._ids, self._boxes, strict=True):
            box.draw(self._canvas, self._x[id_] - box.width // 2, self._y + height - box.height)
        self._y += height
        self._first = self._y

    def _draw_event(self, event: object) -> None:
        match event:
            case Message():
                self._draw_message(event)
            case SequenceNote():
                self._draw_note(event)
            case Activation(participant, begins):
                if begins:
                    self._active.setdefault(participant, []).append(self._y - 1)
                elif self._active.get(participant):
                    self._bars.append((participant, self._active[participant].pop(), self._y - 1))
            case Begin(kind, text):
                self._begin(event, kind, text)
            case End():
                self._end()
            case _:
                pass

    def _draw_message(self, message: Message) -> None:
        start, end = self._x[message.source], self._x[message.target]
        rows = wrapped(message.text, self._widest, self._measure) if message.text else []
        width = max(map(self._measure, rows), default=0)
        own = start == end
        if not own:
            space = abs(end - start) - 1
            left = min(start, end) + 1 + max(1, (space - width) // 2)
        else:
            left = start + 2
        for row in rows:
            self._canvas.text(left, self._y, row, "label")
            self._y += 1
        self._widen(min(start, end), max(start, end, (left + width if own else 0), start + SELF_REACH if own else 0))
        if own:
            self._draw_own(message, start)
        else:
            self._draw_arrow(message, start, end)

    def _draw_arrow(self, message: Message, start: int, end: int) -> None:
        step = 1 if end > start else -1
        first, last = start, end
        if message.head:
            last = end - step
            self._canvas.text(last, self._y, MARKS[message.head][1 if step > 0 else 3], "arrow")
        if message.tail:
            first = start + step
            self._canvas.text(first, self._y, MARKS[message.tail][3 if step > 0 else 1], "arrow")
        self._line([(first, self._y), (last, self._y)], message)
        self._y += 1

    def _draw_own(self, message: Message, x: int) -> None:
        far = x + SELF_REACH
        last = x + 1 if message.head else x
        self._line([(x, self._y), (far, self._y), (far, self._y + 1), (last, self._y + 1)], message)
        if message.head:
            self._canvas.text(last, self._y + 1, MARKS[message.head][3], "arrow")
        self._y += 2

    def _line(self, points: list[tuple[int, int]], message: Message) -> None:
        self._canvas.edge(strokes(points), dotted=message.style is LineStyle.DOTTED)

    def _draw_note(self, note: SequenceNote) -> None:
        places = sorted(self._x[name] for name in note.participants)
        rows = wrapped(note.text, self._widest, self._measure)
        width = max(map(self._measure, rows)) + 4
        if note.side == "right":
            left = places[-1] + 2
        elif note.side == "left":
            left = places[0] - 1 - width
        else:
            least = places[-1] - places[0] + 5 if len(places) > 1 else 5
            width = max(width, least)
            left = (places[0] + places[-1]) // 2 - width // 2
        self._widen(min(left, places[0]), max(left + width - 1, places[-1]))
        self._canvas.text(left, self._y, "┌" + "─" * (width - 2) + "╮", "border")
        for row in rows:
            self._y += 1
            space = " " * (width - 3 - self._measure(row))
            self._canvas.text(left, self._y, "│", "border")
            self._canvas.text(left + 1, self._y, f" {row}{space}", "note")
            self._canvas.text(left + width - 1, self._y, "│", "border")
        self._canvas.text(left, self._y + 1, "└" + "─" * (width - 2) + "┘", "border")
        self._y += 2

    # Frames

    def _begin(self, begin: Begin, kind: str, text: str) -> None:
        if kind in ("else", "and", "option"):
            self._frames[-1].sections.append((self._y, f"{kind} [{text}]" if text else kind))
            self._y += 1
            return
        self._frames.append(_OpenFrame(begin, self._y))
        if kind != "rect":
            self._y += 1

    def _end(self) -> None:
        frame = self._frames.pop()
        if frame.right < 0:
            frame.widen(min(self._x.values()), max(self._x.values()))
        if frame.begin.kind == "rect":
            if self._frames:
                self._frames[-1].widen(frame.left, frame.right)
            return
        title = self._title(frame.begin)
        longest = max([self._measure(title), *(self._measure(text) for _, text in frame.sections)])
        frame.left -= 2
        frame.right = max(frame.right + 2, frame.left + longest + 5)
        frame.inner = self._y
        self._y += 1
        self._done.append(frame)
        if self._frames:
            self._frames[-1].widen(frame.left, frame.right)

    def _title(self, begin: Begin) -> str:
        return " ".join(wrapped(f"{begin.kind} [{begin.text}]" if begin.text else begin.kind, 10_000, self._measure))

    def _draw_frame(self, frame: _OpenFrame) -> None:
        height = frame.inner - frame.top + 1
        Frame(frame.left, frame.top, frame.right - frame.left + 1, height, self._title(frame.begin)).draw(self._canvas)
        for row, text in frame.sections:
            self._canvas.under(frame.left, row, "├" + "┄" * (frame.right - frame.left - 1) + "┤", "frame")
            self._canvas.text(frame.left + 2, row, f" {text} ", "frame-title")

    def _widen(self, left: int, right: int) -> None:
        if self._frames:
            self._frames[-1].widen(left, right)

    def _draw_lifelines(self) -> None:
        for x in self._x.values():
            self._canvas.border(strokes([(x, self._first - 1), (x, self._y)]))
        for id_, begin, end in self._bars:
            x = self._x[id_]
            self._canvas.border(strokes([(x, begin), (x, max(begin + 1, end))], 2))
