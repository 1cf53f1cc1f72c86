"""Sentences about what happened, as whole values."""

from __future__ import annotations

import pytest

from tui.domain.blocks import DENIED, TextBlock, ToolResultBlock
from tui.domain.errors import ErrorKind, PonderError, ProviderError
from tui.domain.events import RetryScheduled
from tui.domain.messages import CRASHED, Message, Origin, Role, Turn, WireName
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import ModelSpec, PlanState, ThinkingLevel, ThinkingPlan
from tui.domain.usage import Certainty, MeterReading, Usage
from tui.domain.web_search import Source, WebSearch
from tui.engine.tool_round import INTERRUPTED
from tui.linear.sentences import (
    bare,
    context_text,
    ended,
    error_text,
    model_name,
    result_text,
    retry_text,
    search_text,
    source_texts,
    spoken,
    stop_text,
    thought_text,
    usage_text,
    with_advice,
)

ORIGIN = Origin(provider="anthropic", wire=WireName.ANTHROPIC, host="h", model="claude", level="high")


def answer(**more: object) -> Message:
    return Message(**{"id": "m", "role": Role.ASSISTANT, "blocks": (), "origin": ORIGIN, **more})  # type: ignore[arg-type]


def turn(*messages: Message) -> Turn:
    return Turn(id="t", messages=messages)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Demo · demo · anthropic — Thinking: off", "Demo, demo, anthropic; Thinking: off"),
        ("med → 43,008 tokens", "med to 43,008 tokens"),
        ("→ effort high", "effort high"),
        ("≈62k, ≥ 3", "about 62k, at least 3"),
        ("Wait. Esc stops it.", "Wait. Ctrl+c stops it."),
        ("“a” `b`", '"a" `b`'),
    ],
)
def test_signs_are_said(text: str, said: str) -> None:
    assert spoken(text) == said


def test_marks_of_code_are_not_said() -> None:
    assert bare("use `/new`") == "use /new"


@pytest.mark.parametrize(("text", "said"), [("a", "a."), ("a.", "a."), ("a!  ", "a!  "), ("a:", "a:"), ("a  ", "a.")])
def test_a_sentence_ends(text: str, said: str) -> None:
    assert ended(text) == said


@pytest.mark.parametrize(
    ("text", "advice", "said"),
    [("No `x`", "Try `y`.", "No x. Try y."), ("No x", "", "No x"), ("No x.", "Try y", "No x. Try y")],
)
def test_advice_follows(text: str, advice: str, said: str) -> None:
    assert with_advice(text, advice) == said


def test_an_error_is_named() -> None:
    assert error_text(PonderError("No key", advice="`/key openai`")) == "Error: No key. /key openai"


@pytest.mark.parametrize(
    ("seconds", "counted", "estimated", "nature", "said"),
    [
        (38.0, 12_400, False, "", "Thought 38 s, 12.4k tokens."),
        (38.0, 12_400, True, "", "Thought 38 s, about 12.4k tokens."),
        (0.5, 1, False, "summary", "Thought 0.5 s, 1 token, summary."),
        (None, None, True, "encrypted", "Thought encrypted."),
        (None, None, True, "", "Thought."),
    ],
)
def test_thinking_is_a_line(seconds: float, counted: int, estimated: bool, nature: str, said: str) -> None:
    assert thought_text(seconds, counted, is_estimated=estimated, nature=nature) == said


def test_a_retry_says_why_and_when() -> None:
    error = ProviderError(ErrorKind.SERVER, "Overloaded")
    assert retry_text(RetryScheduled("t", 3.0, 2, error)) == (
        "Error: Overloaded. Waits 3.0 s before the next attempt. /now skips the wait."
    )
    assert retry_text(RetryScheduled("t", 7_200.0, 2, error, needs_consent=True)) == (
        "Error: Overloaded. The provider asks to wait 2 h 00 m."
    )


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (answer(interrupted="cancelled"), "Stopped by you."),
        (answer(interrupted=CRASHED), "The answer is incomplete: the program ended."),
        (answer(interrupted="stream cut"), "The answer is incomplete: stream cut."),
        (answer(stop=Stop(Finish.LENGTH)), "The answer was cut at the output limit."),
        (answer(stop=Stop(Finish.OTHER, "preempted")), "The answer ended in an unusual way: preempted."),
        (answer(stop=Stop(Finish.REFUSAL, detail="policy")), "The model refused: policy."),
        (answer(stop=Stop(Finish.STOP)), ""),
        (answer(), ""),
    ],
)
def test_an_early_end_is_said(message: Message, said: str) -> None:
    assert stop_text(message) == said


def test_what_a_turn_took_is_one_sentence() -> None:
    first = answer(seconds=30.0, usage=Usage(input=8_200, cache_read=6_100, output=14_300, thinking=12_400), cost=0.3)
    second = answer(seconds=14.0, usage=Usage(input=10, output=20), cost=0.06)
    assert usage_text(turn(first, second)) == (
        "Took 44 s, 8.2k tokens in (6.1k cached), 1.9k out, 12.4k thinking, $0.36."
    )
    assert usage_text(turn(answer(seconds=1.0, answered_early=True))) == "Took 1.0 s, cost unknown, answered early."
    assert usage_text(turn()) == ""


@pytest.mark.parametrize(
    ("effective", "limit", "certainty", "said"),
    [
        (62_400, 200_000, Certainty.REPORTED, "Context: 62.4k of 200k tokens, 31 percent."),
        (62_400, 200_000, Certainty.ESTIMATED, "Context: about 62.4k of 200k tokens, 31 percent."),
        (1, None, Certainty.REPORTED, "Context: 1 token, window unknown."),
    ],
)
def test_the_meter_is_a_sentence(effective: int, limit: int | None, certainty: Certainty, said: str) -> None:
    reading = MeterReading(
        effective=effective, raw=effective, limit=limit, reserved=0, trigger=None, certainty=certainty
    )
    assert context_text(reading) == said


@pytest.mark.parametrize(
    ("text", "failed", "said"),
    [
        ("hello\n", False, "Tool shell: done in 0.2 s: hello"),
        ("a\nb\n", False, "Tool shell: done in 0.2 s, 2 lines of output."),
        ("x" * 300, False, "Tool shell: done in 0.2 s, 1 line of output."),
        ("", False, "Tool shell: done in 0.2 s, no output."),
        ("boom", True, "Tool shell: failed after 0.2 s: boom"),
        (DENIED, True, "Tool shell: denied, not run."),
        (INTERRUPTED, True, "Tool shell: stopped after 0.2 s."),
    ],
)
def test_the_end_of_a_call_is_a_line(text: str, failed: bool, said: str) -> None:
    result = ToolResultBlock(call_id="c", name="shell", content=(TextBlock(text=text),), failed=failed)
    assert result_text("shell", result, 0.2, text) == said


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (WebSearch(), ""),
        (WebSearch(queries=("a", "b")), 'Web search: "a", "b"'),
        (WebSearch(action="open", page="https://x.org"), "Web search: open https://x.org"),
        (WebSearch(results=()), "Web search: 0 results."),
        (WebSearch(error="unavailable"), "Web search failed: the search is unavailable."),
    ],
)
def test_a_search_is_a_line(search: WebSearch, said: str) -> None:
    assert search_text(search) == said


def test_sources_are_numbered() -> None:
    pages = [Source(url="https://x.org", title="X"), Source(url="https://y.org"), Source(url="", title="Z")]
    assert source_texts(pages) == ["Sources:", "1 X (https://x.org)", "2 https://y.org", "3 Z"]
    assert source_texts([]) == []


def test_a_model_is_named_with_its_level() -> None:
    plan = ThinkingPlan(asked=ThinkingLevel.HIGH, nominal="high", sent="high", state=PlanState.ON)
    assert model_name(ModelSpec(provider="openai", model="gpt"), plan) == "openai/gpt, thinking high"
    without = ThinkingPlan(asked=ThinkingLevel.MED, nominal=None, sent=None, state=PlanState.UNSUPPORTED, in_force="")
    assert model_name(ModelSpec(provider="local", model="/m/a.gguf"), without) == "local/a.gguf"
