"""A thinking level and the settings that go in place of levels: who spoke in the higher layer, or later, wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import House, config, house
from tui.app.session_storage import StoredSession
from tui.domain.thinking import ModelSpec, PlanState, ThinkingLevel
from tui.ui.chat.status_line import status_of

HIGH = ThinkingLevel.HIGH
LOW = '[reasoning]\neffort = "low"\n'


def shown(h: House) -> tuple[object, str, tuple[str, ...]]:
    """What is sent, what the status line says, and the warnings."""
    view = h.view()
    return view.plan.sent, status_of(view, 0.0, full=True).name, view.plan.warnings


def profile(home: Path, text: str) -> None:
    (home / "config" / "profiles").mkdir(parents=True, exist_ok=True)
    (home / "config" / "profiles" / "mine.toml").write_text(text, encoding="utf-8")


async def test_a_level_of_the_command_line_goes_before_an_effort_of_the_config(tmp_path: Path) -> None:
    config(tmp_path, LOW)
    async with house(tmp_path, model="openai/gpt-5.5/high") as h:
        assert shown(h) == ("high", "gpt-5.5 · high", ())


async def test_a_level_of_the_command_line_goes_before_an_effort_of_a_profile(tmp_path: Path) -> None:
    profile(tmp_path, '[reasoning]\neffort = "medium"\n')
    async with house(tmp_path, model="openai/gpt-5.5/none", profile="mine") as h:
        assert (h.view().plan.state, shown(h)[1]) == (PlanState.OFF, "gpt-5.5 · none")


async def test_where_no_level_is_said_the_effort_is_the_level(tmp_path: Path) -> None:
    config(tmp_path, '[reasoning]\neffort = "xhigh"\n')
    async with house(tmp_path, model="openai/gpt-5.5") as h:
        assert shown(h) == ("xhigh", "gpt-5.5 · xhigh", ())
        assert [(row.label, row.native) for row in h.services.models.levels() if row.current] == [
            ("xhigh", "effort xhigh")
        ]
        await h.services.models.step_level(1, wrap=False)
        assert shown(h) == ("high", "gpt-5.5 · high", ())
        assert [row.label for row in h.services.models.levels()] == ["none", "low", "med", "high"]


@pytest.mark.parametrize(
    ("said", "sent", "name", "warning"),
    [
        ("effort=low", "low", "low", "`reasoning.effort` is low (command line): it takes precedence"),
        (
            "maxTokens=20k",
            "medium",
            "20000",
            "`reasoning.maxTokens` is 20,000 (command line): it takes precedence",
        ),
        (
            "enabled=false",
            "none",
            "none",
            "`reasoning.enabled` is false (command line): it takes precedence",
        ),
    ],
)
async def test_what_overrules_a_level_is_named_with_its_layer(
    tmp_path: Path, said: str, sent: str, name: str, warning: str
) -> None:
    async with house(tmp_path, model="openai/gpt-5.5/high", assignments=(f"reasoning.{said}",)) as h:
        now = shown(h)
    assert now[:2] == (sent, f"gpt-5.5 · {name}")
    assert now[2][0].startswith(warning)


async def test_in_a_session_the_later_word_wins_and_the_other_is_said_to_be_set_aside(tmp_path: Path) -> None:
    config(tmp_path, LOW)
    async with house(tmp_path, model="openai/gpt-5.5") as h:
        said = await h.services.models.set_model("gpt-5.5/high")
        assert shown(h) == ("high", "gpt-5.5 · high", ())
        assert "`reasoning.effort` is set aside" in said
        assert await h.services.settings.assign("reasoning.effort", "medium") == (
            "reasoning.effort = medium — Thinking: medium"
        )
        assert shown(h)[:2] == ("medium", "gpt-5.5 · med")
        levels = {row.label: row.native for row in h.services.models.levels()}
        assert levels["low"] == "effort low", "the picker shows what choosing a level would bring"
        await h.services.models.step_level(1, wrap=False)
        assert shown(h) == ("high", "gpt-5.5 · high", ())
        await h.services.models.set_model("gpt-5.5")
        assert shown(h)[0] == "high"


async def test_a_profile_brings_its_level_and_its_own_effort_still_goes_before_it(tmp_path: Path) -> None:
    config(tmp_path, LOW)
    profile(tmp_path, 'model = "openai/gpt-5.5/high"\n')
    async with house(tmp_path, model="openai/gpt-5.5") as h:
        await h.services.settings.load_profile("mine")
        assert shown(h) == ("high", "gpt-5.5 · high", ())
        profile(tmp_path, 'model = "openai/gpt-5.5/high"\n[reasoning]\neffort = "xhigh"\n')
        await h.services.settings.load_profile("mine")
        assert shown(h) == ("xhigh", "gpt-5.5 · xhigh", ())


async def test_a_profile_is_saved_as_it_holds(tmp_path: Path) -> None:
    config(tmp_path, LOW)
    async with house(tmp_path, model="openai/gpt-5.5/high") as h:
        await h.services.settings.save_profile("mine")
        assert "effort" not in h.services.settings.show_profile("mine")
        await h.services.settings.assign("reasoning.effort", "xhigh")
        await h.services.settings.save_profile("other")
    async with house(tmp_path, model=None, profile="mine") as h:
        assert shown(h)[0] == "high"
    async with house(tmp_path, model=None, profile="other") as h:
        assert shown(h)[0] == "xhigh"


async def test_a_session_goes_on_at_its_level_unless_this_run_says_something_else(tmp_path: Path) -> None:
    config(tmp_path, LOW)
    left = StoredSession(id="left", title="", spec=ModelSpec(provider="openai", model="gpt-5.5", asked=HIGH), turns=())
    for words, sent in [((), "high"), (("reasoning.effort=medium",), "medium")]:
        async with house(tmp_path, assignments=words) as h:
            await h.current.close()
            h.current.start(h.current.spec, left)
            assert shown(h)[0] == sent


async def test_a_replay_at_a_level_is_made_at_that_level(tmp_path: Path) -> None:
    async with house(tmp_path, assignments=("reasoning.effort=low",)) as h:
        await h.say("Hello")
        turn = h.view().turns[0].id
        await h.services.chat.replay(turn, "high")
        plan = h.view().plan
    assert (plan.instead, str(plan.asked)) == ("", "high")
