"""The meter says *reported* when all it counts was reported: after an answer, until something is added."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.stage import house
from tests.context.aims import CLAUDE, GPT, answer, call, thought, turn, user
from tests.context.metering import measure
from tests.narrow import expect_some
from tui.context.meter import tally
from tui.domain.blocks import ProviderState, ThinkingBlock
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Certainty, Usage

HIDDEN = ThinkingBlock(text="", form=ThinkingForm.HIDDEN, tokens=300, provider_state=ProviderState(encrypted="opaque"))
USED = Usage(input=1_000, output=500, thinking=300, total=1_500)
DROPPED = replace(GPT.facts, counted=type(GPT.facts.counted).NONE)


def after(goal, facts, *blocks, usage=USED, interrupted=None, draft=""):
    """The reading once this answer stands at the end."""
    asked = turn("t1", user("u1", "why?"))
    before = tally(goal.select(asked), (asked,), facts)
    said = replace(answer(goal, "a1", *blocks), usage=usage, interrupted=interrupted)
    whole = (turn("t1", user("u1", "why?"), said),)
    anchor = before.anchor(1_000)
    return measure(goal.select(*whole), whole, facts, anchor=anchor, draft=draft)


@pytest.mark.parametrize(
    ("goal", "facts", "blocks", "usage", "effective"),
    [
        (CLAUDE, CLAUDE.facts, (thought(CLAUDE, "hm"), "because"), USED, 1_500),
        (GPT, DROPPED, (HIDDEN, "because"), USED, 1_200),
        (GPT, DROPPED, ("because",), replace(USED, thinking=None), 1_500),
    ],
    ids=["all of it goes", "its thinking is not counted", "it had none"],
)
def test_after_an_answer_the_meter_is_what_was_reported(goal, facts, blocks, usage, effective):
    reading = after(goal, facts, *blocks, usage=usage)
    assert (reading.effective, reading.certainty) == (effective, Certainty.REPORTED)
    typing = after(goal, facts, *blocks, usage=usage, draft="and then?")
    assert typing.effective > effective
    assert typing.certainty is Certainty.ESTIMATED


@pytest.mark.parametrize(
    ("usage", "interrupted"),
    [(replace(USED, thinking=None), None), (replace(USED, output=None), None), (USED, "cancelled")],
    ids=["thinking unknown", "output unknown", "interrupted"],
)
def test_what_was_not_reported_is_estimated(usage, interrupted):
    reading = after(GPT, DROPPED, HIDDEN, "because", usage=usage, interrupted=interrupted)
    assert reading.certainty is Certainty.ESTIMATED


def test_an_answer_that_calls_waits_for_its_results_and_is_estimated():
    assert after(CLAUDE, CLAUDE.facts, "Looking.", call("c1")).certainty is Certainty.ESTIMATED


async def test_the_screen_says_so_after_a_turn(tmp_path):
    async with house(tmp_path) as h:
        await h.say("Why is the sky blue?")
        view = h.view()
        usage = expect_some(view.turns[-1].messages[-1].usage)
        sent, received = expect_some(usage.input), expect_some(usage.output)
        assert view.meter is not None
        assert view.meter.certainty is Certainty.REPORTED
        assert sent < view.meter.effective <= sent + received
