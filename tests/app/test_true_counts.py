"""The meter beside a server's own count: hidden prompts, dropped thinking, long pastes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.counting_server import CountingServer, ErrorResponse, true_tokens
from tests.app.stage import House, config, house
from tests.narrow import expect_some
from tui.domain.events import CompressionFinished, CompressionStarted, Notice
from tui.domain.usage import Certainty, Part

SENTENCE = "The old lighthouse keeper wrote down every ship that passed the cape before the storm of 1953. "
PASTE = (SENTENCE * 80)[:7_000]
THOUGHT = "The user wants to know about the sea, so I should first think about the tides and then about the moon. " * 60
FOUR = tuple(f"{SENTENCE} What happened to ship number {number}?" for number in range(4))


def configure(home: Path, server: CountingServer, *, row: str = "", settings: str = "") -> None:
    config(
        home,
        f'{settings}\n[providers.mine]\nwire = "openai-chat"\nbase_url = "{server.url}/v1"\nauth = "none"\n'
        f'[models."mine/m"]\nthinks = true\n{row}',
    )


async def errors_of(h: House, server: CountingServer, *prompts: str) -> list[float]:
    """How far off the meter is before each prompt is sent, as a share of what the server then counts."""
    found = []
    for prompt in prompts:
        expected = (await h.meter(prompt)).effective
        await h.say(prompt)
        found.append((expected - server.counts[-1]) / server.counts[-1])
    return found


@pytest.mark.parametrize("hidden", [0, 70, 2_148])
async def test_a_short_first_exchange_does_not_scale_a_long_paste(tmp_path: Path, hidden: int) -> None:
    with CountingServer([ErrorResponse("Hello!")], hidden=hidden) as server:
        configure(tmp_path, server)
        async with house(tmp_path, model="mine/m") as h:
            await h.say("hi")
            window = round((server.counts[0] + true_tokens(PASTE)) * 1.3)
            for name, value in (("limit", window), ("reserve", 1), ("compressAt", 1)):
                await h.services.settings.assign(f"context.{name}", str(value))
            reading = await h.meter(PASTE)
            heard = await h.say(PASTE)
            after = await h.meter()
    assert reading.effective == pytest.approx(server.counts[1], rel=0.1)
    assert server.counts[1] < expect_some(reading.trigger) < server.counts[1] * 1.4
    assert reading.scale == pytest.approx(1, abs=0.1)
    assert not [event for event in heard if isinstance(event, CompressionStarted | CompressionFinished)]
    assert not [event.text for event in heard if isinstance(event, Notice)]
    assert after.raw == after.effective == pytest.approx(server.counts[1], rel=0.1)


async def test_a_base_learned_in_one_session_holds_in_the_next(tmp_path: Path) -> None:
    with CountingServer([ErrorResponse("Hello!")], hidden=900) as server:
        configure(tmp_path, server)
        async with house(tmp_path, model="mine/m") as h:
            await h.say("hi")
        async with house(tmp_path, model="mine/m") as h:
            reading = await h.meter(PASTE)
            await h.say(PASTE)
    assert reading.effective == pytest.approx(server.counts[1], rel=0.1)
    assert reading.parts[Part.SYSTEM] == pytest.approx(900, abs=20)


@pytest.mark.parametrize("counted", ["all", "none"])
@pytest.mark.parametrize("drops", [True, False])
async def test_whether_finished_thinking_counts_is_learned_from_the_reports(
    tmp_path: Path, counted: str, drops: bool
) -> None:
    with CountingServer([ErrorResponse("Because.", THOUGHT)], hidden=40, drops_thinking=drops) as server:
        configure(tmp_path, server, row=f'counted = "{counted}"\n')
        async with house(tmp_path, model="mine/m") as h:
            await errors_of(h, server, *FOUR[:2])
            assert all(abs(error) < 0.1 for error in await errors_of(h, server, *FOUR[2:]))
            assert ((await h.meter()).parts[Part.THINKING_SENT] == 0) is drops
        async with house(tmp_path, model="mine/m") as h:
            await h.say("hi")
            assert ((await h.meter()).parts[Part.THINKING_SENT] == 0) is drops


async def test_thinking_that_an_unknown_server_may_drop_is_never_called_reported(tmp_path: Path) -> None:
    with CountingServer([ErrorResponse("Because.", THOUGHT)]) as server:
        configure(tmp_path, server)
        async with house(tmp_path, model="mine/m") as h:
            errors = await errors_of(h, server, *FOUR)
            reading = await h.meter()
    assert all(abs(error) < 0.1 for error in errors[1:])
    assert reading.parts[Part.THINKING_SENT] == 0
    assert reading.certainty is Certainty.ESTIMATED


async def test_a_long_answer_is_anchored_at_its_reported_output(tmp_path: Path) -> None:
    odd = "zqxj vwkp bdfg hjkl " * 400
    with CountingServer([ErrorResponse(odd)]) as server:
        configure(tmp_path, server)
        async with house(tmp_path, model="mine/m") as h:
            await h.say("Say something odd.")
            assert (await h.meter()).certainty is Certainty.REPORTED
            reading = await h.meter("And again, please.")
            await h.say("And again, please.")
    assert reading.effective == pytest.approx(server.counts[1], rel=0.01)


async def test_tool_definitions_that_a_chat_template_leaves_out_are_not_weighed(tmp_path: Path) -> None:
    with CountingServer([ErrorResponse("Hello!")]) as server:
        configure(tmp_path, server)
        async with house(tmp_path, model="mine/m", tools=True) as h:
            assert (await h.meter()).parts[Part.TOOLS] > 500
            await h.say("hi")
            window = round((server.counts[0] + true_tokens(PASTE)) * 1.3)
            for name, value in (("limit", window), ("reserve", 1), ("compressAt", 1)):
                await h.services.settings.assign(f"context.{name}", str(value))
            reading = await h.meter(PASTE)
            heard = await h.say(PASTE)
        async with house(tmp_path, model="mine/m", tools=True) as h:
            again = await h.meter()
    assert reading.effective == pytest.approx(server.counts[1], rel=0.1)
    assert reading.parts[Part.TOOLS] == again.parts[Part.TOOLS] == 0
    assert not [event for event in heard if isinstance(event, CompressionStarted | CompressionFinished)]
