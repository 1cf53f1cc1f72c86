"""What summaries cost is paid whatever becomes of them; who looks at a folded history knows through which view."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes.backend import HANG, Script, answer, finish, words
from tests.fakes.clock import virtually
from tests.fakes.planner import SPEC, FakePlanner, target
from tests.fakes.stage import Stage, stage
from tui.catalog.facts import Target
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import CompressionChanged, CompressionFinished, CompressionStarted
from tui.domain.stream import ResponseStarted
from tui.domain.usage import Usage
from tui.engine.saving import HOLD_EVERY_S

USED = Usage(input=10, output=5, thinking=2, total=15)


class Priced(FakePlanner):
    """A cent a request."""

    def cost(self, target: Target, usage: Usage) -> float | None:
        return 0.01


async def compressed(s: Stage) -> CompressionFinished:
    await s.session.compress_now()
    heard = await s.until(CompressionFinished)
    return next(event for event in heard if isinstance(event, CompressionFinished))


def runs(finished: CompressionFinished) -> list[tuple[str, float | None, str]]:
    return [(run.turn, run.cost, run.failure) for run in finished.runs]


async def turns_of(s: Stage, count: int = 2) -> list[str]:
    for number in range(count):
        await s.say(f"Question {number}")
    return [turn.id for turn in s.session.attach()[0].turns]


def test_a_summary_is_billed_told_and_kept_with_the_last_turn_there_was() -> None:
    async def check() -> None:
        async with stage([*[answer("Yes.")] * 2, answer("They talked.")], planner=Priced()) as s:
            first, second = await turns_of(s)
            finished = await compressed(s)
            [run] = finished.runs
            assert run == SummaryRun(
                id=run.id,
                turn=second,
                origin=replace(target(SPEC).origin, level="low"),
                usage=USED,
                seconds=0.0,
                cost=0.01,
            )
            view = s.session.attach()[0]
            assert view.summaries == (run,)
            assert view.compression is not None
            assert view.compression.compressed_turns == {first}
            assert (view.compression.before, view.compression.after) == (finished.before, finished.after)
            assert await s.session.uncompress()
            view = s.session.attach()[0]
            assert (view.compression, view.summaries) == (None, (run,))
        assert s.journal.runs == [run]
        assert s.journal.view is None

    virtually(check())


def test_attempts_that_failed_and_summaries_of_no_use_are_paid_for_too() -> None:
    broken = ProviderError(ErrorKind.TRUNCATED, "The stream broke.")
    half: Script = [ResponseStarted("m", "r1"), *words("Half"), *finish()[:1], broken]

    async def check() -> None:
        async with stage([*[answer("Yes.")] * 2, half, answer("useless")], planner=Priced()) as s:
            _, second = await turns_of(s)
            finished = await compressed(s)
            why = "The summary was not smaller."
            assert runs(finished) == [(second, 0.01, "The stream broke."), (second, 0.01, why)]
            assert s.session.attach()[0].compression is None
            assert len(s.session.attach()[0].summaries) == 2

    virtually(check())


def test_a_summary_that_is_cancelled_is_billed_as_far_as_it_was_reported() -> None:
    script: Script = [ResponseStarted("m", "r1"), *words("They"), *finish()[:1], HANG]

    async def check() -> None:
        async with stage([*[answer("Yes.")] * 2, script], planner=Priced()) as s:
            _, second = await turns_of(s)
            await s.session.compress_now()
            await s.until(CompressionStarted)
            for _ in range(20):
                await s.clock.sleep(0.001)
            await s.session.cancel()
            [finished] = [
                event for event in await s.until(CompressionFinished) if isinstance(event, CompressionFinished)
            ]
            assert runs(finished) == [(second, 0.01, "Cancelled.")]

    virtually(check())


def test_going_back_behind_a_compression_returns_to_the_view_before_it_and_to_what_was_paid_by_then() -> None:
    async def check() -> None:
        scripts = [answer("Yes."), answer("Yes."), answer("First."), answer("Yes."), answer("Second.")]
        async with stage(scripts, planner=Priced()) as s:
            await turns_of(s)
            await compressed(s)
            first = s.session.attach()[0].compression
            await s.say("Question 3")
            await compressed(s)
            assert s.session.attach()[0].compression != first
            turns = s.session.attach()[0].turns
            await s.session.fork(turns[0].id)
            heard = s.heard()
            view = s.session.attach()[0]
        assert isinstance(first, CompressionView)
        assert view.compression == first == s.journal.view
        assert view.summaries == ()
        assert CompressionChanged(first) in heard

    virtually(check())


def test_a_session_is_held_for_as_long_as_it_is_open() -> None:
    async def check() -> int:
        async with stage() as s:
            await s.clock.sleep(HOLD_EVERY_S * 3 + 1)
        return s.journal.held

    assert virtually(check()) == 3
