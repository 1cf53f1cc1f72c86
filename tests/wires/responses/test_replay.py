"""What a recorded exchange sent back, against what we would send back after the same answer."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.validators.responses import problems
from tui.catalog.facts import Quirks
from tui.cli.wire.decode import decoded
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
from tui.domain.thinking import PlanState, ThinkingLevel, ThinkingPlan
from tui.wires.openai_responses import WIRE

PLAN = ThinkingPlan(asked=ThinkingLevel.MED, nominal="medium", sent="medium", state=PlanState.ON)


def replayed(shared_corpus: Path) -> list[tuple[str, Path, Path]]:
    found = []
    for meta in sorted((shared_corpus / "openai-responses").glob("*/meta.json")):
        if "reasoning-replay" in json.loads(meta.read_text("utf-8"))["tags"]:
            folders = sorted(folder for folder in meta.parent.iterdir() if folder.is_dir())
            found += [(meta.parent.name, *pair) for pair in pairwise(folders)]
    return found


def answer(folder: Path) -> tuple[Block, ...]:
    assembler = Assembler()
    for event in decoded(WIRE, Quirks(), next(folder.glob("response.*")).read_bytes()).events:
        assembler.feed(event)
    return assembler.blocks()


def continued(blocks: tuple[Block, ...]) -> dict[str, Any]:
    results = tuple(
        ToolResultBlock(call_id=block.call_id, name=block.name, content=(TextBlock(text="ok"),))
        for block in blocks
        if isinstance(block, ToolCallBlock)
    )
    next_message = OutgoingMessage(role=Role.TOOL, blocks=results)
    if not results:
        next_message = OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="go on"),))
    messages = (
        OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="hi"),)),
        OutgoingMessage(role=Role.ASSISTANT, blocks=blocks),
        next_message,
    )
    request = ChatRequest(model="m", outgoing=Outgoing(messages=messages), plan=PLAN)
    body: dict[str, Any] = json.loads(json.dumps(WIRE.encode(request, Quirks()).body))
    return body


def test_every_recorded_reasoning_item_goes_back_as_it_came(shared_corpus: Path) -> None:
    compared = 0
    for name, before, after in replayed(shared_corpus):
        recorded = json.loads((after / "request.json").read_text("utf-8"))["body"]["input"]
        body = continued(answer(before))
        kinds = ("reasoning", "function_call")
        ours = [item for item in body["input"] if item.get("type") in kinds]
        theirs = [item for item in recorded if item.get("type") in kinds][-len(ours) :]
        assert [item["type"] for item in ours] == [item["type"] for item in theirs], name
        for mine, sent in zip(ours, theirs, strict=True):
            if mine["type"] == "function_call":
                assert (mine["call_id"], mine["name"]) == (sent["call_id"], sent["name"]), name
                continue
            assert mine == {"type": "reasoning", "id": sent.get("id", mine["id"]), **sent}, name
            compared += 1
        assert problems(body) == [], name
    assert compared >= 10


@pytest.mark.parametrize("item_ids", [True, False])
def test_ids_stay_behind_where_the_server_does_not_know_them(shared_corpus: Path, *, item_ids: bool) -> None:
    case = (
        shared_corpus / "openai-responses" / "rig--openai-responses-sessions-reasoning-session-two-tool-calls-streaming"
    )
    message = OutgoingMessage(role=Role.ASSISTANT, blocks=answer(case / "01"))
    request = ChatRequest(model="m", outgoing=Outgoing(messages=(message,)), plan=PLAN)
    sent = WIRE.encode(request, Quirks(item_ids=item_ids)).body["input"]
    assert isinstance(sent, list)
    assert {"id" in item for item in sent} == {item_ids}
