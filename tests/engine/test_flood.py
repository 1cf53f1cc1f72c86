"""A server that sends as fast as memory can be copied: followers keep up, memory stays small, stopping is at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

import pytest

from tests.fakes.backend import HANG, Batch, Pause, Script, finish
from tests.fakes.clock import virtually
from tests.fakes.journal import MemoryJournal
from tests.fakes.stage import Stage, last_turn, spoken, stage
from tui.bus import Subscription
from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import StoreError
from tui.domain.events import RequestStarted, Stamped, Streamed, TurnFinished
from tui.domain.messages import CRASHED, BlockGrowth, Message
from tui.domain.stream import BlockFinished, BlockStarted, ResponseStarted, StreamEvent, TextDelta, ThinkingDelta
from tui.domain.stream import ToolArgsDelta as ArgsDelta
from tui.engine.attempt import PORTION
from tui.engine.session import MOST_WAITING, STUCK_AFTER_S
from tui.engine.state import SessionState
from tui.ui.chat.screen import FRAME_S, MOST_A_FRAME

Kind = Literal["text", "thinking", "tool_call"]
DELTAS: dict[Kind, Callable[[int, str], StreamEvent]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "tool_call": ArgsDelta,
}


def flood(characters: int, *, kind: Kind = "text", piece: int = 500, batch: int = 100) -> Script:
    """An answer in batches of many deltas, with no pause between them."""
    delta = DELTAS[kind]
    pieces = [delta(0, f"{number:08} ".ljust(piece, "x")) for number in range(characters // piece)]
    batches = [Batch(tuple(pieces[start : start + batch])) for start in range(0, len(pieces), batch)]
    opened = BlockStarted(0, kind, "echo", "c1") if kind == "tool_call" else BlockStarted(0, kind)
    return [ResponseStarted("m", "r"), opened, *batches, BlockFinished(0)]


async def follow_by_frames(subscription: Subscription[Stamped], taken: list[Stamped], ahead: list[int]) -> None:
    """As the screen does it."""
    while True:
        ahead.append(subscription.waiting)
        taken += subscription.drain(MOST_A_FRAME)
        if taken and isinstance(taken[-1].event, TurnFinished):
            return
        await asyncio.sleep(FRAME_S)


def text_of(events: list[Stamped]) -> str:
    streamed = [stamped.event.event for stamped in events if isinstance(stamped.event, Streamed)]
    return "".join(event.text for event in streamed if isinstance(event, TextDelta))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("piece", [10, 500, 3_000_000])
def test_a_follower_is_never_far_behind_and_misses_nothing(piece: int) -> None:
    async def check() -> tuple[list[Stamped], list[int], str]:
        script = [*flood(3_000_000, piece=piece), *finish()]
        async with stage([script]) as s:
            s.subscription.close()
            _, subscription = s.session.attach()
            taken: list[Stamped] = []
            ahead: list[int] = []
            async with asyncio.timeout(600):
                await s.session.submit((TextBlock(text="go"),))
                await follow_by_frames(subscription, taken, ahead)
            return taken, ahead, spoken(s.session.view().turns[-1].messages[-1])

    taken, ahead, kept = virtually(check())
    assert text_of(taken) == kept
    assert len(kept) == 3_000_000
    assert max(ahead) <= MOST_WAITING + PORTION


def test_a_frame_takes_in_no_more_than_it_can_draw() -> None:
    async def check() -> list[int]:
        async with stage([[*flood(1_000_000), *finish()]]) as s:
            await s.session.submit((TextBlock(text="go"),))
            frames: list[int] = []
            while True:
                batch = s.subscription.drain(MOST_A_FRAME)
                frames.append(len(text_of(batch)))
                if any(isinstance(stamped.event, TurnFinished) for stamped in batch):
                    return frames
                await asyncio.sleep(FRAME_S)

    frames = virtually(check())
    assert sum(frames) == 1_000_000
    assert max(frames) <= MOST_A_FRAME + PORTION


def test_a_follower_that_takes_nothing_holds_nobody_up_for_long() -> None:
    async def check() -> float:
        async with stage([[*flood(4_000_000), *finish()]]) as s:
            await s.session.submit((TextBlock(text="go"),))
            loop = asyncio.get_running_loop()
            while not s.session.view().turns:
                await asyncio.sleep(0.1)
            return loop.time()

    assert virtually(check()) < 3 * STUCK_AFTER_S


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["text", "thinking", "tool_call"])
def test_stopping_a_flood_is_at_once_and_keeps_what_came(kind: Kind) -> None:
    async def check(s: Stage) -> tuple[float, float, int]:
        await s.session.submit((TextBlock(text="go"),))
        taken = s.heard()
        loop = asyncio.get_running_loop()
        while loop.time() < 2:
            taken += [stamped.event for stamped in s.subscription.drain(MOST_A_FRAME)]
            await asyncio.sleep(FRAME_S)
        began = loop.time()
        await s.session.cancel()
        frames = 0
        while not any(isinstance(event, TurnFinished) for event in taken):
            taken += [stamped.event for stamped in s.subscription.drain(MOST_A_FRAME)]
            frames += 1
            await asyncio.sleep(FRAME_S)
        return began, loop.time(), frames

    async def run() -> None:
        async with stage([[*flood(50_000_000, kind=kind, batch=500), HANG]]) as s:
            began, ended, frames = await check(s)
            assert ended - began < 0.2
            assert frames <= (MOST_WAITING + PORTION) / MOST_A_FRAME + 2
            if kind == "text":
                assert spoken(s.session.view().turns[-1].messages[-1])

    virtually(run())


def test_an_event_of_the_answer_leaves_the_view_as_it_is() -> None:
    """What a frame asks for costs the same whatever has come: no text is joined, no view is made."""

    async def check() -> SessionState:
        async with stage([[*flood(100_000), HANG]]) as s:
            await s.session.submit((TextBlock(text="go"),))
            await s.until(RequestStarted)
            view, subscription = s.session.attach()
            state = SessionState(view, keep_text=False)
            for _ in range(20):
                for stamped in subscription.drain():
                    state.apply(stamped.event)
                await asyncio.sleep(0.01)
            before = state.now
            events: list[StreamEvent] = [TextDelta(0, "more"), TextDelta(0, "and more")]
            for event in events:
                state.apply(Streamed(before.open_turn.id if before.open_turn else "", 1, 1, event))
            assert state.now is before
            return state

    state = virtually(check())
    assert state.view(0).answer is not None
    assert state.view(0).answer.events == ()  # type: ignore[union-attr]  # asserted above


def test_deltas_that_come_together_are_kept_and_published_together() -> None:
    async def check() -> list[Stamped]:
        async with stage([[*flood(10_000, piece=10, batch=1000), *finish()]]) as s:
            _, subscription = s.session.attach()
            await s.say("go")
            assert spoken(last_turn([TurnFinished(s.session.view().turns[-1])]).messages[-1]).count("00000") == 1000
            return subscription.drain()

    numbers = [stamped.seq for stamped in virtually(check())]
    assert max(numbers) < 40


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fault", ["none", "not written", "forgotten"])
@pytest.mark.parametrize("kind", ["text", "thinking", "tool_call"])
def test_each_second_only_what_is_new_is_stored(kind: Kind, fault: str) -> None:
    """Ten seconds of an answer: what is written does not grow with what came before."""
    second = 20_000
    delta = DELTAS[kind]
    opened = BlockStarted(0, kind, "echo", "c1") if kind == "tool_call" else BlockStarted(0, kind)
    script: list[StreamEvent | Batch | Pause] = [ResponseStarted("m", "r"), opened]
    for number in range(10):
        script += [Batch((delta(0, f"{number}".ljust(second - 1, "x") + "\ud83d"),)), Pause(1.1), delta(0, "\ude00")]

    async def check() -> None:
        sizes: list[int] = []

        class Counting(MemoryJournal):
            async def grown(
                self, session: str, turn_id: str, message: Message, grown: Sequence[BlockGrowth], *, whole: bool
            ) -> bool:
                sizes.append(sum(len(words_of(growth.block)) for growth in grown))
                if len(sizes) == 4 and fault == "not written":
                    raise StoreError("full")
                if len(sizes) == 4 and fault == "forgotten":
                    self.messages.clear()
                    return False
                return await super().grown(session, turn_id, message, grown, whole=whole)

        async with stage([[*script, HANG]], journal=Counting()) as s:
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(30)
            (block,) = next(m for m in s.journal.messages.values() if m.interrupted == CRASHED).blocks
            assert words_of(block) == "".join(f"{number}".ljust(second - 1, "x") + "\U0001f600" for number in range(10))
            once = 10 * second
            assert sum(sizes) <= {"none": once, "not written": 2 * once, "forgotten": 2 * once}[fault]
            assert len(sizes) >= 8

    virtually(check())


def words_of(block: Block) -> str:
    if isinstance(block, ToolCallBlock):
        return block.arguments
    assert isinstance(block, TextBlock | ThinkingBlock)
    return block.text
