"""Servers whose chat template raises an error unless roles alternate: a session never locks itself out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import config, house
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.validators import template
from tui.domain.blocks import Block, ImageBlock, TextBlock
from tui.domain.events import TurnFinished
from tui.domain.messages import Message, Role, Turn

ANSWER: list[Step] = [{"say": "text", "text": "It is 42."}, {"end": 1}]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def own_server(home: Path, wire: str, url: str) -> None:
    row = f'wire = "{wire}"\nauth = "none"\nbase_url = "{url}/v1"\n'
    config(home, f'[providers.mine]\n{row}[models."mine/gemma"]\ninputs = ["text", "image"]\n')


def refused_by_template(body: dict[str, Any]) -> str | None:
    problems = template.responses_problems(body["input"]) if "input" in body else None
    problems = template.chat_problems(body["messages"]) if problems is None else problems
    return problems[0] if problems else None


def unanswered_turn(name: str, *blocks: Block) -> Turn:
    """What is left of a turn that was stopped, or of a program that was killed, before the answer began."""
    return Turn(id=name, messages=(Message(id=f"{name}-prompt", role=Role.USER, blocks=blocks),))


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
async def test_a_turn_without_an_answer_does_not_lock_the_session(tmp_path: Path, wire: str) -> None:
    picture = ImageBlock(media_type="image/png", data=PIXEL)
    unanswered = [
        unanswered_turn("t1", TextBlock(text="First question")),
        unanswered_turn("t2", picture, TextBlock(text="With a picture")),
    ]
    async with FaultServer([ANSWER], wire, validate=refused_by_template) as server:
        own_server(tmp_path, wire, server.url)
        async with house(tmp_path, model="mine/gemma", stored=unanswered) as h:
            heard = await h.say("Third question")
            assert isinstance(heard[-1], TurnFinished)
        body = server.seen[-1].json
        [prompt] = [message for message in body.get("input", body.get("messages", [])) if message["role"] == "user"]
        kinds = [part["type"].removeprefix("input_") for part in prompt["content"]]
        assert [kind.removesuffix("_url") for kind in kinds] == ["text", "image", "text", "text"]
