"""A turn that fails: the question comes back, a missing key is asked for, and what it opens is seen at once."""

from __future__ import annotations

from dataclasses import replace

from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.domain.blocks import TextBlock
from tui.domain.errors import NO_LOGIN, ErrorKind, ProviderError
from tui.domain.events import TurnFailed
from tui.domain.listing import ProviderInfo
from tui.domain.messages import Message, Role, Turn
from tui.ui.app import PonderApp
from tui.ui.dialogs.key_dialog import KeyDialog

ASKED = Turn(id="live", messages=(Message(id="q", role=Role.USER, blocks=(TextBlock(text="Why is it dark?"),)),))
NO_KEY = ProviderError(ErrorKind.NO_KEY, "There is no key for Anthropic.", advice="Set it with `/key anthropic`.")


async def test_a_turn_without_a_key_asks_for_it_and_brings_the_question_back() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why is it dark?"), TurnFailed(ASKED, NO_KEY))
        await until(pilot, lambda: isinstance(app.screen, KeyDialog) and "Key for anthropic" in screen_text(app))
        await type_in(pilot, "sk-secret")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chat and "/key anthropic" in screen_text(app))
        assert services.keys.saved == [("anthropic", "sk-secret", True)]
        assert app.chat.composer.text == "Why is it dark?"
        await pilot.press("enter")
        await until(pilot, lambda: ("edit", "live") in [asked[:1] + asked[1][:1] for asked in services.chat.asked])


async def test_a_missing_login_at_a_cloud_asks_for_no_key() -> None:
    error = ProviderError(ErrorKind.NO_KEY, "There is no login at AWS.", code=NO_LOGIN, advice="Run `aws sso login`.")
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why is it dark?"), TurnFailed(ASKED, error))
        await until(pilot, lambda: "aws sso login" in screen_text(app) and app.chat.composer.text == "Why is it dark?")
        await pilot.press("!")  # a dialog would take it; here it replaces the selected text
        await until(pilot, lambda: app.chat.composer.text == "!")
        assert app.screen is app.chat


async def _a_refused_question(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> None:
    refused = TurnFailed(ASKED, ProviderError(ErrorKind.INVALID_REQUEST, "Image too large."))
    services.chat.publish(*scenes.begun("Why is it dark?"), refused)
    await until(pilot, lambda: app.chat.composer.text == "Why is it dark?" and "Image too large." in screen_text(app))


async def test_a_corrected_question_replaces_the_refused_one() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await _a_refused_question(app, services, pilot)
        await pilot.press("left", "end", "backspace", *"outside", "enter")
        await until(pilot, lambda: bool(services.chat.asked))
        assert [(how, what[0]) for how, what in services.chat.asked] == [("edit", "live")]


async def test_another_question_is_asked_after_the_refused_one() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await _a_refused_question(app, services, pilot)
        await pilot.press("ctrl+u")
        await until(pilot, lambda: not app.chat.composer.text)
        await type_in(pilot, "Something else")
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.chat.asked))
        assert [how for how, _ in services.chat.asked] == ["submit"]


async def test_a_question_that_failed_does_not_overwrite_what_is_being_written() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await type_in(pilot, "Meanwhile")
        failed = TurnFailed(ASKED, ProviderError(ErrorKind.OVERLOADED, "Overloaded."))
        services.chat.publish(*scenes.begun("Why is it dark?"), failed)
        await until(pilot, lambda: "Overloaded." in screen_text(app))
        assert app.chat.composer.text == "Meanwhile"


async def test_a_key_that_was_set_is_seen_on_the_first_screen_and_in_the_sidebar() -> None:
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        assert "+ 1 provider: /key" in screen_text(app)
        services.keys.rows = tuple(
            ProviderInfo(provider=row.provider, title=row.title, ready=True, detail="keyring found")
            for row in services.keys.rows
        )
        services.models.rows = tuple(replace(row, available=True, reason="") for row in services.models.rows)
        await app.ui_services.run_line("/key openai")
        await type_in(pilot, "sk-secret")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chat and "+ 1 provider: /key" not in screen_text(app))
