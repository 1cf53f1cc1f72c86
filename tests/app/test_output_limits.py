"""Output limits that a server refuses are made to fit once, and the user is told the number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import config, house
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tui.domain.events import AppEvent, Notice, TurnFailed, TurnFinished
from tui.wires.errors.phrases import output_room

ANSWER: list[Step] = [{"say": "text", "text": "It is 42."}, {"end": 1}]
ROW = """
[providers.mine]
wire = "openai-chat"
auth = "none"
base_url = "{url}/v1"

[generation]
maxOutput = 8000
"""
WINDOW, INPUT = 8_192, 1_500


def notices(heard: list[AppEvent]) -> list[str]:
    return [event.text for event in heard if isinstance(event, Notice)]


def vllm(body: dict[str, Any]) -> str | None:
    asked = body.get("max_tokens", 0)
    if asked + INPUT <= WINDOW:
        return None
    return (
        f"'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context length is "
        f"{WINDOW} tokens and your request has {INPUT} input tokens ({asked} > {WINDOW} - {INPUT})."
    )


def anthropic(body: dict[str, Any]) -> str | None:
    asked, budget = body["max_tokens"], body.get("thinking", {}).get("budget_tokens", 0)
    if budget >= asked:
        return "`max_tokens` must be greater than `thinking.budget_tokens`"
    if asked + 190_000 <= 200_000:
        return None
    return f"input length and `max_tokens` exceed context limit: 190000 + {asked} > 200000, decrease input length"


async def conversation(
    home: Path, wire: str, model: str, refuses: Callable[[dict[str, Any]], str | None], row: str
) -> tuple[FaultServer, list[AppEvent]]:
    async with FaultServer([ANSWER], wire, validate=refuses) as server:
        config(home, row.format(url=server.url))
        async with house(home, model=model) as h:
            return server, await h.say("What is it?")


async def test_a_limit_that_does_not_fit_beside_the_prompt_is_sent_once_more_as_it_fits(tmp_path: Path) -> None:
    server, heard = await conversation(tmp_path, "openai-chat", "mine/m", vllm, ROW)
    assert isinstance(heard[-1], TurnFinished)
    assert [seen.json["max_tokens"] for seen in server.seen] == [8_000, 6_692]
    assert "The output limit of 8,000 tokens does not fit here: asked again with 6,692 tokens." in notices(heard)


async def test_a_thinking_budget_follows_the_smaller_limit(tmp_path: Path) -> None:
    row = '[providers.anthropic]\nbase_url = "{url}"\nkey_optional = true\nauth = "none"\n'
    model = "anthropic/claude-sonnet-4-5/high"
    server, heard = await conversation(tmp_path, "anthropic", model, anthropic, row)
    assert isinstance(heard[-1], TurnFinished)
    sent = [(seen.json["max_tokens"], seen.json["thinking"]["budget_tokens"]) for seen in server.seen]
    assert sent == [(64_000, 59_904), (10_000, 5_904)]


async def test_a_limit_above_the_models_own_is_refused_once_in_a_session(tmp_path: Path) -> None:
    def least(body: dict[str, Any]) -> str | None:
        asked = body["max_tokens"]
        return None if asked <= 4_096 else f"max_tokens is too large: {asked}. This model supports at most 4096 tokens."

    async with FaultServer([ANSWER], "openai-chat", validate=least) as server:
        config(tmp_path, ROW.format(url=server.url))
        async with house(tmp_path, model="mine/m") as h:
            await h.say("What is it?")
            await h.say("Again?")
    assert [seen.json["max_tokens"] for seen in server.seen] == [8_000, 4_096, 4_096]


async def test_a_server_that_refuses_every_limit_is_asked_twice(tmp_path: Path) -> None:
    def never(body: dict[str, Any]) -> str:
        return f"max_tokens: {body['max_tokens']} > {body['max_tokens'] - 1000}, the maximum allowed number"

    server, heard = await conversation(tmp_path, "openai-chat", "mine/m", never, ROW)
    assert isinstance(heard[-1], TurnFailed)
    assert [seen.json["max_tokens"] for seen in server.seen] == [8_000, 7_000]


SAID = {
    "maximum context length is 8192 tokens. However, you requested 9200 tokens (1000 in the messages, 200 in the "
    "functions, and 8000 in the completion).": 6_992,
    "maximum context length is 8192 tokens. However, you requested about 9000 tokens (1000 of text input, 8000 in the "
    "output).": 7_192,
    "You passed 500 input tokens and requested 8000 output tokens. However, the model's context length is only 8192 "
    "tokens, resulting in a maximum input length of 192 tokens.": 7_692,
    "the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 1000 tokens from the "
    "input messages and 8000 tokens for the completion.": 7_192,
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1000 `inputs` tokens and 8000 `max_new_tokens`": 3_096,
    "max_tokens is too large: 200000. This model supports at most 16384 completion tokens": 16_384,
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]": 8_192,
    "Range of max_tokens should be [1, 8192]": 8_192,
    "`max_completion_tokens` must be less than or equal to `32768`": 32_768,
    "a maxOutputTokens value of 200000 but the supported range is from 1 (inclusive) to 65537 (exclusive)": 65_536,
    "maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.": None,
    "prompt is too long: 210000 tokens > 200000 maximum": None,
}


@pytest.mark.parametrize("message", SAID)
def test_the_limit_that_fits_is_read_from_what_servers_say(message: str) -> None:
    assert output_room(message) == SAID[message]
