"""What the screen says about thinking: a summary is called one, and a count that was not reported is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.app.stage import config, exported
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import until
from tui.domain.blocks import ThinkingBlock
from tui.domain.thinking import ThinkingForm
from tui.providers.demo.responses import DemoUsage

KEY = "sk-test-0123456789abcdef0123456789"
THOUGHT = "Light of short wavelengths is scattered more."
ANSWER: list[Step] = [{"say": "thinking", "text": THOUGHT}, {"say": "text", "text": "Rayleigh."}, {"end": True}]
HELD: list[Step] = [{"say": "thinking", "text": THOUGHT, "only": 5}, {"hold": True}]
REDACTED: list[Step] = [
    {
        "sse": [
            {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "redacted_thinking", "data": "RQ=="}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Rayleigh."}},
            {"type": "content_block_stop", "index": 1},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"input_tokens": 10, "output_tokens": 900},
            },
            {"type": "message_stop"},
        ]
    }
]
UNCOUNTED: list[Step] = [
    {
        "sse": [
            {"id": "c", "choices": [{"index": 0, "delta": {"reasoning_content": THOUGHT}}]},
            {"id": "c", "choices": [{"index": 0, "delta": {"content": "Rayleigh."}, "finish_reason": "stop"}]},
            {"id": "c", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 900, "total_tokens": 910}},
        ]
    }
]
COUNTED_AS_NONE: list[Step] = [
    {
        "sse": [
            *UNCOUNTED[0]["sse"][:2],
            {
                "id": "c",
                "choices": [],
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 900,
                    "total_tokens": 910,
                    "completion_tokens_details": {"reasoning_tokens": 0},
                },
            },
        ]
    }
]
WIRES = {"anthropic": "anthropic", "google": "gemini", "openai": "openai-responses", "deepseek": "openai-chat"}


def configured(home: Path, model: str, server: FaultServer) -> dict[str, str]:
    provider = model.partition("/")[0]
    config(home, f'[providers.{provider}]\nbase_url = "{server.url}"\n')
    return {f"{provider.upper()}_API_KEY": KEY, "GEMINI_API_KEY": KEY}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("model", "form"),
    [
        ("anthropic/claude-opus-4-5/low", ThinkingForm.SUMMARY),
        ("anthropic/claude-3-7-sonnet-20250219/low", ThinkingForm.FULL),
        ("google/gemini-2.5-pro/low", ThinkingForm.SUMMARY),
        ("openai/gpt-5/low", ThinkingForm.SUMMARY),
        ("deepseek/deepseek-reasoner", ThinkingForm.FULL),
    ],
)
@pytest.mark.long
async def test_a_summary_is_called_a_summary(tmp_path: Path, model: str, form: ThinkingForm) -> None:
    wire = WIRES[model.partition("/")[0]]
    word = "· summary" if form is ThinkingForm.SUMMARY else ""
    async with FaultServer([HELD, ANSWER], wire=wire, bill=DemoUsage(input=10, thinking=700, answer=20)) as server:
        keys = configured(tmp_path, model, server)
        async with screen(tmp_path, model=model, environment=keys, stored_in="file") as s:
            await s.enter("Why is the sky blue?")
            await s.until_it_says("Thinking…")
            await until(s.pilot, lambda: "┊ Light" in s.text())
            head = next(line for line in s.text().splitlines() if "Thinking…" in line)
            assert ("summary" in head) == bool(word)
            await s.pilot.press("escape")
            await until(s.pilot, lambda: not s.app.chat.is_busy())
            await s.ask("Why is the sky blue?")
            blocks = [b for m in s.house.view().turns[-1].messages for b in m.blocks if isinstance(b, ThinkingBlock)]
            assert [block.form for block in blocks] == [form]
            await until(s.pilot, lambda: f"700 tok {word}".rstrip() in s.text())
            session = s.house.current.session_id
            export = await exported(s.house.current.storage, session, "md", "thinking")
            assert ("700 tokens, summary)" in export) == bool(word)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("model", "script", "word"),
    [
        ("anthropic/claude-opus-4-5/low", REDACTED, "s · encrypted"),
        ("deepseek/deepseek-reasoner", UNCOUNTED, "tok"),
        ("deepseek/deepseek-reasoner", COUNTED_AS_NONE, "tok"),
    ],
)
async def test_thinking_that_is_not_reported_is_unknown_everywhere(
    tmp_path: Path, model: str, script: Sequence[Step], word: str
) -> None:
    async with FaultServer([script], wire=WIRES[model.partition("/")[0]]) as server:
        keys = configured(tmp_path, model, server)
        async with screen(tmp_path, model=model, environment=keys, stored_in="file") as s:
            await s.ask("Why is the sky blue?")
            await until(s.pilot, lambda: "thinking unknown (in out)" in s.text())
            await s.until_it_says(word)
            assert "out 900" in s.text()
            assert " 0 %" not in s.text().split("SESSION")[1]
            await until(s.pilot, lambda: "thinking unknown" in " ".join(s.text().split("SESSION")[1].split()))
            bill = s.text().split("SESSION")[1].splitlines()[2]
            assert bill.split("│")[1].split() == ["thinking", "unknown"]
            await s.pilot.press("f12")
            await s.until_it_says("thinking unknown")
            [row] = s.house.services.chat.bill().models
            assert (row.thinking, row.thinking_unknown, row.thinking_share) == (None, 1, None)
            export = await exported(s.house.current.storage, s.house.current.session_id, "md", "thinking")
            assert ("(encrypted)" in export) == ("encrypted" in word)
