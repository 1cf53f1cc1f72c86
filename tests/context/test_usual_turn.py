"""The size of a turn that the level picker prices."""

from __future__ import annotations

from dataclasses import replace

from tests.context.aims import CLAUDE, answer, turn, user
from tui.context.usual_turn import usual_turn
from tui.domain.messages import Turn
from tui.domain.thinking import ThinkingLevel
from tui.domain.usage import Usage


def said(number: int, thinking: int, level: str = "med", *, input: int = 10_000, output: int = 800) -> Turn:  # noqa: A002
    usage = Usage(input=input, cache_read=8_000, cache_write=1_000, output=output + thinking, thinking=thinking)
    made = answer(CLAUDE, f"a{number}", "because", usage=usage)
    assert made.origin is not None
    return turn(f"t{number}", user(f"u{number}", "why?"), replace(made, origin=replace(made.origin, level=level)))


def test_before_the_first_answer_there_is_a_default() -> None:
    usage = usual_turn((), ThinkingLevel.HIGH, "high", 3_000)
    assert (usage.input, usage.output, usage.thinking, usage.cache_read) == (3_500, 12_700, 12_000, None)
    assert usual_turn((), ThinkingLevel.NONE, "off", 0).thinking == 0
    assert usual_turn((), 30_000, "30,000", 0).thinking == 10_000


def test_the_usual_length_is_the_median_of_the_last_turns() -> None:
    turns = (said(0, 90_000, input=500_000), *(said(number, 1_000 * number) for number in range(1, 11)))
    usage = usual_turn(turns, ThinkingLevel.MED, "med", 0)
    assert (usage.input, usage.cache_read, usage.cache_write) == (10_000, 8_000, 1_000)
    assert (usage.thinking, usage.output) == (5_500, 6_300)


def test_a_level_that_was_not_used_is_scaled_from_those_that_were() -> None:
    turns = (said(1, 2_000, "med"), said(2, 6_000, "high"))
    assert usual_turn(turns, ThinkingLevel.HIGH, "high", 0).thinking == 6_000
    assert usual_turn(turns, ThinkingLevel.LOW, "low", 0).thinking == 500
    assert usual_turn(turns, ThinkingLevel.NONE, "off", 0).thinking == 0


def test_a_turn_with_tools_is_the_sum_of_its_requests() -> None:
    made = said(1, 500)
    whole = replace(made, messages=(*made.messages, replace(made.messages[-1], id="a9")))
    usage = usual_turn((whole,), ThinkingLevel.MED, "med", 0)
    assert (usage.input, usage.thinking, usage.output) == (20_000, 1_000, 2_600)
