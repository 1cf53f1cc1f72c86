"""What is found at the start: keys, local servers, and which model that leads to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.stage import config, house
from tests.faultserver.server import FaultServer
from tui.domain.thinking import ModelSpec, ThinkingLevel

SECRET = "sk-ant-REDACTED"


async def test_without_anything_it_is_the_demo_and_every_provider_says_what_it_lacks(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as h:
        assert str(h.current.spec) == "demo/demo/med"
        rows = h.services.keys.availability()
        assert len(rows) == h.services.models.providers_without_key() > 10, "the picker counts as the first screen does"
    assert all((row.ready, row.detail) == (False, f"no key: /key {row.provider}") for row in rows)
    assert {"anthropic", "openai", "google", "openrouter"} <= {row.provider for row in rows}


async def test_a_key_in_the_environment_makes_its_provider_ready(tmp_path: Path) -> None:
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9"}
    async with house(tmp_path, model=None, environment={"ANTHROPIC_API_KEY": SECRET, **nowhere}) as h:
        first = h.services.keys.availability()[0]
        assert (first.provider, first.ready, h.current.spec.provider) == ("anthropic", True, "anthropic")
        assert "ANTHROPIC_API_KEY" in first.detail
        assert SECRET not in repr(h.services.keys.availability()) + await h.services.doctor() + h.services.status()
        assert "cannot be reached through the proxy" in await h.services.doctor()
        models = {row.spec.provider: row.available for row in h.services.models.models()}
    assert (models["anthropic"], models["openai"], models["demo"]) == (True, False, True)


async def test_a_model_that_was_asked_for_is_never_replaced_by_the_demo_or_another(tmp_path: Path) -> None:
    async with house(tmp_path, model="openai/gpt-5.6-sol/low", environment={"ANTHROPIC_API_KEY": SECRET}) as h:
        await h.services.discover()
        assert str(h.current.spec) == "openai/gpt-5.6-sol/low"


async def test_the_configured_model_comes_before_what_was_found_and_the_command_line_before_it(tmp_path: Path) -> None:
    config(tmp_path, 'model = "demo/chat/high"\n')
    async with house(tmp_path, model=None, environment={"ANTHROPIC_API_KEY": SECRET}) as h:
        assert str(h.current.spec) == "demo/chat/high"
    async with house(tmp_path, model="demo/fast/low") as h:
        assert str(h.current.spec) == "demo/fast/low"


async def test_the_model_used_last_comes_back_where_its_provider_still_has_a_key(tmp_path: Path) -> None:
    keys = {"ANTHROPIC_API_KEY": SECRET, "DEEPSEEK_API_KEY": SECRET}
    async with house(tmp_path, model=None, environment=keys) as h:
        await h.services.models.set_model("deepseek/deepseek-v4-pro/high")
    async with house(tmp_path, model=None, environment=keys) as h:
        assert str(h.current.spec) == "deepseek/deepseek-v4-pro/high"
    async with house(tmp_path, model=None, environment={"ANTHROPIC_API_KEY": SECRET}) as h:
        assert h.current.spec.provider == "anthropic"


async def test_a_server_on_this_machine_takes_the_demos_place_until_it_was_used(tmp_path: Path) -> None:
    tags = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}]}
    async with FaultServer([[{"status": 200, "json": tags}]], wire="ollama", answers_get=True) as server:
        here = {"OLLAMA_HOST": server.url}
        async with house(tmp_path, model=None, environment=here) as h:
            assert h.current.spec.provider == "demo"
            await h.services.discover()
            assert h.current.spec == ModelSpec(provider="ollama", model="qwen3:8b", asked=ThinkingLevel.MED)
        async with house(tmp_path / "other", model=None, environment=here) as h:
            await h.say("Hello")
            await h.services.discover()
            assert h.current.spec.provider == "demo"


async def test_a_key_that_is_saved_is_found_at_once_and_at_the_next_start(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        said = await h.services.keys.save_key("anthropic", SECRET, keep=True)
        assert h.services.keys.availability()[0].ready
        assert SECRET not in said
        assert h.services.keys.availability()[0].detail == "credentials.toml found"
    async with house(tmp_path, model=None) as h:
        await h.services.discover()
        assert h.current.spec.provider == "anthropic"


@pytest.mark.parametrize(("provider", "word"), [("anthropic", "ANTHROPIC_API_KEY"), ("deepseek", "DEEPSEEK_API_KEY")])
async def test_the_hint_says_which_variable_and_where_keys_are_made(tmp_path: Path, provider: str, word: str) -> None:
    async with house(tmp_path) as h:
        hint = h.services.keys.key_hint(provider)
    assert word in hint
    assert "https://" in hint


async def test_the_users_own_provider_is_there_with_its_models(tmp_path: Path) -> None:
    config(
        tmp_path,
        '[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\nwire = "openai-chat"\nkey_env = ["MINE_KEY"]\n'
        '[models."mine/big"]\ncontext_window = 5000\n',
    )
    async with house(tmp_path, model="mine/big/low") as h:
        assert h.services.problems() == []
        assert (await h.meter()).limit == 5_000
        assert json.dumps(h.services.status())


async def test_broken_rows_in_the_config_are_told_and_the_rest_works(tmp_path: Path) -> None:
    config(tmp_path, "[providers.mine]\nbase_url = 7\n[context]\nkeepTurns = 9\n[ui]\nnope = 1\n")
    async with house(tmp_path) as h:
        said = " ".join(sentence for sentence, _ in h.services.problems())
        assert "nope" in said
        assert "mine" in said
        assert h.services.settings.layers().value("context.keepTurns") == 9
        assert "problem:" in await h.services.doctor()
