"""Steering: what the user sends while a tool loop runs goes in with the next tool results, or waits for the end."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.backend import HANG, Pause, Script, answer, calls, finish, thought, words
from tests.fakes.clock import virtually
from tests.fakes.journal import MemoryJournal
from tests.fakes.stage import Stage, last_turn, spoken, stage
from tui.domain.blocks import Block, TextBlock
from tui.domain.events import QueueChanged, TurnFinished
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import ResponseStarted, ThinkingDelta
from tui.domain.thinking import ThinkingLevel
from tui.engine.settings import EngineSettings

STEER = (TextBlock(text="Only the heading"),)
LOOP = [calls(("a", "slow", '{"seconds":5}')), answer("Done"), answer("Next")]
SETTINGS = EngineSettings()


async def begun(s: Stage) -> None:
    """A turn whose tool runs."""
    await s.session.submit((TextBlock(text="go"),))
    await asyncio.sleep(1)


def roles(turn: Turn) -> list[Role]:
    return [message.role for message in turn.messages]


def test_text_for_after_this_step_goes_in_with_the_tool_results() -> None:
    async def play() -> None:
        async with stage(LOOP, settings=SETTINGS) as s:
            await begun(s)
            await s.session.submit(STEER, after_step=True)
            heard = await s.until(TurnFinished)
            turn = last_turn(heard)
            assert roles(turn) == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER, Role.ASSISTANT]
            assert turn.messages[3].blocks == STEER
            assert turn.user_blocks == (TextBlock(text="go"), *STEER)
            assert [message.role for message in s.backend.requests[1].outgoing.messages][-2:] == [Role.TOOL, Role.USER]
            assert [event for event in heard if isinstance(event, QueueChanged)] == [
                QueueChanged(("Only the heading",), after_step=(True,)),
                QueueChanged(()),
            ]
            assert s.journal.turns[turn.id] == turn
            assert s.session.view().turns == (turn,)

    virtually(play())


def test_text_for_the_end_waits_and_one_key_moves_it() -> None:
    async def play(presses: int) -> list[list[Role]]:
        async with stage(LOOP, settings=SETTINGS) as s:
            await begun(s)
            await s.session.submit(STEER)
            for _ in range(presses):
                await s.session.queue.move_last()
            await asyncio.sleep(60)
            return [roles(turn) for turn in s.session.view().turns]

    waited = [[Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT], [Role.USER, Role.ASSISTANT]]
    assert virtually(play(0)) == waited
    assert virtually(play(1)) == [[Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER, Role.ASSISTANT]]
    assert virtually(play(2)) == waited


def test_it_can_be_taken_back_until_it_goes() -> None:
    async def play() -> None:
        async with stage(LOOP, settings=SETTINGS) as s:
            await begun(s)
            await s.session.submit(STEER, after_step=True)
            assert await s.session.queue.take_last_queued() == STEER
            await asyncio.sleep(60)
            assert await s.session.queue.take_last_queued() == ()
            [turn] = s.session.view().turns
            assert Role.USER not in roles(turn)[1:]

    virtually(play())


def test_without_another_step_it_is_the_next_prompt() -> None:
    async def play() -> None:
        waits = [ResponseStarted("m", "r"), Pause(5), *answer("Done")[1:]]
        async with stage([waits, answer("Next")], settings=SETTINGS) as s:
            await begun(s)
            await s.session.submit(STEER, after_step=True)
            await asyncio.sleep(60)
            assert [spoken(turn.messages[-1]) for turn in s.session.view().turns] == ["Done", "Next"]

    virtually(play())


def test_several_go_in_their_order_and_what_waits_for_the_end_stays() -> None:
    async def play() -> None:
        async with stage(LOOP, settings=SETTINGS) as s:
            await begun(s)
            for number, after_step in enumerate((True, False, True)):
                await s.session.submit((TextBlock(text=f"text {number}"),), after_step=after_step)
            view = s.session.view()
            assert (view.queue, view.queue_after_step) == (("text 0", "text 1", "text 2"), (True, False, True))
            await asyncio.sleep(60)
            first, second = s.session.view().turns
            assert [spoken(message) for message in first.messages if message.role is Role.USER] == [
                "go",
                "text 0",
                "text 2",
            ]
            assert spoken(second.messages[0]) == "text 1"

    virtually(play())


def test_stopping_the_turn_holds_it_for_a_turn_of_its_own() -> None:
    async def play() -> None:
        async with stage([calls(("a", "slow", '{"seconds":5}')), answer("Next")], settings=SETTINGS) as s:
            await begun(s)
            await s.session.submit(STEER, after_step=True)
            await s.session.cancel()
            view = s.session.view()
            assert (view.queue, view.queue_held, view.queue_after_step) == (("Only the heading",), True, ())
            await s.session.queue.move_last()
            assert s.session.view().queue_after_step == ()
            await s.session.queue.resume()
            await asyncio.sleep(1)
            assert spoken(s.session.view().turns[-1].messages[-1]) == "Next"

    virtually(play())


def test_a_turn_that_ends_at_its_limit_leaves_it_for_the_next_one() -> None:
    async def play() -> None:
        settings = EngineSettings(calls_per_turn=0)
        async with stage([calls(("a", "slow", '{"seconds":5}')), answer("Next")], settings=settings) as s:
            await s.session.submit((TextBlock(text="go"),))
            await s.session.submit(STEER, after_step=True)
            await asyncio.sleep(60)
            assert [spoken(turn.messages[0]) for turn in s.session.view().turns] == ["go", "Only the heading"]

    virtually(play())


class CrashingJournal(MemoryJournal):
    """Notes what the store would have if the program ended while a message is written."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: tuple[tuple[Block, ...], ...] = ()
        self.waiting_at: dict[str, tuple[tuple[Block, ...], ...]] = {}

    async def queued(self, session: str, prompts: object) -> None:
        self.waiting = tuple(prompts)  # type: ignore[arg-type]

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        self.waiting_at[spoken(message)] = self.waiting
        await super().message_added(session, turn_id, message)


def test_no_crash_loses_it() -> None:
    async def play() -> None:
        journal = CrashingJournal()
        async with stage(LOOP, settings=SETTINGS, journal=journal) as s:
            await begun(s)
            await s.session.submit(STEER, after_step=True)
            await asyncio.sleep(60)
        assert journal.waiting_at["Only the heading"] == (STEER,)
        assert journal.waiting == ()

    virtually(play())


def test_asked_again_the_turn_has_all_that_the_user_said_in_it() -> None:
    async def play() -> None:
        async with stage(LOOP, settings=SETTINGS) as s:
            await begun(s)
            await s.session.submit(STEER, after_step=True)
            turn = last_turn(await s.until(TurnFinished))
            await s.session.retry(turn.id)
            again = last_turn(await s.until(TurnFinished))
            assert again.messages[0].blocks == (TextBlock(text="go"), *STEER)

    virtually(play())


def test_a_stop_while_the_thinking_is_being_ended_stops_the_turn() -> None:

    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), *words("")[:1], HANG], answer("Now")]) as s:
            await begun(s)
            await s.session.answer_now(STEER)
            await s.session.cancel()
            await asyncio.sleep(10)
            [turn] = s.session.view().turns
            assert turn.messages[0].role is Role.USER
            assert len(s.backend.requests) == 1

    virtually(play())


def test_a_server_that_agrees_and_thinks_on_is_asked_again() -> None:
    thinks_on: Script = [ThinkingDelta(0, "and on and on "), Pause(0.1)]

    async def play() -> None:
        script: Script = [ResponseStarted("m", "r"), *thought("Hm")[:2], Pause(5), *[*thinks_on] * 100, HANG]
        async with stage([script, answer("Now")], ends_thinking=True) as s:
            await begun(s)
            await s.session.answer_now(())
            turn = last_turn(await s.until(TurnFinished))
            _, thought_on, answered = turn.messages
            assert (thought_on.superseded, thought_on.answered_early) == (True, False)
            assert (spoken(answered), answered.answered_early) == ("Now", True)
            assert [request.plan.asked for request in s.backend.requests][-1] is ThinkingLevel.NONE

    virtually(play())


def test_a_server_that_agrees_and_gives_no_answer_is_asked_again_at_the_lowest_level() -> None:
    async def play() -> None:
        script: Script = [ResponseStarted("m", "r"), *thought("Hm")[:2], Pause(5), *finish()]
        async with stage([script, answer("Now")], ends_thinking=True) as s:
            await begun(s)
            await s.session.answer_now(())
            turn = last_turn(await s.until(TurnFinished))
            assert [message.answered_early for message in turn.messages] == [False, False, True]
            assert [request.plan.asked for request in s.backend.requests][-1] is ThinkingLevel.NONE

    virtually(play())


@pytest.mark.long
def test_a_server_that_agrees_and_takes_its_time_is_waited_for() -> None:

    async def play() -> None:
        script = [ResponseStarted("m", "r"), *thought("Hm"), Pause(30), *words("At last", 1), *finish()]
        async with stage([script], ends_thinking=True) as s:
            await begun(s)
            await s.session.answer_now(())
            turn = last_turn(await s.until(TurnFinished))
            assert [message.answered_early for message in turn.messages] == [False, True]
            assert len(s.backend.requests) == 1

    virtually(play())
