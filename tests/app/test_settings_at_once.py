"""Whoever hears of a changed setting finds the new value in force, whichever way it was changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.app.stage import House, config, house
from tests.ui.stage import until
from tui.app.current_session import DEMO
from tui.domain.errors import UsageError
from tui.domain.events import AppEvent, ModelChanged, SettingsChanged
from tui.engine.session import Channel
from tui.settings.layers import Layer

Way = Callable[[House], Awaitable[object]]
EFFORT = '[reasoning]\neffort = "low"\n'

WAYS: dict[str, Way] = {
    "/set": lambda h: h.services.settings.assign("reasoning.dynamicBudget", "true"),
    "/unset": lambda h: h.services.settings.unassign("reasoning.stripFromContext"),
    "/profile load": lambda h: h.services.settings.load_profile("mine"),
    "/model": lambda h: h.services.models.set_model("moonshot/kimi-k2-thinking/high"),
    "/thinking": lambda h: h.services.models.set_model("high"),
    "a key that steps the level": lambda h: h.services.models.step_level(1, wrap=True),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_change_is_in_force_before_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    config(tmp_path, EFFORT)
    (tmp_path / "config" / "profiles").mkdir()
    (tmp_path / "config" / "profiles" / "mine.toml").write_text("[reasoning]\nincludeInResponse = false\n")
    async with house(tmp_path, model="openai/gpt-5.5") as h:
        await h.services.settings.assign("reasoning.stripFromContext", "all")
        heard: list[AppEvent] = []
        stale: list[object] = []
        publish = Channel.publish

        def looking(channel: Channel, event: AppEvent) -> None:
            heard.append(event)
            if isinstance(event, SettingsChanged):
                now = h.services.settings.layers()
                stale.extend(key for key, value in event.values.items() if now.value(key) != value)
            if isinstance(event, ModelChanged) and event.spec != h.current.spec:
                stale.append(event.spec)
            publish(channel, event)

        monkeypatch.setattr(Channel, "publish", looking)
        await WAYS[way](h)
    assert any(isinstance(event, SettingsChanged | ModelChanged) for event in heard)
    assert stale == []


async def test_a_setting_that_is_refused_leaves_model_and_settings_as_they_were(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        before = h.current.spec, h.services.settings.layers(), h.view().settings
        layers = h.current.layers.with_value(Layer.SESSION, "context.keepTurns", 9)
        with pytest.raises(UsageError), h.current.changed_to(DEMO, layers):
            raise UsageError("The session refuses.")
        assert (h.current.spec, h.services.settings.layers(), h.view().settings) == before


async def test_one_command_hides_thinking_and_one_shows_it_again(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.ask("Why is the sky blue?")
        await s.until_it_says("Thought")
        await s.enter("/set reasoning.includeInResponse false")
        await s.until_it_no_longer_says("Thought")
        await s.enter("/unset reasoning.includeInResponse")
        await s.until_it_says("Thought")


async def test_the_picker_shows_an_effort_that_was_set_just_now(tmp_path: Path) -> None:
    async with screen(tmp_path, model="openai/gpt-5.5/high") as s:
        await until(s.pilot, lambda: s.app.chat.sidebar.picker.filled)
        await s.enter("/set reasoning.effort low")
        await s.until_it_says("gpt-5.5 · low")
        now = [row.label for row in s.house.services.models.levels() if row.current]
    assert now == ["low"]
