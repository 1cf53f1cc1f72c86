from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.aims import (
    CLAUDE,
    GEMINI,
    GOALS,
    GPT,
    ORIGINS,
    answer,
    call,
    result,
    results,
    thought,
    turn,
    user,
)
from tests.context.metering import measure
from tests.histories import histories, reasoning_rules
from tui.catalog.facts import ThinkingCounted
from tui.context.calibration import Anchor, Calibration
from tui.context.meter import WindowLimits
from tui.domain.blocks import ProviderState, ThinkingBlock
from tui.domain.compression import CompressionView
from tui.domain.request import ToolSchema
from tui.domain.thinking import IncludeInContext, ReasoningRules, StripPolicy, ThinkingForm
from tui.domain.usage import Certainty, Part, Usage

LONG = "The reasons for this are many. " * 40
TOOL = ToolSchema(name="read_file", description="Reads.", parameters={"type": "object"})
STRIP_ALL = ReasoningRules(strip=StripPolicy.ALL)


def meter(goal, *turns, rules=None, **more):
    return measure(goal.select(*turns, rules=rules), turns, goal.facts, **more)


def talk(goal):
    return (
        turn("t1", user("u1", "why?"), answer(goal, "a1", thought(goal, LONG), "because")),
        turn(
            "t2",
            user("u2", "look"),
            answer(goal, "a2", thought(goal, LONG), call("c2")),
            results("r2", result("c2", LONG)),
            answer(goal, "b2", "found"),
        ),
        turn("t3", user("u3", "thanks")),
    )


def test_the_parts_add_up_to_the_effective_count():
    reading = meter(CLAUDE, *talk(CLAUDE), system="Be brief.", tools=(TOOL,), draft="and then?")
    sent = set(Part) - {Part.THINKING_STRIPPED, Part.RESERVED, Part.PROJECT}
    assert sum(reading.parts[part] for part in sent) == reading.effective
    assert all(reading.parts[part] > 0 for part in sent)


def test_stripped_thinking_is_raw_but_not_effective():
    kept, stripped = meter(CLAUDE, *talk(CLAUDE)), meter(CLAUDE, *talk(CLAUDE), rules=STRIP_ALL)
    assert stripped.effective == kept.effective - kept.parts[Part.THINKING_SENT]
    assert stripped.parts[Part.THINKING_STRIPPED] == kept.parts[Part.THINKING_SENT]
    assert stripped.raw == kept.raw


@pytest.mark.parametrize(
    ("counted", "parts"),
    [
        (ThinkingCounted.ALL, 2),
        (ThinkingCounted.TOOL_TURNS, 1),
        (ThinkingCounted.OPEN_TURN, 0),
        (ThinkingCounted.NONE, 0),
    ],
)
def test_only_the_thinking_that_the_server_counts_is_effective(counted, parts):
    reading = meter(CLAUDE.with_facts(counted=counted), *talk(CLAUDE))
    assert reading.parts[Part.THINKING_SENT] == parts * meter(CLAUDE, *talk(CLAUDE)).parts[Part.THINKING_SENT] // 2


def test_thinking_that_is_sent_but_not_counted_is_not_called_unsent():
    uncounted = meter(CLAUDE.with_facts(counted=ThinkingCounted.NONE), *talk(CLAUDE))
    assert uncounted.label_of(Part.THINKING_STRIPPED) == "thinking uncounted"
    assert uncounted.uncounted == uncounted.parts[Part.THINKING_STRIPPED] == uncounted.raw - uncounted.effective > 0
    stripped = meter(CLAUDE, *talk(CLAUDE), rules=STRIP_ALL)
    assert (stripped.label_of(Part.THINKING_STRIPPED), stripped.uncounted) == ("thinking not sent", 0)


def test_hidden_thinking_counts_as_reported_and_not_by_its_seal():
    hidden = ThinkingBlock(
        text="", form=ThinkingForm.HIDDEN, provider_state=ProviderState(id="rs_1", encrypted="x" * 9_000)
    )
    message = replace(answer(GPT, "a1", hidden, "so"), usage=Usage(thinking=512))
    assert meter(GPT, turn("t1", user("u1", "go"), message)).parts[Part.THINKING_SENT] == 512


def test_thinking_that_only_a_calls_signature_carries_counts_as_reported():
    signed = replace(
        answer(GEMINI, "a1", call("c1", provider_state=ProviderState(signature="Ct=="))), usage=Usage(thinking=300)
    )
    assert meter(GEMINI, turn("t1", user("u1", "go"), signed)).parts[Part.THINKING_SENT] == 300
    uncounted = GEMINI.with_facts(counted=ThinkingCounted.NONE)
    assert meter(uncounted, turn("t1", user("u1", "go"), signed)).parts[Part.THINKING_SENT] == 0


def test_a_keystroke_changes_the_draft_alone():
    before, after = meter(CLAUDE, *talk(CLAUDE), draft="wh"), meter(CLAUDE, *talk(CLAUDE), draft="why on earth")
    changed = {part for part in before.parts if before.parts[part] != after.parts[part]}
    assert changed == {Part.DRAFT}


def test_the_filler_that_stands_for_the_next_prompt_is_not_counted():
    open_ended = talk(CLAUDE)[:2]
    assert meter(CLAUDE, *open_ended).parts[Part.USER] < meter(CLAUDE, *talk(CLAUDE)).parts[Part.USER]


def test_results_that_are_awaited_are_not_counted():
    calling = turn("t1", user("u1", "look"), answer(CLAUDE, "a1", call("c1"), call("c2")))
    running = replace(calling, open=True)
    assert meter(CLAUDE, running).parts[Part.TOOL_RESULTS] == 0
    one_came = replace(running, messages=(*running.messages, results("r1", result("c1", LONG))))
    whole = replace(one_came, messages=(*running.messages, results("r1", result("c1", LONG), result("c2", LONG))))
    assert 0 < meter(CLAUDE, one_came).parts[Part.TOOL_RESULTS] < meter(CLAUDE, whole).parts[Part.TOOL_RESULTS]
    # A turn that ended without them: what the model is told instead is really sent.
    assert meter(CLAUDE, calling, turn("t2", user("u2", "go on"))).parts[Part.TOOL_RESULTS] > 0


def test_a_reading_says_reported_only_for_exactly_what_was_reported():
    estimate = meter(CLAUDE, *talk(CLAUDE)).effective
    anchor = Anchor(estimate=estimate, reported=4_321)
    exact = meter(CLAUDE, *talk(CLAUDE), anchor=anchor)
    assert (exact.effective, exact.certainty) == (4_321, Certainty.REPORTED)
    assert meter(CLAUDE, *talk(CLAUDE), anchor=anchor, draft="more").certainty is Certainty.ESTIMATED
    assert meter(CLAUDE, *talk(CLAUDE)).certainty is Certainty.ESTIMATED


def test_a_hidden_prompt_is_part_of_the_systems_and_scales_nothing_else():
    turns = talk(CLAUDE)
    plain = meter(CLAUDE, *turns)
    key = f"{CLAUDE.facts.provider}/{CLAUDE.facts.id}"
    prompted = meter(CLAUDE, *turns, calibration=Calibration().with_opening(key, 20, 2_168))
    assert prompted.parts == {**plain.parts, Part.SYSTEM: plain.parts[Part.SYSTEM] + 2_148}
    assert (prompted.effective, prompted.raw) == (plain.effective + 2_148, plain.raw + 2_148)


def test_the_window_less_the_reserve_gives_the_trigger():
    facts = {"context_window": 200_000, "max_output": 64_000}
    reading = meter(CLAUDE.with_facts(**facts), *talk(CLAUDE))
    assert (reading.limit, reading.reserved, reading.trigger) == (200_000, 50_000, 127_500)
    smaller = meter(CLAUDE.with_facts(**facts), room=WindowLimits(limit=10_000, reserved=2_000, compress_at=0.5))
    assert (smaller.limit, smaller.reserved, smaller.trigger) == (10_000, 2_000, 4_000)


def test_an_unknown_window_has_no_trigger():
    reading = meter(CLAUDE, *talk(CLAUDE))
    assert (reading.limit, reading.trigger) == (None, None)


def test_folded_turns_are_raw_but_not_effective():
    view = CompressionView(summary="They talked.", compressed_turns=frozenset({"t1", "t2"}))
    turns = talk(CLAUDE)
    folded = measure(CLAUDE.select(*turns, compression=view), turns, CLAUDE.facts)
    whole = meter(CLAUDE, *turns)
    assert folded.effective < whole.effective < folded.raw


@given(st.data(), reasoning_rules(), st.sampled_from(GOALS))
def test_effective_never_exceeds_raw_and_stripping_never_adds(data, rules, goal):
    history = data.draw(histories((goal.origin, *ORIGINS)))
    calibration = Calibration().with_opening("p/m", 10, 12).with_step("p/m", 1_000, 1_300)
    stripped = [
        meter(goal, *history, rules=replace(rules, strip=strip), system="Be brief.", calibration=calibration)
        for strip in (StripPolicy.ALL, StripPolicy.ALL_BUT_LAST, StripPolicy.NONE)
    ]
    assert all(reading.effective <= reading.raw for reading in stripped)
    assert stripped[0].effective <= stripped[1].effective <= stripped[2].effective
    excluded = replace(rules, include_in_context=IncludeInContext.FALSE, strip=StripPolicy.NONE)
    assert meter(goal, *history, rules=excluded, system="Be brief.").effective <= stripped[0].effective
