"""Faults in one message or one sheet stay there; the program goes on."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.commands.registry import View
from tui.domain.events import SettingsChanged
from tui.ui.dialogs.help import TextPage
from tui.ui.markdown.document import lay_markdown
from tui.ui.markdown.runs import LONG_ROW, Line, Run, plain, wrap
from tui.ui.transcript.blocks import Renderable
from tui.ui.transcript.section import Section, Speaker


class Unlayable(Renderable):
    def height(self, width: int) -> int:
        raise RuntimeError("cannot be laid out")

    def line(self, number: int) -> Line:
        raise RuntimeError("cannot be drawn")

    def text(self) -> str:
        return "the words themselves"


class Undrawable(Unlayable):
    def height(self, width: int) -> int:
        return 3


class BrokenPage(TextPage):
    def key_x(self) -> None:
        raise RuntimeError("a key nobody tried")


def rows(section: Section, width: int) -> list[str]:
    section.height(width)
    seen = [plain(section.line(number)[0]) for number in range(3)]
    return seen if section.height(width) == 3 else [plain(section.line(number)[0]) for number in range(2)]


def test_a_block_that_cannot_be_laid_out_shows_its_words_as_they_came() -> None:
    section = Section("s", Speaker.MODEL)
    section.add(Unlayable())

    assert rows(section, 60) == ["⚠ this could not be laid out; as it came:", "the words themselves", ""]


def test_a_block_that_cannot_be_drawn_shows_its_words_from_the_next_frame_on() -> None:
    section = Section("s", Speaker.MODEL)
    section.add(Undrawable())
    section.height(60)
    section.line(0)

    assert rows(section, 60) == ["⚠ this could not be laid out; as it came:", "the words themselves", ""]


def test_a_section_whose_blocks_cannot_be_made_says_so() -> None:
    def fails() -> list[Renderable]:
        raise RuntimeError("a message nobody foresaw")

    section = Section("s", Speaker.MODEL, fails)

    assert rows(section, 90)[0] == "⚠ this could not be laid out; as it came:"


async def test_a_broken_message_leaves_the_rest_of_the_conversation_on_the_screen() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, _, pilot):
        section = Section("broken", Speaker.MODEL)
        section.blocks.append(Unlayable())
        app.chat.transcript.column.append(section)
        app.chat.transcript.follow()
        await until(pilot, lambda: "the words themselves" in screen_text(app))


async def test_a_sheet_that_raises_is_closed_with_a_notice() -> None:
    async with on_stage(size=(100, 30)) as (app, _, pilot):
        await app.push_screen(BrokenPage("Title", "text"))
        await pilot.press("x")
        await until(pilot, lambda: app.screen is app.chat)
        await until(pilot, lambda: "failed and was closed" in screen_text(app))
        await pilot.press("a", "b")
        assert app.chat.composer.text == "ab"


async def test_a_theme_nobody_has_is_told_and_changes_nothing() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        services.chat.publish(SettingsChanged({"ui.theme": "duskk"}))
        await until(pilot, lambda: "There is no theme duskk." in screen_text(app))
        assert app.theme == "dusk"


@pytest.mark.frames
@pytest.mark.long
async def test_what_was_found_is_stepped_through_after_the_find_bar_closed() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, _, pilot):
        await app.show_view(View.FIND, "the")
        await until(
            pilot, lambda: (app.screen is not app.chat and "1 of" in screen_text(app)) or "of" in screen_text(app)
        )
        await pilot.press("enter", "escape")
        await until(pilot, lambda: app.screen is app.chat)
        transcript = app.chat.transcript
        seen = [(transcript.cursor, app.chat.selections[transcript])]
        for _ in range(3):  # several hits may stand in one block
            await pilot.press("n")
            await until(pilot, lambda: (transcript.cursor, app.chat.selections[transcript]) != seen[-1])
            seen.append((transcript.cursor, app.chat.selections[transcript]))
        assert len({repr(place) for place in seen}) == len(seen)


async def test_the_screen_draws_no_lines_for_those_who_listen_to_it() -> None:
    values: dict[str, object] = {"ui.plain": True, "ui.sidebar": "narrow"}
    async with on_stage(*scenes.CONVERSATION, size=(120, 30), values=values) as (app, _, pilot):
        await until(pilot, lambda: "Write a message" in screen_text(app))
        drawn = set(screen_text(app)) & set("─│┊▸▾▌▰▱❯●…")
        assert drawn <= {"…", "●"}


async def test_the_footer_offers_stopping_only_while_something_runs() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, _, _pilot):
        assert screen_text(app).splitlines()[-1] == (
            " enter send  ctrl+j newline  ctrl+t model  ctrl+p palette  f1 help"
        )


def test_a_heap_of_marks_is_shown_as_it_came() -> None:
    heap = "*a* " * 900

    assert "".join(plain(line) for line in lay_markdown(heap, 80))[:7] == "*a* *a*"


def test_long_rows_break_where_short_ones_do() -> None:

    words = "lorem ipsum dolor sit amet " * 100
    assert len(words) > LONG_ROW
    apart = [Run(f"{word} ") for word in words.split()]

    assert [plain(line).rstrip() for line in wrap([Run(words)], 33)] == [
        plain(line).rstrip() for line in wrap(apart, 33)
    ]
