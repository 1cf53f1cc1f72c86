"""R20: at most two automatic compressions that win less than a tenth, however long the session goes on."""

from __future__ import annotations

import pytest

from tests.fakes.backend import Script, answer
from tests.fakes.clock import virtually
from tests.fakes.planner import FakePlanner
from tests.fakes.stage import last_turn, spoken, stage
from tui.context.compress import CompressionLog
from tui.domain.blocks import TextBlock
from tui.domain.events import CompressionFinished, CompressionStarted
from tui.domain.messages import Message, Role, Turn

TRIGGER = 1_000
TURNS = 200


@pytest.mark.parametrize(
    ("gains", "allowed"),
    [
        ((99, 99), False),
        ((0, 0), False),
        ((-50, 99), False),
        ((100, 100), True),
        ((99, 100), True),
        ((99, 99, 100), True),
        ((99,), True),
    ],
)
def test_a_gain_counts_from_a_tenth_of_the_limit_on(gains: tuple[int, ...], allowed: bool) -> None:
    log = CompressionLog()
    for gain in gains:
        log = log.finished(1_200, 1_200 - gain, TRIGGER)
    assert (log.refusal(0.0) is None) == allowed


@pytest.mark.one_in(3)
@pytest.mark.parametrize("length", [1_900, 2_000, 2_400])
@pytest.mark.long
def test_r20_a_long_session_is_compressed_twice_if_it_wins_less_than_a_tenth(length: int) -> None:
    """The summary is as long as what it replaces, at every compression that is asked for."""

    async def play() -> list[CompressionFinished]:
        scripts: list[Script] = [answer("z" * length) if at in (0, 2) else answer("ok") for at in range(TURNS + 2)]
        first = Turn(
            id="t1",
            messages=(
                Message(id="p", role=Role.USER, blocks=(TextBlock(text="x" * 600),)),
                Message(id="a", role=Role.ASSISTANT, blocks=(TextBlock(text="y" * 600),)),
            ),
        )
        async with stage(scripts, turns=(first,), planner=FakePlanner(limit=TRIGGER)) as s:
            heard = []
            for _ in range(TURNS):
                events = await s.say("g" * 40)
                assert spoken(last_turn(events).messages[-1]) == "ok"
                heard += [event for event in events if isinstance(event, CompressionStarted | CompressionFinished)]
            assert s.backend.scripts == []
        assert len([event for event in heard if isinstance(event, CompressionStarted)]) == 2
        return [event for event in heard if isinstance(event, CompressionFinished)]

    finished = virtually(play())
    assert all(event.before - event.after < TRIGGER / 10 for event in finished)
