"""Diagrams among the code blocks: drawn on a thread, shown when they are ready."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from tui.domain.fast_dataclass import dataclass
from tui.typeset.drawing import Drawing
from tui.ui.markdown.chunks import DIAGRAM_LIMITS, Chunk, is_diagram, is_too_long
from tui.ui.markdown.row_breaks import cut_row
from tui.ui.markdown.runs import CODE_EDGE, Line, Look, Run, width_of
from tui.ui.thread_switching import frequent_thread_switches

LOG = logging.getLogger(__name__)
KEPT = 64
"""Drawings that are remembered."""
INDENT: Line = [Run("  ", CODE_EDGE)]
ROLES = {
    "": ("code", Look.PLAIN),
    "node": ("code", Look.PLAIN),
    "title": ("code", Look.BOLD),
    "label": ("inline-code", Look.PLAIN),
    "note": ("code", Look.ITALIC),
    "border": ("muted", Look.PLAIN),
    "edge": ("muted", Look.PLAIN),
    "arrow": ("accent", Look.PLAIN),
    "bar": ("accent", Look.PLAIN),
    "frame": ("muted", Look.PLAIN),
    "frame-title": ("heading", Look.PLAIN),
}
"""How the parts of a drawing look."""


class Request(NamedTuple):
    source: str
    columns: int


class Drawings:
    """Draws diagrams on a thread of its own. A later request for the same place replaces one that waits."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._waiting: dict[Hashable, Request] = {}
        self._known: dict[Request, Drawing | str] = {}
        self._listeners: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def find(self, request: Request) -> Drawing | str | None:
        """The drawing, or why there is none; None if it is not drawn yet."""
        return self._known.get(request)

    def ask(self, place: Hashable, request: Request) -> None:
        """Draw this for a place, and tell the listeners."""
        with self._lock:
            self._waiting.pop(place, None)
            self._waiting[place] = request
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="diagrams", daemon=True)
                with suppress(RuntimeError):  # the system allows no more threads: the next diagram tries again
                    thread.start()
                    self._thread = thread
            self._lock.notify()

    def listen(self, heard: Callable[[], None]) -> None:
        """Call this, on the thread, after each drawing."""
        self._listeners.append(heard)

    def forget(self, heard: Callable[[], None]) -> None:
        if heard in self._listeners:
            self._listeners.remove(heard)

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._waiting:
                    self._lock.wait()
                _, request = self._waiting.popitem()
            found = self._known.get(request)
            drawn = found if found is not None else self._drawn(request)
            with self._lock:
                self._known[request] = drawn
                while len(self._known) > KEPT:
                    del self._known[next(iter(self._known))]
            for heard in [*self._listeners]:
                heard()

    def _drawn(self, request: Request) -> Drawing | str:
        with frequent_thread_switches():  # a layout is pure Python
            return _draw(request)


def _draw(request: Request) -> Drawing | str:
    # Imported here, on the thread: few conversations have diagrams.
    from tui.typeset.diagrams.diagram import draw
    from tui.typeset.diagrams.graph import DiagramError

    try:
        return draw(request.source, request.columns, width_of)
    except DiagramError as problem:
        return str(problem)
    except Exception:  # boundary of a diagram: an error in its layout must not end the thread
        LOG.exception("a diagram could not be drawn")
        return "The diagram could not be drawn."


@cache
def drawings() -> Drawings:
    """The drawings of all texts of the program."""
    return Drawings()


@dataclass(slots=True)
class _Shown:
    wanted: Request
    drawing: Drawing | None = None
    problem: str = ""
    is_waiting: bool = False


class DiagramRows:
    """The diagrams of one text. While one changes, its last drawing stays."""

    def __init__(self) -> None:
        self._shown: dict[int, _Shown] = {}
        self.as_source = False
        """Show the sources instead."""

    def lines(self, index: int, chunk: Chunk, width: int, sideways: int | None) -> list[Line] | None:
        """The rows of a drawing below the head; None if the chunk is no diagram or there is no drawing."""
        if self.as_source or not is_diagram(chunk):
            return None
        room = max(4, width - 4)
        drawing = self._drawing(index, Request(chunk.source, room), growing=False)
        return _rows(drawing, room, sideways) if drawing is not None else None

    def open_lines(
        self, index: int, chunk: Chunk, whole: Sequence[str], width: int, sideways: int | None
    ) -> list[Line] | None:
        """The same while the source arrives; its last line is complete only with the next one."""
        if self.as_source or not is_diagram(chunk):
            return None
        room = max(4, width - 4)
        drawing = self._drawing(index, Request("\n".join(whole), room), growing=True)
        return _rows(drawing, room, sideways) if drawing is not None else None

    def problem(self, index: int, chunk: Chunk) -> str:
        """Why a diagram is shown as its source."""
        if self.as_source:
            return ""
        if is_too_long(chunk):
            return f"Too large to draw: more than {DIAGRAM_LIMITS[0]:,} lines or {DIAGRAM_LIMITS[1]:,} characters."
        shown = self._shown.get(index)
        return shown.problem if shown is not None and is_diagram(chunk) else ""

    def ready(self) -> list[int]:
        """The chunks that wait for a drawing that now exists."""
        return [
            index
            for index, shown in self._shown.items()
            if shown.is_waiting and drawings().find(shown.wanted) is not None
        ]

    def _drawing(self, index: int, request: Request, *, growing: bool) -> Drawing | None:
        shown = self._shown.setdefault(index, _Shown(request))
        found = drawings().find(request)
        if found is None and not (shown.is_waiting and shown.wanted == request):
            drawings().ask((id(self), index), request)
        shown.wanted, shown.is_waiting = request, found is None
        if isinstance(found, Drawing):
            shown.drawing, shown.problem = found, ""
        elif found is not None and not growing:
            shown.drawing, shown.problem = None, found
        return shown.drawing


def _rows(drawing: Drawing, room: int, sideways: int | None) -> list[Line]:
    lines: list[Line] = []
    for row in drawing.rows:
        line = [Run(span.text, *ROLES.get(span.role, ROLES[""])) for span in row]
        while line and not line[-1].text.strip():
            line.pop()  # a mark at the edge tells that something goes on there
        lines.append([*INDENT, *cut_row(line, sideways or 0, room)])
    return lines
