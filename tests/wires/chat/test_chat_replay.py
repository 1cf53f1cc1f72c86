"""What a recorded client sent back, we send back: thinking fields, details, signatures, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_CORPUS
from tests.wires.chat.script import assembled, assistant, messages_of
from tui.catalog.facts import Quirks
from tui.domain.assemble import Assembler
from tui.wires.framing.body import BodyReader
from tui.wires.openai_chat import WIRE

DETAILS = Quirks(thinking_back="reasoning_details")
CONTENT = Quirks(thinking_back="reasoning_content")
QUIRKS = {"openrouter": DETAILS, "vercel-gateway": DETAILS}
LOST_BY_RECORDER = {
    # The recorded client dropped the first piece of every streamed details array, or its text altogether.
    "fantasy--testopenroutercommon-glm-multi-tool-streaming",
    "fantasy--testopenroutercommon-glm-tool-streaming",
    "fantasy--testopenroutercommon-kimi-multi-tool-streaming",
    "fantasy--testopenroutercommon-kimi-tool-streaming",
}
OPAQUE = ("signature", "data")
"""Fields of a detail that only the server can read; words may have been re-spelled by the recorded client."""


def replay_cases() -> list[Path]:
    return [
        meta.parent
        for meta in sorted(SHARED_CORPUS.glob("openai-chat/*/meta.json"))
        if "reasoning-replay" in json.loads(meta.read_text("utf-8"))["tags"]
    ]


def answer_of(exchange: Path) -> Assembler:
    body = next(exchange.glob("response.*"))
    reader = BodyReader(WIRE, WIRE.decoder(Quirks()))
    return assembled([*reader.feed(body.read_bytes()), *reader.finish()])


def replayed(case: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """For each exchange but the last: the assistant message as recorded in the next request, and ours."""
    quirks = QUIRKS.get(json.loads((case / "meta.json").read_text("utf-8"))["provider"], CONTENT)
    pairs = []
    for before in sorted(case.glob("[0-9]*"))[:-1]:
        following = json.loads((case / f"{int(before.name) + 1:02}" / "request.json").read_text("utf-8"))
        recorded = [message for message in following["body"]["messages"] if message["role"] == "assistant"]
        (ours,) = messages_of(assistant(*answer_of(before).blocks()), quirks=quirks)
        pairs.append((recorded[-1], ours))
    return pairs


def call_of(call: dict[str, Any]) -> tuple[str, str, object]:
    """Some recorded clients parse arguments and spell them anew, so their value is compared."""
    return call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])


CASES = replay_cases()


def test_there_are_recordings_to_replay(shared_corpus):
    assert len(CASES) >= 46


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_thinking_field_goes_back_as_it_came(case):
    for recorded, ours in replayed(case):
        for field in ("reasoning_content", "reasoning"):
            if field in recorded:
                assert ours[field] == recorded[field]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_opaque_detail_goes_back_as_it_came(case):
    for recorded, ours in replayed(case):
        wanted = [detail[key] for detail in recorded.get("reasoning_details", ()) for key in OPAQUE if detail.get(key)]
        sent = [detail[key] for detail in ours.get("reasoning_details", ()) for key in OPAQUE if detail.get(key)]
        assert [state for state in sent if state in wanted] == wanted


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_words_of_details_go_back_as_they_came(case):
    for recorded, ours in replayed(case):
        words = "".join(
            detail.get("text") or detail.get("summary") or "" for detail in recorded.get("reasoning_details", ())
        )
        sent = "".join(
            detail.get("text") or detail.get("summary") or "" for detail in ours.get("reasoning_details", ())
        )
        if case.name in LOST_BY_RECORDER:
            assert sent.endswith(words.lstrip())
        elif words:
            assert sent == words


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tool_calls_go_back_as_they_came(case):
    for recorded, ours in replayed(case):
        assert [call_of(call) for call in ours["tool_calls"]] == [call_of(call) for call in recorded["tool_calls"]]


def test_a_signed_detail_goes_back_whole(shared_corpus):
    case = shared_corpus / "openai-chat" / "fantasy--testopenrouterthinking-anthropic-thinking-streaming"
    ((recorded, ours),) = replayed(case)
    assert ours["reasoning_details"] == recorded["reasoning_details"]
    assert len(ours["reasoning_details"][0]["signature"]) == 752
