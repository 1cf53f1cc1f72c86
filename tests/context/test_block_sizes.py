"""What a block weighs on the list of blocks is what it weighs in the meter; what a server counts is looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.context.aims import CLAUDE, GEMINI, GPT, answer, call, result, results, thought, turn, user
from tests.context.metering import measure
from tui.context.calibration import Anchor, can_be_right
from tui.context.meter import block_sizes
from tui.domain.blocks import ImageBlock, ProviderState, TextBlock, ThinkingBlock
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Part, Usage

HIDDEN = ThinkingBlock(text="", form=ThinkingForm.HIDDEN, tokens=192, provider_state=ProviderState(encrypted="opaque"))


def loop(goal, *blocks, thinking=None):
    """An open tool loop, in which every API takes its thinking back."""
    said = replace(answer(goal, "a1", *blocks, call("c1")), usage=Usage(input=10, output=500, thinking=thinking))
    return (replace(turn("t1", user("u1", "look"), said, results("r1", result("c1", "there"))), open=True),)


@pytest.mark.parametrize("anchor", [None, Anchor(estimate=100, reported=130)], ids=["plain", "corrected"])
@pytest.mark.parametrize(
    ("goal", "turns"),
    [
        (CLAUDE, loop(CLAUDE, thought(CLAUDE, "Look first. " * 30))),
        (GPT, loop(GPT, HIDDEN)),
        (GPT, loop(GPT, HIDDEN, replace(HIDDEN, tokens=None), thinking=300)),
        (
            GEMINI,
            loop(GEMINI, TextBlock(text="Looking.", provider_state=ProviderState(signature="sig==")), thinking=300),
        ),
    ],
    ids=["full text", "hidden", "hidden twice", "only a signature"],
)
def test_thinking_that_goes_weighs_the_same_in_the_list_and_in_the_meter(goal, turns, anchor):
    outgoing = goal.select(*turns)
    reading = measure(outgoing, turns, goal.facts, anchor=anchor)
    sizes = block_sizes(outgoing, turns, goal.facts, scale=reading.scale)
    plain = block_sizes(outgoing, turns, replace(goal.facts, counted=type(goal.facts.counted).NONE))
    kinds = {(verdict.message_id, verdict.block): verdict.kind for verdict in outgoing.verdicts if verdict.sent}
    listed = sum(size for place, size in sizes.items() if kinds.get(place) == "thinking")
    carried = sum(
        sizes[place] - round(plain[place] * reading.scale) for place in sizes if kinds.get(place) != "thinking"
    )
    assert reading.parts[Part.THINKING_SENT] > 0
    assert abs(listed + carried - reading.parts[Part.THINKING_SENT]) <= 2


@pytest.mark.parametrize(
    ("estimate", "reported", "guessed", "right"),
    [
        (1_171, 0, 0, False),
        (600, 20, 0, False),
        (20, 700, 0, True),
        (1_000, 900, 0, True),
        (1_300, 90, 1_200, True),
        (100_000, 1_000_000, 0, False),
        (100_000, 30_000, 0, False),
    ],
    ids=["nothing", "far too few", "a hidden prompt", "usual", "a small picture", "far too many", "a cut history"],
)
def test_what_a_server_cannot_have_counted_is_not_believed(estimate, reported, guessed, right):
    assert can_be_right(estimate, reported, guessed=guessed) is right


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (Usage(input=0, output=0, total=0, cache_read=0, thinking=0), Usage()),
        (Usage(input=0, output=40, thinking=30, total=40), Usage(output=40, thinking=30)),
        (Usage(input=12, output=0, total=12), Usage(input=12, output=0, total=12)),
        (Usage(input=0, output=0, cost=0.02), Usage(cost=0.02)),
    ],
)
def test_no_request_is_empty_so_a_zero_is_not_known(told, known):
    assert told.without_false_zeros() == known


def test_pictures_are_told_apart_because_nobody_knows_how_they_are_counted():
    seen = turn("t1", replace(user("u1", "look"), blocks=(ImageBlock(media_type="image/png", data="AAAA"),)))
    small = measure(CLAUDE.select(seen), (seen,), CLAUDE.facts)
    assert small.parts[Part.USER] > 1_000
