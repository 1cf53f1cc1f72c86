"""Servers whose chat template raises an error unless roles alternate: a session never locks itself out of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import config, heard_until, house
from tests.faultserver.server import FaultServer
from tests.validators import template
from tui.domain.blocks import ImageBlock, TextBlock
from tui.domain.events import TurnFailed, TurnFinished

FAILURE = [{"status": 400, "json": {"error": {"message": "Something else was wrong.", "type": "bad"}}}]
ANSWER = [{"say": "text", "text": "It is 42."}, {"end": 1}]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def own_server(home: Path, wire: str, url: str) -> None:
    row = f'wire = "{wire}"\nauth = "none"\nbase_url = "{url}/v1"\n'
    config(home, f'[providers.mine]\n{row}[models."mine/gemma"]\ninputs = ["text", "image"]\n')


def refused_by_template(body: dict) -> str | None:
    problems = template.responses_problems(body["input"]) if "input" in body else None
    problems = template.chat_problems(body["messages"]) if problems is None else problems
    return problems[0] if problems else None


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
async def test_a_turn_without_an_answer_does_not_lock_the_session(tmp_path: Path, wire: str) -> None:
    async with FaultServer([FAILURE, FAILURE, ANSWER], wire, validate=refused_by_template) as server:
        own_server(tmp_path, wire, server.url)
        async with house(tmp_path, model="mine/gemma") as h:
            assert isinstance((await h.say("First question"))[-1], TurnFailed)
            picture = ImageBlock(media_type="image/png", data=PIXEL)
            _, subscription = h.services.chat.attach()
            await h.services.chat.submit((picture, TextBlock(text="With a picture")))
            await heard_until(subscription, TurnFinished, TurnFailed)
            heard = await h.say("Third question")
            assert isinstance(heard[-1], TurnFinished)
        body = server.seen[-1].json
        [prompt] = [message for message in body.get("input", body.get("messages")) if message["role"] == "user"]
        kinds = [part["type"].removeprefix("input_") for part in prompt["content"]]
        assert [kind.removesuffix("_url") for kind in kinds] == ["text", "image", "text", "text"]
