"""What a turn leaves in memory: its messages, and nothing of its requests, which hold the whole conversation."""

from __future__ import annotations

import gc

from tests.fakes.backend import Script, answer, finish, words
from tests.fakes.clock import virtually
from tests.fakes.stage import stage
from tui.domain.stream import Finish, ResponseStarted
from tui.engine.attempt import Attempt


def _attempts() -> int:
    return sum(type(thing) is Attempt for thing in gc.get_objects())


def test_requests_are_freed_without_looking_for_garbage() -> None:
    scripts: list[Script] = [
        answer("Whole"),
        [ResponseStarted("m", "r"), *words("Continued"), *finish(Finish.CONTINUATION, detail="more")],
        answer(" in a second request"),
    ]

    async def play() -> int:
        async with stage(scripts) as s:
            before = _attempts()
            await s.say("one")
            await s.say("two")
            assert s.backend.scripts == []
            return _attempts() - before

    gc.collect()
    gc.disable()
    try:
        assert virtually(play()) == 0
    finally:
        gc.enable()
