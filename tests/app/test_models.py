"""Choosing and stepping models and levels through the services."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import house
from tui.domain.errors import UnknownModel
from tui.domain.thinking import ThinkingLevel


async def test_a_model_is_named_with_its_provider_wire_and_thinking(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        said = await h.services.models.set_model("claude-sonnet-4-5/med")
    assert "claude-sonnet-4-5" in said
    assert "Anthropic" in said
    assert "anthropic" in said
    assert "43,008" in said


async def test_choosing_a_model_says_that_its_key_is_missing(tmp_path: Path) -> None:
    async with house(tmp_path, environment={"OPENAI_API_KEY": "sk-0123456789abcdef"}) as h:
        assert (await h.services.models.set_model("claude-opus-5")).endswith(" — no key: /key anthropic")
        assert "no key" not in await h.services.models.set_model("gpt-5.6-sol")


async def test_a_level_alone_keeps_the_model_and_a_model_alone_keeps_the_level(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.services.models.set_model("high")
        assert str(h.current.spec) == "demo/fast/high"
        await h.services.models.set_model("demo/demo")
        assert str(h.current.spec) == "demo/demo/high"
        await h.services.models.set_model("16k")
        assert str(h.current.spec) == "demo/demo/16000"


async def test_stepping_stops_at_the_ends_or_goes_round(tmp_path: Path) -> None:
    async with house(tmp_path, model="demo/fast/none") as h:
        levels = [row.asked for row in h.services.models.levels()]
        for _ in range(6):
            await h.services.models.step_level(1, wrap=False)
        assert h.current.spec.asked is levels[-1]
        await h.services.models.step_level(1, wrap=True)
        assert h.current.spec.asked is levels[0]
        await h.services.models.step_level(-1, wrap=False)
        assert h.current.spec.asked is levels[0]


async def test_a_budget_steps_to_a_level(tmp_path: Path) -> None:
    async with house(tmp_path, model="demo/fast/12345") as h:
        await h.services.models.step_level(1, wrap=False)
        assert isinstance(h.current.spec.asked, ThinkingLevel)


async def test_recent_models_are_stepped_through_in_their_order(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        assert await h.services.models.step_model(1) == "No other model was used yet."
        for name in ("demo/demo/low", "demo/fast/high", "demo/fast/low"):
            await h.services.models.set_model(name)
        seen = []
        for _ in range(3):
            await h.services.models.step_model(1)
            seen.append(str(h.current.spec))
    assert seen == ["demo/fast/high", "demo/demo/low", "demo/fast/low"]


async def test_an_unknown_name_changes_nothing_and_brings_the_nearest(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        with pytest.raises(UnknownModel) as problem:
            await h.services.models.set_model("claude-opsu-5")
        assert str(h.current.spec) == "demo/fast/low"
    assert any("claude-opus-5" in name for name in problem.value.nearest)


async def test_favourites_and_recents_come_first_and_survive_the_program(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        rows = h.services.models.models()
        last = rows[-1].spec
        assert await h.services.models.toggle_favourite(last)
        assert h.services.models.models()[0].spec == last
    async with house(tmp_path) as h:
        assert h.services.models.models()[0].spec == last
        assert not await h.services.models.toggle_favourite(last)


async def test_the_demo_is_marked_wherever_it_stands(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        notes = {row.note for row in h.services.models.models() if row.spec.provider == "demo"}
    assert notes == {"demo"}


async def test_model_info_names_where_each_fact_is_from(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        sheet = h.services.models.model_info("claude-opus-5")
        unknown = h.services.models.model_info("ollama/some-model-of-mine")
    assert "| window | 1,000,000 tokens | packaged: models/anthropic.toml |" in sheet
    assert "not in the catalogue" in unknown
