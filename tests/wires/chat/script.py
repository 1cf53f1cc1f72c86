"""Small words for tests of the Chat wire: chunks in, blocks and events out; messages in, a body out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tui.catalog.facts import Quirks
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block, TextBlock
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage, ToolSchema
from tui.domain.stream import StreamEvent
from tui.domain.thinking import PlanState, ThinkingPlan
from tui.wires.openai_chat import WIRE

DONE = ("", b"[DONE]")
OFF = ThinkingPlan(asked=0, nominal=None, sent=None, state=PlanState.UNCONTROLLED)
WEATHER = ToolSchema(
    name="weather",
    description="Says how the weather is",
    parameters={"type": "object", "properties": {"place": {"type": "string"}}},
)


def frame(value: object, name: str = "") -> tuple[str, bytes]:
    return name, json.dumps(value).encode()


def chunk(delta: object, finish: str | None = None, **more: object) -> tuple[str, bytes]:
    """One streamed chunk of choice 0."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return frame({"id": "c1", "model": "m", "choices": [choice], **more})


def events_of(frames: Iterable[tuple[str, bytes]], quirks: Quirks | None = None) -> list[StreamEvent]:
    decoder = WIRE.decoder(quirks or Quirks())
    events = [event for one in frames for event in decoder.feed(one)]
    return [*events, *decoder.finish()]


def assembled(events: Iterable[StreamEvent]) -> Assembler:
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler


def blocks_of(*frames: tuple[str, bytes], quirks: Quirks | None = None) -> tuple[Block, ...]:
    """The blocks of a stream that ends well with these frames, ``stop`` and the end marker."""
    return assembled(events_of([*frames, chunk({}, "stop"), DONE], quirks)).blocks()


def blocks_of_deltas(*deltas: object, quirks: Quirks | None = None) -> tuple[Block, ...]:
    return blocks_of(*map(chunk, deltas), quirks=quirks)


def user(text: str) -> OutgoingMessage:
    return OutgoingMessage(role=Role.USER, blocks=(TextBlock(text=text),))


def assistant(*blocks: Block) -> OutgoingMessage:
    return OutgoingMessage(role=Role.ASSISTANT, blocks=blocks)


def results(*blocks: Block) -> OutgoingMessage:
    return OutgoingMessage(role=Role.TOOL, blocks=blocks)


def body_of(*messages: OutgoingMessage, quirks: Quirks | None = None, **request: Any) -> dict[str, Any]:
    """The body of a request with these messages, as it goes on the wire."""
    request.setdefault("plan", OFF)
    spelled = ChatRequest(model="m", outgoing=Outgoing(messages=messages), **request)
    body: dict[str, Any] = json.loads(json.dumps(WIRE.encode(spelled, quirks or Quirks()).body))
    return body


def messages_of(*messages: OutgoingMessage, quirks: Quirks | None = None) -> list[dict[str, Any]]:
    spelled: list[dict[str, Any]] = body_of(*messages, quirks=quirks)["messages"]
    return spelled
