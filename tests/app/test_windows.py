"""Windows that servers of this machine tell: the meter knows them, and compression waits for what they allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config, house
from tests.narrow import expect_some
from tests.providers.strangers import Json, Stranger, serving
from tests.ui.stage import until
from tui.domain.usage import Certainty, MeterReading
from tui.ui.panels.meter_lines import meter_lines


class Telling(Stranger):
    """Answers each path with what is written beside it."""

    told: ClassVar[dict[str, object]] = {}

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it so
        found = self.told.get(self.path)
        self.whole(404 if found is None else 200, found or {"error": {"message": "Not Found"}})

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it so
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = self.told.get(f"{self.path} {body.get('model')}")
        self.whole(404 if found is None else 200, found or {"error": "model not found"})


def listed(model: str, **more: Any) -> Json:
    return {"object": "list", "data": [{"id": model, "object": "model", **more}]}


PROPS = {"default_generation_settings": {"n_ctx": 6_144}, "total_slots": 1}
SHOWN = {"capabilities": ["completion", "vision"], "model_info": {"phi.context_length": 4_096}}
SERVERS: dict[str, tuple[str, dict[str, object], int]] = {
    "llama.cpp": ("llama.cpp", {"/v1/models": listed("m", meta={"n_ctx": 8_192, "n_ctx_train": 131_072})}, 8_192),
    "llama.cpp, older": (
        "llama.cpp",
        {"/v1/models": listed("m", meta={"n_ctx_train": 131_072}), "/props": PROPS},
        6_144,
    ),
    "vllm": ("vllm", {"/v1/models": listed("m", max_model_len=16_384)}, 16_384),
    "LM Studio": (
        "lmstudio",
        {
            "/v1/models": listed("m"),
            "/api/v0/models": listed("m", max_context_length=131_072, loaded_context_length=4_096),
        },
        4_096,
    ),
    "Ollama": ("ollama", {"/api/tags": {"models": [{"name": "m"}]}, "/api/show m": SHOWN}, 4_096),
}


@pytest.mark.parametrize("name", SERVERS)
async def test_a_window_that_a_server_tells_is_known_in_the_running_session(name: str, tmp_path: Path) -> None:
    provider, told, window = SERVERS[name]
    kind = type("Server", (Telling,), {"told": told})
    with serving(kind) as (url, _):
        base = url if provider == "ollama" else f"{url}/v1"
        config(tmp_path, f'[providers."{provider}"]\nbase_url = "{base}"\n')
        async with house(tmp_path, model=f"{provider}/m") as h:
            before = await h.meter()
            await h.services.discover()
            after = await h.meter()
            shown = expect_some(h.view().meter)
            info = h.services.models.model_info()
    assert before.limit != window
    assert after.limit == shown.limit == window
    assert after.trigger == int((window - after.reserved) * 0.85)
    assert f"{provider} on this machine" in info


async def test_the_window_of_an_own_server_on_this_machine_is_known(tmp_path: Path) -> None:
    kind = type("Server", (Telling,), {"told": SERVERS["vllm"][1]})
    with serving(kind) as (url, _):
        config(tmp_path, f'[providers.mine]\nwire = "openai-chat"\nauth = "none"\nbase_url = "{url}/v1"\n')
        async with house(tmp_path, model="mine/m") as h:
            await h.services.discover()
            assert (await h.meter()).limit == 16_384


async def test_what_the_user_says_of_a_model_goes_before_what_the_server_tells(tmp_path: Path) -> None:
    kind = type("Server", (Telling,), {"told": SERVERS["vllm"][1]})
    with serving(kind) as (url, _):
        row = '[models."vllm/m"]\ncontext_window = 12000\n'
        config(tmp_path, f'[providers.vllm]\nbase_url = "{url}/v1"\n{row}')
        async with house(tmp_path, model="vllm/m") as h:
            await h.services.discover()
            assert (await h.meter()).limit == 12_000


def test_an_unknown_window_is_a_number_and_no_bar() -> None:
    reading = MeterReading(
        effective=1_234, raw=1_234, limit=None, reserved=0, trigger=None, certainty=Certainty.ESTIMATED
    )
    lines = meter_lines(reading, 30).plain.splitlines()
    assert "1.2k sent, window unknown" in lines[0]
    assert not any(mark in line for line in lines for mark in "▰▱")


def _sidebar(s: Screen) -> list[str]:
    """Its rows, each whole."""
    return [line.rpartition("│")[2].strip() for line in s.text().splitlines()]


@pytest.mark.long
async def test_the_facts_in_the_sidebar_are_of_the_model_in_use(tmp_path: Path) -> None:
    row = '[models."mine/m"]\ncontext_window = 12000\n'
    config(tmp_path, f'[providers.mine]\nwire = "openai-chat"\nauth = "none"\nbase_url = "http://127.0.0.1:9"\n{row}')
    async with screen(tmp_path, model="mine/m") as s:
        await until(s.pilot, lambda: "12k window · price unknown" in _sidebar(s))
    async with screen(tmp_path, model="mine/other") as s:
        await until(s.pilot, lambda: "window unknown" in _sidebar(s))
