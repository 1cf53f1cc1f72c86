"""Reads and draws ``gantt``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tui.typeset.diagrams.canvas import Canvas
from tui.typeset.diagrams.graph import DiagramError
from tui.typeset.diagrams.source_text import Statement, front_title, label_text, not_understood, read_statements
from tui.typeset.drawing import Drawing, Measure

SETTING = re.compile(
    r"(title|dateFormat|axisFormat|excludes|includes|tickInterval|todayMarker|weekday|weekend)\s+(.*)$"
)
SECTION = re.compile(r"section\s+(.*)$")
TASK = re.compile(r"([^:]+?)\s*:\s*(.*)$")
IGNORED = re.compile(r"(?:click|acc(?:Title|Descr)|inclusiveEndDates|topAxis|todayMarker|tickInterval)\b")
TAGS = frozenset(("active", "done", "crit", "milestone", "vert"))
AFTER = re.compile(r"after\s+(.+)$")
UNTIL = re.compile(r"until\s+(.+)$")
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhdwMy])$")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "M": 2_592_000, "y": 31_536_000}
"""Seconds."""
FIELDS = (
    ("YYYY", "%Y"), ("YY", "%y"), ("MMMM", "%B"), ("MMM", "%b"), ("MM", "%m"), ("DD", "%d"), ("HH", "%H"), ("mm", "%M"),
    ("ss", "%S"), ("SSS", "%f"), ("M", "%m"), ("D", "%d"), ("H", "%H"),
)  # fmt: skip
"""The words of ``dateFormat``, longest first, and what Python calls them."""
FIELD = re.compile("|".join(word for word, _ in FIELDS))
DAY = timedelta(days=1)
LONGEST_WAIT = 3_660
"""Days by which excluded days may move an end."""
SHORTEST_BAR, LONGEST_BAR = 20, 70
MOST_TASKS = 300
WEEKEND = (5, 6)
LOOKS = (("crit", "▓"), ("done", "░"), ("", "█"))


@dataclass(slots=True)
class _Task:
    section: str
    name: str
    begin: datetime
    end: datetime
    tags: frozenset[str]


@dataclass(slots=True)
class _Chart:
    title: str = ""
    format: str = "%Y-%m-%d"
    excludes: frozenset[str] = frozenset()
    tasks: list[_Task] = field(default_factory=list)


def draw_gantt(source: str, columns: int, measure: Measure) -> Drawing:
    chart = _Reader(front_title(source)).read(source)
    if not chart.tasks:
        raise DiagramError("The diagram is empty.")
    if len(chart.tasks) > MOST_TASKS:
        raise DiagramError("Too large to draw: more than 300 tasks.")
    return _drawing(chart, columns, measure)


class _Reader:
    def __init__(self, title: str) -> None:
        self._chart = _Chart(title)
        self._section = ""
        self._known: dict[str, _Task] = {}

    def read(self, source: str) -> _Chart:
        read_statements(source, self._statement)
        return self._chart

    def _statement(self, statement: Statement) -> None:
        text = statement.text
        if found := SETTING.match(text):
            self._set(found[1], found[2].strip())
        elif found := SECTION.match(text):
            self._section = label_text(found[1]).replace("\n", " ")
        elif (found := TASK.match(text)) and not IGNORED.match(text):
            try:
                self._add(label_text(found[1]).replace("\n", " "), [part.strip() for part in found[2].split(",")])
            except (ValueError, KeyError, OverflowError, re.error) as problem:  # re.error: a format with a part twice
                raise not_understood(statement) from problem
        elif not IGNORED.match(text):
            raise not_understood(statement)

    def _set(self, name: str, value: str) -> None:
        if name == "title":
            self._chart.title = label_text(value)
        elif name == "dateFormat":
            names = dict(FIELDS)
            self._chart.format = FIELD.sub(lambda found: names[found[0]], value.replace("%", "%%"))
        elif name == "excludes":
            self._chart.excludes |= frozenset(value.lower().replace(",", " ").split())

    def _add(self, name: str, parts: list[str]) -> None:
        tags = set[str]()
        while parts and parts[0] in TAGS:
            tags.add(parts.pop(0))
        id_ = parts.pop(0) if len(parts) > 2 or (len(parts) == 2 and not self._begins(parts[0])) else ""
        before = self._chart.tasks[-1].end if self._chart.tasks else None
        begin = self._begin(parts[0]) if len(parts) > 1 else before
        if begin is None or not parts:
            raise ValueError(name)
        task = _Task(self._section, name, begin, self._end(begin, parts[-1]), frozenset(tags))
        if task.end < begin:
            raise ValueError(name)
        self._chart.tasks.append(task)
        self._known[id_ or name] = task

    def _begins(self, text: str) -> bool:
        """Whether this is the beginning of a task, not its id."""
        try:
            self._begin(text)
        except ValueError:
            return False
        return True

    def _begin(self, text: str) -> datetime:
        if found := AFTER.match(text):
            ends = [self._known[id_].end for id_ in found[1].split() if id_ in self._known]
            if not ends:
                raise ValueError(text)
            return max(ends)
        return datetime.strptime(text, self._chart.format)  # noqa: DTZ007 - the days of a plan have no zone

    def _end(self, begin: datetime, text: str) -> datetime:
        if found := UNTIL.match(text):
            return min(self._known[id_].begin for id_ in found[1].split())
        found = DURATION.match(text)
        if found is None:
            return datetime.strptime(text, self._chart.format)  # noqa: DTZ007 - as above
        return self._after_excluded(begin, begin + timedelta(seconds=float(found[1]) * UNITS[found[2]]))

    def _after_excluded(self, begin: datetime, end: datetime) -> datetime:
        """The end, moved by the excluded days before it."""
        day = begin
        for _ in range(LONGEST_WAIT):
            if day >= end:
                break
            if self._is_excluded(day):
                end += DAY
            day += DAY
        return end

    def _is_excluded(self, day: datetime) -> bool:
        words = self._chart.excludes
        if "weekends" in words and day.weekday() in WEEKEND:
            return True
        return bool(words) and bool({day.strftime("%A").lower(), day.strftime(self._chart.format)} & words)


def _drawing(chart: _Chart, columns: int, measure: Measure) -> Drawing:
    canvas = Canvas(measure)
    first, last = min(task.begin for task in chart.tasks), max(task.end for task in chart.tasks)
    # A plan within two days is drawn in hours.
    shape = "%H:%M" if last - first <= 2 * DAY else "%b %d" if first.year == last.year else "%Y-%m-%d"
    names = max(measure(task.name) for task in chart.tasks) + 2
    dates = max(len(_dates(task, shape)) for task in chart.tasks)
    left = names + dates + 2
    room = max(SHORTEST_BAR, min(LONGEST_BAR, columns - left - 1))
    span = max((last - first).total_seconds(), 1.0)
    row = 0
    if chart.title:
        canvas.text(0, 0, chart.title, "title")
        row = 2
    section = ""
    for task in chart.tasks:
        if task.section != section:
            section = task.section
            canvas.text(0, row, section, "frame-title")
            row += 1
        canvas.text(2 if section else 0, row, task.name, "node")
        canvas.text(names + 1, row, _dates(task, shape), "edge")
        begin = round((task.begin - first).total_seconds() / span * room)
        end = round((task.end - first).total_seconds() / span * room)
        if "milestone" in task.tags:
            canvas.text(left + 1 + min((begin + end) // 2, room - 1), row, "◆", "arrow")
        else:
            fill = next(fill for tag, fill in LOOKS if not tag or tag in task.tags)
            canvas.text(left + 1 + min(begin, room - 1), row, fill * max(1, end - begin), "bar")
        row += 1
    begins, ends = first.strftime(shape), last.strftime(shape)
    canvas.text(left + 1, row, begins, "edge")
    canvas.text(left + 1 + max(room - len(ends), len(begins) + 1), row, ends, "edge")
    return canvas.drawing()


def _dates(task: _Task, shape: str) -> str:
    begin, end = task.begin.strftime(shape), task.end.strftime(shape)
    return begin if "milestone" in task.tags or begin == end else f"{begin} – {end}"
