"""The retry policy, as a table and as properties on a virtual clock."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.backend import Pause, Script, answer, words
from tests.fakes.clock import virtually
from tests.fakes.stage import Stage, last_turn, spoken, stage
from tests.narrow import expect_type
from tui.domain.blocks import TextBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import AppEvent, AttemptReset, RetryScheduled, Stalled, Streamed, TurnFailed, TurnFinished
from tui.domain.stream import ResponseStarted, TextDelta
from tui.engine.retry import GiveUp, Repair, RetriesUsed, SendRepaired, Wait, decide

NOW = 1_800_000_000.0


def _error(kind: ErrorKind = ErrorKind.OVERLOADED, **facts: Any) -> ProviderError:
    return ProviderError(kind, "it broke", **facts)


def _decide(
    error: ProviderError, spent: RetriesUsed | None = None, *, partial: bool = False, draw: float = 1.0
) -> object:
    return decide(error, spent or RetriesUsed(requests=1), partial=partial, draw=draw, now=NOW)


@pytest.mark.parametrize(("failures", "most"), [(0, 0.5), (1, 1.0), (2, 2.0), (3, 4.0)])
def test_without_a_hint_waits_double_and_are_halved_at_most_by_chance(failures: int, most: float) -> None:
    spent = RetriesUsed(requests=failures + 1, failed_before_first=failures)
    assert _decide(_error(), spent, draw=1.0) == Wait(most)
    assert _decide(_error(), spent, draw=0.0) == Wait(most / 2)


@pytest.mark.parametrize(
    ("hint", "shortest", "longest", "consent"),
    [(0.5, 0.5, 0.6, False), (2, 2, 2.4, False), (60, 60, 61, False), (61, 61, 62, True), (300, 300, 301, True)],
)
def test_a_hint_is_waited_for_in_full_and_a_long_one_needs_consent(
    hint: float, shortest: float, longest: float, consent: bool
) -> None:
    error = _error(ErrorKind.RATE_LIMIT, retry_after_s=hint)
    assert _decide(error, draw=0.0) == Wait(shortest, consent)
    assert _decide(error, draw=1.0) == Wait(longest, consent)


def test_a_hint_of_hours_is_not_waited_for_but_told_as_a_time() -> None:
    error = _error(ErrorKind.RATE_LIMIT, retry_after_s=18_000)
    today = time.localtime(NOW).tm_yday == time.localtime(NOW + 18_000).tm_yday
    clock = time.strftime("%H:%M" if today else "%a %d %b, %H:%M", time.localtime(NOW + 18_000))
    assert _decide(error) == GiveUp(f"Limit reached until {clock}.")


@pytest.mark.parametrize("hint", [0.0, -5.0, float("nan"), float("inf"), 8 * 24 * 3600.0])
def test_a_hint_that_cannot_be_meant_is_ignored(hint: float) -> None:
    assert _decide(_error(retry_after_s=hint)) == Wait(0.5)


def test_attempts_end_at_five_before_the_first_event_at_three_with_a_partial_and_at_six_requests() -> None:
    assert isinstance(_decide(_error(), RetriesUsed(requests=4, failed_before_first=3)), Wait)
    assert _decide(_error(), RetriesUsed(requests=5, failed_before_first=4)) == GiveUp()
    assert isinstance(_decide(_error(), RetriesUsed(requests=2, failed_with_partial=1), partial=True), Wait)
    assert _decide(_error(), RetriesUsed(requests=3, failed_with_partial=2), partial=True) == GiveUp()
    assert _decide(_error(), RetriesUsed(requests=3, failed_before_first=2), partial=True) == GiveUp()
    assert _decide(_error(ErrorKind.INVALID_SIGNATURE), RetriesUsed(requests=6)) == GiveUp()


@pytest.mark.parametrize("kind", sorted(set(ErrorKind) - {ErrorKind.UNSUPPORTED}))
def test_every_kind_of_error_has_its_row(kind: ErrorKind) -> None:
    repairs = {
        ErrorKind.CONTEXT_OVERFLOW: SendRepaired(Repair.COMPRESS),
        ErrorKind.INVALID_SIGNATURE: SendRepaired(Repair.WITHOUT_THINKING),
        ErrorKind.THINKING_MISSING: SendRepaired(Repair.BLANK_THINKING),
        ErrorKind.EMPTY: SendRepaired(Repair.NUDGE),
    }
    never = {"auth", "no_key", "permission", "billing", "not_found", "invalid_request", "too_large", "content_filter"}
    never |= {"tls", "redirect", "not_a_stream", "bad_frame", "other"}
    assert _decide(_error(kind)) == repairs.get(kind, GiveUp() if kind.value in never else Wait(0.5))


def test_the_providers_word_on_retrying_wins_over_the_kind() -> None:
    assert _decide(_error(ErrorKind.SERVER, retryable=False)) == GiveUp()
    assert _decide(_error(ErrorKind.INVALID_REQUEST, retryable=True)) == Wait(0.5)


def test_a_parameter_is_left_out_only_when_the_provider_named_it_and_once() -> None:
    named = _error(ErrorKind.UNSUPPORTED, param="reasoning_effort")
    assert _decide(named) == SendRepaired(Repair.WITHOUT_PARAMETER)
    assert _decide(named, RetriesUsed(requests=2, refused=frozenset({"reasoning_effort"}))) == GiveUp()
    assert _decide(_error(ErrorKind.UNSUPPORTED)) == GiveUp()


_failures = st.builds(
    lambda kind, hint, partial, param: (
        ProviderError(kind, "it broke", retry_after_s=hint, param=param),
        partial,
    ),
    st.sampled_from(list(ErrorKind)),
    st.one_of(st.none(), st.floats(0, 400), st.just(float("nan"))),
    st.booleans(),
    st.sampled_from([None, "reasoning_effort"]),
)


@pytest.mark.long
@settings(max_examples=100)
@given(st.lists(_failures, min_size=8, max_size=8))
def test_whatever_fails_a_step_is_six_requests_and_120_s_of_sleep_and_never_before_the_hint(
    failures: list[tuple[ProviderError, bool]],
) -> None:
    scripts: list[Script] = [
        [ResponseStarted("m", "r"), *words("Half")[:2], error] if partial else [error] for error, partial in failures
    ]

    async def play() -> None:
        async with stage(scripts, interactive=False) as s:
            heard = await s.say("go")
            at = s.backend.asked_at
            assert len(at) <= 6
            waits = [later - earlier for earlier, later in itertools.pairwise(at)]
            assert sum(waits) <= 120.0 + 1e-6
            for (error, _), waited in zip(failures, waits, strict=False):
                hint = error.retry_after_s
                if not error.retryable or hint is None or math.isnan(hint):
                    continue
                if error.kind not in {ErrorKind.EMPTY, ErrorKind.INVALID_SIGNATURE, ErrorKind.CONTEXT_OVERFLOW}:
                    assert waited >= hint - 1e-9
            assert isinstance(heard[-1], TurnFailed)

    virtually(play())


def _play(scripts: list[Script], **how: Any) -> tuple[Stage, list[AppEvent]]:
    async def play() -> tuple[Stage, list[AppEvent]]:
        async with stage(scripts, **how) as s:
            return s, await s.say("go")

    return virtually(play())


def test_a_broken_attempt_is_void_and_the_next_one_says_it_all_once() -> None:
    broken: Script = [ResponseStarted("m", "r"), *words("The answer")[:3], ProviderError(ErrorKind.NETWORK, "reset")]
    s, heard = _play([broken, answer("The answer is 42.")])
    shown = ""
    for event in heard:
        if isinstance(event, AttemptReset):
            shown = ""
        if isinstance(event, Streamed) and isinstance(event.event, TextDelta):
            shown += event.event.text
    turn = last_turn(heard)
    assert shown == spoken(turn.messages[-1]) == "The answer is 42."
    assert [(message.superseded, message.interrupted) for message in turn.messages[1:]] == [
        (True, "reset"),
        (False, None),
    ]
    assert {event.attempt for event in heard if isinstance(event, Streamed)} == {1, 2}
    assert [type(event).__name__ for event in heard if not isinstance(event, Streamed)] == [
        "TurnStarted",
        "RequestStarted",
        "AttemptReset",
        "MessageCompleted",
        "RetryScheduled",
        "RequestStarted",
        "MessageCompleted",
        "TurnFinished",
    ]
    assert len(s.backend.requests[1].outgoing.messages) == 1


def test_when_nothing_helps_the_last_partial_is_kept_and_the_turn_fails() -> None:
    broken: Script = [ResponseStarted("m", "r"), *words("Half")[:3], ProviderError(ErrorKind.NETWORK, "reset")]
    _, heard = _play([broken, broken, broken])
    end = heard[-1]
    assert isinstance(end, TurnFailed)
    assert (end.error.message, [m.superseded for m in end.turn.messages]) == ("reset", [False, True, True, False])
    assert end.turn.messages[-1].interrupted == "reset"


def test_a_retry_says_how_many_attempts_there_are_and_whose_fault_it_is() -> None:
    fault = _error(ErrorKind.OVERLOADED)
    begun: Script = [ResponseStarted("m", "r"), *words("Half")[:3], ProviderError(ErrorKind.NETWORK, "reset")]
    _, heard = _play([[fault], begun, answer("ok")])
    told = [(event.attempt, event.attempts, event.provider) for event in heard if isinstance(event, RetryScheduled)]
    assert told == [(2, 5, "Fake"), (3, 3, "Fake")]


def test_a_wait_is_skipped_once_and_only_while_there_is_one() -> None:
    async def play() -> None:
        async with stage([[_error(ErrorKind.RATE_LIMIT, retry_after_s=50)], answer("ok")]) as s:
            await s.session.retry_now()
            await s.session.submit((TextBlock(text="go"),))
            await s.until(RetryScheduled)
            await s.session.retry_now()
            began = asyncio.get_running_loop().time()
            await s.until(TurnFinished)
            assert asyncio.get_running_loop().time() - began < 1

    virtually(play())


def test_a_usage_limit_of_hours_fails_at_once_with_the_time() -> None:
    _, heard = _play([[_error(ErrorKind.RATE_LIMIT, retry_after_s=18_000)]])
    assert isinstance(heard[-1], TurnFailed)
    assert heard[-1].error.advice.startswith("Limit reached until ")
    assert "wait a little" not in heard[-1].error.advice
    assert not [event for event in heard if isinstance(event, RetryScheduled)]


@pytest.mark.parametrize("agree", [True, False])
def test_a_long_wait_happens_only_if_the_user_agrees(agree: bool) -> None:
    async def play() -> None:
        async with stage([[_error(ErrorKind.RATE_LIMIT, retry_after_s=200)], answer("ok")]) as s:
            await s.session.submit((TextBlock(text="go"),))
            heard = await s.until(RetryScheduled)
            assert expect_type(RetryScheduled, heard[-1]).needs_consent
            await asyncio.sleep(1_000)
            assert len(s.backend.requests) == 1
            await s.session.answer_long_wait(agree=agree)
            heard = await s.until(TurnFinished, TurnFailed)
            assert isinstance(heard[-1], TurnFinished if agree else TurnFailed)
            assert len(s.backend.requests) == (2 if agree else 1)

    virtually(play())


def test_a_wait_can_be_skipped() -> None:
    async def play() -> None:
        async with stage([[_error(ErrorKind.RATE_LIMIT, retry_after_s=50)], answer("ok")]) as s:
            await s.session.submit((TextBlock(text="go"),))
            await s.until(RetryScheduled)
            await s.session.answer_now()
            await s.until(TurnFinished)
            assert s.backend.asked_at[1] - s.backend.asked_at[0] < 1

    virtually(play())


def test_silence_is_told_every_second_from_the_fifteenth_on() -> None:
    _, heard = _play([[ResponseStarted("m", "r"), Pause(18.5), *answer("ok")[1:]]])
    assert [event.seconds for event in heard if isinstance(event, Stalled)] == [15.0, 16.0, 17.0, 18.0]


def test_a_computer_that_slept_breaks_the_connection_and_asks_again_at_once() -> None:
    async def play() -> None:
        async with stage([[ResponseStarted("m", "r"), Pause(1_000)], answer("ok")]) as s:
            await s.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(5)
            s.clock.slept += 3_600
            heard = await s.until(TurnFinished)
            assert spoken(last_turn(heard).messages[-1]) == "ok"
            assert s.backend.asked_at[1] < 7

    virtually(play())


def _cut(text: str) -> Script:
    return [ResponseStarted("m", "r"), *words(text)[:-1], ProviderError(ErrorKind.NETWORK, f"cut after {text}")]


_REFUSED: Script = [ProviderError(ErrorKind.CONNECT, "refused")]


@pytest.mark.parametrize(
    ("scripts", "kept"),
    [
        ([_cut("The long beginning"), _REFUSED, _REFUSED], "The long beginning"),
        ([_cut("The long beginning"), _cut("The"), _cut("Short")], "The long beginning"),
        ([_cut("The"), _cut("The long beginning"), _REFUSED], "The long beginning"),
        ([_cut("The"), _cut("The long"), _cut("The long beginning")], "The long beginning"),
        ([_cut("The"), _REFUSED, answer("All of it.")], "All of it."),
    ],
)
def test_of_several_broken_attempts_the_one_that_came_furthest_is_kept(scripts: list[Script], kept: str) -> None:
    s, heard = _play(scripts)
    messages = last_turn(heard).messages
    [counted] = [message for message in messages[1:] if not message.superseded]
    assert spoken(counted) == kept
    assert len({message.id for message in messages}) == len(messages)
    assert s.journal.messages[counted.id] == counted


def test_stopping_while_a_retry_waits_keeps_what_had_come() -> None:
    async def play() -> None:
        async with stage([_cut("The beginning"), [Pause(1000)]]) as s:
            await s.session.submit((TextBlock(text="go"),))
            await s.until(RetryScheduled)
            await s.session.cancel()
            [_, kept] = last_turn(await s.until(TurnFinished)).messages
            assert (spoken(kept), kept.superseded) == ("The beginning", False)

    virtually(play())
