"""Thinking is timed once: what ran on the screen is what is kept."""

from __future__ import annotations

import pytest

from tests.fakes.backend import Pause, finish, words
from tests.fakes.clock import virtually
from tests.fakes.stage import last_turn, stage
from tui.domain.blocks import ThinkingBlock
from tui.domain.messages import Message
from tui.domain.stream import BlockFinished, BlockStarted, ResponseStarted, StreamEvent, TextDelta, ThinkingDelta
from tui.engine.timers import ThinkingTimer

Step = StreamEvent | Pause
OPENED = BlockStarted(0, "thinking")


def seconds(*steps: Step, looked_at: float | None = None) -> list[float]:
    time, now = ThinkingTimer(100.0), 100.0
    for step in steps:
        if isinstance(step, Pause):
            now += step.seconds
        else:
            time.take(step, now)
    return time.all(now if looked_at is None else looked_at)


def test_the_first_thinking_runs_from_the_request_to_the_first_other_word() -> None:
    assert seconds(Pause(3), OPENED, Pause(2), ThinkingDelta(0, "Hm."), Pause(1), TextDelta(1, "So"), Pause(9)) == [6]


def test_it_ends_with_its_block_or_with_the_answer_whichever_comes_first() -> None:
    assert seconds(OPENED, Pause(2), BlockFinished(0), Pause(5), *words("So", 1)) == [2]
    assert seconds(OPENED, Pause(2), *finish(), Pause(5)) == [2]


def test_while_it_runs_it_grows_also_when_it_is_cut_off() -> None:
    assert seconds(OPENED, Pause(2), looked_at=104.5) == [4.5]


def test_thinking_between_other_blocks_runs_from_its_own_beginning() -> None:
    later = (BlockStarted(2, "thinking"), Pause(4), BlockStarted(3, "tool_call", "grep", "c"), Pause(1))
    assert seconds(Pause(1), OPENED, BlockFinished(0), *words("So", 1), Pause(7), *later) == [1, 4]


def test_a_server_that_begins_anew_thinks_from_the_request_again() -> None:
    assert seconds(
        OPENED, Pause(1), *words("So", 1), ResponseStarted(None, None, restarted=True), OPENED, Pause(1)
    ) == [2]


def test_what_is_kept_is_what_ran_on_the_screen() -> None:
    steps: list[Step] = [
        ResponseStarted("m", "r1"), Pause(3), OPENED, ThinkingDelta(0, "Hm."), Pause(2), BlockFinished(0), Pause(4),
        *words("So.", 1), *finish(),
    ]  # fmt: skip

    async def check() -> Message:
        async with stage([steps]) as s:
            return last_turn(await s.say("Why?")).messages[-1]

    answer = virtually(check())
    thought = [block.seconds for block in answer.blocks if isinstance(block, ThinkingBlock)]
    assert thought == [pytest.approx(5)] == seconds(*steps)
    assert [answer.first_token_s, answer.seconds] == pytest.approx([3, 9])
