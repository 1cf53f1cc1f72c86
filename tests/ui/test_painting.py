"""Only what changed is rendered, and what is painted is the same as if everything were."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from tests.patience import PATIENCE_S
from tests.ui import scenes
from tests.ui.fake_chat import FakeChat
from tests.ui.fake_services import FakeServices
from tests.ui.stage import make_app, on_stage, screen_text, type_in, until
from tui.ui.app import PonderApp
from tui.ui.chat import screen as screens
from tui.ui.chat.status_line import KeyLine
from tui.ui.input import composer as composers
from tui.ui.input.composer import Composer
from tui.ui.terminal.textual_private import SparingCompositor

pytestmark = pytest.mark.frames

MOVES_FOR_NOTHING = re.compile(r"\x1b\[\d+;\d+H(?=\x1b\[\d+;\d+H|\n|\Z)|\n")
"""Textual moves the cursor also to what begins right behind a change, and writes nothing there; and to the next row
before it moves to a place in it."""
TURNS = [scenes.turn(f"Question {number}?", "Words 🧑‍🚀 of an *answer*.\n\n- one\n- two\n") for number in range(4)]


def partial_update(screen: Screen[object], regions: list[Region], kind: type[Compositor]) -> str:
    """What is written to the terminal for these changes."""
    compositor = screen._compositor
    compositor._dirty_regions.update(regions)
    update = kind.render_partial_update(compositor)
    assert isinstance(update, ChopsUpdate)
    return MOVES_FOR_NOTHING.sub("", update.render_segments(screen.app.console))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("typed", ["", "/s"], ids=["chat", "popup"])
async def test_any_part_of_the_screen_is_painted_as_textual_paints_it(seed: int, typed: str) -> None:
    chosen = random.Random(seed)
    async with on_stage(*TURNS) as (app, _, pilot):
        await type_in(pilot, typed)
        await until(pilot, lambda: app.chat.composer.popup_open is bool(typed))
        await pilot.pause()
        for _ in range(60):
            regions = [
                Region(chosen.randrange(100), chosen.randrange(36), chosen.randint(1, 70), chosen.randint(1, 12))
                for _ in range(chosen.randint(1, 4))
            ]
            regions = [part for region in regions if (part := region.intersection(app.size.region))]
            ours = partial_update(app.screen, regions, type(app.screen._compositor))
            assert ours == partial_update(app.screen, regions, Compositor)


@pytest.mark.parametrize("typed", ["", "/s"], ids=["chat", "popup"])
async def test_the_whole_screen_is_painted_as_textual_paints_it(typed: str) -> None:
    async with on_stage(*TURNS) as (app, _, pilot):
        await type_in(pilot, typed)
        await until(pilot, lambda: app.chat.composer.popup_open is bool(typed))
        await pilot.pause()
        compositor = app.screen._compositor
        ours = compositor.render_full_update().render_segments(app.console)
        assert ours == Compositor.render_full_update(plain(compositor)).render_segments(app.console)


def plain(compositor: Compositor) -> Compositor:
    """Textual's own with the same layout."""
    own = Compositor()
    own.__dict__.update(vars(compositor))
    return own


async def test_what_others_cover_is_not_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_stage(*TURNS) as (app, _, _):
        rendered = note_rendered(monkeypatch)
        app.screen._compositor.render_full_update()
        whole = [widget for widget, area in rendered if area == widget.outer_size.region]
        assert app.chat.query_one(KeyLine) in whole
        assert not {app.chat, app.chat.query_one("#body"), app.chat.query_one("#left")} & set(whole)


async def test_the_first_screen_is_laid_out_and_painted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts: list[Size] = []
    paints: list[Region | None] = []
    reflow, render = SparingCompositor.reflow, SparingCompositor._render_chops

    def laid_out(compositor: Compositor, parent: Widget, size: Size) -> object:
        layouts.append(size)
        return reflow(compositor, parent, size)

    def painted(compositor: Compositor, crop: Region, is_rendered: Callable[[int], bool]) -> object:
        paints.append(crop)
        return render(compositor, crop, is_rendered)

    monkeypatch.setattr(SparingCompositor, "reflow", laid_out)
    monkeypatch.setattr(SparingCompositor, "_render_chops", painted)
    monkeypatch.setattr(screens, "PANELS_AFTER_S", PATIENCE_S)  # a key comes before them
    monkeypatch.setattr(screens, "DISCOVER_AFTER_S", PATIENCE_S)  # what it finds is laid out
    app = make_app(FakeServices(chat=FakeChat(()), values={"ui.motion": False}))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("x")
        await until(pilot, lambda: app.chat.composer.text == "x" and app.focused is app.chat.composer)
        await pilot.pause()
        whole = app.size.region
        assert (layouts, paints.count(whole)) == ([whole.size], 1)


async def test_words_of_an_answer_render_no_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "DISCOVER_AFTER_S", PATIENCE_S)  # it shows the models again
    async with on_stage(*TURNS) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("First"))
        await until(pilot, lambda: "First" in screen_text(app))
        await pilot.pause()
        rendered = note_rendered(monkeypatch)
        services.chat.publish(scenes.words(" and second.")[1])
        await until(pilot, lambda: "and second." in painted_rows(app))
        assert not [widget for widget, _ in rendered if app.chat.sidebar in widget.ancestors_with_self]


async def test_an_answer_that_scrolls_and_a_typed_key_render_nothing_of_the_scrollbar_that_looks_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = [scenes.turn(f"Question {number}?", "Words.\n\n" * 9) for number in range(20)]
    async with on_stage(*turns) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("First"))
        await until(pilot, lambda: "First" in screen_text(app))
        await pilot.pause()
        bar, top = app.chat.transcript.vertical_scrollbar, app.chat.transcript.column.top
        rendered = note_rendered(monkeypatch)
        services.chat.publish(scenes.words("\n\nOne more.")[1])
        await until(pilot, lambda: app.chat.transcript.column.top > top)
        app.chat.refresh(repaint=False, layout=True)
        await pilot.pause()
        assert sum(area.height for widget, area in rendered if widget is bar) <= 2 < bar.size.height
        assert "One more." in painted_rows(app)


def note_rendered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Widget, Region]]:
    """Every widget that is rendered from now on, and what of it."""
    rendered: list[tuple[Widget, Region]] = []
    render_lines = Widget.render_lines

    def noted(widget: Widget, crop: Region) -> list[Strip]:
        rendered.append((widget, crop))
        return render_lines(widget, crop)

    monkeypatch.setattr(Widget, "render_lines", noted)
    return rendered


def painted_rows(app: PonderApp) -> str:
    """The rows of the transcript, without rendering anything else."""
    transcript = app.chat.transcript
    rows = [transcript.render_line(y) for y in range(transcript.size.height)]
    return "\n".join(row.text for row in rows)


async def test_the_cursor_blinks_no_longer_when_nothing_is_typed_and_again_with_the_next_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_stage() as (app, _, pilot):
        composer = app.chat.composer
        composer.blink(on=True)
        await pilot.press("a")
        composer.rest()
        assert composer.cursor_blink
        monkeypatch.setattr(composers, "BLINKS_S", -1.0)
        blinks = [blinking_after(composer.rest, composer)]
        await pilot.press("b")
        blinks.append(composer.cursor_blink)
        composer.rest()
        composer.blink(on=False)  # motion was turned off meanwhile
        await pilot.press("c")
        assert [*blinks, composer.cursor_blink] == [False, True, False]


def blinking_after(change: Callable[[], None], composer: Composer) -> bool:
    change()
    return composer.cursor_blink
