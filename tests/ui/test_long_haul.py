"""What a long conversation leaves in memory: its words, and not what was painted of them."""

from __future__ import annotations

import gc
import weakref

import pytest
from rich.segment import Segment
from textual.pilot import Pilot
from textual.strip import Strip

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.events import AppEvent, MessageCompleted, TurnFinished
from tui.domain.messages import Turn
from tui.ui.app import PonderApp
from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import Run
from tui.ui.terminal.gc_schedule import divide_without_cycles
from tui.ui.transcript.column import KEPT
from tui.ui.transcript.row_painter import MOST_PAINTED
from tui.ui.transcript.section import MOST_STRIPS

pytestmark = pytest.mark.frames

LINES = 12
WARM, MORE = 64, 40


def said_in(number: int) -> str:
    return "\n\n".join(f"Paragraph {line} of answer number {number}, in some *words*." for line in range(LINES))


def an_answer(number: int) -> list[AppEvent]:
    begun, asked, request = [*scenes.begun(turn_id=f"turn-{number}")], f"turn-{number}", said_in(number)
    done = scenes.answer(request, 1_000 + number)
    streamed = [
        scenes.streamed(event.event, turn_id=asked)
        for event in scenes.words(*(request[at : at + 40] for at in range(0, len(request), 40)))
    ]
    return [*begun, *streamed, MessageCompleted(asked, 1, done), TurnFinished(Turn(id=asked, messages=(done,)))]


async def until_shown(pilot: Pilot[int], app: PonderApp, words: str) -> None:
    await until(pilot, lambda: words in screen_text(app))


async def answered(app: PonderApp, services: FakeServices, pilot: Pilot[int], numbers: range) -> None:
    for number in numbers:
        services.chat.publish(*an_answer(number))
        await until_shown(pilot, app, f"answer number {number},")


def counted(*kinds: type) -> dict[str, int]:
    gc.collect()
    found = gc.get_objects()
    return {kind.__name__: sum(type(thing) is kind for thing in found) for kind in kinds}


@pytest.mark.long
async def test_lines_in_colours_do_not_pile_up_with_the_conversation() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        await answered(app, services, pilot, range(WARM))
        before = counted(Strip, Run)
        await answered(app, services, pilot, range(WARM, WARM + MORE))
        after = counted(Strip, Run)
        painted = sum(len(section.strips) for section in app.chat.transcript.column.sections)
    assert after["Strip"] < before["Strip"] * 1.1 + 100
    assert after["Run"] < before["Run"] * 120 / 90 + 100  # sections let go of their lines thirty at a time
    assert painted <= MOST_PAINTED + MOST_STRIPS
    assert KEPT < 2 * WARM


@pytest.mark.long
async def test_what_was_painted_is_freed_without_looking_for_garbage() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        divide_without_cycles()
        await answered(app, services, pilot, range(5))
        gc.collect()
        gc.disable()
        try:
            before = counted_now(Strip)
            await answered(app, services, pilot, range(5, 5 + MORE))
            held = counted_now(Strip)
            gc.collect()
            assert held - counted_now(Strip) < 300
            assert before > 0
        finally:
            gc.enable()


def counted_now(kind: type) -> int:
    return sum(type(thing) is kind for thing in gc.get_objects())


@pytest.mark.long
async def test_one_long_answer_keeps_few_of_its_lines_in_colours() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        begin, *_ = scenes.words()
        services.chat.publish(*scenes.begun(), begin)
        for number in range(60):
            text = "\n\n".join(f"Line {number}-{line}." for line in range(10)) + "\n\n"
            services.chat.publish(*scenes.words(text)[1:])
            await until_shown(pilot, app, f"Line {number}-9.")
        assert sum(len(section.strips) for section in app.chat.transcript.column.sections) <= MOST_STRIPS


def unreachable_strips(width: int) -> int:
    """How many strips only a collection frees after a row was cut as the compositor does it."""
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for _ in range(5):
            Strip([Segment("x" * width)]).divide([width])
        gc.collect()
        return sum(type(thing) is Strip for thing in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.long
def test_a_row_that_is_not_cut_does_not_keep_itself_alive() -> None:
    divide_without_cycles()
    assert unreachable_strips(40) == 0
    strip = Strip.blank(10)
    assert strip.divide([10]) == [strip]
    assert [part.cell_length for part in strip.divide([4, 10])] == [4, 6]
    assert [part.cell_length for part in strip.divide([4, 12])] == [4]


@pytest.mark.long
def test_textual_still_needs_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails once Textual's strips no longer store themselves: then ``divide_without_cycles`` can go."""
    divide_without_cycles()
    closure = Strip.divide.__closure__ or ()
    original = next(cell.cell_contents for cell in closure if callable(cell.cell_contents))
    monkeypatch.setattr(Strip, "divide", original)
    assert unreachable_strips(41) > 0


def test_a_document_is_freed_without_looking_for_garbage() -> None:
    document = Document("# A title\n\nSome *words*.\n\n```python\nx = 1\n```\n", closed=True)
    assert len(document.lines(80)) > 3
    gone = weakref.ref(document)
    gc.disable()
    try:
        del document
        assert gone() is None
    finally:
        gc.enable()
