"""What is changed about a refused request, and answers that are none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.backend import Script, answer, calls, finish, thought, words
from tests.fakes.clock import virtually
from tests.fakes.planner import FakePlanner
from tests.fakes.stage import Stage, last_turn, spoken, stage
from tests.narrow import expect_some, text_of
from tui.domain.blocks import ProviderState, TextBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import (
    AppEvent,
    AttemptReset,
    CompressionFinished,
    CompressionStarted,
    Notice,
    Streamed,
    TurnFailed,
    TurnFinished,
)
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import Finish, ResponseFinished, ResponseStarted
from tui.domain.usage import Usage
from tui.engine.settings import EngineSettings
from tui.engine.step import NUDGE


def _play(scripts: list[Script], **how: Any) -> tuple[Stage, list[AppEvent]]:
    async def play() -> tuple[Stage, list[AppEvent]]:
        async with stage(scripts, **how) as s:
            return s, await s.say("go")

    return virtually(play())


def _notices(heard: list[AppEvent]) -> list[str]:
    return [event.text for event in heard if isinstance(event, Notice)]


def _turns(count: int, size: int = 10) -> tuple[Turn, ...]:
    return tuple(
        Turn(
            id=f"t{n}",
            messages=(
                Message(id=f"u{n}", role=Role.USER, blocks=(TextBlock(text="x" * size),)),
                Message(id=f"a{n}", role=Role.ASSISTANT, blocks=(TextBlock(text="y" * size),)),
            ),
        )
        for n in range(count)
    )


OVERFLOW = ProviderError(ErrorKind.CONTEXT_OVERFLOW, "too long", status=400)


def test_a_refused_parameter_is_left_out_once_and_told() -> None:
    refusal = ProviderError(ErrorKind.UNSUPPORTED, "no", param="reasoning_effort")
    s, heard = _play([[refusal], answer("ok")])
    assert [dict(request.plan.fields) for request in s.backend.requests] == [{"reasoning_effort": "low"}, {}]
    assert _notices(heard) == ["`reasoning_effort` is not supported here: sent without it."]
    assert isinstance(heard[-1], TurnFinished)


def test_each_refused_parameter_is_left_out_and_the_next_turn_asks_without_all_of_them() -> None:
    refusals = [ProviderError(ErrorKind.UNSUPPORTED, "no", param=name) for name in ("reasoning_effort", "store")]

    async def play() -> Stage:
        async with stage([*([refusal] for refusal in refusals), answer("ok"), answer("ok")]) as s:
            await s.say("go")
            await s.say("on")
            return s

    requests = virtually(play()).backend.requests
    assert [(bool(request.plan.fields), request.without) for request in requests] == [
        (True, ()),
        (False, ()),
        (False, ("store",)),
        (False, ("store",)),
    ]


def test_a_parameter_that_is_not_in_the_request_is_not_worth_another() -> None:
    s, heard = _play([[ProviderError(ErrorKind.UNSUPPORTED, "no", param="nonsense")]])
    assert (len(s.backend.requests), type(heard[-1])) == (1, TurnFailed)


def test_refused_seals_are_left_out_once() -> None:
    refusal = ProviderError(ErrorKind.INVALID_SIGNATURE, "bad signature", status=400)
    s, heard = _play([[refusal], answer("ok")])
    assert [bool(request.plan.headers) for request in s.backend.requests] == [False, True]
    assert _notices(heard) == ["Sent again without the thinking of earlier turns."]
    s, heard = _play([[refusal], [refusal]])
    assert (len(s.backend.requests), type(heard[-1])) == (2, TurnFailed)


def test_thinking_without_an_answer_is_asked_about_once_and_then_told() -> None:
    only_thought: Script = [ResponseStarted("m", "r"), *thought("Hm"), *finish()]
    s, heard = _play([only_thought, answer("ok")])
    first, second = (request.outgoing.messages for request in s.backend.requests)
    assert [message.blocks for message in second[len(first) :]] == [(TextBlock(text=NUDGE),)]
    assert [message.superseded for message in last_turn(heard).messages] == [False, True, False]
    s, heard = _play([only_thought, only_thought])
    assert _notices(heard) == ["The model thought but gave no answer."] * 2
    assert isinstance(heard[-1], TurnFinished)


def test_an_empty_answer_is_asked_again_once_and_then_told() -> None:
    nothing: Script = [ResponseStarted("m", "r"), *finish()]
    s, heard = _play([nothing, nothing])
    assert (len(s.backend.requests), type(heard[-1])) == (2, TurnFinished)
    assert _notices(heard)[-1] == "The model gave an empty answer."


def test_a_call_nobody_can_read_is_asked_again_once() -> None:
    garbled: Script = [ResponseStarted("m", "r"), *finish(Finish.MALFORMED_CALL)]
    s, heard = _play([garbled, answer("ok")])
    assert (len(s.backend.requests), s.backend.requests[1].system) == (2, "")
    s, heard = _play([garbled, garbled])
    assert (len(s.backend.requests), type(heard[-1])) == (2, TurnFinished)


def test_an_overflow_compresses_once_and_asks_once_more() -> None:
    s, heard = _play([[OVERFLOW], answer("short"), answer("ok")], turns=_turns(3))
    assert [type(event) for event in heard if isinstance(event, CompressionStarted | CompressionFinished)] == [
        CompressionStarted,
        CompressionFinished,
    ]
    assert s.backend.requests[-1].system.startswith("short|")
    assert len(s.backend.requests[-1].outgoing.messages) == 1
    assert expect_some(s.journal.view).compressed_turns == {"t0", "t1", "t2"}
    s, heard = _play([[OVERFLOW], answer("short"), [OVERFLOW]], turns=_turns(3))
    assert isinstance(heard[-1], TurnFailed)
    assert "tokens of an unknown number" in heard[-1].error.advice


def test_an_overflow_with_nothing_to_fold_fails_with_the_numbers() -> None:
    s, heard = _play([[OVERFLOW]])
    assert (len(s.backend.requests), type(heard[-1])) == (1, TurnFailed)


def test_a_heavy_history_is_folded_before_it_is_sent() -> None:
    _, heard = _play([answer("sum"), answer("ok")], turns=_turns(5, 40), planner=FakePlanner(limit=300))
    finished = next(event for event in heard if isinstance(event, CompressionFinished))
    assert (finished.before, finished.after, finished.summary) == (402, 5, "sum")
    assert spoken(last_turn(heard).messages[-1]) == "ok"


def test_a_summariser_that_overflows_is_given_less() -> None:
    s, _ = _play([[OVERFLOW], answer("sum"), answer("ok")], turns=_turns(5, 40), planner=FakePlanner(limit=300))
    assert expect_some(s.journal.view).compressed_turns == {"t1", "t2", "t3", "t4"}


@pytest.mark.parametrize("summary", [[ProviderError(ErrorKind.AUTH, "no key")], answer("useless")])
def test_a_failed_summary_changes_nothing_and_the_turn_goes_on(summary: Script) -> None:
    s, heard = _play([summary, answer("ok")], turns=_turns(5, 40), planner=FakePlanner(limit=300))
    failed = next(event for event in heard if isinstance(event, CompressionFinished))
    assert (failed.before, failed.after, bool(failed.error)) == (402, 402, True)
    assert s.journal.view is None
    assert isinstance(heard[-1], TurnFinished)


def test_compression_that_does_not_help_happens_twice_and_is_then_told_once() -> None:
    async def play() -> None:
        long = "z" * 2_000
        scripts = [answer(long), answer("one"), answer(long), answer("two"), answer("three"), answer("four")]
        async with stage(scripts, turns=_turns(1, 600), planner=FakePlanner(limit=1_000)) as s:
            heard = [event for _ in range(4) for event in await s.say("g" * 40)]
            assert len([event for event in heard if isinstance(event, CompressionStarted)]) == 2
            assert [text for text in _notices(heard) if "would not help" in text] == [_notices(heard)[-1]]

    virtually(play())


def test_no_third_failure_in_a_minute_is_tried_again() -> None:
    async def play() -> None:
        no: Script = [ProviderError(ErrorKind.AUTH, "no key")]
        scripts: list[Script] = [no, answer("1"), no, answer("2"), no, answer("3"), answer("4")]
        async with stage(scripts, turns=_turns(5, 40), planner=FakePlanner(limit=300)) as s:
            heard = [event for _ in range(4) for event in await s.say("go")]
            assert len([event for event in heard if isinstance(event, CompressionStarted)]) == 3
            assert s.backend.scripts == []

    virtually(play())


def test_compression_asked_for_in_a_turn_waits_for_its_end_and_can_be_undone() -> None:
    async def play() -> None:
        async with stage([answer("ok"), answer("sum")], turns=_turns(3)) as s:
            await s.session.submit((TextBlock(text="go"),))
            await s.session.compress_now("keep names")
            heard = await s.until(CompressionFinished)
            kinds = [type(event) for event in heard]
            assert kinds.index(TurnFinished) < kinds.index(CompressionStarted)
            asked = s.backend.requests[-1].outgoing.messages[0].blocks[0]
            assert (text_of(asked), expect_some(s.journal.view).summary) == ("Summarise. keep names", "sum")
            assert await s.session.uncompress()
            assert not await s.session.uncompress()
            assert s.journal.view is None

    virtually(play())


def test_the_hops_of_a_long_answer_are_one_answer() -> None:
    first: Script = [
        ResponseStarted("m", "r"),
        *thought("Long"),
        *words("One, tw", 1),
        *finish(Finish.CONTINUATION, detail="token", usage=Usage(input=10, output=5, thinking=2, total=15)),
    ]
    second: Script = [
        ResponseStarted("m", "r"),
        *words("o, three"),
        *words("More.", 1, provider_state=ProviderState(signature="s")),
        *finish(usage=Usage(input=15, output=7, thinking=0, total=22)),
    ]
    s, heard = _play([first, second])
    reply = last_turn(heard).messages[-1]
    assert [text_of(block) for block in reply.blocks] == ["Long", "One, two, three", "More."]
    assert [request.continuation for request in s.backend.requests] == [None, "token"]
    assert reply.usage == Usage(input=10, output=12, thinking=2, total=22)
    streamed = [event.event for event in heard if isinstance(event, Streamed)]
    assert [type(event) for event in streamed].count(ResponseFinished) == 1
    assert len([event for event in heard if isinstance(event, AttemptReset)]) == 0


def test_a_paused_turn_is_sent_again_with_what_came_appended() -> None:
    paused: Script = [ResponseStarted("m", "r"), *words("Searching"), *finish(Finish.PAUSE)]
    s, heard = _play([paused, answer("Found.")])
    assert [spoken(message) for message in last_turn(heard).messages] == ["go", "Searching", "Found."]
    assert [message.role for message in s.backend.requests[1].outgoing.messages] == [Role.USER, Role.ASSISTANT]


def test_another_model_answering_is_told_and_stored() -> None:
    _, heard = _play([[ResponseStarted("m-mini", "r"), *answer("ok")[1:]]])
    assert _notices(heard) == ["Asked `m`, but `m-mini` answers."]
    assert last_turn(heard).messages[-1].answered_by == "m-mini"


def test_the_name_of_another_model_is_told_in_one_short_line() -> None:
    _, heard = _play([[ResponseStarted("\x1b[31m\n" + "m" * 100_000, "r"), *answer("ok")[1:]]])
    (told,) = _notices(heard)
    assert len(told) < 150
    assert "\n" not in told


def test_that_another_model_answers_is_told_once() -> None:
    other: Script = [ResponseStarted("m-mini", "r"), *calls(("a", "echo", "{}"))[1:]]
    _, heard = _play([other, [ResponseStarted("m-mini", "r"), *answer("ok")[1:]]])
    assert _notices(heard) == ["Asked `m`, but `m-mini` answers."]


def test_a_dated_name_is_the_same_model() -> None:
    _, heard = _play([[ResponseStarted("vendor/m-2026-01-01", "r"), *answer("ok")[1:]]])
    assert _notices(heard) == []


def test_a_model_that_goes_round_in_circles_is_told_once() -> None:
    _, heard = _play([[ResponseStarted("m", "r"), *words("I will try that again, one more time. " * 200), *finish()]])
    assert _notices(heard) == ["The model repeats itself."]
    assert all(event.until_turn_ends for event in heard if isinstance(event, Notice))


def test_a_second_tool_round_has_a_budget_of_its_own() -> None:
    busy = ProviderError(ErrorKind.OVERLOADED, "busy")
    scripts: list[Script] = [[busy], [busy], [busy], [busy], calls(("a", "echo", "{}")), [busy], [busy], answer("ok")]
    s, heard = _play(scripts, settings=EngineSettings())
    assert (len(s.backend.requests), type(heard[-1])) == (8, TurnFinished)


def test_a_model_the_provider_does_not_know_gets_the_nearest_names() -> None:
    _, heard = _play([[ProviderError(ErrorKind.NOT_FOUND, "no such model", status=404)]])
    assert isinstance(heard[-1], TurnFailed)
    assert heard[-1].error.advice == "Models with such names: fake/n, fake/o."


def test_a_server_that_read_much_less_than_was_sent_is_told_of() -> None:
    _, heard = _play([answer("ok")], turns=_turns(50, 100))
    assert _notices(heard) == ["The server read 10 of about 10,002 tokens: it may have dropped context."]


def test_that_is_said_once_for_a_model_and_not_after_every_answer() -> None:
    async def play() -> None:
        async with stage([answer("ok")], forever=True, turns=_turns(50, 100)) as s:
            heard = [event for _ in range(3) for event in await s.say("again")]
            assert len(_notices(heard)) == 1

    virtually(play())
