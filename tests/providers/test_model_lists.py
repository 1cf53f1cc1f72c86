"""Model lists: read from every shape, kept on disk, never trusted; and the servers of this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faultserver.server import FaultServer
from tests.providers.conftest import Client
from tui.catalog.catalog import packaged_catalog
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.http.transport import Transport
from tui.providers.model_discovery import Discovery, refresh_models_dev
from tui.providers.model_lists import (
    MODELS_DEV,
    MOST_MODELS,
    ListCache,
    ModelList,
    merge_model_lists,
    models_dev_rows,
    rows_from,
)
from tui.providers.running_servers import RunningServer, running_servers

CATALOG = packaged_catalog()
CLAUDE = {
    "id": "claude-next-9", "display_name": "Claude Next", "max_input_tokens": 500_000, "max_tokens": 64_000,
    "lifecycle": "active", "retires_at": None,
    "capabilities": {
        "thinking": {"types": {"adaptive": {"supported": True}, "enabled": {"supported": False},
                               "disabled": {"supported": True}}},
        "effort": {"low": {"supported": True}, "high": {"supported": True}, "max": {"supported": False}},
        "image_input": {"supported": True},
    },
}  # fmt: skip
ROUTED = {
    "id": "maker/model", "context_length": 131072, "top_provider": {"max_completion_tokens": 8192},
    "architecture": {"input_modalities": ["text", "image", "audio"]}, "supported_parameters": ["tools", "reasoning"],
    "pricing": {"prompt": "0.000003", "completion": "0.000015"},
    "reasoning": {"mandatory": False, "supported_efforts": ["high", "low", "none"], "supports_max_tokens": True},
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "body", "rows"),
    [
        (
            "anthropic",
            {"data": [CLAUDE]},
            {"claude-next-9": {"context_window": 500_000, "max_output": 64_000, "lifecycle": "current",
                               "inputs": ["text", "image"], "can_disable": True, "efforts": ["low", "high"]}},
        ),
        (
            "openrouter",
            {"data": [ROUTED]},
            {"maker/model": {"context_window": 131072, "max_output": 8192, "tools": True, "inputs": ["text", "image"],
                             "price": [3.0, 15.0], "can_disable": True, "efforts": ["low", "high"]}},
        ),
        (
            "gemini",
            {"models": [
                {"name": "models/gemini-x", "inputTokenLimit": 9, "outputTokenLimit": 5, "thinking": False,
                 "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]},
            ]},
            {"gemini-x": {"context_window": 9, "max_output": 5, "thinks": False}},
        ),
        ("ollama", {"models": [{"name": "qwen3:8b"}]}, {"qwen3:8b": {}}),
        ("openai", {"data": [{"id": "m", "max_model_len": 4096}, {"id": ""}, 7]}, {"m": {"context_window": 4096}}),
        ("openai", [{"id": "bare-list"}], {"bare-list": {}}),
        ("openai", {"data": "nonsense"}, {}),
        ("openai", "nonsense", {}),
    ],
)  # fmt: skip
def test_every_shape_of_list_becomes_rows(kind: str, body: object, rows: object) -> None:
    assert rows_from(kind, body) == rows


@pytest.mark.parametrize(
    ("case", "kind", "named"),
    [
        ("rig--llamacpp-models-list-models-smoke", "openai", "/REDACTED_PATH/Qwen3-1.7B-Q4_K_M.gguf"),
        ("rig--venice-model-listing-list-models-smoke", "openai", "gemini-3-6-flash"),
    ],
)
def test_recorded_lists_are_read(shared_corpus: Path, case: str, kind: str, named: str) -> None:
    body = json.loads((shared_corpus / "x-models" / case / "response.json").read_bytes())
    assert rows_from(kind, body)[named]["context_window"] in (4096, 1_000_000)


def test_a_poisoned_list_is_left_out_piece_by_piece() -> None:
    poisoned = [
        {"id": "a\x1b]52;c;eA==\x07"},
        {"id": "x" * 500},
        {"id": "two words"},
        {"id": "ok", "max_model_len": -3},
    ]
    assert rows_from("openai", {"data": poisoned}) == {"ok": {}}
    assert len(rows_from("openai", {"data": [{"id": f"m{n}"} for n in range(MOST_MODELS + 9)]})) == MOST_MODELS


def _discovery(client: Client, folder: Path) -> Discovery:
    return Discovery(client.keys, lambda: Transport(environ={}), ListCache(folder), lambda: 1_000.0)


async def test_a_list_is_fetched_kept_and_laid_over_the_catalogue(client: Client, tmp_path: Path) -> None:
    async with FaultServer(
        [[{"status": 200, "json": {"data": [CLAUDE], "has_more": False}}]], answers_get=True
    ) as server:
        place = replace(CATALOG.provider("anthropic"), base_url=server.url, key_env=("TESTED_API_KEY",))
        fetched = await _discovery(client, tmp_path).ask(place)
        (seen,) = server.seen
    assert (seen.method, seen.path, "x-api-key" in seen.headers) == ("GET", "/v1/models?limit=1000", True)
    assert _discovery(client, tmp_path).cached(place) == fetched
    found = merge_model_lists(CATALOG, [fetched]).find("anthropic", "claude-next-9")
    assert (found.context_window, found.provenance["context_window"]) == (500_000, "list of anthropic, 1970-01-01")


async def test_ollama_is_asked_about_each_model(client: Client, tmp_path: Path) -> None:
    shown = {"capabilities": ["completion", "thinking", "vision"], "model_info": {"qwen3.context_length": 40960}}
    scripts = [[{"status": 200, "json": body}] for body in ({"models": [{"name": "qwen3:8b"}]}, shown)]
    async with FaultServer(scripts, "ollama", answers_get=True) as server:
        place = replace(CATALOG.provider("ollama"), base_url=server.url)
        fetched = await _discovery(client, tmp_path).ask(place)
        assert [(seen.method, seen.path) for seen in server.seen] == [("GET", "/api/tags"), ("POST", "/api/show")]
    row = {"context_window": 40960, "thinks": True, "tools": False, "inputs": ["text", "image"]}
    assert fetched.rows == {"ollama": {"qwen3:8b": row}}


async def test_what_fails_is_told_beside_what_works(client: Client, tmp_path: Path) -> None:
    recorded = {"error": {"code": "invalid_api_key", "message": "Invalid API Key", "type": "invalid_request_error"}}
    async with FaultServer([[{"status": 401, "json": recorded}]], answers_get=True) as server:
        groq = replace(CATALOG.provider("groq"), base_url=server.url, key_env=("TESTED_API_KEY",))
        answers = await _discovery(client, tmp_path).ask_all([groq, CATALOG.provider("demo")])
    assert list(answers) == ["groq"]
    assert isinstance(answers["groq"], ProviderError)
    assert answers["groq"].kind is ErrorKind.AUTH


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format":9,"at":1,"rows":{}}', b'{"format":1,"rows":5}', b"\xff",
     *(b'{"format":1,"at":%s,"rows":{"openai":{"m":{}}}}' % at for at in (b"1e300", b"-1e300", b"1e18", b"-1"))],
)  # fmt: skip
def test_a_broken_cache_is_no_cache(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "models-openai.json").write_bytes(content)
    assert ListCache(tmp_path).read("openai") is None


def test_a_cache_somebody_wrote_into_gives_only_what_the_catalogue_takes(tmp_path: Path) -> None:
    rows = {
        "openai": {
            "m": {
                "context_window": 5,
                "recommended": {"x": 1},
                "base_url": "https://evil.example",
                "efforts": ["turbo"],
            }
        }
    }
    (tmp_path / "models-openai.json").write_text(json.dumps({"format": 1, "at": 5.0, "rows": rows}))
    kept = ListCache(tmp_path).read("openai")
    assert kept == ModelList(source="openai", at=5.0, rows={"openai": {"m": {"context_window": 5}}})


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ListCache(tmp_path / "file")
    cache.save(ModelList(source="x", at=1.0, rows={}))
    assert cache.read("x") is None
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "")]


DEV = {
    "moonshotai": {"models": {"kimi": {"limit": {"context": 9, "output": 3}, "cost": {"input": 1, "output": 2},
                                       "reasoning": True, "tool_call": True, "modalities": {"input": ["text"]}}}},
    "unheard-of": {"models": {"m": {"limit": {"context": 1}}}},
}  # fmt: skip


async def test_the_refresh_reads_known_providers_only_and_keeps_the_old_on_nonsense(tmp_path: Path) -> None:
    rows = {"kimi": {"context_window": 9, "max_output": 3, "inputs": ["text"], "tools": True, "price": [1.0, 2.0]}}
    known, cache = frozenset({"moonshot"}), ListCache(tmp_path)
    assert models_dev_rows(DEV, known) == {"moonshot": rows}
    async with FaultServer(
        [[{"status": 200, "json": DEV}], [{"status": 200, "json": {"a": 1}}]], answers_get=True
    ) as server:
        transport = Transport(environ={})
        fetched = await refresh_models_dev(transport, cache, known, lambda: 7.0, url=f"{server.url}/api.json")
        with pytest.raises(ProviderError, match="no catalogue"):
            await refresh_models_dev(transport, cache, known, lambda: 8.0, url=f"{server.url}/api.json")
        await transport.aclose()
    assert cache.read(MODELS_DEV) == fetched == ModelList(source="models.dev", at=7.0, rows={"moonshot": rows})


async def test_local_servers_are_found_at_once_and_others_not_waited_for() -> None:
    listed = [{"status": 200, "json": {"object": "list", "data": [{"id": "served"}]}}]
    html = [{"status": 200, "ct": "text/html", "body": b"<html>"}]
    async with (
        FaultServer([listed], answers_get=True) as here,
        FaultServer([[{"hold": 1}]], answers_get=True) as mute,
        FaultServer([html], answers_get=True) as page,
    ):
        urls = {"here": here.url, "mute": mute.url, "page": page.url, "dead": "http://127.0.0.1:9"}
        asked = [replace(CATALOG.provider("vllm"), id=name, base_url=f"{url}/v1") for name, url in urls.items()]
        found = await running_servers([*asked, CATALOG.provider("openai")], limit_s=3.0)
        assert {seen.path for seen in here.seen} == {"/v1/models", "/api/v0/models", "/api/v1/models", "/props"}
    assert found == (RunningServer(provider="here", models=("served",), rows={"served": {}}),)
