"""The session list: searched by typing, acted on by letters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.ui.dialogs.sessions import Sessions, age, session_row, snippet


async def test_typing_searches_and_shows_where_it_was_found() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 30)) as (app, _, pilot):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        await until(pilot, lambda: "The first words of the answer." in screen_text(app))
        await type_in(pilot, "sky")
        await until(pilot, lambda: "1 session" in screen_text(app) and "asked about sky and more" in screen_text(app))


async def test_a_list_that_does_not_show_all_sessions_says_so() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 30)) as (app, services, pilot):
        row = services.library.rows[0]
        services.library.rows = [replace(row, id=f"old{number}", title=f"day {number}") for number in range(201)]
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "the first 200 sessions · type to find others" in screen_text(app))
        await type_in(pilot, "day 20")
        await until(pilot, lambda: " 2 sessions" in screen_text(app))


async def test_enter_opens_what_the_bar_is_on() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, services, pilot):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: services.chat.asked == [("open", "s2")])


async def test_other_words_select_the_best_match_and_the_same_words_leave_the_selection() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, services, pilot):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        sheet = app.screen
        assert isinstance(sheet, Sessions)
        await pilot.press("down")
        await until(pilot, lambda: sheet.row_list.chosen == "s2")
        await type_in(pilot, "e")  # in all titles
        await until(pilot, lambda: "asked about e and more" in screen_text(app))
        assert sheet.row_list.chosen == "s1"
        await pilot.press("down")
        await until(pilot, lambda: sheet.row_list.chosen == "s2")
        services.library.rows = [replace(row, title=f"{row.title} again") for row in services.library.rows]
        sheet.fill()
        await until(pilot, lambda: "sky dark? again" in screen_text(app))
        assert sheet.row_list.chosen == "s2"


async def test_letters_act_once_the_list_has_the_focus_and_deleting_is_taken_back() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, services, pilot):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        await pilot.press("tab", "down", "d")
        await until(pilot, lambda: "2 sessions" in screen_text(app))
        await pilot.press("u")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        await pilot.press("space")
        await until(pilot, lambda: "pinned" in screen_text(app))
        assert services.library.done == [("delete", "s2"), ("undelete", "s2"), ("pin", "s2", "True")]


async def test_exporting_asks_for_form_and_extent_and_writes_into_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, services, pilot):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        await pilot.press("tab", "down", "e")
        await until(pilot, lambda: "a web page" in screen_text(app))
        await pilot.press("down", "down", "down", "down", "enter")
        await until(pilot, lambda: (tmp_path / "why-is-the-sky-dark.html").exists())
        assert services.library.done == [("export", "s2", "html", "thinking")]


async def test_renaming_happens_in_the_search_line() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, services, pilot):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        await pilot.press("tab", "r")
        await pilot.pause()
        await pilot.press("ctrl+a", "ctrl+k")
        await type_in(pilot, "Alone?")
        await pilot.press("enter")
        await until(pilot, lambda: services.library.done == [("rename", "s1", "Alone?")])
        await until(pilot, lambda: "● Alone?" in screen_text(app))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("key", "asked"), [("n", [("new", None)]), ("f", [("open", "s2"), ("fork", "t1"), ("open", "s9")])]
)
async def test_new_and_fork_leave_the_list(key: str, asked: list[tuple[str, object]]) -> None:
    async with on_stage(scenes.CONVERSATION[0], size=(100, 30)) as (app, services, pilot):
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "3 sessions" in screen_text(app))
        await pilot.press("tab", "down", key)
        await until(pilot, lambda: services.chat.asked == asked)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (60, "1 min"), (3_599, "59 min"), (7_200, "2 h"), (90_000, "1 d"), (9_000_000, "3 mon")],
)
def test_how_long_ago(seconds: float, words: str) -> None:
    assert age(seconds) == words


def test_hits_stand_out_and_what_marks_them_is_not_seen() -> None:
    line = snippet("you asked \x02Drake\x03 about\nthe \x02equation\x03", 60)
    assert line.plain == "  you asked Drake about the equation"
    marked = [line.plain[span.start : span.end] for span in line.spans if "underline" in str(span.style)]
    assert marked == ["Drake", "equation"]


def test_a_row_says_what_is_unknown() -> None:
    from tests.ui.fake_services import FakeLibrary

    row = replace(FakeLibrary(0.0).rows[2], pinned=True)
    assert session_row(row, 60, 0.0, current=False).content.plain.splitlines()[1].split(" · ") == [
        "  qwen3:8b",
        "11 turns",
        "cost unknown",
        "pinned",
    ]


@pytest.mark.long
async def test_rows_and_preview_follow_a_terminal_that_becomes_wider_or_narrower() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 30)) as (app, _, pilot):
        await pilot.press("ctrl+s")
        # The number stands above the list before the rows do.
        await until(pilot, lambda: "3 sessions" in screen_text(app) and "11 turns" in screen_text(app))
        await pilot.pause()
        narrow = screen_text(app)
        assert "The first words of the answer." not in narrow
        await pilot.resize_terminal(160, 30)
        await until(pilot, lambda: "The first words of the answer." in screen_text(app))
        await pilot.resize_terminal(80, 30)
        await until(pilot, lambda: screen_text(app) == narrow)
