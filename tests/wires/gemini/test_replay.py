"""Recorded conversations continued: what came back goes back where the recorded next request has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.wires.continued import assembled, following_exchanges
from tui.catalog.facts import Quirks
from tui.domain.blocks import TextBlock
from tui.domain.messages import Origin, Role, WireName
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
from tui.domain.thinking import PlanState, ThinkingPlan
from tui.wires.gemini import WIRE

ORIGIN = Origin(provider="google", wire=WireName.GEMINI, host="h", model="m")


def test_every_recorded_signature_goes_back_on_its_own_part(shared_corpus: Path) -> None:
    signatures = 0
    for response, following in following_exchanges(shared_corpus / "gemini"):
        recorded = [content["parts"] for content in following["contents"] if content["role"] == "model"]
        if not recorded:
            continue
        outgoing = (
            OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="q"),)),
            OutgoingMessage(role=Role.ASSISTANT, blocks=assembled(WIRE, response), origin=ORIGIN),
        )
        request = ChatRequest(
            model="m",
            outgoing=Outgoing(messages=outgoing),
            plan=ThinkingPlan(asked=0, nominal=None, sent=None, state=PlanState.UNCONTROLLED),
        )
        parts = json.loads(json.dumps(WIRE.encode(request, Quirks(skip_signature="")).body["contents"]))[-1]["parts"]
        given_ids = any("id" in part.get("functionCall", {}) for part in parts)
        expected = _marked(recorded[-1], ids=given_ids)
        assert _marked(parts, ids=given_ids) == expected, response
        signatures += sum("thoughtSignature" in part for part in expected)
    if not signatures:
        pytest.skip("no continued recordings: this test proves nothing here")
    assert signatures >= 15


def _marked(parts: list[dict[str, Any]], *, ids: bool) -> list[dict[str, Any]]:
    """Calls and signed parts; recorders left thought texts out, and made up ids where Google gave none."""
    marked = []
    for part in parts:
        if "functionCall" not in part and "thoughtSignature" not in part:
            continue
        kept = {key: value for key, value in part.items() if key != "thought"}
        if "functionCall" in part and not ids:
            kept["functionCall"] = {key: value for key, value in part["functionCall"].items() if key != "id"}
        marked.append(kept)
    return marked
