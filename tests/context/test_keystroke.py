"""Typing never counts the conversation again, whatever else goes on."""

import time

from tests.context.living import TIGHT, living, said, stored
from tests.fakes.backend import HANG
from tests.fakes.clock import virtually
from tui.context.estimate import text_tokens
from tui.domain.blocks import TextBlock
from tui.domain.events import RequestStarted
from tui.domain.stream import ResponseStarted
from tui.domain.usage import Part
from tui.engine.settings import EngineSettings

ROOMY = EngineSettings(context_limit=1_000_000)
OPEN_END = [ResponseStarted("claude-opus-5", "r"), HANG]


def play(scripts, check, **how):
    async def run():
        async with living(scripts, settings=ROOMY, **how) as s:
            return await check(s)

    return virtually(run())


def test_the_request_stays_the_same_object_while_words_are_typed():
    async def check(s):
        first = await s.session.preview("a")
        assert (await s.session.preview("a b")).request is first.request
        await s.session.submit((TextBlock(text="go on"),))
        await s.until(RequestStarted)
        running = await s.session.preview("a")
        assert (await s.session.preview("a b")).request is running.request
        await s.session.assign(TIGHT, {})
        await s.session.assign(ROOMY, {})

    play([OPEN_END], check, turns=stored(3))


def test_words_typed_while_a_turn_runs_are_weighed_on_top_of_it():
    async def check(s):
        before = await s.meter()
        await s.session.submit((TextBlock(text="go on with all of it"),))
        await s.until(RequestStarted)
        running, typed = await s.meter(), await s.meter("and then stop")
        assert running.effective > before.effective
        assert typed.effective == running.effective + typed.parts[Part.DRAFT]

    play([OPEN_END], check, turns=stored(3))


def test_words_being_typed_are_not_kept():
    async def check(s):
        await s.meter()
        before = text_tokens.cache_info().currsize
        for number in range(20):
            await s.meter("some words " * 20 + str(number))
        return text_tokens.cache_info().currsize - before

    assert play([said("x")], check, turns=stored(3)) == 0


def test_a_keystroke_costs_a_small_part_of_a_count():
    turns = stored(120, thinking=200, answer=200)

    async def check(s):
        text_tokens.cache_clear()
        await s.session.preview("")
        start = time.process_time()
        for number in range(50):
            await s.meter("some words " * 20 + str(number))
        return (time.process_time() - start) / 50

    def cold():
        text_tokens.cache_clear()
        start = time.process_time()
        play([said("x")], opened, turns=turns)
        return time.process_time() - start

    async def opened(s):
        return await s.meter()

    assert play([said("x")], check, turns=turns) < cold() / 10
