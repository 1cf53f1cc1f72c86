"""Puts together the arguments of a call that come in pieces, each with the path of the value it belongs to."""

from __future__ import annotations

import itertools
import re

from tui.wires.json_text import Json, children, dumps, text

STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,6})\]|\[\s*'([^']*)'\s*\]|\[\s*\"([^\"]*)\"\s*\]")
MAX_STEPS = 64
MAX_ITEMS = 100_000
"""Most objects and lists, and elements of lists, that paths may make in one call. A path of ten letters can ask for a
hundred thousand empty elements, and a next one for as many again; without a limit that fills the memory."""
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")

Step = str | int


class _LongText:
    """A string that comes in pieces; to add each to what came before would copy all of it every time."""

    def __init__(self, container: object, step: Step, *pieces: str) -> None:
        self.place = container, step
        self.pieces = [*pieces]


class PartialArguments:
    """The arguments of one call."""

    def __init__(self) -> None:
        self._arguments: dict[str, object] = {}
        self._long_texts: list[_LongText] = []
        self._made = 0

    def set_whole(self, arguments: Json) -> None:
        """Take arguments that are complete."""
        self._arguments.update(arguments)

    def add(self, call: Json) -> None:
        """Take the ``partialArgs`` of a ``functionCall``: strings are appended, other values set."""
        for piece in children(call, "partialArgs"):
            steps = _steps(text(piece, "jsonPath"))
            name = next((name for name in VALUES if name in piece), None)
            if steps and isinstance(steps[0], str) and name is not None:
                self._put(steps, None if name == "nullValue" else piece[name])

    def json(self) -> str:
        """All of them, as the text of an object."""
        for long in self._long_texts:
            if _at(*long.place) is long:
                self._set(*long.place, "".join(long.pieces))
        self._long_texts.clear()
        return dumps(self._arguments)

    def _put(self, steps: list[Step], value: object) -> None:
        here: object = self._arguments
        for step, following in itertools.pairwise(steps):
            inner = _at(here, step)
            if not isinstance(inner, list if isinstance(following, int) else dict):
                inner = [] if isinstance(following, int) else {}
                if self._made >= MAX_ITEMS or not self._set(here, step, inner):
                    return
                self._made += 1
            here = inner
        before = _at(here, steps[-1])
        if not isinstance(value, str) or not isinstance(before, str | _LongText):
            self._set(here, steps[-1], value)
        elif isinstance(before, _LongText):
            before.pieces.append(value)
        else:
            self._long_texts.append(_LongText(here, steps[-1], before, value))
            self._set(here, steps[-1], self._long_texts[-1])

    def _set(self, container: object, step: Step, value: object) -> bool:
        if isinstance(container, dict) and isinstance(step, str):
            container[step] = value
            return True
        if isinstance(container, list) and isinstance(step, int):
            more = step + 1 - len(container)
            if more > 0:
                if self._made + more > MAX_ITEMS:
                    return False
                self._made += more
                container.extend([None] * more)
            container[step] = value
            return True
        return False


def _steps(path: str) -> list[Step]:
    """Split a path such as ``$.a[0].b`` into its steps; empty if it is not such a path."""
    steps: list[Step] = []
    position = 1 if path.startswith("$") else 0
    while position < len(path) and len(steps) < MAX_STEPS:
        found = STEP.match(path, position)
        if found is None:
            return []
        name = found[1] if found[1] is not None else found[3] if found[3] is not None else found[4]
        steps.append(name if found[2] is None else int(found[2]))
        position = found.end()
    return steps if position >= len(path) else []


def _at(container: object, step: Step) -> object:
    if isinstance(container, dict):
        return container.get(step)
    if isinstance(container, list) and isinstance(step, int) and step < len(container):
        return container[step]
    return None
