"""Sheets: each opens over the chat, does its one thing by keys, and closes with escape."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import RenderableType
from textual import events
from textual.screen import Screen

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_strips, screen_text, type_in, until
from tui.domain.events import ApprovalAsked, ApprovalSettled, ToolStarted
from tui.ui.app import PonderApp
from tui.ui.dialogs import sheet
from tui.ui.dialogs.approval import QUIET_S, Approval
from tui.ui.dialogs.ask import CompareBranches
from tui.ui.dialogs.compare import CompareReplay
from tui.ui.dialogs.sheet import Sheet, keys_content
from tui.ui.input.field import Field

LINES = (
    "/sessions",
    "/context",
    "/settings",
    "/theme",
    "/help",
    "/keys",
    "/tools",
    "/status",
    "/key openai",
    "/find x",
)


async def test_every_sheet_closes_with_escape_and_gives_the_focus_back_to_the_composer() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, _, pilot):
        for line in LINES:
            await app.ui_services.run_line(line)
            await until(pilot, lambda: app.screen is not app.chat)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat)
            assert app.focused is app.chat.composer, line


@pytest.mark.frames
@pytest.mark.one_in(4)
@pytest.mark.parametrize("line", ["/status", "/theme", "/tools", "/keys"])
async def test_a_sheet_is_not_seen_to_shrink(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    heights: list[int] = []
    paint = PonderApp.before_painting

    def noted(app: PonderApp, screen: Screen[object], update: RenderableType | None) -> RenderableType | None:
        painted = paint(app, screen, update)
        if painted is not None and isinstance(screen, Sheet):
            heights.append(screen.query_one(".sheet").outer_size.height)
        return painted

    monkeypatch.setattr(PonderApp, "before_painting", noted)
    monkeypatch.setattr(sheet, "FITTING_S", 60.0)  # a busy machine may need long for what the sheet shows
    async with on_stage(*scenes.CONVERSATION, size=(120, 60)) as (app, _, pilot):
        await app.ui_services.run_line(line)
        await until(pilot, lambda: len(heights) > 0)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert heights == sorted(heights)


async def test_the_palette_finds_a_command_by_a_few_letters_shows_its_key_and_runs_it() -> None:
    async with on_stage(size=(120, 30)) as (app, _, pilot):
        await pilot.press("ctrl+p")
        await type_in(pilot, "sidebr")
        await until(pilot, lambda: "Sidebar" in screen_text(app) and "ctrl+b" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chat)
        await until(pilot, lambda: not app.chat.sidebar.display)


@pytest.mark.long
async def test_the_palette_describes_the_selected_command_in_full_and_lists_recent_ones_first() -> None:
    async with on_stage(size=(80, 24)) as (app, _, pilot):
        await pilot.press("ctrl+p")
        await type_in(pilot, "previous recent")
        await until(pilot, lambda: "Step back through recently used models and levels." in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Recent" in screen_text(app))
        after = screen_text(app).partition("Recent")[2].splitlines()[1]
        assert "Previous recent model" in after
        assert "shift+f2" in after


@pytest.mark.long
async def test_the_palette_suggests_commands_until_one_was_used() -> None:
    async with on_stage(size=(120, 40)) as (app, _, pilot):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Suggested" in screen_text(app))
        listed = screen_text(app).partition("Suggested")[2]
        assert all(listed.count(title) == 1 for title in ("New chat", "Model and thinking picker", "Settings"))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Recent" in screen_text(app) and "Suggested" not in screen_text(app))


async def test_a_command_that_needs_words_is_put_into_the_composer() -> None:
    async with on_stage(size=(120, 30)) as (app, _, pilot):
        await pilot.press("ctrl+p")
        await type_in(pilot, "replay")
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.composer.text == "/replay ")


async def test_an_old_prompt_is_found_and_put_into_the_composer() -> None:
    async with on_stage(size=(80, 24)) as (app, _, pilot):
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Write a haiku about tokens" in screen_text(app))
        await type_in(pilot, "monad")
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.composer.text == "What is a monad?")


@pytest.mark.long
async def test_help_begins_with_what_has_the_focus_and_is_searched_by_typing() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 40)) as (app, _, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: "The composer: write here." in screen_text(app))
        await type_in(pilot, "inspector")
        await until(pilot, lambda: "Wire inspector" in screen_text(app) and "/context" in screen_text(app))
        assert "Rename" not in screen_text(app)
        await pilot.press("escape", "alt+up", "f1")
        await until(pilot, lambda: "j and k move from block to block" in screen_text(app))


async def test_a_key_is_masked_used_and_kept_only_if_wished() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        await app.ui_services.run_line("/key openai")
        await until(pilot, lambda: "OPENAI_API_KEY" in screen_text(app))
        assert "[x] keep it" in screen_text(app)
        await type_in(pilot, "sk-secret")
        await pilot.press("tab")
        assert "[ ] keep it" in screen_text(app)
        assert "secret" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.keys.saved == [("openai", "sk-secret", False)]


async def test_a_tool_is_switched_off_and_on() -> None:
    async with on_stage(size=(80, 24)) as (app, _services, pilot):
        await app.ui_services.run_line("/tools")
        await until(pilot, lambda: "[x] shell" in screen_text(app))
        assert "[ ] search" in screen_text(app)
        rows = screen_text(app).splitlines()
        heading, first = (next(row for row in rows if words in row) for words in ("rule", "[x] read_file"))
        assert heading.index("rule") == first.index("allow")
        assert heading.index("tokens") + len("tokens") == first.index("120") + len("120")
        await pilot.press("down", "space")
        await until(pilot, lambda: "[ ] shell" in screen_text(app))
        assert "1 of 3 on" in screen_text(app)
        assert "Sandbox for commands: Landlock 7" in screen_text(app)


@pytest.mark.long
async def test_themes_are_tried_on_while_moving_and_put_back_on_escape() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, _, pilot):
        await app.ui_services.run_line("/theme")
        await until(pilot, lambda: "Contrast at least" in screen_text(app))
        await pilot.press("down")
        await until(pilot, lambda: app.theme == "ember")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "dusk")
        await app.ui_services.run_line("/theme")
        await pilot.pause()
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.screen is app.chat and app.theme == "dawn")


async def test_two_answers_stand_side_by_side_with_their_figures() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(150, 40)) as (app, _services, pilot):
        await app.ui_services.run_line("/replay openai/gpt-6-sol/high")
        await until(pilot, lambda: "About ten." in screen_text(app) and "With L = 10,000" in screen_text(app))
        said = screen_text(app)
        assert "How many?" in said
        assert said.count("claude-opus-5 · high") == 2, "the model of an answer is named once"
        [figures] = [row.split("│") for row in said.splitlines() if row.count("44 s") == 2]
        assert [half.replace("▌", "").split() for half in figures] == [
            ["44", "s", "8.2k", "12.4k", "1.9k", "$0.36"],
            ["44", "s", "8.2k", "–", "14.3k", "≥", "$0.36"],
        ]


async def test_what_differs_between_answers_is_bright() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(150, 40)) as (app, _services, pilot):
        await app.ui_services.run_line("/replay openai/gpt-6-sol/high")
        await until(pilot, lambda: "About ten." in screen_text(app) and "With L = 10,000" in screen_text(app))
        await until(pilot, lambda: bright_facts(app) == ["12.4k", "1.9k", "$0.36", "–", "14.3k", "≥ $0.36"])


def bright_facts(app: PonderApp) -> list[str]:
    """What is bold in the row with what two answers took."""
    [strip] = [strip for strip in screen_strips(app) if strip.text.count("44 s") == 2]
    return [part.text.strip() for part in strip if part.style and part.style.bold and part.text.strip()]


@pytest.mark.long
async def test_keys_scroll_both_answers_until_s_is_pressed() -> None:
    long = "\n\n".join(f"Paragraph {number}." for number in range(60))
    turns = scenes.turn("How many?", long, 1), scenes.turn("How many?", long, 2)
    async with on_stage(*turns, size=(150, 30)) as (app, _, pilot):
        app.push_screen(CompareBranches(turns, "t1"))
        await until(pilot, lambda: "Paragraph 0." in screen_text(app))
        await pilot.press("pagedown")
        await until(pilot, lambda: "Paragraph 0." not in screen_text(app))
        await pilot.press("home")
        await until(pilot, lambda: "Paragraph 0." in screen_text(app))
        await pilot.press("s", "pagedown")
        await until(pilot, lambda: screen_text(app).count("Paragraph 0.") == 1)


@pytest.mark.long
async def test_without_room_two_answers_are_one_above_the_other_or_shown_one_at_a_time() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 40)) as (app, _, pilot):
        await app.ui_services.run_line("/replay openai/gpt-6-sol/high")
        await until(pilot, lambda: "With L = 10,000" in screen_text(app) and "About ten." in screen_text(app))
        rows = screen_text(app).splitlines()
        heads = [number for number, row in enumerate(rows) if "claude-opus-5 · high ✓" in row]
        assert len(heads) == 2
        assert heads[1] - heads[0] > 3
        await pilot.resize_terminal(80, 18)
        await until(pilot, lambda: "About ten." not in screen_text(app))
        assert "About ten." not in screen_text(app)
        await pilot.press("left")
        await until(pilot, lambda: "About ten." in screen_text(app))
        assert "With L = 10,000" not in screen_text(app)


ASKED = ApprovalAsked(
    "live",
    "c9",
    "edit_file",
    "edit_file wants to change src/drake.py",
    "--- src/drake.py\n+++ src/drake.py\n@@ -1 +1 @@\n-L = 1000\n+L = 10_000\n",
    ("edit_file src/**",),
    session="write(**)",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("ctrl+y",), "once"),
        (("down", "enter"), "once"),
        (("down", "down", "enter"), "session"),
        (("escape", "escape"), "no"),
        (("down", "down", "down", "enter"), "edit_file src/**"),
        (("end", "enter", *"why", "enter"), "no: why"),
    ],
)
async def test_a_tool_call_is_answered_by_keys(keys: tuple[str, ...], answer: str) -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), ASKED)
        await until(pilot, lambda: " ASKS " in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since -= QUIET_S
        await pilot.press(*keys)
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", answer))]


async def test_the_answers_are_in_sight_however_long_the_question_is() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        detail = "\n".join(f"+line {number}" for number in range(200))
        services.chat.publish(*scenes.begun("Do it"), replace(ASKED, detail=f"--- a\n+++ b\n@@ -1 +1 @@\n{detail}"))
        await until(pilot, lambda: " ASKS " in screen_text(app))
        assert "No, and tell the model why…" in screen_text(app)
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since -= QUIET_S
        await pilot.press("pagedown")
        await until(pilot, lambda: "+line 0" not in screen_text(app) and "+line 5" in screen_text(app))


async def test_keys_typed_before_the_question_was_seen_answer_nothing() -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), ASKED)
        await until(pilot, lambda: " ASKS " in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since += 60
        await pilot.press("ctrl+y", "down", "enter", "escape")
        assert services.chat.asked == []
        assert "+L = 10_000" in screen_text(app)


@pytest.mark.long
async def test_prose_typed_into_a_question_answers_nothing_and_goes_on_in_the_draft() -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        await type_in(pilot, "please sa")
        services.chat.publish(*scenes.begun("Do it"), ASKED)
        await until(pilot, lambda: " ASKS " in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since -= QUIET_S
        await pilot.press("down")
        for key in ("y", "space", "y", "e", "s", "x", "backspace", "enter"):
            await pilot.press(key)
            screen._since -= QUIET_S
        await pilot.press("enter")
        app.post_message(events.Paste(" always"))
        await until(pilot, lambda: app.chat.composer.text == "please say yes always")
        assert services.chat.asked == []
        assert app.screen is screen


async def test_the_question_goes_away_when_it_is_settled_elsewhere() -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), ASKED)
        await until(pilot, lambda: isinstance(app.screen, Approval))
        services.chat.publish(ApprovalSettled("live", "c9", False))
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == []


async def test_a_question_that_waits_when_a_session_is_opened_is_asked() -> None:
    from tests.ui.fake_chat import FakeChat
    from tests.ui.fake_services import FakeServices
    from tests.ui.stage import make_app

    services = FakeServices(chat=FakeChat())
    services.chat.publish(*scenes.begun("Do it"), ASKED)
    app = make_app(services)
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Approval))


async def test_a_page_of_markdown_scrolls(tmp_path: Path) -> None:
    async with on_stage(size=(80, 24)) as (app, _, pilot):
        await app.ui_services.run_line("/profile show kimi")
        await until(pilot, lambda: 'model = "moonshot/kimi-k2"' in screen_text(app))
        assert "Profile kimi" in screen_text(app)
        assert "copy" not in screen_text(app), "a sheet has no blocks to copy"


async def test_questions_that_come_together_are_asked_one_after_the_other() -> None:
    names = ("first", "second", "third", "fourth")
    asks = [replace(ASKED, call_id=name, summary=f"The {name} question") for name in names]
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), *asks)
        await until(pilot, lambda: "1 of 4 · The first question" in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since -= QUIET_S
        await pilot.press("ctrl+y")
        # Typed ahead: the next question has not been seen yet.
        await until(pilot, lambda: "The second question" in screen_text(app))
        screen._since += 60
        await pilot.press("ctrl+y", "enter", "escape")
        services.chat.publish(ApprovalSettled("live", "third", True))
        screen._since -= 60 + QUIET_S
        await pilot.press("escape", "escape")
        await until(pilot, lambda: "The fourth question" in screen_text(app))
        services.chat.publish(ApprovalSettled("live", "fourth", True))
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("first", "once")), ("approval", ("second", "no"))]


async def test_questions_come_in_the_order_of_the_calls_whichever_is_ready_first() -> None:
    names = ("first", "second", "third")
    started = [ToolStarted("live", name, "edit_file", "{}") for name in names]
    first, second, third = (replace(ASKED, call_id=name, summary=f"The {name} question") for name in names)
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), *started, third, second)
        await until(pilot, lambda: "1 of 2 · The second question" in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since += 60
        services.chat.publish(first)
        await until(pilot, lambda: "1 of 3 · The first question" in screen_text(app))


async def test_a_question_that_can_be_answered_stays_when_an_earlier_call_asks() -> None:
    first, second = (replace(ASKED, call_id=name, summary=f"The {name} question") for name in ("first", "second"))
    started = [ToolStarted("live", name, "edit_file", "{}") for name in ("first", "second")]
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), *started, second)
        await until(pilot, lambda: "The second question" in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since -= 60
        services.chat.publish(first)
        await until(pilot, lambda: "1 of 2 · The second question" in screen_text(app))


async def test_a_call_that_asks_again_in_the_same_words_is_asked_again() -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"))
        for count in (1, 2):
            services.chat.publish(replace(ASKED))
            await until(pilot, lambda: " ASKS " in screen_text(app))
            screen = app.screen
            assert isinstance(screen, Approval)
            screen._since -= QUIET_S
            await pilot.press("ctrl+y")
            await until(pilot, lambda: app.screen is app.chat)
            assert services.chat.asked == [("approval", ("c9", "once"))] * count


@pytest.mark.long
async def test_a_question_fits_a_terminal_that_becomes_smaller_and_larger_while_it_stands() -> None:
    async with on_stage(size=(120, 50)) as (app, services, pilot):
        detail = "\n".join(f"+line {number}" for number in range(200))
        services.chat.publish(*scenes.begun("Do it"), replace(ASKED, detail=f"--- a\n+++ b\n@@ -1 +1 @@\n{detail}"))
        await until(pilot, lambda: "+line 15" in screen_text(app))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "+line 15" not in screen_text(app) and "No, and tell the model" in screen_text(app))
        await pilot.resize_terminal(120, 50)
        await until(pilot, lambda: "+line 15" in screen_text(app) and "No, and tell the model" in screen_text(app))


async def test_read_row_by_row_nothing_stands_beside_conversation_and_sheets() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 30), values={"ui.plain": True}) as (app, _, pilot):
        assert not app.chat.sidebar.display
        await app.ui_services.run_line("/help")
        await until(pilot, lambda: [sheet.outer_size for sheet in app.screen.query(".sheet")] == [app.size])


@pytest.mark.frames
@pytest.mark.parametrize("motion", [True, False])
async def test_the_cursor_of_a_field_blinks_only_where_things_may_move(motion: bool) -> None:
    async with on_stage(size=(90, 24), values={"ui.motion": motion}) as (app, _, pilot):
        await pilot.press("ctrl+f")
        await until(pilot, lambda: isinstance(app.focused, Field) and app.focused.cursor_blink is motion)


@pytest.mark.long
async def test_answers_side_by_side_begin_at_their_tops_in_columns_of_one_width() -> None:
    said = "\n\n".join(f"Paragraph {number}." for number in range(60))
    turns = [scenes.turn(f"How many, {number}?", said, number, "Short.") for number in (1, 2)]
    async with on_stage(*turns, size=(120, 30)) as (app, _, pilot):
        await app.ui_services.run_line("/replay openai/gpt-6-sol/high")
        await until(pilot, lambda: "2 claude-opus-5" in screen_text(app))
        sheet = app.screen
        assert isinstance(sheet, CompareReplay)
        tops = [column.transcript.column for column in sheet.columns]
        await until(pilot, lambda: "Paragraph 0." in screen_text(app))
        assert [column.top for column in tops] == [0, 0]
        assert len({column.transcript.size.width for column in sheet.columns}) == 1
        assert len({column.transcript.region.y for column in sheet.columns}) == 1
        assert screen_text(app).count("▎") == 1
        assert "▌" not in screen_text(app).partition("cost")[2]
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: [column.top for column in tops] == [tops[0].last_top, 3])


def test_a_narrow_sheet_says_how_to_close_it() -> None:
    keys = (("enter", "continue"), ("up down", "scroll"), ("s", "apart"), ("esc", "close"), ("ctrl+s", "later"))
    named = {width: keys_content(keys, width, "esc").plain.strip() for width in (80, 46, 30, 9)}
    assert named == {
        80: "enter continue  ↑↓ scroll  s apart  esc close  ctrl+s later",
        46: "enter continue  ↑↓ scroll  s apart  esc close",
        30: "enter continue  esc close",
        9: "esc close",
    }
