"""A fault in taking in an event costs one answer its fine drawing, never the program and never a word."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tests.ui.without_screen import conversation, drawn, notices
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import AppEvent, MessageCompleted, Stamped, ToolFinished, TurnFinished
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import BlockFinished, BlockStarted, StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta
from tui.engine.state import SessionView
from tui.ui.transcript import transcript_view as calls
from tui.ui.transcript import transcript_view as room
from tui.ui.transcript.live_answer import LiveAnswer
from tui.ui.transcript.transcript_view import TranscriptView
from tui.ui.transcript.turn_steps import AnswerStep

EMPTY = SessionView(session="s", seq=0, spec=scenes.OPUS, plan=scenes.PLAN)


class Fault(RuntimeError):
    """Planted."""


def plant(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, when: object = None) -> None:
    """``owner.name`` raises; only for arguments ``when`` is among, if that is given."""
    works = getattr(owner, name)

    def breaks(*given: object, **named: object) -> object:
        if when is None or any(when(argument) for argument in given):  # type: ignore[operator]  # a test's lambda
            raise Fault(name)
        return works(*given, **named)

    monkeypatch.setattr(owner, name, breaks)


def told(*events: AppEvent, live: TranscriptView | None = None, first: int = 1) -> TranscriptView:
    live = live or conversation()
    for seq, event in enumerate(events, first):
        live.take(Stamped("s", seq, event))
    return live


def says(word: str) -> object:
    return lambda event: isinstance(event, TextDelta | ThinkingDelta) and word in event.text


def test_an_answer_goes_on_plainly_after_an_event_that_could_not_be_drawn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plant(monkeypatch, LiveAnswer, "feed", says("poison"))
    with caplog.at_level(logging.ERROR):
        live = told(
            *scenes.begun("Why?"), *scenes.thinking("Let me see."), *scenes.words("Good. ", "A poison, ", "and more.")
        )
    assert drawn(live) == [
        "Why?",
        "",
        "claude-opus-5 · high",
        "",
        "⚠ this could not be laid out; as it came:",
        "Let me see.",
        "",
        "Good. A poison, and more.",
        "",
    ]
    assert [record.getMessage() for record in caplog.records] == ["event 7 (Streamed) of s could not be drawn"]
    assert notices(live) == [
        "⚠ This could not be drawn (Fault). Its text is shown as received.",
        "↳ Nothing is lost. Reopen the session to draw it again. The log has details of event 7.",
    ]


def test_the_whole_message_takes_the_place_of_the_plain_words_and_the_next_turn_is_drawn_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, LiveAnswer, "feed", says("poison"))
    live = told(*scenes.begun("Why?"), *scenes.words("A *poison*.", index=0), *scenes.ended("A *poison*."))
    assert drawn(live)[4] == "A poison."
    assert live.is_live is False
    told(*scenes.begun("And now?", "t2"), *scenes.words("*Well.*", index=0), live=live)
    assert drawn(live)[-2] == "Well."
    assert len(notices(live)) == 2


@pytest.mark.parametrize(
    ("owner", "name"), [(LiveAnswer, "finish"), (LiveAnswer, "tick"), (room, "prompt_blocks"), (calls, "fill_result")]
)
def test_wherever_the_fault_is_what_is_drawn_at_the_end_of_the_turn_is_what_reopening_draws(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    plant(monkeypatch, owner, name)
    call = ToolCallBlock(call_id="c1", name="grep", arguments="{}")
    first = replace(scenes.answer("", 7), blocks=(call,))
    result = ToolResultBlock(call_id="c1", name="grep", content=(TextBlock(text="found"),))
    results = Message(id="r1", role=Role.TOOL, blocks=(result,))
    asked = Message(id="u-live", role=Role.USER, blocks=(TextBlock(text="Why?"),))
    last = scenes.answer("So.", 8)
    turn = Turn(id="live", messages=(asked, first, results, last))
    streamed: list[StreamEvent] = [BlockStarted(0, "tool_call", "grep", "c1"), ToolArgsDelta(0, "{}"), BlockFinished(0)]
    live = told(*scenes.begun("Why?"), *map(scenes.streamed, streamed))
    live.tick()
    told(
        MessageCompleted("live", 1, first),
        ToolFinished("live", "c1", result, 0.4),
        MessageCompleted("live", 1, results),
        *scenes.begun("", "live")[1:],
        *scenes.words("So.", index=0),
        MessageCompleted("live", 1, last),
        TurnFinished(turn),
        live=live,
    )
    assert len(notices(live)) == 2
    monkeypatch.undo()
    opened = conversation()
    opened.load(replace(EMPTY, turns=(turn,)))
    expected = drawn(opened)
    if owner is room and name == "prompt_blocks":
        expected[:1] = ["⚠ this could not be laid out; as it came:", "Why?"]
    assert drawn(live) == expected


def test_a_stored_message_that_cannot_be_built_shows_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, AnswerStep, "blocks")
    live = conversation()
    live.load(replace(EMPTY, turns=(scenes.turn("Why?", "Because.", 1, "Let me see."), scenes.turn("And?", "Yes.", 2))))
    assert drawn(live)[2:6] == ["⚠ this could not be laid out; as it came:", "Let me see.", "", "Because."]
    assert drawn(live)[-2] == "Yes."


async def test_the_program_goes_on_after_an_event_that_could_not_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, LiveAnswer, "feed", says("poison"))
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), *scenes.words("A poison.", index=0))
        await until(pilot, lambda: "This could not be drawn (Fault)" in screen_text(app))
        assert "A poison." in screen_text(app)
        app.chat.open()
        await pilot.pause()
        assert "A poison." in screen_text(app)
        await pilot.press("h", "i")
        assert app.chat.composer.text == "hi"
