"""Themes: every packaged one can be read and worn; a bad one of the user's is told and does no harm."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color, Lab, rgb_to_lab

from tests.ui import scenes
from tests.ui.fake_chat import FakeChat
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_strips, screen_text, until
from tui.commands.builtin import registry
from tui.commands.keymap import default_keymap
from tui.domain.events import ApprovalAsked, ApprovalSettled
from tui.ui.app import PonderApp
from tui.ui.dialogs.theme_picker import contrast
from tui.ui.input.field import Field
from tui.ui.markdown.runs import CODE_EDGE, Look, Run
from tui.ui.panels.meter_bar import GROUPS, mark_of
from tui.ui.panels.row_list import RowList
from tui.ui.theme.current_theme import CurrentTheme, has_light_background
from tui.ui.theme.few_colours import worn_with_256_colours
from tui.ui.theme.theme_files import read_themes, theme_variables
from tui.ui.theme.theme_styles import ThemeStyles

THEMES, PROBLEMS = read_themes(None)
MEASURED = [name for name in THEMES if name != "ansi"]
ON_BACKGROUND = (
    *("answer-text", "muted-text", "heading", "link", "inline-code", "accent", "warning", "error", "success", "focus"),
    *("tool-waiting", "tool-running", "tool-done", "tool-failed", "user-bar"),
)
PAIRS = (
    *((role, "background") for role in ON_BACKGROUND),
    *((role, "surface") for role in ("answer-text", "muted-text", "heading", "accent", "warning", "error", "success")),
    *((f"syntax-{kind}", "code-tint") for kind in ("keyword", "string", "comment", "number", "function", "type")),
    *(("user-text", "user-tint"), ("thinking-text", "thinking-tint"), ("code-text", "code-tint")),
    *(("diff-added", "code-tint"), ("diff-removed", "code-tint")),
    *(("block-cursor-foreground", "block-cursor-background"), ("muted-text", "user-tint")),
    ("answer-text", "input-selection-background"),
)


async def test_labels_are_quieter_than_values_in_sixteen_colours_too() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, _, pilot):
        for theme, is_dim in (("ansi", True), ("dusk", False), ("ansi", True)):
            app.theming.apply(app, theme)
            await pilot.pause()
            looks = {
                word: {bool(segment.style and segment.style.dim) for segment in row if word in segment.text}
                for row in screen_strips(app)
                for word in ("answers", "22k", "ponder", "Explain the Fermi", "send", "claude-haiku-4-5")
                if any(word in segment.text for segment in row)
            }
            quiet = {word for word, dims in looks.items() if dims == {True}}
            assert (theme, quiet) == (theme, {"answers", "ponder", "send"} if is_dim else set())
            assert len(looks) == 6


def test_there_are_enough_and_of_every_kind() -> None:
    assert PROBLEMS == ()
    assert len(THEMES) >= 10
    assert sum(not file.theme.dark for file in THEMES.values()) >= 3
    assert {"ansi", "contrast", "dusk", "dawn"} <= THEMES.keys()


def test_every_packaged_theme_sets_all_variables() -> None:
    variables = {name: file.theme.variables.keys() for name, file in THEMES.items()}
    expected = set().union(*variables.values())
    missing = {name: sorted(expected - found) for name, found in variables.items() if expected - found}
    assert missing == {}


@pytest.mark.parametrize("name", MEASURED)
def test_every_text_can_be_read_on_its_ground(name: str) -> None:
    theme = THEMES[name].theme
    colours = {**theme_variables(theme), "surface": theme.surface or theme_variables(theme)["background"]}
    least = 7.0 if name == "contrast" else 4.5
    weak = {
        f"{text} on {ground}": round(ratio, 2)
        for text, ground in PAIRS
        if text in colours and (ratio := contrast(colours[text], colours[ground])) is not None and ratio < least
    }
    assert weak == {}


@pytest.mark.parametrize("name", MEASURED)
def test_the_parts_of_the_meter_have_colours_of_their_own(name: str) -> None:
    variables = theme_variables(THEMES[name].theme)
    colours = {colour: rgb_to_lab(Color.parse(variables[colour])) for _, _, colour in GROUPS}
    near = {
        (first, second): round(distance(colours[first], colours[second]))
        for first, second in combinations(colours, 2)
        if distance(colours[first], colours[second]) < 24
    }
    assert near == {}


def test_parts_of_one_colour_have_other_marks() -> None:
    looks = [(colour, mark_of(label)) for label, _, colour in GROUPS]
    assert len(set(looks)) == len(looks)
    ansi = theme_variables(THEMES["ansi"].theme)
    assert len({(ansi[colour], mark) for colour, mark in looks}) == len(looks)


@pytest.mark.parametrize("name", MEASURED)
def test_a_difference_is_seen_by_its_ground_and_all_code_can_be_read_on_it(name: str) -> None:
    colours = theme_variables(THEMES[name].theme)
    styles = ThemeStyles(colours)
    code = [text for text, ground in PAIRS if ground == "code-tint"]
    for look in (Look.ADDED, Look.REMOVED):
        ground = styles.style("code", look, "code").bgcolor
        assert ground is not None
        drawn = Color.from_rich_color(ground)
        assert distance(rgb_to_lab(drawn), rgb_to_lab(Color.parse(colours["code-tint"]))) > 3
        readable = {text: contrast(colours[text], drawn.hex6) or 0 for text in code if not text.startswith("diff-")}
        assert min(readable.values()) >= 4.5, readable


def distance(first: Lab, second: Lab) -> float:
    return float(sum((one - other) ** 2 for one, other in zip(first, second, strict=True)) ** 0.5)


def drawn_with_256(value: str) -> Color:
    """The colour that a terminal with 256 colours shows."""
    drawn = RichColor.parse(value).downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
    return Color(drawn.red, drawn.green, drawn.blue)


@pytest.mark.parametrize("name", MEASURED)
def test_with_256_colours_greys_are_grey_and_texts_can_be_read(name: str) -> None:
    theme = THEMES[name].theme
    shown = worn_with_256_colours(theme)
    before, after = theme_variables(theme), theme_variables(shown)
    before |= {"surface": theme.surface or "", "panel": theme.panel or ""}
    after |= {"surface": shown.surface or "", "panel": shown.panel or ""}
    grounds = ("background", "surface", "panel", "thinking-tint", "code-tint")
    colourful = {
        ground: after[ground]
        for ground in grounds
        if rgb_chroma(before[ground]) < 10 and rgb_chroma(drawn_with_256(after[ground]).hex6) > 1
    }
    assert colourful == {}
    far = {
        ground: (before[ground], drawn_with_256(after[ground]).hex6)
        for ground in grounds
        if abs(rgb_to_lab(Color.parse(before[ground])).L - rgb_to_lab(drawn_with_256(after[ground])).L) > 5
    }
    assert far == {}
    texts = ("answer-text", "heading", "link", "accent", "warning", "error")
    weak = {
        text: ratio
        for text in texts
        if (ratio := contrast(drawn_with_256(after[text]).hex6, drawn_with_256(after["background"]).hex6) or 0) < 3.5
    }
    assert weak == {}


def rgb_chroma(value: str) -> float:
    lab = rgb_to_lab(Color.parse(value))
    return float((lab.a**2 + lab.b**2) ** 0.5)


@pytest.mark.long
async def test_a_terminal_with_256_colours_wears_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "256")
    async with on_stage(size=(100, 30), theme="sand") as (app, _, _pilot):
        assert app.console.color_system == "256"
        sand = THEMES["sand"].theme
        assert app.current_theme.surface == worn_with_256_colours(sand).surface != sand.surface


async def test_in_sixteen_colours_what_is_not_typed_is_dim() -> None:
    async with on_stage(size=(100, 30), theme="ansi") as (app, _, pilot):
        composer = app.chat.composer
        assert composer.get_component_rich_style("text-area--placeholder").dim
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Commands" in screen_text(app))
        assert app.screen.query_one(Field).get_component_rich_style("input--placeholder").dim


async def test_in_sixteen_colours_the_cursor_has_a_colour_that_is_seen_on_every_ground() -> None:
    """Textual draws it white, which is the ground of a light terminal."""
    async with on_stage(size=(100, 30), theme="ansi") as (app, _, pilot):
        cursors = [app.chat.composer.get_component_rich_style("text-area--cursor")]
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Commands" in screen_text(app))
        cursors.append(app.screen.query_one(Field).get_component_rich_style("input--cursor"))
        drawn = [(style.bgcolor and style.bgcolor.name, bool(style.reverse)) for style in cursors]
        assert drawn == [("color(5)", False)] * 2


@pytest.mark.frames
async def test_in_sixteen_colours_the_conversation_is_seen_only_where_a_sheet_is_about_it() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40), theme="ansi") as (app, services, pilot):
        seen = "Planets are common"
        await until(pilot, lambda: seen in screen_text(app))
        for line, words in (("/find guesses", " of "), ("/theme", "dusk")):
            await app.ui_services.run_line(line)
            await until(pilot, lambda: app.screen is not app.chat)
            await until(pilot, lambda words=words: words in screen_text(app))  # type: ignore[misc]  # bound now
            assert seen in screen_text(app), line
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat)
        services.chat.publish(*scenes.begun("Do it"), ApprovalAsked("live", "c9", "shell", "Run it", "ls", (), ""))
        await until(pilot, lambda: " ASKS " in screen_text(app) and "Do it" in screen_text(app))
        services.chat.publish(ApprovalSettled("live", "c9", False))
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Commands" in screen_text(app) and "ponder ·" not in screen_text(app))


async def test_in_sixteen_colours_the_selected_row_can_be_read_whatever_they_are() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40), theme="ansi") as (app, _, pilot):
        await app.ui_services.run_line("/settings")
        await until(pilot, lambda: "The model to start with" in screen_text(app))
        (row,) = [row for row in screen_strips(app) if "Model to start with" in row.text]
        bar = [part.style for part in row if part.text.strip() and part.style is not None and part.style.reverse]
        assert len(bar) > 1  # title, value and key
        assert {(style.color and style.color.name, bool(style.dim)) for style in bar} == {("default", False)}


def test_in_sixteen_colours_a_line_has_one_bar() -> None:
    styles = ThemeStyles(theme_variables(THEMES["ansi"].theme), ansi=True)
    left = [Run("   ")]
    thought = styles.strip([Run("┊ ", "thinking-bar"), Run("Words", "thinking")], "thinking", 20, left=left)
    assert thought.text.rstrip() == "   ┊ Words"
    code = [Run(" ", CODE_EDGE), Run("x = 1", "code")]
    on_rail = styles.strip(code, "", 20, left=[Run("   "), Run("│ ", "rail")])
    assert on_rail.text.rstrip() == "   │  x = 1"
    assert styles.strip(code, "", 20, left=left).text.rstrip() == "   │x = 1"


@pytest.mark.long
async def test_they_are_worn_one_after_the_other() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(110, 30)) as (app, _, pilot):
        for name in ("ansi", "dawn", "contrast", "dusk"):
            app.choose_theme(name)
            await pilot.pause()
            assert app.theme == name
            assert "claude-opus-5" in screen_text(app)


async def test_a_theme_that_is_none_is_one_notice_and_the_others_work(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('name = "bad"\nprimary = "[bold]red"\n')
    (tmp_path / "mine.toml").write_text('name = "mine"\nprimary = "#336699"\nbackground = "#000000"\n')
    services = FakeServices(chat=FakeChat(scenes.CONVERSATION))
    app = PonderApp(services, registry(), default_keymap(registry()), CurrentTheme(tmp_path, "mine", {}))
    async with app.run_test(size=(110, 30), notifications=True) as pilot:
        await until(pilot, lambda: "primary is not a colour" in screen_text(app))
        assert screen_text(app).count("is not a colour") == 1
        assert app.theme == "mine"


async def test_a_theme_is_read_again_while_it_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nprimary = "#336699"\nbackground = "#000000"\n')
    app = PonderApp(FakeServices(), registry(), default_keymap(registry()), CurrentTheme(tmp_path, "mine", {}))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        path.write_text('name = "mine"\nprimary = "#336699"\nbackground = "#123456"\n')
        await app.theming._look(app)
        await until(pilot, lambda: app.theme_variables["background"].lower() == "#123456")


@pytest.mark.parametrize(
    ("environment", "theme"),
    [
        ({"COLORTERM": "truecolor"}, "dusk"),
        ({"COLORTERM": "truecolor", "COLORFGBG": "0;15"}, "dawn"),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "ansi"),
        ({"TERM": "xterm"}, "ansi"),
        ({"TERM": "xterm-256color"}, "dusk"),
        ({"TERM": "xterm", "FORCE_COLOR": "3"}, "dusk"),
        ({"TERM": "xterm", "FORCE_COLOR": "2", "COLORFGBG": "0;15"}, "dawn"),
        ({"TERM": "xterm-256color", "FORCE_COLOR": "1"}, "ansi"),
        ({"COLORTERM": "truecolor", "FORCE_COLOR": "0"}, "ansi"),
        ({"COLORTERM": "truecolor", "FORCE_COLOR": ""}, "dusk"),
        ({"TERM": "xterm", "FORCE_COLOR": "3", "NO_COLOR": "1"}, "ansi"),
    ],
)
def test_auto_follows_the_terminal(environment: dict[str, str], theme: str) -> None:
    assert CurrentTheme(None, "auto", environment).resolve("auto") == theme


@pytest.mark.parametrize(("said", "light"), [("15;0", False), ("0;15", True), ("0;default;7", True), ("", False)])
def test_what_terminals_say_of_their_background(said: str, light: bool) -> None:
    assert has_light_background({"COLORFGBG": said}) is light


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [("#000000", "#ffffff", 21.0), ("#777777", "#777777", 1.0), ("ansi_red", "#000000", None)],
)
def test_contrast_is_that_of_wcag(first: str, second: str, ratio: float | None) -> None:
    assert contrast(first, second) == (pytest.approx(ratio) if ratio is not None else None)


def test_shipped_themes_are_named_as_their_files() -> None:
    assert [file.theme.name for file in THEMES.values()] == list(THEMES)


async def test_where_there_are_no_colours_the_bar_is_seen_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_stage(size=(100, 30), theme="ansi") as (app, _, pilot):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Commands" in screen_text(app))
        await pilot.pause()
        rows = app.screen.query_one(RowList)
        bar, other = ([segment.style for segment in rows.render_line(y) if segment.style is not None] for y in (1, 2))
        assert all(style.reverse for style in bar)
        assert not any(style.reverse for style in other)


async def test_sixteen_colours_have_edges_where_other_themes_have_grounds() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 40), theme="ansi") as (app, _, pilot):
        app.chat.transcript.scroll_home(animate=False)
        await until(pilot, lambda: "   │ python" in screen_text(app))
        assert re.search(r"^ │ ▸ Thought", screen_text(app), re.MULTILINE)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Commands" in screen_text(app))
        field = app.screen.query_one(Field).render_line(0)
        assert any(segment.style is not None and segment.style.underline for segment in field)


def test_the_page_about_themes_lists_the_shipped_ones() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "themes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z]+)` \| (dark|light|terminal) \|", page, re.MULTILINE)
    kinds = {name: "dark" if read.theme.dark else "light" for name, read in THEMES.items()}
    assert dict(rows) == {**kinds, "ansi": "terminal"}
