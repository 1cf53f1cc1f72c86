"""Keys come from the table: what the sheet of keys promises happens, and what the user changes is changed."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_chat import FakeChat
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, until
from tui.commands.builtin import registry
from tui.commands.keymap import read_keymap
from tui.commands.registry import CommandScope
from tui.ui.app import PonderApp
from tui.ui.chat.status_line import MOST, footer_keys
from tui.ui.theme.current_theme import CurrentTheme

OPENS = {
    "f1": "Help",
    "f12": "Wire inspector",
    "ctrl+s": "Sessions",
    "ctrl+r": "Earlier prompts",
    "ctrl+p": "Commands",
    "ctrl+f": "find in this conversation",
}


async def test_keys_open_what_the_table_says() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(110, 30)) as (app, _, pilot):
        for key, words in OPENS.items():
            await pilot.press(key)
            await until(pilot, lambda words=words: words in screen_text(app))  # type: ignore[misc]  # bound now
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat)


async def test_a_question_mark_opens_help_only_in_an_empty_composer() -> None:
    async with on_stage(size=(110, 30)) as (app, _, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: app.screen is not app.chat)
        await pilot.press("escape", "x", "question_mark")
        assert app.chat.composer.text == "x?"


@pytest.mark.parametrize(("key", "asked"), [("r", ("retry", ("t1", ""))), ("f", ("fork", "t1"))], ids=["retry", "fork"])
async def test_letters_in_the_conversation_act_on_the_turn_under_the_cursor(key: str, asked: object) -> None:
    async with on_stage(scenes.turn("One?", "1.", 1), scenes.turn("Two?", "2.", 2), size=(100, 40)) as (
        app,
        services,
        pilot,
    ):
        await pilot.press(*["alt+up"] * 4)
        assert screen_text(app)
        await pilot.press(*["alt+up"] * 2, key)
        await until(pilot, lambda: asked in services.chat.asked)


async def test_capital_letters_are_keys_of_their_own() -> None:
    async with on_stage(scenes.turn("One?", "1.", 1), size=(100, 40)) as (app, services, pilot):
        await pilot.press("alt+up", "R")
        await until(pilot, lambda: app.chat.composer.text == "/retry ")
        assert services.chat.asked == []


async def test_end_follows_again_and_first_ends_the_line_of_a_draft() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 24)) as (app, _, pilot):
        transcript = app.chat.transcript
        await pilot.press("x", "home", "pageup")
        await until(pilot, lambda: not transcript.column.following)
        await pilot.press("end")
        assert not transcript.column.following
        assert app.chat.composer.cursor_location == (0, 1)
        await pilot.press("end")
        await until(pilot, lambda: transcript.column.following)


@pytest.mark.long
async def test_a_click_on_the_line_that_tells_of_new_ones_follows_again() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 24)) as (app, _, pilot):
        await pilot.press("pageup")
        await until(pilot, lambda: "↓" in screen_text(app))
        await pilot.click("#below")
        await until(pilot, lambda: app.chat.transcript.column.following)


async def test_the_footer_follows_the_focus_and_is_never_cut() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, services, pilot):
        assert "enter send" in screen_text(app).splitlines()[-1]
        await pilot.press("alt+up")
        await until(pilot, lambda: "space fold" in screen_text(app).splitlines()[-1])
        assert len(screen_text(app).splitlines()[-1]) <= 80
        assert screen_text(app).splitlines()[-1].endswith("esc back")
        services.chat.publish(*scenes.begun("Do it"))
        await until(pilot, lambda: screen_text(app).splitlines()[-1].endswith("esc stop"))
        await pilot.press("escape")
        await until(pilot, lambda: ("cancel", None) in services.chat.asked)
        await pilot.resize_terminal(120, 30)
        await app.ui_services.run_line("/thinking")
        await until(pilot, lambda: "16k budget  esc back" in screen_text(app).splitlines()[-1])


@pytest.mark.parametrize("scope", list(CommandScope))
def test_the_footer_has_few_keys(scope: CommandScope) -> None:
    keymap = read_keymap(registry(), "").keys
    assert 0 < len(footer_keys(registry(), keymap, scope)[:MOST]) <= MOST


async def test_what_the_users_file_changes_is_changed() -> None:
    keymap = read_keymap(registry(), '"view.sidebar" = "f3"\n"session.list" = ""\n"block.fold" = "z"')
    services = FakeServices(chat=FakeChat(scenes.CONVERSATION))
    app = PonderApp(services, registry(), keymap, CurrentTheme(None, "dusk", {}))
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: not app.chat.sidebar.display)
        await pilot.press("ctrl+b", "ctrl+s")
        assert not app.chat.sidebar.display
        assert app.screen is app.chat
        await pilot.press(*["alt+up"] * 4, "z")
        await until(pilot, lambda: "Look first." in screen_text(app) and "▾ Thought" in screen_text(app))


async def test_the_sidebar_goes_and_comes_with_a_key_and_with_the_room() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 30)) as (app, _, pilot):
        shown = [app.chat.sidebar.display]
        await pilot.press("ctrl+b")
        shown.append(app.chat.sidebar.display)
        assert "≈62.4k of 200k" in screen_text(app)
        await pilot.press("ctrl+b")
        shown.append(app.chat.sidebar.display)
        assert shown == [True, False, True]


async def quits(pilot: Pilot[int], app: PonderApp) -> None:
    await until(pilot, lambda: not app.is_running or app._exit)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("keys", [("ctrl+q",), ("ctrl+d",), ("ctrl+c", "ctrl+c")])
async def test_three_ways_out(keys: tuple[str, ...]) -> None:
    async with on_stage(size=(80, 24)) as (app, _, pilot):
        await pilot.press(*keys)
        await quits(pilot, app)
