"""``/tools`` and the meter count the same definitions with the same function, for the model in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.counting_server import CountingServer, ErrorResponse
from tests.app.stage import House, config, house
from tests.narrow import expect_some
from tui.domain.usage import Part

MODELS = ["demo/fast", "anthropic/claude-opus-5", "openai/gpt-5.4", "google/gemini-3.8-flash", "ollama/qwen3"]


async def agree(h: House) -> int:
    """The tokens of all definitions, after it was compared on both sides."""
    metered = (await h.meter()).parts[Part.TOOLS]
    sent = h.services.tools.tools_sent()
    assert sent.tokens == metered == expect_some(h.view().meter).parts[Part.TOOLS]
    single = sum(row.tokens for row in h.services.tools.tools() if row.enabled)
    if sent.why_none:
        assert metered == 0
    else:
        assert single + sent.shared == pytest.approx(metered, abs=len(h.services.tools.tools()))
    return metered


@pytest.mark.parametrize("model", MODELS)
async def test_the_rows_add_up_to_what_the_meter_says(tmp_path: Path, model: str) -> None:
    async with house(tmp_path, model=model, tools=True) as h:
        before = await agree(h)
        weight = {row.name: row.tokens for row in h.services.tools.tools()}["shell"]
        await h.services.tools.enable_tool("shell", enabled=False)
        assert before - await agree(h) == pytest.approx(weight, abs=2)
        await h.services.models.set_model("demo/fast")
        await agree(h)


async def test_they_agree_after_a_server_reported_its_count(tmp_path: Path) -> None:
    with CountingServer([ErrorResponse("Hello!")], hidden=3_000) as server:
        config(tmp_path, f'[providers.mine]\nwire = "openai-chat"\nbase_url = "{server.url}/v1"\nauth = "none"\n')
        async with house(tmp_path, model="mine/m", tools=True) as h:
            await h.say("hi")
            await agree(h)


async def test_tools_that_are_not_sent_say_why(tmp_path: Path) -> None:
    config(tmp_path, '[models."demo/fast"]\ntools = false\n')
    async with house(tmp_path, tools=True) as h:
        assert (await agree(h), h.services.tools.tools_sent().why_none) == (0, "this model takes no tools")
        await h.services.settings.assign("tools.enabled", "false")
        assert (await agree(h), h.services.tools.tools_sent().why_none) == (0, "tools.enabled is false")
