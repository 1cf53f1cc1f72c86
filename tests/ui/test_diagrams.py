"""Diagrams in answers: drawn when they are ready, kept while their source still arrives, never in the way of a key."""

from __future__ import annotations

import threading

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.typeset.drawing import Drawing
from tui.ui.markdown import diagrams
from tui.ui.markdown.document import Document, code_blocks
from tui.ui.markdown.runs import plain

SMALL = "flowchart TD\n  A[Begin here] --> B{Is it so?}\n  B -->|yes| C[The end]"
WIDE = "flowchart LR\n" + "\n".join(
    f"  n{number}[Station {number}] --> n{number + 1}[Station {number + 1}]" for number in range(12)
)


def fenced(source: str) -> str:
    return f"Look:\n\n```mermaid\n{source}\n```\n\nThat is it."


async def test_a_diagram_of_an_answer_is_drawn() -> None:
    async with on_stage(scenes.turn("Draw it.", fenced(SMALL)), size=(100, 40)) as (app, _, pilot):
        await until(pilot, lambda: "│ Begin here  │" in screen_text(app))
        seen = screen_text(app)
        assert "mermaid" in seen
        assert "copy" in seen
        assert "Is it so?" in seen
        assert "-->" not in seen
        assert "That is it." in seen


async def test_a_diagram_in_thinking_is_drawn() -> None:
    turn = scenes.turn("Draw it.", "Done.", thought=fenced(SMALL))
    async with on_stage(turn, size=(100, 50), values={"ui.thinking": "full"}) as (app, _, pilot):
        await until(pilot, lambda: "│ Begin here  │" in screen_text(app))
        assert "-->" not in screen_text(app)


async def test_a_diagram_has_no_lines_of_boxes_for_screen_readers() -> None:
    async with on_stage(scenes.turn("Draw it.", fenced(SMALL)), size=(100, 40), values={"ui.plain": True}) as stage:
        app, _, pilot = stage
        await until(pilot, lambda: "| Begin here  |" in screen_text(app))
        rows = screen_text(app).splitlines()
        drawn = rows[next(at for at, row in enumerate(rows) if "mermaid" in row) :]
        assert "+-------------+" in "".join(drawn)
        assert not set("│─┌┐└┘┬▼╱╲") & set("".join(drawn[:18]))


async def test_its_key_switches_between_drawing_and_source() -> None:
    async with on_stage(scenes.turn("Draw it.", fenced(SMALL)), size=(100, 40)) as (app, _, pilot):
        await until(pilot, lambda: "│ Begin here  │" in screen_text(app))
        await pilot.press("alt+up", "s")
        await until(pilot, lambda: "A[Begin here] --> B{Is it so?}" in screen_text(app))
        assert "│ Begin here  │" not in screen_text(app)
        await pilot.press("s")
        await until(pilot, lambda: "│ Begin here  │" in screen_text(app))


async def test_copying_gives_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []

    def put_on_clipboard(text: str, *_: object) -> str:
        copied.append(text)
        return ""

    monkeypatch.setattr("tui.ui.terminal.clipboard.put_on_clipboard", put_on_clipboard)
    async with on_stage(scenes.turn("Draw it.", fenced(SMALL)), size=(100, 40)) as (app, _, pilot):
        await until(pilot, lambda: "│ Begin here  │" in screen_text(app))
        await pilot.press("alt+up", "c")
        await until(pilot, lambda: copied == [SMALL])


async def test_a_wide_diagram_is_scrolled_sideways() -> None:
    async with on_stage(scenes.turn("Draw it.", fenced(WIDE)), size=(80, 30)) as (app, _, pilot):
        await until(pilot, lambda: "│ Station 0 ├" in screen_text(app))
        assert "Station 9" not in screen_text(app)
        assert "›" in screen_text(app)
        await pilot.press("alt+up", "w", *["right"] * 20)
        await until(pilot, lambda: "Station 11" in screen_text(app))
        assert "│ Station 0 ├" not in screen_text(app)


async def test_the_last_good_drawing_stays_while_the_source_arrives() -> None:
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(
            *scenes.begun(), *scenes.words("Look:\n\n```mermaid\nflowchart TD\n  A[One] --> B[Two]\n")
        )
        await until(pilot, lambda: "│ One │" in screen_text(app))
        services.chat.publish(*scenes.words("  B --> C[Three\n  D["))
        services.chat.publish(*scenes.words("\n  and a line that means nothing\n"))
        await until(pilot, lambda: any(_was_refused(each) for each in diagrams.drawings()._known))
        assert "│ One │" in screen_text(app)
        assert "Three" not in screen_text(app)
        assert "not understood" not in screen_text(app)


async def test_a_finished_source_that_cannot_be_drawn_is_shown_with_the_reason() -> None:
    source = "flowchart TD\n  A[One] --> B[Two]\n  B --> C[Three"
    async with on_stage(scenes.turn("Draw it.", fenced(source)), size=(100, 40)) as (app, _, pilot):
        await until(pilot, lambda: "Line 3 is not understood." in screen_text(app))
        assert "B --> C[Three" in screen_text(app)


async def test_a_diagram_that_is_too_large_is_shown_as_its_source() -> None:
    source = "flowchart TD\n" + "\n".join(f"  n{number}-->n{number + 1}" for number in range(500))
    async with on_stage(scenes.turn("Draw it.", fenced(source)), size=(100, 40)) as (app, _, pilot):
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "Too large to draw: 501 boxes, 500 edges." in screen_text(app))
        assert "n10-->n11" in screen_text(app)


async def test_a_source_that_is_too_long_to_be_read_says_so() -> None:
    source = "flowchart TD\n" + "\n".join(f"  n{number}-->n{number + 1}" for number in range(5_000))
    async with on_stage(scenes.turn("Draw it.", fenced(source)), size=(100, 40)) as (app, _, pilot):
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "Too large to draw: more than 800 lines" in screen_text(app))
        assert "n10-->n11" in screen_text(app)


async def test_keys_are_answered_while_a_diagram_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    drawing = diagrams._draw

    def slow(request: diagrams.Request) -> Drawing | str:
        assert threading.current_thread() is not threading.main_thread()
        released.wait()
        return drawing(request)

    monkeypatch.setattr(diagrams, "_draw", slow)
    try:
        said = fenced(SMALL.replace("Begin here", "Begin slowly"))
        async with on_stage(scenes.turn("Draw it.", said), size=(100, 40)) as (app, _, pilot):
            await type_in(pilot, "still here")
            await until(pilot, lambda: "still here" in screen_text(app))
            assert "A[Begin slowly] --> B" in screen_text(app)
            released.set()
            await until(pilot, lambda: "│ Begin slowly  │" in screen_text(app))
    finally:
        released.set()


def _was_refused(request: diagrams.Request) -> bool:
    return "means nothing" in request.source and isinstance(diagrams.drawings().find(request), str)


def test_a_long_source_is_one_chunk_and_too_long_a_one_is_code() -> None:
    source = "flowchart TD\n" + "\n".join(f"  n{number} --> n{number + 1}" for number in range(200))
    document = Document(fenced(source), closed=True)
    assert code_blocks(document.chunks) == [source]
    longer = source + "\n%% " + "x " * 1_000 + "\n" + "\n".join(["%% more"] * 2_100)
    assert code_blocks(Document(fenced(longer), closed=True).chunks) == [longer]
    assert any("n0 --> n1" in plain(line) for line in Document(fenced(longer), closed=True).lines(80))
