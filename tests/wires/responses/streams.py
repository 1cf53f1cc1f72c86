"""Small Responses streams, spelled by hand, and what they decode to."""

from __future__ import annotations

import json

from tui.catalog.facts import Quirks
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block
from tui.domain.stream import StreamEvent
from tui.wires.openai_responses import WIRE
from tui.wires.wire import Decoder


def event(kind: str, **fields: object) -> dict[str, object]:
    return {"type": f"response.{kind}", **fields}


def added(item: dict[str, object], at: int = 0) -> dict[str, object]:
    return event("output_item.added", output_index=at, item=item)


def done(item: dict[str, object], at: int = 0) -> dict[str, object]:
    return event("output_item.done", output_index=at, item=item)


def words(piece: str, at: int = 0, part: int = 0) -> dict[str, object]:
    return event("output_text.delta", output_index=at, content_index=part, delta=piece)


def completed(*output: dict[str, object], **fields: object) -> dict[str, object]:
    return event("completed", response={"status": "completed", "output": list(output), **fields})


def message(*parts: str, **fields: object) -> dict[str, object]:
    content = [{"type": "output_text", "text": part, "annotations": []} for part in parts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **fields}


def reasoning(*summary: str, **fields: object) -> dict[str, object]:
    parts = [{"type": "summary_text", "text": part} for part in summary]
    return {"type": "reasoning", "id": "rs_1", "summary": parts, **fields}


def call(arguments: str, **fields: object) -> dict[str, object]:
    return {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "read",
        "arguments": arguments,
        **fields,
    }


def fed(*events: dict[str, object]) -> tuple[Decoder, list[StreamEvent]]:
    decoder = WIRE.decoder(Quirks())
    return decoder, [made for one in events for made in decoder.feed(("", json.dumps(one).encode()))]


def blocks(*events: dict[str, object]) -> tuple[Block, ...]:
    assembler = Assembler()
    for made in fed(*events)[1]:
        assembler.feed(made)
    return assembler.blocks()
