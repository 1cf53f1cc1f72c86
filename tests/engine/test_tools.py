"""Tool rounds: strict arguments, limits, approvals, results in order."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.backend import USAGE, Script, answer, call, calls, finish, words
from tests.fakes.clock import virtually
from tests.fakes.stage import Stage, last_turn, stage
from tui.domain.blocks import TextBlock, ToolResultBlock
from tui.domain.events import (
    AppEvent,
    ApprovalAsked,
    ApprovalSettled,
    Notice,
    Severity,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from tui.domain.messages import Message, Role
from tui.domain.stream import Finish, ResponseStarted, ToolArgsDelta
from tui.engine.settings import EngineSettings
from tui.engine.tool_round import CUT, problem_with_arguments

TOOLS = EngineSettings()


def _results(messages: tuple[Message, ...]) -> list[tuple[str, str, bool]]:
    return [
        (block.call_id, "".join(part.text for part in block.content if isinstance(part, TextBlock)), block.failed)
        for message in messages
        if message.role is Role.TOOL
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]


def test_each_round_is_a_message_of_its_own() -> None:
    s, heard = _play([calls(("a", "echo", "{}")), calls(("b", "echo", "{}")), answer("There.")])
    messages = last_turn(heard).messages
    assert len({message.id for message in messages} - {""}) == 6
    assert [s.journal.messages[message.id] for message in messages] == list(messages)


def _play(scripts: list[Script], settings: EngineSettings = TOOLS) -> tuple[Stage, list[AppEvent]]:
    async def play() -> tuple[Stage, list[AppEvent]]:
        async with stage(scripts, settings=settings) as s:
            return s, await s.say("go")

    return virtually(play())


def test_results_stand_in_the_order_of_the_calls_whatever_ends_first() -> None:
    s, heard = _play(
        [
            calls(("a", "slow", '{"seconds":3,"say":"A"}'), ("b", "add", '{"x":1,"y":2}'), ("c", "echo", "")),
            answer("There."),
        ]
    )
    turn = last_turn(heard)
    assert [message.role for message in turn.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert _results(turn.messages) == [("a", "A", False), ("b", "3", False), ("c", "done", False)]
    assert [event.call_id for event in heard if isinstance(event, ToolStarted)] == ["a", "b", "c"]
    assert [(event.call_id, round(event.seconds, 2)) for event in heard if isinstance(event, ToolFinished)] == [
        ("b", 0.0),
        ("c", 0.0),
        ("a", 3.0),
    ]
    assert s.toolbox.ran[2].arguments == "{}"
    # What is to be said of the calls after a crash is stored before the first, and before each of them.
    started = ["turn_started", "message_added", *["checkpoint"] * 4]
    assert s.journal.calls == [*started, "message_added", "message_added", "turn_finished"]


async def _said_by_echo(prompt: str) -> str:
    async with stage([answer("Hello."), calls(("a", "echo", "{}")), answer("There.")], settings=TOOLS) as s:
        await s.say(prompt)
        ((_, text, _),) = _results(last_turn(await s.say("go on")).messages)
        return text


def test_a_prompt_of_a_server_makes_the_whole_conversation_untrusted() -> None:
    untrusted = "this conversation has untrusted text"
    assert virtually(_said_by_echo("Prompt `hello` of the MCP server `docs`:\n\nRun this.")) == untrusted
    assert virtually(_said_by_echo("Run this.")) == "done"


def test_at_most_eight_calls_run_at_once() -> None:
    s, _ = _play([calls(*((f"c{i}", "slow", json.dumps({"n": i})) for i in range(20))), answer("ok")])
    assert (len(s.toolbox.ran), s.toolbox.most) == (20, 8)


def test_the_fifty_first_call_of_a_turn_is_not_run_and_the_turn_ends_when_the_model_goes_on() -> None:
    many = calls(*((f"c{i}", "echo", json.dumps({"n": i})) for i in range(200)))
    s, heard = _play([many, calls(("z", "echo", '{"n":-1}')), answer("never asked")])
    results = _results(last_turn(heard).messages)
    assert len(s.toolbox.ran) == 50
    assert len(results) == 201
    assert {result[1:] for result in results[50:]} == {
        ("The limit of 50 tool calls per turn is reached. Not executed.", True)
    }
    assert len(s.backend.requests) == 2
    assert isinstance(heard[-1], TurnFinished)


def test_a_call_cut_by_the_output_limit_never_runs_and_the_model_is_told() -> None:
    s, heard = _play([calls(("a", "echo", '{"say":"rm -rf /tmp/x"}'), why=Finish.LENGTH), answer("Shorter then.")])
    assert (s.toolbox.ran, _results(last_turn(heard).messages)) == ([], [("a", CUT, True)])


def test_a_model_that_is_cut_again_and_again_is_stopped() -> None:
    cut = calls(("a", "echo", '{"say":'), why=Finish.LENGTH)
    s, heard = _play([cut, cut, cut])
    assert (len(s.backend.requests), s.toolbox.ran) == (2, [])
    assert [event.text for event in heard if isinstance(event, Notice)] == ["The answer was cut by the output limit."]


def test_a_call_that_never_finished_is_not_run_and_gets_no_result() -> None:
    unfinished = [ResponseStarted("m", "r"), *call("a", "echo", '{"say":"x"}')[:2], *finish(Finish.LENGTH)]
    s, heard = _play([unfinished])
    assert (s.toolbox.ran, _results(last_turn(heard).messages)) == ([], [])


WHOLE = '{"path": "/tmp/x", "depth": [1, {"a": "b\\n"}]}'


@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_arguments_cut_anywhere_are_refused(length: int) -> None:
    assert problem_with_arguments(WHOLE[:length]) is not None


@pytest.mark.parametrize("bad", ["null", "[1]", '"text"', "3", "{'a': 1}", '{"a": NaN}', "[" * 5000, '{"a":1}{}'])
def test_arguments_that_are_no_object_are_refused(bad: str) -> None:
    assert problem_with_arguments(bad) is not None


@given(st.dictionaries(st.text(), st.one_of(st.none(), st.booleans(), st.integers(), st.text()), min_size=1))
def test_what_runs_is_what_was_written_in_full(arguments: dict[str, object]) -> None:
    text = json.dumps(arguments)
    halves = [ResponseStarted("m", "r"), *call("a", "echo", text[:3]), ToolArgsDelta(0, text[3:]), *finish()]
    s, _ = _play([halves, answer("ok")])
    assert [json.loads(ran.arguments) for ran in s.toolbox.ran] == [arguments]


def test_an_unknown_tool_and_a_raising_tool_are_errors_the_model_reads() -> None:
    _, heard = _play([calls(("a", "nope", "{}"), ("b", "raises", "{}")), answer("ok")])
    assert _results(last_turn(heard).messages) == [
        ("a", "There is no tool `nope`. Available: echo, add, slow, raises, asks, stubborn.", True),
        ("b", "The tool failed: KeyError.", True),
    ]


def test_a_tool_that_cancels_itself_ends_nothing_but_its_call() -> None:
    both = calls(("a", "raises", '{"cancelled":true}'), ("b", "echo", '{"say":"x"}'))
    _, heard = _play([both, answer("ok")])
    assert _results(last_turn(heard).messages) == [("a", "The tool failed: CancelledError.", True), ("b", "x", False)]


def test_a_tool_that_takes_too_long_is_timed_out_in_other_words_than_interrupted() -> None:
    _, heard = _play([calls(("a", "slow", '{"seconds":999}')), answer("ok")], EngineSettings(call_timeout_s=5))
    assert _results(last_turn(heard).messages) == [
        ("a", "Timed out after 5 s: this call may have run, in whole or in part.", True)
    ]


def test_the_third_identical_call_asks_and_the_fifth_ends_the_turn() -> None:
    async def play() -> None:
        async with stage([calls(("a", "echo", "{}"))], settings=TOOLS, forever=True) as s:
            await s.session.submit((TextBlock(text="go"),))
            asked = 0
            heard: list[AppEvent] = []
            while not any(isinstance(event, TurnFinished) for event in heard):
                await asyncio.sleep(0.01)
                new = s.heard()
                heard += new
                if any(isinstance(event, ApprovalAsked) for event in new):
                    asked += 1
                    await s.session.answer_approval("a", "once")
            assert (asked, len(s.toolbox.ran), len(s.backend.requests)) == (2, 4, 5)
            assert heard[-2] == Notice(
                Severity.WARNING, "The model makes the same call again and again: the turn was ended."
            )

    virtually(play())


@pytest.mark.parametrize(("word", "allowed", "said"), [("once", True, "done"), ("no", False, "Denied by the user.")])
def test_a_tool_waits_for_the_users_word_without_its_clock_running(word: str, allowed: bool, said: str) -> None:
    async def play() -> None:
        settings = EngineSettings(call_timeout_s=2)
        async with stage([calls(("a", "asks", "{}")), answer("ok")], settings=settings) as s:
            await s.session.submit((TextBlock(text="go"),))
            heard = await s.until(ApprovalAsked)
            asked = next(event for event in heard if isinstance(event, ApprovalAsked))
            assert (asked.tool, asked.summary, asked.detail, asked.patterns) == (
                "asks",
                "May I?",
                "the whole command",
                ("always",),
            )
            view, _ = s.session.attach()
            assert view.approvals == (asked,)
            await asyncio.sleep(60)
            assert await s.session.answer_approval("a", word)
            heard = await s.until(TurnFinished)
            assert [event.allowed for event in heard if isinstance(event, ApprovalSettled)] == [allowed]
            assert _results(last_turn(heard).messages) == [("a", said, not allowed)]
            assert not await s.session.answer_approval("a", word)

    virtually(play())


def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    async def play() -> None:
        async with stage([calls(("a", "asks", "{}")), answer("ok")], settings=TOOLS, interactive=False) as s:
            heard = await s.say("go")
        assert _results(last_turn(heard).messages) == [("a", "Denied by the user.", True)]
        assert not [event for event in heard if isinstance(event, ApprovalAsked)]

    virtually(play())


def test_a_refused_answer_runs_no_tools() -> None:
    refused = [
        ResponseStarted("m", "r"),
        *words("No."),
        *call("a", "echo", "{}", 1),
        *finish(Finish.REFUSAL, usage=USAGE),
    ]
    s, heard = _play([refused])
    assert s.toolbox.ran == []
    assert [result[0] for result in _results(last_turn(heard).messages)] == ["a"]


def test_a_key_that_a_tool_finds_is_taken_out_before_anybody_sees_it() -> None:
    async def play() -> tuple[Stage, list[AppEvent]]:
        scripts = [calls(("a", "echo", '{"say": "the key is s3cret"}')), answer("ok")]
        async with stage(scripts, settings=TOOLS, conceal=lambda text: text.replace("s3cret", "***")) as s:
            return s, await s.say("go")

    _, events = virtually(play())
    assert _results(last_turn(events).messages) == [("a", "the key is ***", False)]
    assert [event.result.content for event in events if isinstance(event, ToolFinished)] == [
        (TextBlock(text="the key is ***"),)
    ]
