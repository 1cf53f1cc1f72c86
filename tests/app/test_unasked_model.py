"""``ponder -p`` where nobody names a model: what is ready is asked, and the demo says so where nothing is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.app.conftest import Run
from tests.app.stage import config
from tests.faultserver.server import FaultServer

QUICK = "error 401"
"""The demo's shortest answer."""


def test_where_nobody_names_a_model_and_there_is_none_the_demo_says_that_it_answers(ponder: Run) -> None:
    code, out, err = ponder("-p", QUICK)
    assert (code, out) == (1, "")
    assert err.startswith("ponder: the demo answers: no key and no model server was found.")
    assert "ponder auth set" in err
    assert "the demo answers" not in ponder("-p", QUICK, "-m", "demo")[2]
    assert "the demo answers" not in ponder("-p", QUICK, "-c")[2], "this conversation was the demo's before"


async def test_a_server_on_this_machine_answers_where_nobody_names_a_model(ponder: Run, monkeypatch) -> None:
    tags = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}]}
    said = {"model": "qwen3:8b", "message": {"role": "assistant", "content": "From here."}, "done": True}
    shown = {"capabilities": ["completion"], "model_info": {"qwen3.context_length": 40_960}}
    replies = [[{"status": 200, "json": reply}] for reply in (tags, shown, said)]
    async with FaultServer(replies, wire="ollama", answers_get=True) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        code, out, err = await asyncio.to_thread(ponder, "-p", "Hello")
    assert [seen.path for seen in server.seen] == ["/api/tags", "/api/show", "/api/chat"]
    assert (code, out, err) == (0, "From here.\n", "")


@pytest.mark.parametrize(
    ("provider", "model"), [("openrouter", "anthropic/claude-opus-5.5"), ("openai", "gpt-6.1-sol")]
)
async def test_a_key_leads_to_the_providers_usual_model_and_never_to_the_demo(
    ponder: Run, tmp_path: Path, monkeypatch, provider: str, model: str
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-0123456789abcdef0123456789abcdef")
    async with FaultServer([[{"status": 401, "json": {"error": {"message": "no"}}}]]) as server:
        config(tmp_path, f'[providers.{provider}]\nbase_url = "{server.url}/v1"\n')
        code, _, err = await asyncio.to_thread(ponder, "-p", "Hello")
    assert (code, server.seen[0].json["model"], "demo" in err) == (1, model, False)


def test_a_gateway_whose_models_are_not_known_is_not_passed_over_silently(
    ponder: Run, tmp_path: Path, monkeypatch
) -> None:
    config(tmp_path, '[providers.gw]\nwire = "openai-chat"\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = ["GW_KEY"]\n')
    monkeypatch.setenv("GW_KEY", "sk-0123456789abcdef0123456789abcdef")
    said = "ponder: the demo answers: no model of gw is known. To ask one, name one (-m gw/"
    assert ponder("-p", QUICK)[2].startswith(said)
