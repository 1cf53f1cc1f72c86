"""Frames of made-up Anthropic streams, and what a decoder makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tui.catalog.facts import Quirks
from tui.domain.assemble import Assembler
from tui.domain.stream import StreamEvent
from tui.wires.anthropic import WIRE

STOPPED = {"type": "message_stop"}


def frame(event: object) -> tuple[str, bytes]:
    return "", event if isinstance(event, bytes) else json.dumps(event).encode()


def start(**message: object) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "claude", **message}}


def block(index: int, /, **content: object) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, kind: str, **fields: object) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str | None, **delta_fields: object) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, **delta_fields}}


def events_of(events: Iterable[object], quirks: Quirks | None = None) -> list[StreamEvent]:
    decoder = WIRE.decoder(quirks or Quirks())
    said = [event for each in events for event in decoder.feed(frame(each))]
    return [*said, *decoder.finish()]


def assembled(events: Iterable[object], quirks: Quirks | None = None) -> Assembler:
    assembler = Assembler()
    for event in events_of(events, quirks):
        assembler.feed(event)
    return assembler
