"""Servers that count wrong: what cannot be is not believed, so the meter, the bill and compression stay right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import config, house
from tests.faultserver.server import FaultServer
from tests.narrow import expect_some
from tui.domain.events import TurnFinished
from tui.domain.usage import Certainty

ZEROS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
FEW = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
QUESTION = "Why is the sky blue, and why is it red at dusk? Answer as if to a child of seven. " * 40


def answer(usage: dict[str, int]) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Because."}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


@pytest.mark.parametrize("usage", [ZEROS, FEW], ids=["nothing", "far too few"])
async def test_a_count_that_cannot_be_right_changes_neither_meter_nor_bill(
    tmp_path: Path, usage: dict[str, Any]
) -> None:
    async with FaultServer([[{"status": 200, "json": answer(usage)}]]) as server:
        row = f'wire = "openai-chat"\nbase_url = "{server.url}/v1"\nauth = "none"\n'
        config(tmp_path, f'[providers.mine]\n{row}[models."mine/m"]\nprice = [3, 15]\n')
        async with house(tmp_path, model="mine/m") as h:
            before = await h.meter(QUESTION)
            heard = await h.say(QUESTION)
            after, message = await h.meter(), h.view().turns[-1].messages[-1]
    assert any(isinstance(event, TurnFinished) for event in heard)
    assert abs(after.effective - before.effective) < 20
    assert after.certainty is Certainty.ESTIMATED
    if usage is ZEROS:
        kept = expect_some(message.usage)
        assert (kept.input, kept.output, message.cost) == (None, None, None)
