"""Compression follows what will really be sent: the whole way through a session, event by event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.context.living import BOUND, OVERFLOW, STRIPPED, TIGHT, living, said, stored, with_rules
from tests.fakes.clock import virtually
from tui.domain.blocks import ThinkingBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import CompressionFinished, CompressionStarted, MeterChanged, TurnFinished
from tui.domain.stream import Finish
from tui.domain.usage import Part

THINKING = stored(6, thinking=800)
SUMMARY = "They talked about models that read."


def compressions(heard):
    return [event for event in heard if isinstance(event, CompressionStarted | CompressionFinished)]


def play(scripts, check, **how):
    async def run():
        async with living(scripts, **how) as s:
            return await check(s)

    return virtually(run())


def test_thinking_that_is_stripped_triggers_nothing_however_much_is_stored():
    async def check(s):
        reading = await s.meter()
        assert reading.effective < reading.trigger < reading.raw
        assert compressions(await s.say()) == []
        assert len(s.backend.requests) == 1

    play([said("fine")], check, turns=THINKING, settings=with_rules(STRIPPED))


def test_the_same_thinking_included_triggers_before_anything_is_sent():
    async def check(s):
        assert (await s.meter()).effective > (await s.meter()).trigger
        started, finished = compressions(await s.say())
        assert (started.turns, started.before) == (5, finished.before)
        assert finished.after < finished.before
        summariser, asked = s.backend.requests
        assert "<thinking>" in summariser.outgoing.messages[0].blocks[0].text
        assert SUMMARY in asked.outgoing.messages[0].blocks[0].text

    play([said(SUMMARY), said("fine")], check, turns=THINKING)


def test_what_is_shown_follows_every_setting_and_compression():
    async def check(s):
        included = s.shown()
        await s.session.assign(with_rules(STRIPPED), {"reasoning.stripFromContext": "all"})
        stripped = s.shown()
        assert stripped == await s.meter()
        assert (stripped.parts[Part.THINKING_SENT], stripped.raw) == (0, included.raw)
        await s.session.assign(TIGHT, {"reasoning.stripFromContext": "none"})
        assert s.shown() == included
        heard = await s.say()
        told = [event.reading for event in heard if isinstance(event, MeterChanged)]
        assert told[0].effective < included.effective
        assert told[-1] == s.shown() == await s.meter()

    play([said(SUMMARY), said("fine")], check, turns=THINKING)


def test_undoing_brings_back_the_whole_history_and_its_number():
    async def check(s):
        before = await s.meter()
        request = (await s.session.preview("")).request
        await s.session.compress_now()
        await s.until(CompressionFinished)
        assert (await s.meter()).effective < before.effective
        assert s.journal.view.summary == SUMMARY
        assert await s.session.uncompress()
        assert (await s.meter(), s.shown()) == (before, before)
        assert (await s.session.preview("")).request == request
        assert s.journal.view is None

    play([said(SUMMARY)], check, turns=THINKING)


def test_an_overflow_is_repaired_by_one_compression_and_one_more_request():
    async def check(s):
        heard = await s.say()
        assert isinstance(heard[-1], TurnFinished)
        assert len(compressions(heard)) == 2
        refused, _, again = s.backend.requests
        assert len(again.outgoing.messages) < len(refused.outgoing.messages)
        assert SUMMARY in again.outgoing.messages[0].blocks[0].text

    roomy = replace(TIGHT, context_limit=None)
    play([[OVERFLOW], said(SUMMARY), said("fine")], check, turns=THINKING, settings=roomy)


@pytest.mark.parametrize(
    "summary",
    [
        said(""),
        said("half of it", Finish.LENGTH),
        said("no, " * 9_000),
        [ProviderError(ErrorKind.AUTH, "no key", status=401)],
    ],
    ids=["empty", "cut", "not smaller", "refused"],
)
def test_a_summary_that_fails_changes_nothing_and_says_why(summary):
    async def check(s):
        before, request = await s.meter(), (await s.session.preview("")).request
        await s.session.compress_now()
        finished = compressions(await s.until(CompressionFinished))[-1]
        assert finished.error
        assert (finished.before, finished.after) == (before.effective, before.effective)
        assert (await s.session.preview("")).request == request
        assert (await s.meter(), s.journal.view) == (before, None)

    play([summary], check, turns=THINKING)


def test_a_model_that_binds_its_thinking_gets_none_of_the_kept_turns_and_drops_the_rest_itself():
    async def check(s):
        await s.say()
        asked = s.backend.requests[-1]
        thinking = [b for m in asked.outgoing.messages for b in m.blocks if isinstance(b, ThinkingBlock)]
        assert thinking == []
        assert asked.plan.fields["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
        assert (await s.meter()).parts[Part.THINKING_STRIPPED] > 0

    turns = stored(6, thinking=800, model=BOUND)
    play([said(SUMMARY), said("fine")], check, turns=turns, model=BOUND)
