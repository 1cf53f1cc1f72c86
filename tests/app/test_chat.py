"""The open session through the services: the meter, counting, compressing, replaying, and the wire."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.stage import heard_until, house
from tests.narrow import expect_some, expect_type
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.compression import CompressionView
from tui.domain.events import CompressionFinished, MeterChanged, Notice, TurnFailed, TurnFinished
from tui.domain.messages import Turn
from tui.domain.usage import Certainty, Part
from tui.engine.session import DRAFT_ID


def plain(turn: Turn) -> str:
    return "".join(block.text for message in turn.messages for block in message.blocks if isinstance(block, TextBlock))


async def test_the_meter_follows_typing_and_talking(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        empty = await h.meter()
        typed = await h.meter("How are you today?")
        assert typed.parts[Part.DRAFT] == typed.effective - empty.effective > 0
        heard = await h.say("How are you today?")
        meters = [event.reading for event in heard if isinstance(event, MeterChanged)]
        assert meters[-1] == await h.meter()
        assert meters[-1].effective > empty.effective


async def test_the_end_of_a_turn_tells_what_it_weighs_now_that_it_is_finished(tmp_path: Path) -> None:
    async with house(tmp_path, assignments=("reasoning.stripFromContext=all",)) as h:
        heard = await h.say("Why is the sky blue?")
        last = [event.reading for event in heard if isinstance(event, MeterChanged)][-1]
        assert last.parts[Part.THINKING_SENT] == 0 < last.parts[Part.THINKING_STRIPPED]
        assert last == await h.meter()


@pytest.mark.parametrize("model", ["demo/fast/low", "demo/responses/low", "demo/gemini/low"])
async def test_providers_that_count_are_asked_and_the_draft_is_counted_along(tmp_path: Path, model: str) -> None:
    async with house(tmp_path, model=model) as h:
        await h.say("Hello")
        assert expect_some(await h.services.chat.count_exactly()) > 0


async def test_where_nobody_counts_there_is_no_number(tmp_path: Path) -> None:
    async with house(tmp_path, model="demo/chat/low") as h:
        await h.say("Hello")
        assert await h.services.chat.count_exactly() is None


async def test_compressing_is_previewed_done_and_undone(tmp_path: Path) -> None:
    async with house(tmp_path, assignments=("context.keepTurns=1",)) as h:
        assert (await h.services.chat.preview("")).compression is None
        for prompt in ("Show me a table", "Show me code", "Why?"):
            await h.say(prompt)
        before = await h.meter()
        preview = expect_some((await h.services.chat.preview("")).compression)
        assert preview.prompts == ("Show me a table", "Show me code")
        assert preview.verbatim == ("Show me a table", "Show me code")
        assert (preview.before, preview.writer) == (before.effective, "demo/fast")
        assert preview.after < preview.before
        _, subscription = h.services.chat.attach()
        await h.services.chat.compress("keep the table")
        [done] = [e for e in await heard_until(subscription, CompressionFinished) if isinstance(e, CompressionFinished)]
        assert (done.before, done.error) == (before.effective, "")
        assert abs(done.after - preview.after) < preview.before * 0.2
        body = str((await h.services.chat.wire_preview(""))["body"])
        assert done.summary.splitlines()[0] in body
        assert await h.services.chat.uncompress()
        assert await h.meter() == before
        assert not await h.services.chat.uncompress()


async def test_the_wire_preview_has_the_draft_as_the_prompt_it_will_be_and_no_key(tmp_path: Path) -> None:
    async with house(tmp_path, environment={"ANTHROPIC_API_KEY": "sk-ant-REDACTED"}) as h:
        await h.services.models.set_model("claude-opus-5/high")
        shown = await h.services.chat.wire_preview("What is it worth?")
        empty = await h.services.chat.wire_preview("")
        assert DRAFT_ID not in [turn.id for turn in h.view().turns]
    assert shown["url"] == "https://api.anthropic.com/v1/messages"
    assert expect_type(dict, shown["body"])["messages"][-1]["content"][-1]["text"] == "What is it worth?"
    assert "What is it worth?" not in str(empty)
    assert "canary" not in str(shown)


async def test_a_replay_is_a_fork_with_another_level(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.say("Hello")
        await h.say("Why is the sky blue?")
        first, second = h.view().turns
        before = h.services.chat.session_id
        assert await h.services.chat.replay(second.id, "high") == before
        _, subscription = h.services.chat.attach()
        if len(h.view().turns) < 2:
            await heard_until(subscription, TurnFinished, TurnFailed)
        assert h.services.chat.session_id != before
        assert str(h.current.spec) == "demo/fast/high"
        assert h.view().turns[0].id == first.id
        assert "sky" in plain(h.view().turns[1])


async def test_a_stored_session_goes_on_with_the_count_it_was_left_with(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        for prompt in ("Hello", "Why is the sky blue?"):
            await h.say(prompt)
        left, turns = await h.meter(), h.view().turns
    async with house(tmp_path, stored=turns) as h:
        again = await h.meter()
    assert (again.effective, again.certainty) == (left.effective, Certainty.REPORTED)
    uncounted = [replace(t, messages=tuple(replace(m, usage=None) for m in t.messages)) for t in turns]
    async with house(tmp_path, stored=uncounted) as h:
        assert (await h.meter()).effective != left.effective


async def test_a_count_from_before_a_compression_says_nothing_about_now(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        for prompt in ("Hello", "Why is the sky blue?"):
            await h.say(prompt)
        turns = h.view().turns
        calibration = h.program.planner._token_meter
        conversation = h.current.session._conversation
        inputs = replace(
            conversation.inputs(), session="other", turns=turns, compression=CompressionView(summary="They talked.")
        )
        h.program.planner.resume(inputs)
        assert not [key for key in calibration._anchors if key[0] == "other"]


async def test_what_was_learned_of_a_model_is_kept_over_restarts(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        for prompt in ("Hello", "Show me a table", "Why?"):
            await h.say(prompt)
        h.program.calibration.save()
        learned = h.program.planner._token_meter.calibration
    async with house(tmp_path) as h:
        assert h.program.planner._token_meter.calibration == learned
    assert len(learned.of("demo/fast").openings_with_tools + learned.of("demo/fast").openings) == 1


async def test_thinking_is_kept_with_its_cost_in_tokens(tmp_path: Path) -> None:
    async with house(tmp_path, model="demo/fast/high") as h:
        await h.say("Why is the sky blue?")
        [turn] = h.view().turns
    answer = turn.messages[-1]
    assert any(isinstance(block, ThinkingBlock) for block in answer.blocks)
    usage = expect_some(answer.usage)
    assert 0 < expect_some(usage.thinking) < expect_some(usage.output)


async def test_an_active_dynamic_budget_is_told_once_and_shown_in_the_plan(tmp_path: Path) -> None:
    assignments = ("reasoning.dynamicBudget=true", "reasoning.dynamicBudgetAbove=20")
    async with house(tmp_path, model="demo/fast/high", assignments=assignments) as h:
        assert not any("dynamic" in warning for warning in h.view().plan.warnings)
        first = await h.say("Why is the sky blue? " * 10)
        second = await h.say("And the sea?")
        assert any("dynamic budget is active" in warning for warning in h.view().plan.warnings)
        assert h.view().plan.sent == 10_000
    notices = [event.text for event in (*first, *second) if isinstance(event, Notice)]
    told = [text for text in notices if "dynamic budget" in text]
    assert told == ["The dynamic budget is active: cut to 10,000 tokens"]
