"""The approval sheet shows all of a call, and takes a yes only to what was shown."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.blank_marks import marked
from tui.domain.events import ApprovalAsked
from tui.ui.app import PonderApp
from tui.ui.dialogs.approval import ARMED_S, LEFT_ABOVE_LOW, QUIET_S, Approval
from tui.ui.dialogs.call_details import detail_lines
from tui.ui.dialogs.filter_sheet import Palette
from tui.ui.dialogs.help import Help
from tui.ui.input.composer import HINT, HINT_ASKED
from tui.ui.markdown.runs import Look, plain, wrapped_after

LONG = "\n".join(f"step {number}" for number in range(300))


async def _asked(
    app: PonderApp,
    services: FakeServices,
    pilot: Pilot[int],
    detail: str,
    *,
    note: str = "",
    patterns: tuple[str, ...] = (),
    session: str = "shell(=x)",
) -> Approval:
    asked = ApprovalAsked("live", "c9", "shell", "Run it", detail, patterns, note, session=session)
    services.chat.publish(*scenes.begun("Do it"), asked)
    await until(pilot, lambda: isinstance(app.screen, Approval) and app.screen._call._is_laid)
    screen = app.screen
    assert isinstance(screen, Approval)
    screen._since -= QUIET_S
    return screen


@pytest.mark.one_in(5)
@pytest.mark.parametrize("keys", [("ctrl+y",), ("alt+1",), ("alt+2",), ("alt+3",), ("down", "enter")])
async def test_yes_does_nothing_before_the_end_was_seen(keys: tuple[str, ...]) -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, LONG, patterns=("shell(x)",))
        assert "more lines: read to the end first" in screen_text(app)
        await pilot.press(*keys)
        await until(pilot, lambda: screen._call._answered_early)
        assert services.chat.asked == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", ["page by page", "at once"])
async def test_a_long_command_scrolls_to_its_true_end_and_then_takes_a_yes(way: str) -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, LONG)
        seen = ""
        while "step 299" not in screen_text(app):
            seen += screen_text(app)
            assert not screen._call.end_seen
            await pilot.press("pagedown" if way == "page by page" else "ctrl+end")
        seen += screen_text(app)
        if way == "page by page":
            assert [number for number in range(300) if f"step {number} " not in seen.replace("\n", " ")] == []
        await until(pilot, lambda: "more line" not in screen_text(app))
        await pilot.press("alt+1")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", "once"))]


async def test_a_long_question_may_be_denied_unread() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await _asked(app, services, pilot, LONG)
        await pilot.press("alt+3")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", "no"))]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("key", "answer"), [("1", "once"), ("2", "session"), ("3", "shell(a)"), ("4", "shell(b)"), ("5", "no")]
)
async def test_answers_are_given_by_their_number(key: str, answer: str) -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, "ls", patterns=("shell(a)", "shell(b)"))
        await pilot.press("x", key)
        assert app.chat.composer.text == f"x{key}"
        screen._since -= QUIET_S
        await pilot.press(f"alt+{key}")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", answer))]


async def test_a_number_alone_answers_while_the_draft_is_empty_and_the_composer_says_who_has_the_keys() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, "ls")
        assert app.chat.composer.placeholder == HINT_ASKED
        assert "1–4 choose" in screen_text(app)
        await pilot.press("7", "2")  # the first is no answer, and the second goes on with the message
        assert app.chat.composer.text == "72"
        await until(pilot, lambda: "alt+1–4 choose" in screen_text(app))
        assert "answer above first" in str(app.chat.input_area.border_title)
        await pilot.press("backspace", "backspace", "2")  # too early after a letter
        assert app.chat.composer.text == "2"
        await pilot.press("backspace")
        assert services.chat.asked == []
        screen._since -= QUIET_S
        await pilot.press("2")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", "session"))]
        assert app.chat.composer.placeholder == HINT


async def test_a_number_without_an_answer_does_nothing_and_the_last_asks_for_the_reason() -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, "ls")
        await pilot.press("alt+9", "alt+4")
        await until(pilot, lambda: "enter deny" in screen_text(app) and "choose" not in screen_text(app))
        await pilot.press(*"why", "enter")
        await until(pilot, lambda: app.screen is app.chat)
        assert screen.over
        assert services.chat.asked == [("approval", ("c9", "no: why"))]


async def test_an_answer_is_for_the_call_that_was_shown_when_the_key_was_pressed() -> None:
    """The first question may be settled elsewhere in the same moment, and the next one takes its place."""
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, "ls")
        await until(pilot, lambda: screen._call.end_seen)
        screen._give("once")
        screen._ask(ApprovalAsked("live", "c10", "shell", "Run it", "rm -rf /", (), ""))
        await until(pilot, lambda: bool(services.chat.asked))
        assert services.chat.asked == [("approval", ("c9", "once"))]


async def test_in_a_window_that_is_too_small_nothing_can_be_approved() -> None:
    async with on_stage(size=(20, 5)) as (app, services, pilot):
        await _asked(app, services, pilot, "rm -rf /", note="in /home/me")
        await until(pilot, lambda: "too small" in " ".join(screen_text(app).split()))
        assert "rm -rf" not in screen_text(app)
        await pilot.press("ctrl+y", "alt+1", "alt+2", "down", "enter")
        assert services.chat.asked == []
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "rm -rf /" in screen_text(app))
        await pilot.resize_terminal(20, 5)
        await until(pilot, lambda: "too small" in " ".join(screen_text(app).split()))
        await pilot.press("alt+1")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "rm -rf /" in screen_text(app))
        assert services.chat.asked == []
        await pilot.press("alt+1")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", "once"))]


async def test_a_window_that_is_too_small_takes_a_no() -> None:
    async with on_stage(size=(20, 5)) as (app, services, pilot):
        await _asked(app, services, pilot, "rm -rf /")
        await pilot.press("escape")
        await until(pilot, lambda: "esc again denies" in " ".join(screen_text(app).split()))
        assert services.chat.asked == []
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", "no"))]


async def test_a_run_of_escapes_denies_one_call_and_the_first_only_goes_to_no() -> None:
    """Escape closes other sheets, so pressing it by habit must not refuse the work of a whole turn."""
    asked = [ApprovalAsked("live", name, "shell", f"Run {name}", "ls", ()) for name in ("c1", "c2", "c3")]
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), *asked)
        await until(pilot, lambda: "1 of 3 · Run c1" in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since -= 60
        await pilot.press("escape")
        await until(pilot, lambda: "No · esc again denies" in screen_text(app))
        assert services.chat.asked == []
        await pilot.press("up", "escape")
        await until(pilot, lambda: screen._list.chosen == "no")
        assert services.chat.asked == []
        at = screen._now()
        screen._now = lambda: at  # so that the rest is one run of keys, however slow the machine is
        await pilot.press("escape", "escape")
        await until(pilot, lambda: "2 of 3 · Run c2" in screen_text(app))
        await pilot.press("escape", "escape")
        assert services.chat.asked == [("approval", ("c1", "no"))]
        assert screen._list.chosen is None


async def test_at_80_by_24_a_short_change_is_whole_and_takes_a_yes_at_once() -> None:
    lines = [f"+line {number}" for number in range(8)]
    patterns = ("write(a.py)", "write(**)")
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        note = "in /home/me"
        screen = await _asked(app, services, pilot, "\n".join(lines), note=note, patterns=patterns, session="write(**)")
        text = screen_text(app)
        assert [line for line in lines if line not in text] == []
        assert app.chat.conversation_area.region.y + LEFT_ABOVE_LOW <= screen._sheet.region.y
        answers = [row[3:] for row in text.splitlines()[screen._list.region.y : screen._list.region.bottom]]
        second = answers[0].index("4  Always allow writing files here")
        assert [(row[:second].strip(), row[second:].strip()) for row in answers] == [
            ("1  Yes, once", "4  Always allow writing files here"),
            ("2  Yes, all file changes in this", "5  No"),
            ("folder for this session", "6  No, and tell the model why…"),
            ("3  Always allow writing a.py", ""),
        ]
        await pilot.click(offset=(second + 8, screen._list.region.y + 1))
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", "no"))]


@pytest.mark.long
async def test_the_row_for_the_reason_takes_no_room_from_a_call_before_it_is_asked_for() -> None:
    lines = [f"+line {number}" for number in range(18)]
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        patterns = ("write(a.py)", "write(**)")
        screen = await _asked(
            app, services, pilot, "\n".join(lines), note="in /home/me", patterns=patterns, session="write(**)"
        )
        assert [line for line in lines if line not in screen_text(app)] == []
        assert not screen._call.has_more_rows
        await pilot.press("alt+6")
        await until(pilot, lambda: "enter deny" in screen_text(app))
        await until(pilot, lambda: "No, and tell the model why…" in screen_text(app) and screen._call.has_more_rows)


@pytest.mark.long
async def test_the_answer_for_the_session_counts_the_questions_that_come_after_it() -> None:
    first, second = (
        ApprovalAsked("live", name, "write_file", f"Write {name}", "+a", session="write(**)") for name in ("c1", "c2")
    )
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), first)
        await until(pilot, lambda: "2  Yes, all file changes in this folder for this session" in screen_text(app))
        screen = app.screen
        assert isinstance(screen, Approval)
        screen._since -= QUIET_S
        await pilot.press("down")
        services.chat.publish(second)
        words = "2  Yes, these 2 and all other file changes in this folder for this session"
        await until(pilot, lambda: words in screen_text(app))
        assert screen._list.chosen == "once"


@pytest.mark.long
async def test_a_call_that_is_shown_whole_ends_with_its_last_row_and_names_no_key_that_scrolls() -> None:
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        await _asked(app, services, pilot, "first\nlast")
        await until(pilot, lambda: "pgdn" not in screen_text(app))
        rows = screen_text(app).splitlines()
        last = next(number for number, row in enumerate(rows) if "last" in row)
        assert set(rows[last + 1].partition("┃")[2].partition("┃")[0]) == {" "}
        assert "1  Yes, once" in rows[last + 2]
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        await _asked(app, services, pilot, LONG)
        await until(pilot, lambda: "pgdn more" in screen_text(app))


async def test_what_ponder_says_stands_outside_of_the_models_words() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        note_of_ponder = "in /home/me\nThis folder always needs approval."
        await _asked(app, services, pilot, "rm -rf .\n\nin /tmp/harmless", note=note_of_ponder)
        rows = screen_text(app).splitlines()
        note = next(number for number, row in enumerate(rows) if "in /home/me" in row)
        first = next(number for number, row in enumerate(rows) if "rm -rf ." in row)
        fake = next(number for number, row in enumerate(rows) if "in /tmp/harmless" in row)
        assert rows[note].strip() == "in /home/me · This folder always needs approval."
        assert note < first < fake
        assert [rows[number].count("│") for number in (note, first, fake)] == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls" + " " * 300 + "; rm -rf ~", "ls⟨300 blanks⟩; rm -rf ~"),
        ("ls" + "\n" * 300 + "rm -rf ~", "ls\n⟨299 blank lines⟩\nrm -rf ~"),
        ("a  b c ", "a··b c·"),
        ("a\n" + " \n   \n" * 50 + "b", "a\n⟨100 blank lines⟩\nb"),
        ("    indented\n" + " " * 60 + "far", "    indented\n⟨60 blanks⟩far"),
        ("a\r\nb\rc", "a␍\nb␍c"),
        ("rm\u00a0-rf\u3000x\u2800y", "rm\\u{A0}-rf\\u{3000}x\\u{2800}y"),
        ("a\u2028b\u034fc", "a\\u{2028}b\\u{34F}c"),
        ("a··b ⟨3 blanks⟩", "a\\u{B7}\\u{B7}b \\u{27E8}3 blanks\\u{27E9}"),
        ("+x\n" + "+\n" * 40 + "+y", "+x\n+⟨40 blank lines⟩\n+y"),
    ],
)
def test_nothing_that_hides_a_part_of_it_is_drawn_as_nothing(text: str, shown: str) -> None:
    assert marked(text) == shown


@pytest.mark.long
def test_a_line_of_megabytes_is_laid_out_whole() -> None:
    lines = detail_lines("x" * 5_000_000)(100)
    assert sum(len(plain(line)[wrapped_after(line) :].strip()) for line in lines) == 5_000_000


def test_a_blank_where_a_row_is_wrapped_is_seen() -> None:
    for width in range(20, 60):
        apart, together = (
            [plain(line) for line in detail_lines(f"rm -rf /home/someone/{blank}else/thing --now")(width)]
            for blank in (" ", "")
        )
        assert apart != together
    assert "\\u{21AA}" in plain(detail_lines("echo a\n↪ b")(60)[1])


def test_a_change_has_the_colours_of_its_language() -> None:
    change = "@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
    head, context, removed, added = detail_lines(change, "python")(80)
    assert [run.role for run in head[1:]] == ["muted"]
    assert "syntax-keyword" in {run.role for run in context}
    for line, sign, look in ((removed, "-", Look.REMOVED), (added, "+", Look.ADDED)):
        assert line[1].text == sign
        assert {run.look for run in line[1:]} == {look}
        assert {"syntax-keyword", "syntax-number"} <= {run.role for run in line}
    new = detail_lines("+import os\n+--- a/x\n++++ b/y.js\n", "python")(80)
    assert [plain(line[1:2]) for line in new] == ["+", "+", "+"]
    assert new[0][2].role == "syntax-keyword"


@pytest.mark.long
async def test_help_and_the_palette_open_over_the_question_and_their_escape_does_not_count_for_it() -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, "ls")
        for key, sheet in (("f1", Help), ("ctrl+p", Palette)):
            await pilot.press(key)
            await until(pilot, lambda sheet=sheet: isinstance(app.screen, sheet))  # type: ignore[misc]  # bound now
            opened_at = screen._now()
            screen._now = lambda opened_at=opened_at: opened_at  # type: ignore[misc]  # the keys come at once
            screen._since -= QUIET_S
            await pilot.press("escape", "escape", "escape")
            await until(pilot, lambda: app.screen is screen)
            assert screen._list.chosen is None
        assert services.chat.asked == []
        screen._since -= 2 * QUIET_S
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.chat.asked == [("approval", ("c9", "no"))]


async def test_the_end_of_a_call_is_not_seen_below_help() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, LONG)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, Help))
        screen._call._page.scroll_end(animate=False)
        await until(pilot, lambda: screen._call._page.lines_below == 0)
        screen._call.update_end_seen()
        assert not screen._call.end_seen


@pytest.mark.parametrize("forgotten", ["after a while", "by a key"])
async def test_a_single_escape_is_forgotten(forgotten: str) -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        screen = await _asked(app, services, pilot, "ls")
        assert "esc esc no" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: "No · esc again denies" in screen_text(app))
        if forgotten == "by a key":
            await pilot.press("up", "down")
            assert screen._list.chosen == "no"
        else:
            screen._armed_at -= ARMED_S
            await until(pilot, lambda: screen._list.chosen is None)
        await until(pilot, lambda: "esc again denies" not in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "No · esc again denies" in screen_text(app))
        assert services.chat.asked == []
