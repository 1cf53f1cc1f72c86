"""Streams framed by hand: events without the blank line between them, chunks on lines without ``data:``.

By the letter the first is one event that never ended and the second is no stream at all. They are only read so where
every line by itself is JSON, which no honest event and no honest body of several lines is.
"""

from __future__ import annotations

from tui.wires.json_text import NotJSON, loads
from tui.wires.wire import Frame

DONE = b"[DONE]"


def unseparated_events(unterminated: bytes) -> list[Frame]:
    """The events of a stream whose blank lines were forgotten; none where it was one event, or a part of one."""
    frames: list[Frame] = []
    name = ""
    if b"\ndata:" not in unterminated:
        return frames
    for line in unterminated.splitlines():
        field, _, value = line.partition(b":")
        if field == b"event":
            name = value.strip().decode("utf-8", "replace")
        elif field == b"data":
            frames.append((name, value.strip()))
            name = ""
    whole = [frame for frame in frames if _is_json(frame[1])]
    # One line is what a cut stream ends with; and only the last one may be cut.
    return whole if len(frames) > 1 and len(whole) >= len(frames) - 1 and whole == frames[: len(whole)] else []


def bare_lines(body: bytes) -> list[Frame]:
    """The chunks of a body that is one JSON object per line; none where it is anything else."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    return [("", line) for line in lines] if len(lines) > 1 and all(map(_is_json, lines)) else []


def _is_json(text: bytes) -> bool:
    if text == DONE:
        return True
    try:
        return isinstance(loads(text), dict)
    except NotJSON:
        return False
