"""The composer: sends, breaks lines, remembers, completes, and never loses a draft."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Paste

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.domain.blocks import ImageBlock, TextBlock
from tui.domain.errors import UsageError
from tui.ui import global_keys
from tui.ui.input.composer import MAX_PASTE, AttachmentChips, PromptHistory
from tui.ui.input.input_area import mention_at, with_mention


def words(text: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text=text),)


async def test_enter_sends_ctrl_j_breaks_the_line_and_the_arrows_leaf_through_the_past() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        composer = app.chat.composer
        await type_in(pilot, "one")
        await pilot.press("ctrl+j")
        await type_in(pilot, "two")
        await pilot.press("enter")
        await until(pilot, lambda: services.chat.asked == [("submit", words("one\ntwo"))])
        assert composer.text == ""
        await type_in(pilot, "draft")
        await pilot.press("up")
        assert composer.text == "one\ntwo"
        await pilot.press("up", "up")
        assert composer.text == "Write a haiku about tokens"
        await pilot.press("down", "down", "down")
        assert composer.text == "draft"


async def test_enter_sends_when_the_offers_it_was_pressed_on_are_gone() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        composer = app.chat.composer
        await type_in(pilot, "write to a@nobody.example")
        composer.popup_open = True  # as for whoever types on before the file names are looked at again
        await pilot.press("enter")
        await until(pilot, lambda: services.chat.asked == [("submit", words("write to a@nobody.example"))])


async def test_an_empty_composer_sends_nothing() -> None:
    async with on_stage(size=(80, 24)) as (_, services, pilot):
        await pilot.press("enter", "space", "enter")
        assert services.chat.asked == []


async def test_it_grows_with_its_text_and_the_draft_is_kept() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        app.chat.composer.post_message(Paste("x\n" * 11))
        await until(pilot, lambda: app.chat.composer.size.height == 10)
        assert services.drafts.kept_draft(services.chat.session_id) == "x\n" * 11


async def test_a_slash_offers_commands_tab_takes_one_and_values_follow() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await type_in(pilot, "/thi")
        await until(pilot, lambda: "/thinking LEVEL|N" in screen_text(app))
        await pilot.press("tab")
        assert app.chat.composer.text == "/thinking "
        await until(pilot, lambda: app.chat.composer.popup_open)
        await pilot.press("l", "tab", "enter")
        await until(pilot, lambda: services.models.chosen == ["low"])
        assert app.chat.composer.text == ""


async def test_a_command_is_not_kept_as_the_draft_of_the_next_start() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await type_in(pilot, "/quit")
        await pilot.press("enter")
        await until(pilot, lambda: app._exit)
        assert services.drafts.kept_draft(services.chat.session_id) == ""


async def test_a_wrong_command_says_the_nearest() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await type_in(pilot, "/modle")
        await pilot.press("enter")
        await until(pilot, lambda: "Did you mean /model" in screen_text(app))
        assert services.chat.asked == []


async def test_an_at_sign_attaches_files_and_escape_closes_the_popup_only() -> None:
    async with on_stage(size=(100, 30)) as (app, _, pilot):
        await type_in(pilot, "see @src")
        await until(pilot, lambda: "src/drake.py" in screen_text(app))
        await pilot.press("escape")
        assert not app.chat.composer.popup_open
        assert app.chat.composer.text == "see @src"
        await pilot.press("backspace", "c", "tab")
        await until(pilot, lambda: "⟦drake.py⟧" in app.chat.composer.text)


async def test_a_long_paste_is_a_chip_and_is_sent_whole() -> None:
    pasted = "\n".join(f"line {number}" for number in range(200))
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        app.chat.composer.post_message(Paste(pasted))
        await until(pilot, lambda: app.chat.composer.text == "⟦pasted 200 lines⟧")
        await pilot.press("enter")
        await until(pilot, lambda: services.chat.asked == [("submit", words(pasted))])


async def test_a_recalled_paste_is_a_chip_again_and_the_draft_below_it_stays() -> None:
    pasted = "\n".join(f"line {number}" for number in range(200))
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        composer = app.chat.composer
        await type_in(pilot, "look ")
        composer.post_message(Paste(pasted))
        await until(pilot, lambda: composer.text == "look ⟦pasted 200 lines⟧")
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.chat.asked))
        composer.post_message(Paste("y\n" * 50))
        await until(pilot, lambda: composer.text == "⟦pasted 51 lines⟧")
        await pilot.press("up")
        assert composer.text == "look ⟦pasted 200 lines⟧"
        await pilot.press("down")
        assert composer.text == "⟦pasted 51 lines⟧"
        await pilot.press("up", "enter")
        await until(pilot, lambda: len(services.chat.asked) == 2)
        assert services.chat.asked == [("submit", words(f"look {pasted}"))] * 2


async def test_a_long_prompt_of_an_earlier_run_is_recalled_as_a_chip() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        app.chat.composer.past.remember("x\n" * 20)
        await pilot.press("up")
        assert app.chat.composer.text == "⟦pasted 21 lines⟧"
        await pilot.press("enter")
        await until(pilot, lambda: services.chat.asked == [("submit", words(("x\n" * 20).strip()))])


async def test_a_click_takes_what_is_offered() -> None:
    async with on_stage(size=(100, 30)) as (app, _, pilot):
        await type_in(pilot, "/thi")
        await until(pilot, lambda: "/thinking LEVEL|N" in screen_text(app))
        row = next(row for row, line in enumerate(screen_text(app).splitlines()) if "/thinking LEVEL|N" in line)
        await pilot.click(offset=(8, row))
        await until(pilot, lambda: app.chat.composer.text == "/thinking ")


async def test_ctrl_c_clears_the_draft_which_can_be_recalled_and_then_asks_before_it_quits() -> None:
    async with on_stage(size=(80, 24)) as (app, _, pilot):
        await type_in(pilot, "precious")
        await pilot.press("ctrl+c")
        assert app.chat.composer.text == ""
        await pilot.press("up")
        assert app.chat.composer.text == "precious"
        await pilot.press("ctrl+c", "ctrl+c")
        await until(pilot, lambda: "ctrl+c again to quit" in screen_text(app))


async def test_that_ctrl_c_again_quits_is_said_as_long_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_stage(size=(80, 24)) as (app, _, pilot):
        said: list[tuple[str, object]] = []
        monkeypatch.setattr(app, "notify", lambda message, **how: said.append((message, how["timeout"])))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: said == [("ctrl+c again to quit", global_keys.AGAIN_S)])


async def test_escape_stops_what_runs_before_anything_else() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("On and on", index=0))
        await until(pilot, lambda: "On and on" in screen_text(app))
        await type_in(pilot, "draft")
        await pilot.press("escape")
        await until(pilot, lambda: services.chat.asked == [("cancel", None)])
        assert app.chat.composer.text == "draft"


async def test_two_escapes_put_the_last_prompt_back_and_sending_replaces_it() -> None:
    async with on_stage(scenes.turn("First?", "Yes."), size=(80, 24)) as (app, services, pilot):
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.chat.composer.text == "First?")
        await pilot.press("!", "enter")
        await until(pilot, lambda: services.chat.asked == [("edit", ("t1", words("First?!")))])


async def test_an_edited_prompt_is_scrolled_into_view_and_leaving_the_edit_goes_back_to_the_end() -> None:
    long = "\n\n".join(f"Paragraph {number}." for number in range(40))
    async with on_stage(scenes.turn("First?", "Yes."), scenes.turn("Second?", long, 2), size=(80, 24)) as (
        app,
        _,
        pilot,
    ):
        await until(pilot, lambda: "Paragraph 39." in screen_text(app))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: "▌ Second?" in screen_text(app))
        assert app.chat.composer.text == "Second?"
        await pilot.press("escape")
        await until(pilot, lambda: "Paragraph 39." in screen_text(app) and app.chat.transcript.column.following)
        assert app.chat.composer.text == ""


async def test_a_prompt_the_desk_refuses_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):

        async def refuse(blocks: object, **_: object) -> None:
            raise UsageError("No model.", advice="/model")

        services.chat.submit = refuse  # type: ignore[method-assign]  # the service refuses
        await type_in(pilot, "lost?")
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.composer.text == "lost?" and "No model." in screen_text(app))


def test_history_keeps_the_draft_and_stops_at_its_ends() -> None:
    history = PromptHistory(["a", "b"])
    assert [history.earlier("draft"), history.earlier("b"), history.earlier("a")] == ["b", "a", None]
    assert [history.later(), history.later(), history.later()] == ["b", "draft", None]


def test_the_same_prompt_twice_is_remembered_once() -> None:
    history = PromptHistory(["a"])
    history.remember("a")
    history.remember(" ")
    assert history.prompts == ["a"]


def test_chips_have_different_words_and_are_sent_in_place() -> None:
    chips = AttachmentChips()
    first, _ = chips.paste("x\n" * 20)
    second, _ = chips.paste("y\n" * 20)
    image = chips.attach("a.png", ImageBlock(media_type="image/png", data="aGk="))
    assert first != second
    assert chips.blocks(f"look {image} {first}|{second}") == (
        ImageBlock(media_type="image/png", data="aGk="),
        TextBlock(text=f"look  {'x' + chr(10)}" + "x\n" * 19 + "|" + "y\n" * 19 + "y"),
    )


def test_a_paste_beyond_all_measure_is_cut_and_that_is_said() -> None:
    word, cut = AttachmentChips().paste("x" * (MAX_PASTE + 1))
    assert (word, cut) == (f"⟦pasted {MAX_PASTE:,} characters⟧", True)


@given(st.text(alphabet="ab ⟦⟧\n@", max_size=40))
def test_text_without_chips_is_sent_as_it_stands(text: str) -> None:
    assert AttachmentChips().blocks(text) == (words(text.strip()) if text.strip() else ())


@pytest.mark.parametrize(
    ("text", "mention"), [("@a", "a"), ("see @src/x", "src/x"), ("mail a@b", None), ("@a b", None), ("x @", "")]
)
def test_a_mention_is_an_at_sign_at_the_start_of_a_word(text: str, mention: str | None) -> None:
    assert mention_at(text, len(text), 0) == mention


def test_taking_a_mention_removes_what_was_typed_of_it() -> None:
    assert with_mention("see @sr now", 7, 0, "src/a.py") == ("see  now", "src/a.py")
