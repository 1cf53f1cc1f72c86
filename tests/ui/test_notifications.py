"""Who looks elsewhere is called back, once and in the way they like; who looks here is left alone."""

from __future__ import annotations

import pytest
from textual import events

from tests.ui import scenes
from tests.ui.stage import on_stage, until
from tui.domain.errors import PonderError
from tui.domain.events import AppEvent, ApprovalAsked, QueueChanged, TurnFailed, TurnFinished
from tui.domain.messages import Turn
from tui.ui.terminal.notifications import BELL, MARK, UNMARK, Notifications

TURN = Turn(id="t", messages=())
ASKED = ApprovalAsked("t", "c1", "shell", "run rm", "", ())


def called(event: AppEvent, wish: str = "bell", *, here: bool = False, waiting: bool = False) -> list[str]:
    written: list[str] = []
    attention = Notifications(written.append)
    attention.focus_changed(here=here)
    attention.notify(event, wish, "Why\x1b]0;evil", waiting=waiting)
    return written


@pytest.mark.parametrize("event", [TurnFinished(TURN), TurnFailed(TURN, PonderError("x")), ASKED])
def test_what_ends_or_asks_out_of_sight_rings_and_marks_the_title(event: AppEvent) -> None:
    assert called(event) == [BELL, MARK]
    assert called(event, here=True) == called(event, "off") == []


def test_a_notification_says_what_and_obeys_no_title() -> None:
    assert called(TurnFinished(TURN), "notify") == ["\x1b]9;ponder has answered: Why␛]0;evil\x1b\\", MARK]


def test_what_was_cancelled_or_goes_on_calls_nobody() -> None:
    assert called(TurnFinished(TURN, cancelled=True)) == called(TurnFinished(TURN), waiting=True) == []
    assert called(QueueChanged(())) == []


def test_the_title_is_marked_once_and_given_back() -> None:
    written: list[str] = []
    attention = Notifications(written.append)
    attention.focus_changed(here=False)
    attention.notify(TurnFinished(TURN), "bell", "", waiting=False)
    attention.notify(ASKED, "bell", "", waiting=False)
    attention.focus_changed(here=True)
    attention.focus_changed(here=True)
    assert written == [BELL, MARK, BELL, UNMARK]


@pytest.mark.parametrize("blurred", [True, False])
async def test_the_terminal_says_whether_it_is_looked_at(blurred: bool) -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        written: list[str] = []
        app.ui_services.notifications._write = written.append
        if blurred:
            app.post_message(events.AppBlur())
        await pilot.pause()
        services.chat.publish(*scenes.begun("Why?"), TurnFinished(TURN))
        await until(pilot, lambda: bool((view := app.chat.view()) and view.turns))
        assert written == ([BELL, MARK] if blurred else [])
        app.post_message(events.AppFocus())
        await until(pilot, lambda: (UNMARK in written) is blurred)
