"""Pictures in the conversation, in the real desk: drawn, captioned, covered, copied around, and let go of."""

from __future__ import annotations

import sys

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from tests.ui import scenes
from tests.ui.pictures import BLUE, GREEN, RED, WHITE, asked_with, block, encoded, quarters, strong_colour
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import HistoryChanged, MessageCompleted, ToolFinished, TurnFinished
from tui.domain.messages import Message, Role, Turn
from tui.domain.search_terms import SearchTerms
from tui.domain.stream import BlockFinished, BlockStarted, ImageData
from tui.ui.app import PonderApp
from tui.ui.pictures.picture import Picture

pytestmark = pytest.mark.frames

CAPTION = "⊞ map.png · 160 × 160 · "


@pytest.fixture(autouse=True)
def _many_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


def colours(app: PonderApp) -> dict[tuple[int, int], tuple[int, int, int]]:
    """The strong colours on the screen, by column and row; the interface itself has none of them."""
    found = {}
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for text, style, _ in strip:
            colour = style.bgcolor if style is not None else None
            strong = strong_colour(colour.triplet) if colour is not None and colour.triplet is not None else None
            if strong is not None:
                found.update({(x + at, y): strong for at in range(len(text))})
            x += len(text)
    return found


def is_map(app: PonderApp) -> bool:
    """Whether all four colours are where the picture has them."""
    seen = colours(app)
    if {RED, GREEN, BLUE, WHITE} - set(seen.values()):
        return False
    left, top = min(x for x, _ in seen), min(y for _, y in seen)
    right, bottom = max(x for x, _ in seen), max(y for _, y in seen)
    corners = [seen.get(at) for at in ((left, top), (right, top), (left, bottom), (right, bottom))]
    return corners == [RED, GREEN, BLUE, WHITE] and len(seen) > 0.7 * (right - left + 1) * (bottom - top + 1)


def box(app: PonderApp) -> tuple[int, int]:
    """Columns and rows from the first strong colour to the last."""
    columns, rows = zip(*colours(app), strict=True)
    return max(columns) - min(columns) + 1, max(rows) - min(rows) + 1


def pictures_in(app: PonderApp) -> list[Picture]:
    return [
        shown
        for section in app.chat.transcript.column.sections
        for shown in section.blocks
        if isinstance(shown, Picture)
    ]


async def test_an_attached_picture_is_drawn_with_its_caption_below() -> None:
    async with on_stage(asked_with(block())) as (app, _, pilot):
        await until(pilot, lambda: is_map(app))
        lines = screen_text(app).splitlines()
        caption = next(y for y, line in enumerate(lines) if CAPTION in line)
        assert max(y for _, y in colours(app)) == caption - 1
        assert "What is this?" in lines[min(y for _, y in colours(app)) - 1]
        assert box(app) == (16, 8)


async def test_the_rows_of_a_picture_are_there_before_it_is_decoded() -> None:
    async with on_stage(asked_with(block())) as (app, _, pilot):
        before = [line for line in screen_text(app).splitlines() if CAPTION in line or "Four" in line]
        await until(pilot, lambda: is_map(app))
        after = screen_text(app).splitlines()
        assert before == [line for line in after if CAPTION in line or "Four" in line]


def tool_turn() -> tuple[Turn, Message, ToolResultBlock, Message]:
    call = ToolCallBlock(call_id="c1", name="read_file", arguments='{"path": "map.png"}')
    prompt = Message(id="u-live", role=Role.USER, blocks=(TextBlock(text="Look at the map."),))
    asked = Message(id="a1", role=Role.ASSISTANT, blocks=(call,))
    result = ToolResultBlock(call_id="c1", name="read_file", content=(TextBlock(text="map.png: image"), block()))
    results = Message(id="r1", role=Role.TOOL, blocks=(result,))
    last = Message(id="a2", role=Role.ASSISTANT, blocks=(TextBlock(text="Four squares."),))
    return Turn(id="live", messages=(prompt, asked, results, last)), asked, result, last


async def test_a_picture_of_a_tool_is_drawn_below_its_call_folded_or_not() -> None:
    turn = tool_turn()[0]
    async with on_stage(turn) as (app, _, pilot):
        await until(pilot, lambda: is_map(app))
        lines = screen_text(app).splitlines()
        assert "✓ read   map.png" in lines[min(y for _, y in colours(app)) - 1]
        app.chat.transcript.focus()
        app.chat.transcript.put_cursor(1, 1)
        await pilot.press("space")
        await until(pilot, lambda: "map.png: image" in screen_text(app) and is_map(app))
        app.chat.transcript.action_fold_at_cursor()
        await until(pilot, lambda: "map.png: image" not in screen_text(app) and is_map(app))


@pytest.mark.long
async def test_a_picture_of_a_tool_is_drawn_when_the_call_ends() -> None:
    turn, asked, result, _ = tool_turn()
    async with on_stage() as (app, services, pilot):
        services.chat.publish(*scenes.begun("Look at the map.", "live"))
        services.chat.publish(scenes.streamed(BlockStarted(0, "tool_call", "read_file", "c1")))
        services.chat.publish(MessageCompleted("live", 1, asked), ToolFinished("live", "c1", result, 0.4))
        await until(pilot, lambda: is_map(app))
        services.chat.publish(TurnFinished(turn))
        await pilot.pause()
        assert is_map(app)


async def test_a_picture_of_a_model_is_drawn_as_it_arrives_and_again_when_it_is_opened_again() -> None:
    data = encoded(quarters())
    picture = ImageBlock(media_type="image/png", data=data)
    done = Message(id="a9", role=Role.ASSISTANT, blocks=(picture, TextBlock(text="Here.")))
    asked = Message(id="u-live", role=Role.USER, blocks=(TextBlock(text="Draw."),))
    async with on_stage() as (app, services, pilot):
        services.chat.publish(*scenes.begun("Draw."), scenes.streamed(BlockStarted(0, "image", "image/png")))
        services.chat.publish(scenes.streamed(ImageData(0, data, None)), scenes.streamed(BlockFinished(0)))
        await until(pilot, lambda: is_map(app))
        services.chat.publish(*scenes.words("Here."), MessageCompleted("live", 1, done))
        turn = Turn(id="live", messages=(asked, done))
        services.chat.publish(TurnFinished(turn))
        await until(pilot, lambda: "Here." in screen_text(app))
        live = app.chat.transcript.column.total
        assert is_map(app)
        services.chat.publish(HistoryChanged((turn,)))
        await until(pilot, lambda: is_map(app))
        assert app.chat.transcript.column.total == live


async def test_a_picture_on_the_web_is_named_and_never_fetched() -> None:
    linked = ImageBlock(media_type="image/png", url="https://example.org/a.png")
    async with on_stage(asked_with(linked)) as (app, _, _pilot):
        assert "⊞ image · https://example.org/a.png · not fetched" in screen_text(app)


@pytest.mark.long
async def test_the_setting_shows_only_the_captions_and_the_pictures_again() -> None:
    async with on_stage(asked_with(block())) as (app, services, pilot):
        await until(pilot, lambda: is_map(app))
        height = app.chat.transcript.column.total
        await services.settings.assign("ui.images", "off")
        await until(pilot, lambda: not colours(app))
        assert CAPTION in screen_text(app)
        assert app.chat.transcript.column.total == height - 8
        await services.settings.assign("ui.images", "blocks")
        await until(pilot, lambda: is_map(app))
        await services.settings.assign("ui.plain", "true")
        await until(pilot, lambda: not colours(app))


@pytest.mark.parametrize("environment", [{"TERM": "xterm", "COLORTERM": ""}, {"NO_COLOR": "1"}])
@pytest.mark.long
async def test_without_enough_colours_there_are_only_captions(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    async with on_stage(asked_with(block())) as (app, _, pilot):
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert CAPTION in lines[3]
        assert "What is this?" in lines[2]


async def test_without_the_extra_every_caption_says_what_installs_it() -> None:
    turn = asked_with(block(), block(name="other.png"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "PIL", None)
        async with on_stage(turn) as (app, _, pilot):
            await until(pilot, lambda: screen_text(app).count("pip install 'ponder-tui[images]' shows it") == 2)
            lines = screen_text(app).splitlines()
            assert "map.png" in lines[3]
            assert "other.png" in lines[4]
            assert "Four squares." in lines[8]


async def test_what_is_no_picture_says_so_and_takes_no_rows() -> None:
    broken = ImageBlock(media_type="image/png", data=encoded(quarters())[:80], name="broken.png")
    async with on_stage(asked_with(broken)) as (app, _, pilot):
        await until(pilot, lambda: "cannot be decoded" in screen_text(app))
        lines = screen_text(app).splitlines()
        assert "⊞ broken.png · 160 × 160 · 60 bytes · cannot be decoded" in lines[3]
        assert "Four squares." in lines[7]


async def test_copying_over_a_picture_copies_the_text_and_the_caption() -> None:
    async with on_stage(asked_with(block())) as (app, _, pilot):
        await until(pilot, lambda: is_map(app))
        transcript = app.chat.transcript
        app.screen.selections = {transcript: Selection(Offset(0, 0), Offset(80, 14))}
        await pilot.pause()
        assert is_map(app)
        rows = (app.screen.get_selected_text() or "").splitlines()
        assert rows[0] == "What is this?"
        assert rows[1].startswith(CAPTION)
        assert "Four squares." in rows


async def test_a_mouse_dragged_over_a_picture_selects_the_text_around_it() -> None:
    async with on_stage(asked_with(block())) as (app, _, pilot):
        await until(pilot, lambda: is_map(app))
        await pilot.mouse_down(offset=Offset(3, 2))
        await pilot.hover(offset=Offset(10, 5))
        await pilot.hover(offset=Offset(10, 11))
        await pilot.mouse_up(offset=Offset(10, 11))
        rows = (app.screen.get_selected_text() or "").splitlines()
        assert rows[0] == "What is this?"
        assert rows[1] == "⊞ map.pn"
        assert is_map(app)


async def test_marks_of_a_search_leave_the_picture_alone() -> None:
    async with on_stage(asked_with(block())) as (app, _, pilot):
        await until(pilot, lambda: is_map(app))
        app.chat.transcript.highlight(SearchTerms("map"))
        await pilot.pause()
        assert is_map(app)
        app.chat.transcript.scroll_to(y=2, animate=False)
        await pilot.pause()
        assert is_map(app)


async def test_a_sheet_covers_a_picture_and_uncovers_it_whole() -> None:
    async with on_stage(asked_with(block()), size=(100, 30)) as (app, _, pilot):
        await until(pilot, lambda: is_map(app))
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is not app.chat and not colours(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat and is_map(app))


@pytest.mark.long
async def test_scrolling_and_resizing_move_the_picture_with_its_text() -> None:
    turns = [asked_with(block()), scenes.turn("And then?", scenes.ANSWER, 7)]
    async with on_stage(*turns, size=(110, 24)) as (app, _, pilot):
        assert not colours(app)
        assert not any(picture.area for picture in pictures_in(app))
        app.chat.transcript.scroll_home(animate=False)
        await until(pilot, lambda: is_map(app))
        app.chat.transcript.scroll_to(y=5, animate=False)
        await until(pilot, lambda: sorted({y for _, y in colours(app)}) == [2, 3, 4, 5])
        app.chat.transcript.scroll_home(animate=False)
        await pilot.resize_terminal(18, 24)
        await until(pilot, lambda: is_map(app) and box(app) < (16, 8))
        await pilot.resize_terminal(110, 24)
        await until(pilot, lambda: is_map(app) and box(app) == (16, 8))


async def test_nothing_of_a_picture_is_kept_when_its_session_is_left() -> None:
    async with on_stage(asked_with(block())) as (app, services, pilot):
        await until(pilot, lambda: is_map(app))
        (picture,) = pictures_in(app)
        assert picture.area
        services.chat.publish(HistoryChanged(()))
        await until(pilot, lambda: not colours(app))
        assert picture.area == 0
        assert picture not in app.ui_services.pictures.kept


async def test_only_so_many_pictures_stay_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.ui.pictures.pictures.MOST_CELLS", 3 * 16 * 8)
    turns = [asked_with(block(), number=number) for number in range(8)]
    async with on_stage(*turns, size=(100, 24)) as (app, _, pilot):
        for line in range(app.chat.transcript.column.last_top, 0, -9):
            app.chat.transcript.scroll_to(y=line, animate=False)
            await until(pilot, lambda: len(colours(app)) > 0)
        app.chat.transcript.scroll_home(animate=False)
        await until(pilot, lambda: bool(pictures_in(app)[0].area))
        assert sum(picture.area for picture in pictures_in(app)) <= 3 * 16 * 8


def test_the_caption_of_a_name_from_outside_is_one_plain_line() -> None:
    hostile = ImageBlock(media_type="image/png", data="AAAA", name="\x1b[2Ja\nb\u202e.png")
    caption = Picture(hostile, None).text()
    assert caption.endswith(".png · 3 bytes")
    assert caption.isprintable()
