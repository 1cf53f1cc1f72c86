"""Format the events of an answer as lines: one for each event, or for each run of deltas of one block."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from tui.domain.stream import StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LONGEST = 300
"""Characters shown of an event: images and signatures are cut."""
DELTAS = (TextDelta, ThinkingDelta, ToolArgsDelta)
NAME = 20
TimedEvent = tuple[float, StreamEvent]


def format_events(events: Iterable[TimedEvent]) -> tuple[str, ...]:
    """Lines with the time, name and content of each event."""
    lines: list[str] = []
    for _, group in groupby(enumerate(events), _run):
        run = [event for _, event in group]
        first, event = run[0]
        if isinstance(event, DELTAS):
            text = "".join(delta.text for _, delta in run if isinstance(delta, DELTAS))
            count = f" × {len(run)}" if len(run) > 1 else ""
            lines.append(_line(first, _name(event) + count, repr(text), run[-1][0]))
        else:
            lines.append(_line(first, _name(event), _inside(event)))
    return tuple(lines)


def _run(numbered: tuple[int, TimedEvent]) -> tuple[object, ...]:
    number, (_, event) = numbered
    return (type(event), event.index) if isinstance(event, DELTAS) else (number,)


def _name(event: StreamEvent) -> str:
    """``ThinkingDelta`` becomes ``thinking delta``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).lower()


def _inside(event: DataclassInstance) -> str:
    """The fields, including those of nested events; empty ones are omitted."""
    parts = []
    for field in fields(event):
        value = getattr(event, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            parts.append(_inside(value))
        elif value is not None and value is not False:
            parts.append(f"{field.name}={value!s}")
    return "  ".join(parts)


def _line(first: float, name: str, content: str, last: float | None = None) -> str:
    until = f"–{last:.2f}" if last is not None and f"{last:.2f}" != f"{first:.2f}" else ""
    return f"{f'{first:.2f}{until} s'.rjust(13)}  {name.ljust(NAME)}  {content}"[:LONGEST]
