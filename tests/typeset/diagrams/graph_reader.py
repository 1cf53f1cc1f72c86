"""Rebuilds a graph from its drawing, from the characters alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.typeset.diagrams.cells import FRAME, MARKS, POINTS, SIDES, Cells, Place, moved, style_of, words
from tui.typeset.drawing import Drawing

UPPER_LEFT, UPPER_RIGHT, LOWER_LEFT, LOWER_RIGHT = map(frozenset, ("┌╭╱╓", "┐╮╲╖", "└╰╲╙", "┘╯╱╜"))
OUTLINES = frozenset("()<>║═")


@dataclass(frozen=True)
class ReadBox:
    x: int
    y: int
    right: int
    bottom: int
    text: str
    is_frame: bool = False

    def holds(self, place: Place) -> bool:
        return self.x <= place[0] <= self.right and self.y <= place[1] <= self.bottom

    def borders(self, place: Place) -> bool:
        return self.holds(place) and (place[0] in (self.x, self.right) or place[1] in (self.y, self.bottom))


@dataclass(frozen=True, order=True)
class ReadEdge:
    """An edge between two texts; without a head its ends are sorted."""

    source: str
    target: str
    label: str
    tail: str
    head: str
    style: str


@dataclass
class ReadGraph:
    nodes: list[str] = field(default_factory=list)
    edges: list[ReadEdge] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """By title: the texts of the boxes directly inside."""


@dataclass(frozen=True)
class _Label:
    cells: frozenset[Place]
    text: str


@dataclass(frozen=True)
class _End:
    """The end of a line at a box, or at one side of a label."""

    at: ReadBox | _Label
    mark: str
    side: Place
    """The direction in which the line comes to it."""
    place: Place = (0, 0)
    """The first cell of the line."""


class GraphReader:
    def __init__(self, drawing: Drawing, *, bars: bool = False, diamonds: bool = False) -> None:
        self.cells = Cells(drawing)
        self.marks = MARKS | ({"◇": "diamond"} if diamonds else {})
        self.points = POINTS - set(self.marks)
        self.bars = bars
        self.frames: list[ReadBox] = []
        self.boxes: list[ReadBox] = []
        self._find_boxes()
        self._visited: set[tuple[Place, Place]] = set()

    def graph(self) -> ReadGraph:
        found = ReadGraph(sorted(box.text for box in self.boxes))
        pairs: list[tuple[_End, _End, str]] = []
        for box in [*self.boxes, *self.frames]:
            for place, side in self._ways_out(box):
                if (place, side) not in self._visited:
                    pairs += self._net(box, place, side)
        # Labels stand between two nets.
        index = 0
        while index < len(pairs):
            for end in pairs[index][:2]:
                if isinstance(end.at, _Label):
                    beyond = self._beyond(end)
                    if (beyond, end.side) not in self._visited:
                        pairs += self._net(end.at, beyond, end.side)
            index += 1
        found.edges = sorted(self._joined(pairs))
        for frame in self.frames:
            inside = [box.text for box in self.boxes if self._innermost(box) == frame]
            found.groups[frame.text] = sorted(inside)
        return found

    # Boxes

    def _find_boxes(self) -> None:
        cells = self.cells
        for y in range(cells.height):
            for x in range(cells.width):
                if cells[x, y] in UPPER_LEFT:
                    self._corner(x, y)
                elif cells[x, y] in self.points and not any(box.holds((x, y)) for box in self.boxes):
                    self.boxes.append(ReadBox(x, y, x, y, cells[x, y]))
                elif self.bars and cells[x, y] in {"━", "┃"}:
                    self._bar(x, y)
        inside = [
            box for box in self.boxes if any(other != box and other.holds((box.x, box.y)) for other in self.boxes)
        ]
        self.boxes = [box for box in self.boxes if box not in inside]

    def _bar(self, x: int, y: int) -> None:
        if any(box.holds((x, y)) for box in self.boxes):
            return
        character, right, bottom = self.cells[x, y], x, y
        while character == "━" and self.cells[right + 1, y] == "━":
            right += 1
        while character == "┃" and self.cells[x, bottom + 1] == "┃":
            bottom += 1
        self.boxes.append(ReadBox(x, y, right, bottom, "━"))

    def _corner(self, x: int, y: int) -> None:
        cells = self.cells
        is_frame = cells[x + 1, y] == "┄" or cells[x, y + 1] == "┊"
        right = x + 1
        while right < cells.width and cells[right, y] not in UPPER_RIGHT:
            along = self._is_along(right, y, is_frame, horizontal=True)
            if not along and not (is_frame and (cells.is_text((right, y)) or cells[right, y] == " ")):
                return
            right += 1
        bottom = y + 1
        while bottom < cells.height and cells[x, bottom] not in LOWER_LEFT:
            if not self._is_along(x, bottom, is_frame, horizontal=False):
                return
            bottom += 1
        if cells[right, bottom] not in LOWER_RIGHT or right >= cells.width or bottom >= cells.height:
            return
        if not all(self._is_along(right, row, is_frame, horizontal=False) for row in range(y + 1, bottom)):
            return
        if not all(self._is_along(column, bottom, is_frame, horizontal=True) for column in range(x + 1, right)):
            return
        if is_frame:
            title = "".join(cells[n, y] for n in range(x + 1, right) if cells.is_text((n, y)) or cells[n, y] == " ")
            self.frames.append(ReadBox(x, y, right, bottom, words(title), is_frame=True))
        else:
            text = "".join(
                cells[column, row]
                for row in range(y + 1, bottom)
                for column in range(x + 1, right)
                if cells.is_text((column, row)) or cells[column, row] in self.points
            )
            self.boxes.append(ReadBox(x, y, right, bottom, words(text)))

    def _is_along(self, x: int, y: int, is_frame: bool, *, horizontal: bool) -> bool:
        """Whether a cell can be a part of an outline."""
        cell, arms = self.cells[x, y], self.cells.arms((x, y))
        if is_frame:
            return cell in FRAME or bool(arms)
        needed = {(-1, 0), (1, 0)} if horizontal else {(0, -1), (0, 1)}
        return cell in OUTLINES or needed <= arms

    def _innermost(self, box: ReadBox) -> ReadBox | None:
        around = [frame for frame in self.frames if frame.holds((box.x, box.y))]
        return min(around, key=lambda frame: (frame.right - frame.x) * (frame.bottom - frame.y), default=None)

    # Lines

    def _ways_out(self, box: ReadBox) -> list[tuple[Place, Place]]:
        """The cells beside a box at which a line begins, with the direction away from it."""
        found = []
        for x in range(box.x, box.right + 1):
            found += [((x, box.y - 1), (0, -1)), ((x, box.bottom + 1), (0, 1))]
        for y in range(box.y, box.bottom + 1):
            found += [((box.x - 1, y), (-1, 0)), ((box.right + 1, y), (1, 0))]
        return [(place, side) for place, side in found if self._begins(box, place, side)]

    def _begins(self, box: ReadBox, place: Place, side: Place) -> bool:
        border = (place[0] - side[0], place[1] - side[1])
        back = (-side[0], -side[1])
        if self.cells[place] in self.marks:
            name = self.cells[place]
            pointing = dict(zip("▲►▼◄△▷▽◁", (*SIDES, *SIDES), strict=True)).get(name)
            return pointing == back or (pointing is None and side not in self.cells.arms(border))
        arms = self.cells.arms(border)
        if box.is_frame:
            return side in arms and back not in arms
        outward = side in arms if arms else back in self.cells.arms(place)
        return outward and (back in self.cells.arms(place) or self._label_at(place, side) is not None)

    def _net(self, start: ReadBox | _Label, place: Place, side: Place) -> list[tuple[_End, _End, str]]:
        """The pairs of ends that a line joins, followed from one of them."""
        mark = self.marks.get(self.cells[place], "") if isinstance(start, ReadBox) else ""
        ends = [_End(start, mark, (-side[0], -side[1]), place)]
        self._visited.add((place, side))
        seen: set[Place] = set()
        styles: set[str] = set()
        todo = [(moved(place, side), side)] if mark else [(place, side)]
        while todo:
            at, way = todo.pop()
            end = self._end_at(at, way)
            if end is not None:
                ends.append(end)
                continue
            arms = self.cells.arms(at)
            if not arms:
                raise AssertionError(f"a line is lost at {at}, {self.cells[at]!r}")
            back = (-way[0], -way[1])
            if back not in arms:
                todo.append((moved(at, way), way))  # it passes below another line
                continue
            styles.add(style_of(self.cells[at]))
            if at in seen:
                continue
            seen.add(at)
            todo.extend((moved(at, arm), arm) for arm in arms if arm != back)
        if len(ends) < 2:
            raise AssertionError(f"a line from {start} has no other end")
        return self._pairs(ends, max(styles, default=""))

    def _pairs(self, ends: list[_End], style: str) -> list[tuple[_End, _End, str]]:
        if len(ends) == 2:
            return [(ends[0], ends[1], style)]
        hubs = [end for end in ends if sum(other.side == end.side for other in ends) == 1]
        assert len(hubs) == 1, [(end.at, end.side) for end in ends]
        return [(hubs[0], end, style) for end in ends if end is not hubs[0]]

    def _end_at(self, at: Place, way: Place) -> _End | None:
        """The end that a line comes to with its next cell."""
        back = (-way[0], -way[1])
        if self.cells[at] in self.marks:
            box = self._box_at(moved(at, way))
            if box is not None:
                self._visited.add((at, back))
                return _End(box, self.marks[self.cells[at]], way)
        box = self._box_at(at)
        if box is not None and (not box.is_frame or way not in self.cells.arms(at)):
            self._visited.add(((at[0] - way[0], at[1] - way[1]), back))
            return _End(box, "", way)
        label = self._label_at(at, way)
        if label is not None:
            end = _End(label, "", way)
            self._visited.add((self._beyond(_End(label, "", back)), back))
            return end
        return None

    def _box_at(self, place: Place) -> ReadBox | None:
        for box in self.boxes:
            if box.holds(place):
                return box
        return next((frame for frame in self.frames if frame.borders(place)), None)

    def _label_at(self, at: Place, way: Place) -> _Label | None:
        """The text that begins here, or behind the blank before it."""
        if self.cells[at] == " " and way[0]:
            at = moved(at, way)
        elif (
            self.cells[at] == " " and self.cells.is_text((at[0] - 1, at[1])) and self.cells.is_text((at[0] + 1, at[1]))
        ):
            at = at[0] - 1, at[1]  # between two words of it
        if not self.cells.is_text(at) or self._box_at(at) is not None:
            return None
        todo, found = [at], set[Place]()
        while todo:
            place = todo.pop()
            if place in found:
                continue
            found.add(place)
            for by in [(-2, 0), (-1, 0), (1, 0), (2, 0), (0, 1), (0, -1)]:
                near = moved(place, by)
                between = abs(by[0]) < 2 or self.cells[moved(place, (by[0] // 2, 0))] == " "
                is_title = any(frame.borders(near) for frame in self.frames)
                if between and not is_title and self.cells.is_text(near):
                    todo.append(near)
        cells = sorted(found, key=lambda place: (place[1], place[0]))
        return _Label(frozenset(found), "".join(self.cells[place] for place in cells))

    def _beyond(self, end: _End) -> Place:
        """The cell behind a label, in the direction of a line that comes to it."""
        assert isinstance(end.at, _Label)
        dx, dy = end.side
        xs = [x for x, _ in end.at.cells]
        ys = [y for _, y in end.at.cells]
        if dy:
            return min(xs) + (max(xs) - min(xs) + 1) // 2, max(ys) + 1 if dy > 0 else min(ys) - 1
        return max(xs) + 2 if dx > 0 else min(xs) - 2, (min(ys) + max(ys)) // 2

    # Edges

    def _joined(self, pairs: list[tuple[_End, _End, str]]) -> list[ReadEdge]:
        """Follow each edge through its labels, from box to box."""
        at_label: dict[tuple[_Label, Place], list[tuple[_End, str]]] = {}
        for first, second, style in pairs:
            for end, other in ((first, second), (second, first)):
                if isinstance(end.at, _Label):
                    at_label.setdefault((end.at, end.side), []).append((other, style))
        found: list[ReadEdge] = []
        used: set[_Label] = set()
        for first, second, style in pairs:
            for start, end in ((first, second), (second, first)):
                if not isinstance(start.at, ReadBox) or (end is first and isinstance(end.at, ReadBox)):
                    continue
                labels: list[str] = []
                styles = [style]
                if isinstance(end.at, _Label) and end.at in used:
                    continue
                while isinstance(end.at, _Label):
                    used.add(end.at)
                    labels.append(end.at.text)
                    (following,) = at_label[end.at, (-end.side[0], -end.side[1])]
                    end = following[0]
                    styles.append(following[1])
                found.append(self._edge(start, end, labels, max(styles)))
        return found

    def _edge(self, start: _End, end: _End, labels: list[str], style: str) -> ReadEdge:
        assert isinstance(start.at, ReadBox)
        assert isinstance(end.at, ReadBox)
        if start.at == end.at:
            labels = self._loop_label(start)
        first, second = (start.at.text, start.mark), (end.at.text, end.mark)
        if (start.mark and not end.mark) or (bool(start.mark) == bool(end.mark) and second < first):
            first, second, labels = second, first, labels[::-1]
        label = words("".join(labels))
        return ReadEdge(first[0], second[0], label, first[1], second[1], style)

    def _loop_label(self, start: _End) -> list[str]:
        """The text beside a loop, which begins at this cell."""
        x, y = start.place
        at = (x + 4, y + 1) if start.side[0] else (x + 5, y + 1)
        label = self._label_at(at, (0, 1)) if self.cells.is_text(at) else None
        return [label.text] if label is not None else []


def read_graph(drawing: Drawing, *, bars: bool = False, diamonds: bool = False) -> ReadGraph:
    """The graph; ``bars`` are boxes of states, and a ``◇`` is a mark only between classes."""
    return GraphReader(drawing, bars=bars, diamonds=diamonds).graph()
