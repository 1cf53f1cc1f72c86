"""Recorded conversations continued: what came back goes back where the recorded next request has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wires.continued import assembled, following_exchanges
from tui.catalog.facts import Quirks
from tui.domain.blocks import TextBlock
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
from tui.domain.thinking import PlanState, ThinkingPlan
from tui.wires.anthropic import WIRE

KEPT = ("type", "thinking", "signature", "data", "text", "id", "name", "input")


def test_every_recorded_assistant_turn_goes_back_as_recorded(shared_corpus: Path) -> None:
    compared = 0
    for response, following in following_exchanges(shared_corpus / "anthropic"):
        recorded = [message for message in following["messages"] if message["role"] == "assistant"]
        if not recorded:
            continue
        outgoing = (
            OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="q"),)),
            OutgoingMessage(role=Role.ASSISTANT, blocks=assembled(WIRE, response), in_open_loop=True),
        )
        request = ChatRequest(
            model=following["model"],
            outgoing=Outgoing(messages=outgoing),
            plan=ThinkingPlan(asked=0, nominal=None, sent=None, state=PlanState.UNCONTROLLED),
        )
        body = WIRE.encode(request, Quirks()).body
        sent = json.loads(json.dumps(body))["messages"][-1]
        assert sent["role"] == "assistant"
        assert sent["content"] == [_kept(block) for block in recorded[-1]["content"]], response
        compared += 1
    if not compared:
        pytest.skip("no continued recordings: this test proves nothing here")
    assert compared >= 8


def _kept(block: dict[str, object]) -> dict[str, object]:
    """Without cache markers, which are the recorder's own."""
    return {key: value for key, value in block.items() if key in KEPT}
