"""The façade: other paths, other models, other settings, a store that fails, a life on its own thread."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading

import pytest

from tests.fakes.backend import HANG, FakeBackend, Pause, Script, answer, call, finish, thought, words
from tests.fakes.clock import FakeClock, virtually
from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import SPEC, FakeCompressor, FakePlanner
from tests.fakes.stage import last_turn, spoken, stage
from tests.fakes.toolbox import FakeToolbox
from tests.narrow import expect_some
from tui.domain.blocks import TextBlock
from tui.domain.errors import ErrorKind, ProviderError, StoreError, StoreFull, UnknownModel, UsageError
from tui.domain.events import (
    AppEvent,
    HistoryChanged,
    ModelChanged,
    Notice,
    SaveFailed,
    SaveRecovered,
    SettingsChanged,
    Streamed,
    TurnFailed,
    TurnFinished,
)
from tui.domain.messages import Turn
from tui.domain.request import ChatRequest
from tui.domain.stream import ResponseStarted, StreamEvent
from tui.domain.thinking import ModelSpec, ThinkingLevel
from tui.engine.ports import Ports
from tui.engine.request_inputs import RequestInputs
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.engine.state import Phase, SessionState
from tui.engine.thread import EngineThread


def test_editing_a_prompt_leaves_the_old_path_and_asks_anew() -> None:
    async def play() -> None:
        async with stage([answer("1"), answer("2"), answer("3")]) as s:
            first = last_turn(await s.say("one"))
            second = last_turn(await s.say("two"))
            await s.session.edit(second.id, (TextBlock(text="two, but better"),))
            heard = await s.until(TurnFinished)
            third = last_turn(heard)
            assert heard[0] == HistoryChanged((first,))
            assert [spoken(message) for message in third.messages] == ["two, but better", "3"]
            view, _ = s.session.attach()
            assert view.turns == (first, third)
            assert s.journal.path == [first.id, third.id]

    virtually(play())


def test_retrying_asks_the_same_of_another_model() -> None:
    async def play() -> None:
        async with stage([answer("1"), answer("2")]) as s:
            first = last_turn(await s.say("one"))
            other = ModelSpec(provider="fake", model="other")
            await s.session.retry(first.id, other)
            heard = await s.until(TurnFinished)
            assert [event.spec for event in heard if isinstance(event, ModelChanged)] == [
                ModelSpec(provider="fake", model="other", asked=ThinkingLevel.LOW)
            ]
            assert [request.model for request in s.backend.requests] == ["m", "other"]
            assert spoken(last_turn(heard).messages[0]) == "one"

    virtually(play())


def test_forking_goes_on_from_the_end_of_a_turn() -> None:
    async def play() -> None:
        async with stage([answer("1"), answer("2"), answer("3")]) as s:
            first = last_turn(await s.say("one"))
            await s.say("two")
            await s.session.fork(first.id)
            await s.say("three")
            view, _ = s.session.attach()
            assert [spoken(turn.messages[0]) for turn in view.turns] == ["one", "three"]
            with pytest.raises(UsageError):
                await s.session.fork("gone")

    virtually(play())


def test_editing_while_a_turn_runs_stops_it_first() -> None:
    async def play() -> None:
        async with stage([answer("1"), [*words("Half")[:2], HANG], answer("3")]) as s:
            first = last_turn(await s.say("one"))
            await s.session.submit((TextBlock(text="two"),))
            await asyncio.sleep(1)
            await s.session.edit(first.id, (TextBlock(text="one again"),))
            await s.until(HistoryChanged)
            await s.until(TurnFinished)
            view, _ = s.session.attach()
            assert [spoken(turn.messages[-1]) for turn in view.turns] == ["3"]

    virtually(play())


def test_an_unknown_model_changes_nothing() -> None:
    async def play() -> None:
        async with stage() as s:
            with pytest.raises(UnknownModel):
                await s.session.set_model(ModelSpec(provider="fake", model="unknown"))
            assert s.heard() == []

    virtually(play())


def test_a_new_level_is_told_with_its_plan_and_holds_from_the_next_turn_on() -> None:
    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), Pause(2), *answer("1")[1:]], answer("2")]) as s:
            await s.session.submit((TextBlock(text="one"),))
            await asyncio.sleep(1)
            plan = await s.session.set_model(ModelSpec(provider="fake", model="m", asked=ThinkingLevel.HIGH))
            heard = await s.until(TurnFinished)
            assert plan.asked is ThinkingLevel.HIGH
            assert expect_some(last_turn(heard).messages[-1].origin).level == "low"
            assert expect_some(last_turn(await s.say("two")).messages[-1].origin).level == "high"

    virtually(play())


def test_settings_hold_from_the_next_turn_on_and_are_told_by_the_users_keys() -> None:
    async def play() -> None:
        async with stage([answer("1")]) as s:
            await s.session.assign(EngineSettings(system="Be brief.", tools=False), {"generation.system": "Be brief."})
            assert s.heard() == [SettingsChanged({"generation.system": "Be brief."})]
            await s.say("one")
            assert s.backend.requests[0].system == "Be brief."
            preview = await s.session.preview("draft")
            assert (preview.meter.effective, preview.request.system) == (len("one1draft"), "Be brief.")

    virtually(play())


def test_nothing_to_send_is_said_so() -> None:
    async def play() -> None:
        async with stage() as s:
            with pytest.raises(UsageError):
                await s.session.submit(())

    virtually(play())


def test_the_turn_goes_on_when_the_disk_is_full_and_everything_is_saved_when_it_is_not_any_more() -> None:
    async def play() -> None:
        async with stage([answer("1"), answer("2")]) as s:
            s.journal.failing = StoreFull("disk full")
            heard = await s.say("one")
            assert [event for event in heard if isinstance(event, SaveFailed)] == [SaveFailed("disk full")]
            assert isinstance(heard[-1], TurnFinished)
            assert (s.session.attach()[0].not_saved, s.journal.calls) == ("disk full", [])
            await asyncio.sleep(12)
            s.journal.failing = None
            await asyncio.sleep(5)
            assert s.heard() == [SaveRecovered()]
            assert s.journal.calls == ["turn_started", "message_added", "turn_finished"]
            await s.say("two")
            assert len(s.journal.turns) == 2

    virtually(play())


def test_closing_tries_once_more_to_save_what_could_not_be_saved() -> None:
    async def play() -> None:
        async with stage([answer("1")]) as s:
            s.journal.failing = StoreFull("disk full")
            await s.say("one")
            s.journal.failing = None
        assert s.journal.calls == ["turn_started", "message_added", "turn_finished"]

    virtually(play())


def test_a_session_whose_disk_stays_full_still_closes() -> None:
    async def play() -> None:
        async with stage([answer("1")]) as s:
            s.journal.failing = StoreError("read-only")
            await s.say("one")

    virtually(play())


def test_a_journal_with_a_fault_of_its_own_ends_the_session_loudly_and_hangs_nobody() -> None:
    class Broken(MemoryJournal):
        async def turn_started(self, session: str, turn: Turn) -> None:
            raise KeyError("a fault")

    async def play() -> None:
        session = _real_session([answer("1")], Broken())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(session.run())
            await asyncio.sleep(0)
            await session.submit((TextBlock(text="one"),))
            await asyncio.sleep(60)

    with pytest.raises(ExceptionGroup) as caught:
        virtually(play())
    assert caught.group_contains(KeyError)


def test_a_running_stream_is_checkpointed_once_a_second() -> None:
    stream: list[StreamEvent | Pause] = [ResponseStarted("m", "r"), words("x")[0]]
    for _ in range(10):
        stream += [words("abcd")[1], Pause(0.4)]

    async def play() -> None:
        async with stage([[*stream, *answer("ok")[-1:]]]) as s:
            await s.say("one")
            assert s.journal.calls.count("checkpoint") == 3

    virtually(play())


def test_the_end_of_a_burst_is_kept_while_nothing_more_comes() -> None:
    stream = [ResponseStarted("m", "r"), *words("abcd")[:2], Pause(0.1), words("abcd")[2], Pause(20)]

    async def play() -> None:
        async with stage([[*stream, *answer("ok")[-1:]]]) as s:
            await s.session.submit((TextBlock(text="one"),))
            await asyncio.sleep(5)
            assert s.journal.calls.count("checkpoint") == 1
            kept = [m for m in s.journal.messages.values() if m.interrupted == "crashed"]
            assert [block.text for message in kept for block in message.blocks if isinstance(block, TextBlock)] == [
                "abcd"
            ]

    virtually(play())


def test_three_failures_in_a_row_suggest_another_model() -> None:
    async def play() -> None:
        async with stage([[ProviderError(ErrorKind.AUTH, "bad key")]], forever=True) as s:
            heard = [event for _ in range(3) for event in await s.say("x")]
            await asyncio.sleep(0.1)
            heard += s.heard()
            assert [event.text for event in heard if isinstance(event, Notice)] == ["3 turns in a row failed at Fake."]

    virtually(play())


def test_prompts_that_wait_stay_in_line_after_a_failure_until_the_user_goes_on() -> None:
    async def play() -> None:
        async with stage([[Pause(1), ProviderError(ErrorKind.AUTH, "bad key")], answer("2"), answer("3")]) as s:
            await s.session.submit((TextBlock(text="one"),))
            await s.session.submit((TextBlock(text="two"),))
            await s.until(TurnFailed)
            await asyncio.sleep(5)
            assert s.session.attach()[0].queue == ("two",)
            await s.session.submit((TextBlock(text="one again"),))
            await asyncio.sleep(1)
            assert s.session.attach()[0].queue_held
            await s.session.queue.resume()
            await asyncio.sleep(1)
            view, _ = s.session.attach()
            assert [spoken(turn.messages[0]) for turn in view.turns] == ["one", "one again", "two"]
            assert (view.queue, view.queue_held) == ((), False)

    virtually(play())


def test_a_fault_of_ours_ends_the_turn_and_not_the_session() -> None:
    class Broken(FakePlanner):
        def request(self, inputs: RequestInputs) -> ChatRequest:
            if len(inputs.turns) == 1 and inputs.turns[0].open:
                raise KeyError("x")
            return super().request(inputs)

    async def play() -> None:
        async with stage([answer("2")], planner=Broken()) as s:
            heard = await s.say("one")
            assert isinstance(heard[-1], TurnFailed)
            assert heard[-1].error.message == "An internal error ended the turn (KeyError)."
            assert isinstance((await s.say("two"))[-1], TurnFinished)

    virtually(play())


def test_the_phase_follows_what_happens() -> None:
    async def play() -> None:
        script = [ResponseStarted("m", "r"), Pause(1), *words("Half")[:2], Pause(1), *words("x")[2:], *answer("")[-2:]]
        async with stage([script]) as s:
            phases = [s.session.attach()[0].phase]
            await s.session.submit((TextBlock(text="one"),))
            for _ in range(3):
                await asyncio.sleep(0.6)
                phases.append(s.session.attach()[0].phase)
            await s.until(TurnFinished)
            phases.append(s.session.attach()[0].phase)
            assert phases == [Phase.IDLE, Phase.WAITING, Phase.ANSWERING, Phase.ANSWERING, Phase.IDLE]

    virtually(play())


@pytest.mark.parametrize("seed", range(25))
def test_whoever_attaches_in_the_middle_ends_where_the_session_is(seed: int) -> None:
    draw = random.Random(seed)
    script = [ResponseStarted("m", "r"), *thought("Hm"), Pause(1), *words("Half", 1), *call("a", "slow", "{}", 2)]

    async def play() -> None:
        broken = [*script, ProviderError(ErrorKind.NETWORK, "reset")]
        async with stage([broken, [*script, *finish()], answer("Done")], settings=EngineSettings()) as s:
            await s.session.submit((TextBlock(text="one"),))
            await s.session.submit((TextBlock(text="two"),))
            for _ in range(draw.randrange(60)):
                await asyncio.sleep(draw.choice([0, 0.05]))
            view, subscription = s.session.attach()
            follower = SessionState(view)
            await asyncio.sleep(draw.uniform(0, 4))
            await s.session.cancel()
            for stamped in subscription.drain():
                follower.apply(stamped.event)
            now, _ = s.session.attach()
            assert follower.view(now.seq) == now

    virtually(play())


def _real_session(scripts: list[Script], journal: MemoryJournal | None = None) -> Session:
    ids = itertools.count()
    ports = Ports(
        backend=FakeBackend(scripts),
        journal=journal or MemoryJournal(),
        planner=FakePlanner(),
        compressor=FakeCompressor(),
        clock=FakeClock(),
        toolbox=FakeToolbox(),
        new_id=lambda: f"id{next(ids)}",
        draw=random.random,
    )
    return Session(ports, Opening(session="s", spec=SPEC, settings=EngineSettings(tools=False)))


def test_a_session_lives_on_the_engines_thread_and_is_followed_from_this_one() -> None:
    engine = EngineThread()
    engine.start()
    session = _real_session([answer("Hello there")])
    _, subscription = session.attach()
    life = engine.call(session.run())

    async def follow() -> list[AppEvent]:
        seen: list[AppEvent] = []
        async for batch in subscription.batches(0.01):
            seen += [stamped.event for stamped in batch]
            if isinstance(seen[-1], TurnFinished):
                return seen
        return seen

    engine.call(session.submit((TextBlock(text="Hi"),))).result(20)
    seen = asyncio.run(follow())
    engine.call(session.close()).result(20)
    life.result(20)
    assert spoken(last_turn(seen).messages[-1]) == "Hello there"
    assert [event for event in seen if isinstance(event, Streamed)]
    assert engine.stop()
    with pytest.raises(RuntimeError):
        engine.call(session.cancel())


def test_stopping_the_engine_ends_a_running_turn_within_two_seconds_and_keeps_it() -> None:
    engine = EngineThread()
    engine.start()
    session = _real_session([[ResponseStarted("m", "r"), *words("Half")[:2], HANG]])
    engine.call(session.run())
    _, subscription = session.attach()
    engine.call(session.submit((TextBlock(text="Hi"),))).result(20)
    while not any(isinstance(stamped.event, Streamed) for stamped in subscription.drain()):
        threading.Event().wait(0.002)
    assert engine.stop()  # false if it gave up waiting
    view, _ = session.attach()
    assert [message.interrupted for message in view.turns[0].messages] == [None, "cancelled"]


def test_an_engine_that_never_started_stops() -> None:
    assert EngineThread().stop()
