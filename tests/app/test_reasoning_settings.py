"""``reasoning.enabled`` and ``reasoning.format`` do on the wire what the settings page says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.app.stage import config, house
from tests.catalog.asking import CATALOG, planned
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.thinking import PlanState, ThinkingForm, ThinkingLevel

KEY = "sk-test-0123456789abcdef0123456789"
ANSWER: list[Step] = [{"say": "text", "text": "Because."}, {"end": True}]
NAMES = [f"{p}/{facts.id}" for p in CATALOG.providers() for facts in CATALOG.models(p)]


@pytest.mark.parametrize("name", NAMES)
def test_disabled_is_the_request_of_none_whatever_the_level(name: str) -> None:
    none = planned(name, ThinkingLevel.NONE)
    for asked in (*ThinkingLevel, 20_000):
        off = planned(name, asked, enabled=False)
        assert (off.fields, off.state, off.level) == (none.fields, none.state, none.level)
        assert not off.thinks or off.warnings or off.state is PlanState.UNCONTROLLED


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("model", "path", "value"),
    [
        ("anthropic/claude-sonnet-4-5/high", ("thinking",), {"type": "disabled"}),
        ("deepseek/deepseek-v4-pro/high", ("thinking", "type"), "disabled"),
        ("openai/gpt-5.5/high", ("reasoning", "effort"), "none"),
        ("openai/gpt-5/high", ("reasoning", "effort"), "minimal"),
    ],
)
async def test_disabled_on_the_screen_is_disabled_on_the_wire(
    tmp_path: Path, model: str, path: tuple[str, ...], value: object
) -> None:
    provider = model.partition("/")[0]
    wires = {"anthropic": "anthropic", "openai": "openai-responses", "deepseek": "openai-chat"}
    async with FaultServer([ANSWER], wire=wires[provider], honest=True) as server:
        config(tmp_path, f'[providers.{provider}]\nbase_url = "{server.url}"\n')
        async with screen(tmp_path, model=model, environment={f"{provider.upper()}_API_KEY": KEY}) as s:
            await s.enter("/set reasoning.enabled false")
            await s.ask("Why?")
            body: object = server.seen[0].json
            for name in path:
                body = body.get(name) if isinstance(body, dict) else None
            assert body == value
            level = s.house.view().plan.level
            assert f"{model.split('/')[1]} · {level}" in s.text().splitlines()[-2]
            assert level in ("off", "minimal", "none")
            await s.enter("/unset reasoning.enabled")
            await s.until_it_says(f"{model.split('/')[1]} · high")


def thought_elsewhere() -> Turn:
    origin = Origin(provider="zai", wire=WireName.OPENAI_CHAT, host="api.z.ai", model="glm-4.7", level="on")
    thinking = ThinkingBlock(text="SCATTERED LIGHT", form=ThinkingForm.FULL, wire_field="reasoning_content")
    return Turn(
        id="t1",
        messages=(
            Message(id="u1", role=Role.USER, blocks=(TextBlock(text="Why?"),)),
            Message(id="a1", role=Role.ASSISTANT, blocks=(thinking, TextBlock(text="So.")), origin=origin),
        ),
    )


@pytest.mark.parametrize(
    "model", ["deepseek/deepseek-v4-pro/high", "openai/gpt-5.5/high", "anthropic/claude-opus-4-5/low"]
)
@pytest.mark.parametrize("format_", ["auto", "native", "field"])
async def test_thinking_of_another_provider_goes_only_where_format_is_field(
    tmp_path: Path, model: str, format_: str
) -> None:
    provider = model.partition("/")[0]
    wires = {"anthropic": "anthropic", "openai": "openai-responses", "deepseek": "openai-chat"}
    async with FaultServer([ANSWER], wire=wires[provider], honest=True) as server:
        config(tmp_path, f'[providers.{provider}]\nbase_url = "{server.url}"\n')
        keys = {f"{provider.upper()}_API_KEY": KEY}
        async with house(tmp_path, model=model, environment=keys, stored=(thought_elsewhere(),)) as h:
            await h.services.settings.assign("reasoning.format", format_)
            await h.say("And?")
        sent = json.dumps(server.seen[0].json)
    assert ("SCATTERED LIGHT" in sent) == (format_ == "field")
    if format_ == "field" and provider == "deepseek":
        messages = server.seen[0].json["messages"]
        assert isinstance(messages, list)
        assert messages[1]["reasoning_content"] == "SCATTERED LIGHT"
