"""What servers of this machine say of their models reaches the picker, the meter and the request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.app.conftest import Run
from tests.app.screen_stage import screen
from tests.app.stage import config, house
from tests.app.test_windows import Telling, listed
from tests.providers.gguf_files import QWEN_TEMPLATE
from tests.providers.strangers import Json, Stranger, serving
from tui.engine.request_inputs import OPENED


def props(template: str, *, n_ctx: int = 8_192, tools: bool | None = None, vision: bool = False) -> Json:
    """``/props`` of a llama.cpp server."""
    return {
        "default_generation_settings": {"n_ctx": n_ctx, "params": {}},
        "modalities": {"vision": vision, "audio": False},
        "chat_template": template,
        **({} if tools is None else {"chat_template_caps": {"supports_tools": tools, "supports_tool_calls": tools}}),
    }


GPT_OSS = "<|channel|>analysis Reasoning: {{ reasoning_effort }} {%- if tools %}{{ tools }}{% endif %}"
ALWAYS = "{{ messages }}<|im_start|>assistant\n<think>\n"
STUDIO_NEWER: Json = {
    "models": [
        {
            "type": "llm",
            "key": "m",
            "loaded_instances": [{"id": "m:2", "config": {"context_length": 4_096}}],
            "max_context_length": 131_072,
            "capabilities": {
                "vision": True,
                "trained_for_tool_use": True,
                "reasoning": {"allowed_options": ["off", "on"], "default": "on"},
            },
        },
        {"type": "embedding", "key": "embed", "max_context_length": 2_048},
    ]
}
STUDIO_OLDER: Json = {
    "data": [
        {
            "id": "m",
            "type": "vlm",
            "capabilities": ["tool_use"],
            "max_context_length": 131_072,
            "loaded_context_length": 4_096,
        },
        {"id": "embed", "type": "embeddings", "max_context_length": 2_048},
    ]
}
SHOWN: Json = {
    "capabilities": ["completion", "tools", "thinking"],
    "model_info": {"qwen3.context_length": 40_960},
    "template": "{{- if and $.IsThinkSet }}{{- if $.Think -}}/think{{ else }}/no_think{{ end }}{{ end }}",
}
Known = tuple[int, str, bool, str]
"""Window, thinking as the picker shows it, tools, what it takes."""
TEXT, IMAGES = "text", "image, text"

SERVERS: dict[str, tuple[str, dict[str, Any], Known]] = {
    "llama.cpp, thinks": (
        "llama.cpp",
        {"/v1/models": listed("m", meta={"n_ctx": 32_768}), "/props": props(QWEN_TEMPLATE, tools=True, vision=True)},
        (8_192, "on or off", True, IMAGES),
    ),
    "llama.cpp, levels": (
        "llama.cpp",
        {"/v1/models": listed("m"), "/props": props(GPT_OSS)},
        (8_192, "effort, always on", True, TEXT),
    ),
    "llama.cpp, always thinks": (
        "llama.cpp",
        {"/v1/models": listed("m"), "/props": props(ALWAYS, tools=False)},
        (8_192, "always on", False, TEXT),
    ),
    "llama.cpp, does not think": (
        "llama.cpp",
        {"/v1/models": listed("m"), "/props": props("{{ messages }}")},
        (8_192, "does not think", False, TEXT),
    ),
    "llama.cpp, of several models": (
        "llama.cpp",
        {
            "/v1/models": {
                "data": [
                    {"id": "m", "status": {"value": "loaded"}},
                    {
                        "id": "x",
                        "status": {"value": "unloaded", "args": ["llama-server", "--ctx-size", "2048"]},
                        "architecture": {"input_modalities": ["text", "image", "audio"]},
                    },
                ]
            },
            "/props": {"role": "router"},
            "/props?model=m&autoload=false": props(QWEN_TEMPLATE),
        },
        (8_192, "on or off", True, TEXT),
    ),
    "LM Studio": (
        "lmstudio",
        {"/v1/models": {"data": [{"id": "m"}, {"id": "embed"}]}, "/api/v1/models": STUDIO_NEWER},
        (4_096, "on or off", True, IMAGES),
    ),
    "LM Studio, older": (
        "lmstudio",
        {"/v1/models": {"data": [{"id": "m"}, {"id": "embed"}]}, "/api/v0/models": STUDIO_OLDER},
        (4_096, "server default", True, IMAGES),
    ),
    "Ollama": (
        "ollama",
        {"/api/tags": {"models": [{"name": "m"}]}, "/api/show m": SHOWN},
        (40_960, "on or off", True, TEXT),
    ),
    "Ollama, window of the model file": (
        "ollama",
        {
            "/api/tags": {"models": [{"name": "m"}]},
            "/api/show m": {**SHOWN, "parameters": 'stop "x"\nnum_ctx    16384'},
        },
        (16_384, "on or off", True, TEXT),
    ),
    "vLLM": ("vllm", {"/v1/models": listed("m", max_model_len=16_384)}, (16_384, "server default", True, TEXT)),
}


class Chatting(Telling):
    """Remembers what it was asked to answer, and refuses it."""

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it so
        Stranger.do_POST(self)

    def problem(self, body: Json) -> str | None:
        return "not today"


def server(told: dict[str, Any]) -> type[Stranger]:
    return type("Server", (Telling,), {"told": told})


def configured(home: Path, provider: str, url: str, more: str = "") -> None:
    base = url if provider == "ollama" else f"{url}/v1"
    config(home, f'[providers."{provider}"]\nbase_url = "{base}"\n{more}')


@pytest.mark.parametrize("name", SERVERS)
async def test_what_a_server_says_of_its_model_is_known(name: str, tmp_path: Path) -> None:
    provider, told, expected = SERVERS[name]
    with serving(server(told)) as (url, _):
        configured(tmp_path, provider, url)
        async with house(tmp_path, model=f"{provider}/m") as h:
            await h.services.discover()
            rows = {row.spec.model: row for row in h.services.models.models() if row.spec.provider == provider}
            facts = h.program.catalog.find(provider, "m")
            limit = (await h.meter()).limit
    assert (rows["m"].window, rows["m"].thinking, facts.tools, ", ".join(sorted(facts.inputs))) == expected
    assert limit == (min(expected[0], OPENED) if provider == "ollama" else expected[0])
    assert "embed" not in rows


async def test_ollamas_running_model_counts_where_requests_do_not_set_the_window(tmp_path: Path) -> None:
    told = {**SERVERS["Ollama"][1], "/api/ps": {"models": [{"name": "m", "context_length": 4_096}]}}
    for more, window in (("", 40_960), ("quirks = { send_num_ctx = false }\n", 4_096)):
        with serving(server(told)) as (url, _):
            configured(tmp_path / more[:6], "ollama", url, more)
            async with house(tmp_path / more[:6], model="ollama/m") as h:
                await h.services.discover()
                assert h.program.catalog.find("ollama", "m").context_window == window


async def test_levels_are_sent_as_the_server_takes_them(tmp_path: Path) -> None:
    with serving(type("Server", (Chatting,), {"told": SERVERS["llama.cpp, thinks"][1]})) as (url, kind):
        configured(tmp_path, "llama.cpp", url)
        async with house(tmp_path, model="llama.cpp/m/none") as h:
            await h.services.discover()
            await h.say("Hello")
    assert kind.seen[-1]["chat_template_kwargs"] == {"enable_thinking": False}


async def test_the_screen_shows_window_and_thinking_of_a_found_server(tmp_path: Path) -> None:
    with serving(server(SERVERS["llama.cpp, thinks"][1])) as (url, _):
        configured(tmp_path, "llama.cpp", url)
        async with screen(tmp_path, model="llama.cpp/m") as s:
            await s.until_it_says("8.2k window · free")
            await s.until_it_says("off ‹on›")
            await s.until_it_says("sent of 8.2k")


async def test_a_refreshed_list_has_the_details_too(tmp_path: Path) -> None:
    for name, key in (("llama.cpp, thinks", "LLAMA_API_KEY"), ("LM Studio", ""), ("Ollama", "OLLAMA_API_KEY")):
        provider, told, (window, thinking, tools, _) = SERVERS[name]
        home = tmp_path / provider
        with serving(server(told)) as (url, _):
            configured(home, provider, url)
            environment = {key: "key-of-mine-9876"} if key else {}
            async with house(home, model=f"{provider}/m", environment=environment) as h:
                await h.services.models.refresh_models()
                (row,) = [
                    row for row in h.services.models.models() if (row.spec.provider, row.spec.model) == (provider, "m")
                ]
                facts = h.program.catalog.find(provider, "m")
        assert (row.window, row.thinking, facts.tools) == (window, thinking, tools)


async def test_models_that_are_not_loaded_are_known_by_how_they_would_be(tmp_path: Path) -> None:
    with serving(server(SERVERS["llama.cpp, of several models"][1])) as (url, _):
        configured(tmp_path, "llama.cpp", url)
        async with house(tmp_path, model="llama.cpp/x") as h:
            await h.services.discover()
            facts = h.program.catalog.find("llama.cpp", "x")
            assert (await h.meter()).limit == facts.context_window == 2_048
    assert facts.inputs == frozenset({"text", "image"})


@pytest.mark.parametrize("name", ["llama.cpp, thinks", "vLLM", "Ollama"])
def test_a_prompt_without_the_screen_knows_the_window_too(name: str, ponder: Run, tmp_path: Path) -> None:
    provider, told, (window, *_) = SERVERS[name]
    with serving(type("Server", (Chatting,), {"told": told})) as (url, _):
        configured(tmp_path, provider, url)
        _, out, _ = ponder("-p", "Hello", "-m", f"{provider}/m", "--jsonl")
    meters = [event["limit"] for event in map(json.loads, out.splitlines()) if event["type"] == "meter"]
    assert set(meters) == {min(window, OPENED) if provider == "ollama" else window}
