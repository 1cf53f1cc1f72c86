"""What a change costs is said where it is made: pickers, settings, tools, compression, edits; and what a turn costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.app.cached_answers import SetClock, answer
from tests.app.screen_stage import Screen
from tests.app.test_cache_shown import HOUR, cached
from tests.ui.stage import type_in, until

COST = "rewrites 58k cached tokens, about $0.58"
"""58,000 tokens written for an hour with claude-opus-5: $10 for a million. System prompt and tools are tiny here."""


async def begun(s: Screen) -> None:
    await s.ask("Why?")
    await s.until_it_says("cached 58k")


async def said_by(s: Screen, line: str, expected: str) -> str:
    """The toast that a command shows."""
    await s.enter(line)
    await s.until_toast(expected)
    return s.toasts()


@pytest.mark.long
async def test_a_level_says_what_it_rewrites_in_its_line_and_nothing_when_it_is_taken_back(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000)) as s:
        await begun(s)
        toasts = await said_by(s, "/thinking high", "med → high")
        assert f"med → high: {COST}" in toasts
        await s.until_it_no_longer_says("cached 58k")
        s.clear_toasts()
        toasts = await said_by(s, "/thinking med", "claude-opus-5")
        assert "rewrites" not in toasts
        await s.until_it_says("cached 58k")


@pytest.mark.long
async def test_model_settings_and_tools_say_what_they_rewrite(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000), tools=True) as s:
        await begun(s)
        # A model of its own price: $6 for a million written for an hour.
        assert re.search(r"rewrites 58k cached tokens, about \$\d", await said_by(s, "/model claude-sonnet-5", "rewr"))
        await s.enter("/model claude-opus-5")
        await s.until_it_says("cached 58k")
        for line, back in (
            ("/set generation.system Be terse.", "/unset generation.system"),
            ("/tools off grep", "/tools on grep"),
            ("/set tools.enabled false", "/unset tools.enabled"),
        ):
            s.clear_toasts()
            assert "cached tokens, about $0.5" in await said_by(s, line, "rewrites"), line
            await s.until_it_no_longer_says("cached 58k ·")
            await s.enter(back)
            await s.until_it_says("cached 58k ·")
        s.clear_toasts()
        assert "rewrites" not in await said_by(s, "/set reasoning.summary detailed", "reasoning.summary")


@pytest.mark.long
async def test_nothing_is_said_when_nothing_is_cached_or_the_price_is_unknown(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.")) as s:
        await s.ask("Why?")
        assert "rewrites" not in await said_by(s, "/thinking high", "claude-opus-5")
    clock = SetClock()
    async with cached(tmp_path, answer("One.", written=58_000), clock=clock) as s:
        await begun(s)
        clock.at += HOUR
        assert "rewrites" not in await said_by(s, "/thinking high", "claude-opus-5")
    async with cached(tmp_path, answer("One.", written=58_000), model="anthropic/claude-unheard-of/med") as s:
        await begun(s)
        await s.enter("/set generation.system Be terse.")
        await s.until_toast("generation.system")
        assert "rewrites" not in s.toasts()


@pytest.mark.long
async def test_the_level_picker_has_the_cost_of_a_turn_and_of_the_change(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", read=56_000, written=2_000, out=2_500)) as s:
        await begun(s)
        # 100 new, 56,000 read, 2,000 written, 2,500 out: 0.0005 + 0.028 + 0.02 + 0.0625
        await s.until_it_says("≈ $0.11 a turn")
        picker = s.app.chat.sidebar.thinking
        picker.focus()
        await s.pilot.press("right")
        await s.until_it_says("rewrites 58k, about $0.58")
        await s.pilot.press("left")
        await s.until_it_no_longer_says("rewrites")


@pytest.mark.long
async def test_a_budget_typed_into_the_picker_says_what_it_costs_before_it_is_taken(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000), model="anthropic/claude-haiku-4-5/med") as s:
        await begun(s)
        picker = s.app.chat.sidebar.thinking
        picker.focus()
        await s.pilot.press(*"20k")
        await s.until_it_says("→ 20,000")
        await s.until_it_says("rewrites 58k, about $0.12")
        assert "a turn" in s.text().partition("THINKING")[2].partition("CONTEXT")[0]
        await s.pilot.press("escape")
        await s.until_it_no_longer_says("rewrites")


@pytest.mark.long
async def test_a_budget_that_is_sent_as_the_level_in_use_rewrites_nothing(tmp_path: Path) -> None:
    answers = (answer("One.", written=58_000), answer("Two.", read=58_000))
    async with cached(tmp_path, *answers) as s:
        await begun(s)
        s.app.chat.sidebar.thinking.focus()
        await s.pilot.press(*"5k")  # effort low
        await s.until_it_says("rewrites 58k, about $0.58")
        await s.pilot.press("backspace", "backspace", *"20k")
        await s.until_it_says("budget 20k")
        await s.until_it_no_longer_says("rewrites")
        await s.pilot.press("enter")
        await s.until_it_says("Thinking: 20,000 tokens")
        assert "rewrites" not in s.toasts()
        assert "cached 58k" in s.text()


@pytest.mark.parametrize(
    "lines",
    [
        {
            "/model claude-sonnet-5": r" rewrites 58k cached tokens, about \$0\.23",
            "/set generation.system Be terse.": r" rewrites 5\dk cached tokens, about \$0\.5",
        },
        pytest.param(
            {
                "/model claude-opus-5/high": r"med → high: rewrites 5\dk cached tokens, about \$0\.5",
                "/set reasoning.effort low": r"med → low: rewrites 5\dk cached tokens, about \$0\.5",
                "/set model claude-sonnet-5": r" rewrites 58k cached tokens, about \$0\.23",
                "/tools off grep": r" rewrites 58k cached tokens, about \$0\.58",
                "/profile load terse": r" rewrites 5\dk cached tokens, about \$0\.5",
                "/retry high": r"med → high: rewrites 5\dk cached tokens, about \$0\.5",
            },
            marks=pytest.mark.long,
        ),
    ],
    ids=["some", "others"],
)
async def test_a_typed_command_says_above_the_composer_what_it_rewrites(tmp_path: Path, lines: dict[str, str]) -> None:
    async with cached(tmp_path, answer("One.", written=58_000), tools=True) as s:
        folder = s.house.program.paths.profiles
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "terse.toml").write_text('[generation]\nsystem = "Be terse."\n')
        await begun(s)
        for line, cost in lines.items():
            await type_in(s.pilot, line)
            await until_above_the_composer(s, cost)
            await s.pilot.press("ctrl+u")
            await until(s.pilot, lambda: "rewrites" not in above_the_composer(s))
        await type_in(s.pilot, "/thinking high")
        said = await until_above_the_composer(s, r"med → high: rewrites 5\dk cached tokens, about \$0\.5")
        # The message of the change says the same.
        assert said.strip() in await said_by(s, "", "med → high")
        await until(s.pilot, lambda: "rewrites" not in above_the_composer(s))


def above_the_composer(s: Screen) -> str:
    return str(s.app.chat.query_one("#input-area").border_title or "")


async def until_above_the_composer(s: Screen, pattern: str) -> str:
    await until(s.pilot, lambda: re.search(pattern, above_the_composer(s)) is not None)
    return above_the_composer(s)


@pytest.mark.long
async def test_a_typed_command_that_rewrites_nothing_says_nothing(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000), tools=True) as s:
        await begun(s)
        for line in ("/thinking med", "/retry", "/set reasoning.summary detailed", "/set x", "/unknown", "/compress"):
            await type_in(s.pilot, "/thinking high")
            await until(s.pilot, lambda: "rewrites" in above_the_composer(s))
            await s.pilot.press("ctrl+u")
            await type_in(s.pilot, line)
            await until(s.pilot, lambda: "rewrites" not in above_the_composer(s))
            assert s.app.chat.composer.text == line
            await s.pilot.press("ctrl+u")


@pytest.mark.long
async def test_asking_again_says_what_it_rewrites_and_only_of_what_is_sent(tmp_path: Path) -> None:
    answers = (answer("One.", written=58_000), answer("Two.", read=58_000, written=4_000), answer("Three."))
    async with cached(tmp_path, *answers, model="anthropic/claude-haiku-4-5/med") as s:
        await s.ask("Why?")
        await s.ask("And?")
        await s.until_it_says("cached 62k")
        await type_in(s.pilot, "/retry high")
        await s.until_it_says("med → high: rewrites 62k cached tokens, about $0.12")
        await s.pilot.press(*["backspace"] * 5)
        await s.until_it_no_longer_says("rewrites")


async def test_before_the_first_answer_the_picker_prices_a_stated_default(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.")) as s:
        await s.until_it_says("a turn")
        text = s.text().partition("THINKING")[2].partition("CONTEXT")[0]
        assert re.search(r"≈ \$0\.1\d a turn", text), text  # 4,700 tokens out are $0.1175


@pytest.mark.long
async def test_the_model_picker_says_what_the_marked_model_would_write(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000)) as s:
        await begun(s)
        await s.pilot.press("ctrl+t")
        await s.until_it_says("Model and thinking")
        await s.pilot.press(*"sonnet-5")
        await s.until_it_says("rewrites 58k, about $")


@pytest.mark.long
async def test_editing_says_what_of_the_cache_is_lost(tmp_path: Path) -> None:
    answers = (answer("One.", written=58_000), answer("Two.", read=58_000, written=4_000))
    clock = SetClock()
    async with cached(tmp_path, *answers, clock=clock, size=(160, 40)) as s:
        await s.ask("Why?")
        clock.at += HOUR / 2
        await s.ask("And?")
        await s.until_it_says("cached 62k")
        await type_in(s.pilot, "/edit")
        await s.pilot.press("enter")
        await s.until_it_says("4k cached tokens no longer used")
        await s.pilot.press("escape")
        await s.until_it_no_longer_says("no longer used")


@pytest.mark.long
async def test_compressing_says_what_it_rewrites(tmp_path: Path) -> None:
    answers = (answer("One. " * 3_000, written=58_000), answer("Two.", read=58_000, written=4_000))
    async with cached(tmp_path, *answers) as s:
        await s.ask("Why?")
        for _ in range(2):
            await s.ask("And?")
        await s.until_it_says("cached 62k")
        await s.enter("/set context.keepTurns 2")
        await s.until_toast("context.keepTurns")
        assert "rewrites" not in s.toasts()
        toasts = await said_by(s, "/compress", "Compressing 1 turn")
        assert re.search(r"about [\d,]+ tokens — rewrites \S+ cached tokens, about \$0\.\d", toasts), toasts
