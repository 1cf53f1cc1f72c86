"""Arguments of a Gemini tool call that come in pieces by JSON path, put together again."""

from __future__ import annotations

import itertools
import re

from tui.wires.read import Json, children, text

STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,6})\]|\[\s*'([^']*)'\s*\]|\[\s*\"([^\"]*)\"\s*\]")
MAX_STEPS = 64
MAX_ITEMS = 10_000
"""A list longer than this in a tool call is a bug; an index past it would make us fill memory with nothing."""
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")

Step = str | int


def put_pieces(arguments: dict[str, object], call: Json) -> None:
    """Put the pieces of one ``functionCall`` into the arguments so far; strings grow, other values are set."""
    for piece in children(call, "partialArgs"):
        steps = _steps(text(piece, "jsonPath"))
        name = next((name for name in VALUES if name in piece), None)
        if steps and isinstance(steps[0], str) and name is not None:
            _put(arguments, steps, None if name == "nullValue" else piece[name])


def _steps(path: str) -> list[Step]:
    """``$.a[0].b`` as its steps; empty where it is no such path."""
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


def _put(arguments: dict[str, object], steps: list[Step], value: object) -> None:
    here: object = arguments
    for step, following in itertools.pairwise(steps):
        inner = _at(here, step)
        if not isinstance(inner, list if isinstance(following, int) else dict):
            inner = [] if isinstance(following, int) else {}
            if not _set(here, step, inner):
                return
        here = inner
    before = _at(here, steps[-1])
    grown = before + value if isinstance(before, str) and isinstance(value, str) else value
    _set(here, steps[-1], grown)


def _at(container: object, step: Step) -> object:
    if isinstance(container, dict):
        return container.get(step)
    if isinstance(container, list) and isinstance(step, int) and step < len(container):
        return container[step]
    return None


def _set(container: object, step: Step, value: object) -> bool:
    if isinstance(container, dict) and isinstance(step, str):
        container[step] = value
        return True
    if isinstance(container, list) and isinstance(step, int) and step < MAX_ITEMS:
        container.extend([None] * (step + 1 - len(container)))
        container[step] = value
        return True
    return False
