"""What is set and not sent is said, on every wire; what is sent is not talked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import house
from tests.fakes.planner import PLAN
from tui.catalog.catalog import effective_quirks, packaged_catalog
from tui.context.wire_rules import dropped_settings
from tui.domain.events import Notice
from tui.domain.request import ChatRequest, Outgoing

BOTH = ["generation.temperature", "generation.topP"]


@pytest.mark.parametrize(
    ("model", "left_out"),
    [
        ("anthropic/claude-opus-5", BOTH),
        ("openai/gpt-5.6-sol", BOTH),
        ("mistral/mistral-large-latest", []),
        ("google/gemini-2.5-pro", []),
        ("ollama/qwen3:8b", []),
    ],
)
def test_what_the_encoder_leaves_out_is_named(model: str, left_out: list[str]) -> None:
    catalog = packaged_catalog()
    provider, _, name = model.partition("/")
    facts = catalog.find(provider, name)
    request = ChatRequest(model=name, outgoing=Outgoing(messages=()), plan=PLAN, temperature=0.2, top_p=0.9)
    said = list(dropped_settings(request, facts.wire, effective_quirks(catalog.provider(provider), facts)))
    assert said == [f"`{key}` is not sent: {name} does not accept it at this thinking level." for key in left_out]


async def test_setting_a_temperature_that_the_model_refuses_says_so_at_once_and_with_the_turn(tmp_path: Path) -> None:
    async with house(tmp_path, model="demo/demo/high") as h:
        said = await h.services.settings.assign("generation.temperature", "0.2")
        heard = [event.text for event in await h.say("Hello") if isinstance(event, Notice)]
    sentence = "`generation.temperature` is not sent: demo does not accept it at this thinking level."
    assert said == f"generation.temperature = 0.2 — {sentence}"
    assert [text for text in heard if "temperature" in text] == [sentence]
