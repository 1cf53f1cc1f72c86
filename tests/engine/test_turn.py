"""One turn: its events, its history, its journal."""

from __future__ import annotations

from tests.fakes.backend import USAGE, answer
from tests.fakes.clock import virtually
from tests.fakes.planner import SPEC
from tests.fakes.stage import last_turn, spoken, stage
from tests.narrow import expect_some
from tui.domain.blocks import TextBlock
from tui.domain.events import MessageCompleted, RequestStarted, TurnFinished, TurnStarted
from tui.domain.messages import Role


def test_a_plain_turn_says_this_and_nothing_else() -> None:
    async def play() -> None:
        async with stage([answer("Hello you")]) as s:
            heard = await s.say("Hi")
        turn = last_turn(heard)
        user, reply = turn.messages
        assert [type(event).__name__ for event in heard] == [
            "TurnStarted",
            "RequestStarted",
            *["Streamed"] * 6,
            "MessageCompleted",
            "TurnFinished",
        ]
        assert heard[0] == TurnStarted(turn.__class__(id=turn.id, messages=(user,), open=True))
        assert heard[1] == RequestStarted(turn.id, 0, 1, SPEC, s.backend.requests[0].plan)
        assert heard[-2:] == [MessageCompleted(turn.id, 0, reply), TurnFinished(turn)]
        assert (user.role, user.blocks) == (Role.USER, (TextBlock(text="Hi"),))
        assert (spoken(reply), reply.interrupted, reply.usage) == ("Hello you", None, USAGE)
        assert expect_some(reply.origin).level == "low"
        assert s.journal.calls == ["turn_started", "message_added", "turn_finished"]
        assert s.journal.turns[turn.id] == turn

    virtually(play())
