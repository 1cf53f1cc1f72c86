"""Cancelling, at any point: at once, what came is kept, and the history can be sent."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from tests.fakes.backend import HANG, Pause, Script, answer, call, calls, finish, thought, words
from tests.fakes.clock import virtually
from tests.fakes.journal import MemoryJournal
from tests.fakes.stage import last_turn, spoken, stage
from tests.narrow import text_of
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import (
    AppEvent,
    ApprovalAsked,
    MessageCompleted,
    QueueChanged,
    Streamed,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
)
from tui.domain.messages import Role, Turn
from tui.domain.stream import BlockStarted, ResponseStarted, TextDelta
from tui.engine.settings import EngineSettings
from tui.engine.tool_round import INTERRUPTED, NOT_STARTED


def _scripts() -> list[Script]:
    both: Script = [
        ResponseStarted("m", "r"),
        *thought("Let me see"),
        *words("First", 1),
        *call("a", "echo", '{"say":"x"}', 2),
        *call("b", "slow", '{"seconds":2}', 3),
        *finish(),
    ]
    return [
        [ResponseStarted("m", "r"), *words("Half")[:2], Pause(1), ProviderError(ErrorKind.NETWORK, "reset")],
        [ProviderError(ErrorKind.RATE_LIMIT, "slow down", retry_after_s=3)],
        both,
        answer("Done"),
    ]


def _is_legal(turn: Turn) -> bool:
    """Every whole call of a message that counts has its result right behind it, and every result its call."""
    messages = [message for message in turn.messages if not message.superseded]
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        wanted = [b.call_id for b in message.blocks if isinstance(b, ToolCallBlock) and not b.partial]
        if message.role is Role.ASSISTANT:
            answered = [] if following is None or following.role is not Role.TOOL else list(following.blocks)
            if wanted != [b.call_id for b in answered if isinstance(b, ToolResultBlock)]:
                return False
    return messages[0].role is Role.USER and not turn.open and all(message.blocks for message in messages)


@pytest.mark.long
def test_cancelling_at_any_of_500_points_is_quick_and_leaves_a_legal_history() -> None:
    draw = random.Random(7)
    took: list[float] = []

    async def play(steps: int, seconds: float) -> None:
        async with stage(_scripts(), settings=EngineSettings()) as s:
            await s.session.submit((TextBlock(text="go"),))
            for _ in range(steps):
                await asyncio.sleep(0)
            await asyncio.sleep(seconds)
            began, virtual = time.thread_time(), asyncio.get_running_loop().time()
            await s.session.cancel()
            took.append(max(time.thread_time() - began, asyncio.get_running_loop().time() - virtual))
            heard = s.heard()
            ends = [event for event in heard if isinstance(event, TurnFinished | TurnFailed)]
            assert len(ends) == 1
            assert heard[-1] == ends[0]
            turn = last_turn(heard)
            assert _is_legal(turn)
            assert s.journal.turns[turn.id] == turn
            assert s.journal.path == [turn.id]
            view, _ = s.session.attach()
            assert (view.turns, view.open_turn, view.answer) == ((turn,), None, None)
            s.backend.scripts[:] = [answer("Again")]
            assert spoken(last_turn(await s.say("still there?")).messages[-1]) == "Again"

    for _ in range(500):
        virtually(play(draw.randrange(0, 60), draw.choice([0, draw.uniform(0, 9)])))
    assert sorted(took)[494] < 0.1


def test_the_partial_answer_is_kept_and_marked() -> None:
    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), BlockStarted(0, "text"), TextDelta(0, "Half an"), HANG]]) as s:
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(1)
            await s.session.cancel()
            end = s.heard()[-1]
        assert isinstance(end, TurnFinished)
        assert end.cancelled
        partial = end.turn.messages[-1]
        assert (partial.blocks, partial.interrupted) == ((TextBlock(text="Half an", partial=True),), "cancelled")
        assert s.journal.messages[partial.id].interrupted is not None

    virtually(play())


def test_calls_that_ran_may_have_run_and_calls_that_did_not_say_so() -> None:
    settings = EngineSettings(parallel_calls=1)
    wanted = calls(("a", "echo", '{"say":"x"}'), ("b", "slow", '{"seconds":9}'), ("c", "echo", "{}"))

    async def play() -> Turn:
        async with stage([wanted], settings=settings) as s:
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(1)
            await s.session.cancel()
            return last_turn(s.heard())

    results = virtually(play()).messages[-1].blocks
    texts = [text_of(block.content[0]) for block in results if isinstance(block, ToolResultBlock)]
    assert texts == ["x", INTERRUPTED, NOT_STARTED]


def test_a_call_whose_question_stood_open_did_not_run_and_its_end_is_told() -> None:
    async def play() -> tuple[Turn, list[ToolFinished]]:
        async with stage([calls(("a", "asks", "{}"))], settings=EngineSettings()) as s:
            await s.session.submit((TextBlock(text="go"),))
            await s.until(ApprovalAsked)
            await s.session.cancel()
            heard = s.heard()
            assert s.session.attach()[0].approvals == ()
            assert not await s.session.answer_approval("a", "once")
            return last_turn(heard), [event for event in heard if isinstance(event, ToolFinished)]

    turn, ends = virtually(play())
    (result,) = turn.messages[-1].blocks
    assert isinstance(result, ToolResultBlock)
    assert [text_of(part) for part in result.content] == [NOT_STARTED]
    assert [end.result for end in ends] == [result]


def test_a_tool_that_will_not_die_does_not_hold_up_the_end_and_has_no_voice_after_it() -> None:
    async def play() -> None:
        async with stage([calls(("a", "stubborn", "{}")), answer("ok")], settings=EngineSettings()) as s:
            await s.session.submit((TextBlock(text="go"),))
            await s.until(ToolStarted)
            before = asyncio.get_running_loop().time()
            await s.session.cancel()
            assert asyncio.get_running_loop().time() - before <= 0.1
            assert isinstance(s.heard()[-1], TurnFinished)
            await asyncio.sleep(20)
            assert s.heard() == []

    virtually(play())


def test_a_cancel_holds_the_queue_until_the_user_sends_it_or_takes_it_back() -> None:
    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), HANG], answer("Two"), answer("Three")]) as s:
            await s.session.submit((TextBlock(text="one"),))
            await s.session.submit((TextBlock(text="two"),))
            await s.session.submit((TextBlock(text="three"),))
            await asyncio.sleep(1)
            await s.session.cancel()
            await asyncio.sleep(60)
            assert s.session.attach()[0].queue == ("two", "three")
            assert await s.session.queue.take_last_queued("four") == ()
            assert await s.session.queue.take_last_queued("three") == (TextBlock(text="three"),)
            await s.session.queue.resume()
            await asyncio.sleep(1)
            heard = s.heard()
            view, _ = s.session.attach()
            assert await s.session.queue.take_last_queued() == ()
        assert [event for event in heard if isinstance(event, QueueChanged)] == [
            QueueChanged(("two",)),
            QueueChanged(("two", "three")),
            QueueChanged(("two", "three"), held=True),
            QueueChanged(("two",), held=True),
            QueueChanged(()),
        ]
        assert [spoken(turn.messages[-1]) for turn in view.turns] == ["one", "Two"]


def test_a_queued_compression_is_taken_back_as_the_command_that_asked_for_it() -> None:
    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), HANG]]) as s:
            await s.session.submit((TextBlock(text="one"),))
            await s.session.compress_now("keep names")
            await asyncio.sleep(1)
            assert await s.session.queue.take_last_queued() == (TextBlock(text="/compress keep names"),)

    virtually(play())


def test_another_answer_to_an_earlier_prompt_leaves_the_queue_held() -> None:
    async def play() -> None:
        async with stage([answer("One"), [ResponseStarted("m", "r"), HANG], answer("Again")]) as s:
            await s.say("one")
            await s.session.submit((TextBlock(text="two"),))
            await s.session.submit((TextBlock(text="three"),))
            await asyncio.sleep(1)
            await s.session.retry(s.session.attach()[0].turns[0].id)
            await asyncio.sleep(1)
            view, _ = s.session.attach()
        assert [spoken(turn.messages[-1]) for turn in view.turns] == ["Again"]
        assert (view.queue, view.queue_held) == (("three",), True)

    virtually(play())


def test_closing_in_the_middle_keeps_what_came() -> None:
    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), *words("Half")[:2], HANG]]) as s:
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(3)
        (turn,) = s.journal.turns.values()
        assert [message.interrupted for message in turn.messages] == [None, "cancelled"]

    virtually(play())


def test_nothing_streams_after_the_end_was_told() -> None:
    async def play() -> None:
        async with stage([[*words("a"), Pause(0.01), *words("b", 1), HANG]]) as s:
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(0.005)
            await s.session.cancel()
            s.heard()
            await asyncio.sleep(1)
            assert [event for event in s.heard() if isinstance(event, Streamed)] == []

    virtually(play())


@pytest.mark.parametrize("times", [1, 2, 5])
def test_cancelling_again_or_when_idle_is_nothing(times: int) -> None:
    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), HANG]]) as s:
            await s.session.cancel()
            assert s.heard() == []
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(1)
            for _ in range(times):
                await s.session.cancel()
            assert len([event for event in s.heard() if isinstance(event, TurnFinished)]) == 1

    virtually(play())


def test_what_was_said_is_published_before_the_turn_is_stored_as_ended() -> None:
    """The store indexes the turn then: a follower that still held the pieces of a long answer would double it."""

    async def check() -> None:
        heard: list[AppEvent] = []

        class Listening(MemoryJournal):
            async def turn_finished(self, session: str, turn: Turn) -> None:
                heard.extend(s.heard())
                await super().turn_finished(session, turn)

        half: Script = [ResponseStarted("m", "r"), *words("Half an answer")[:2], HANG]
        async with stage([half], journal=Listening()) as s:
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(1)
            await s.session.cancel()
            await s.until(TurnFinished)
            (said,) = [event.message for event in heard if isinstance(event, MessageCompleted)]
            assert said.interrupted == "cancelled"
            assert s.journal.calls[-2:] == ["message_added", "turn_finished"]

    virtually(check())
