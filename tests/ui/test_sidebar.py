"""The sidebar says what will be asked and what it weighs, and takes other wishes by keys."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from textual.widgets import Static

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.domain.cost import paid_in
from tui.domain.events import MeterChanged, ModelChanged
from tui.domain.listing import ModelInfo
from tui.domain.thinking import ModelSpec, ThinkingLevel
from tui.domain.usage import Certainty, MeterReading, Part
from tui.ui.chat.status_line import Status, TitleBar
from tui.ui.panels.meter_bar import bar
from tui.ui.panels.meter_lines import bill_lines, meter_lines
from tui.ui.panels.model_picker import family_and_version, model_rows, newest_first, whole_parts
from tui.ui.panels.row_list import RowList
from tui.ui.panels.thinking_picker import ThinkingPicker


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("width", "others"),
    [
        (120, ["deepseek-v4-pro", "claude-haiku-4-5", "claude-sonnet-4-5", "gemini-3.8-flash", "gemini-2.5-pro"]),
        (
            170,
            [
                *("deepseek-v4-pro", "claude-haiku-4-5", "claude-sonnet-4-5", "gemini-3.8-flash", "gemini-2.5-pro"),
                *("qwen3:8b", "thinker"),
            ],
        ),
    ],
)
async def test_the_sidebar_lists_the_model_in_use_and_some_others_that_can_be_asked(
    width: int, others: list[str]
) -> None:
    async with on_stage(size=(width, 50)) as (_app, _, _pilot):
        rows = [line[width - 28 :].strip() for line in screen_text(_app).splitlines()]
        listed = rows[: rows.index("THINKING")]
        left = 9 - len(others)
        assert listed == [
            *("", "", "MODEL", "● claude-opus-5 ★", *others),
            *("+ 1 provider: /key", f"+ {left} models: ctrl+t", "200k window · $5/$25", ""),
        ]


@pytest.mark.long
async def test_a_click_on_the_number_of_other_models_opens_the_whole_list() -> None:
    async with on_stage(size=(120, 50)) as (app, _, pilot):
        await pilot.click(RowList, offset=(4, 7))
        await until(pilot, lambda: "Model and thinking" in screen_text(app))


@pytest.mark.long
async def test_all_facts_follow_the_bar_of_the_whole_list() -> None:
    async with on_stage(size=(120, 50)) as (app, _, pilot):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "$25 per million tokens" in screen_text(app))
        listed = [line[7:70].strip() for line in screen_text(app).splitlines()]
        assert [row for row in listed if row in ("Favourites", "Recent", "Anthropic", "OpenAI · no key")] == [
            *("Favourites", "Recent", "Anthropic", "OpenAI · no key")
        ]
        await type_in(pilot, "sol")
        await until(pilot, lambda: "$16 per million tokens" in screen_text(app))
        said = screen_text(app)
        assert "400k tokens" in said
        assert "✗ no key: /key openai" in said


async def test_typing_filters_enter_takes_and_goes_on_to_thinking_then_back_to_writing() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        await pilot.press("ctrl+t")
        await type_in(pilot, "gem25")
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.models.chosen))
        assert services.models.chosen == ["google/gemini-2.5-pro"]
        await until(pilot, lambda: isinstance(app.focused, ThinkingPicker))
        await pilot.press("left", "enter")
        await until(pilot, lambda: len(services.models.chosen) == 2)
        assert services.models.chosen[1] == "med"
        await until(pilot, lambda: app.focused is app.chat.composer)
        await until(pilot, lambda: "gemini-2.5-pro · med" in screen_text(app))


@pytest.mark.long
async def test_a_model_without_a_key_asks_for_the_key_and_is_taken_when_it_has_one() -> None:
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        await pilot.press("ctrl+t")
        await type_in(pilot, "sol")
        await pilot.press("enter")
        await until(pilot, lambda: "Key for openai" in screen_text(app))
        await type_in(pilot, "sk-1")
        await pilot.press("enter")
        await until(pilot, lambda: services.models.chosen == ["openai/gpt-6-sol"])
        assert services.keys.saved == [("openai", "sk-1", True)]


async def test_only_levels_the_model_takes_stand_there_with_what_is_sent() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        assert "none  low  med ‹high›" in screen_text(app)
        assert "→ effort high" in screen_text(app)
        services.chat.publish(
            ModelChanged(replace(scenes.OPUS, provider="google", model="gemini-2.5-pro"), scenes.PLAN, "")
        )
        await until(pilot, lambda: "low  med ‹high›" in screen_text(app) and "none" not in screen_text(app))
        assert "→ 32,768 tokens" in screen_text(app)


async def test_what_is_heard_of_the_model_meanwhile_does_not_move_the_bar() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        await app.ui_services.run_line("/thinking")
        await until(pilot, lambda: "type 16k for a budget" in screen_text(app))
        await pilot.press("left")
        picker = app.focused
        assert isinstance(picker, ThinkingPicker)
        picker.show(scenes.OPUS, replace(scenes.PLAN, summary="Thinking: said anew"))
        await pilot.press("enter")
        await until(pilot, lambda: services.models.chosen == ["med"])


@pytest.mark.long
async def test_the_list_changes_the_level_too_and_enter_uses_both() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "none  low  med ‹high›" in screen_text(app))
        keys = "↑↓ model  ←→ level  enter use both  tab levels  * favourite  esc close"
        await until(pilot, lambda: keys in screen_text(app))
        await pilot.press("left", "left")
        await until(pilot, lambda: "none ‹low› med  high" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: services.models.chosen == ["anthropic/claude-opus-5/low"])
        await until(pilot, lambda: app.screen is app.chat)


@pytest.mark.long
async def test_another_model_forgets_the_level_that_was_chosen_for_the_one_before() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        await pilot.press("ctrl+t", "left")
        await until(pilot, lambda: "low ‹med› high" in screen_text(app))
        await type_in(pilot, "gem25")
        await until(pilot, lambda: "low  med ‹high›" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: services.models.chosen == ["google/gemini-2.5-pro"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-opus-5-5", ("claude-opus", (5, 5))),
        ("claude-3-5-sonnet-20241022", ("claude-sonnet-20241022", (3, 5))),
        ("gpt-5.2-codex", ("gpt-codex", (5, 2))),
        ("o4-mini", ("o-mini", (4,))),
        ("deepseek-v4-pro", ("deepseek-v-pro", (4,))),
        ("gpt-4o", ("gpt-4o", ())),
        ("qwen3:8b", ("qwen-8b", (3,))),
    ],
)
def test_a_name_has_a_family_and_a_version(name: str, expected: tuple[str, tuple[int, ...]]) -> None:
    assert family_and_version(name) == expected


def test_the_newest_version_of_each_family_comes_first() -> None:
    names = ["fable-5", "fable-5-1", "mythos-5", "mythos-5-1", "opus-4-8", "fable-5-2", "opus-5", "opus-4"]
    models = [
        ModelInfo(spec=ModelSpec(provider="anthropic", model=f"claude-{name}"), provider="Anthropic", available=True)
        for name in names
    ]
    assert [model.spec.model.removeprefix("claude-") for model in newest_first(models)] == [
        *("fable-5-2", "fable-5-1", "fable-5", "mythos-5-1", "mythos-5", "opus-5", "opus-4-8", "opus-4")
    ]


def test_rows_do_not_repeat_what_their_heading_says() -> None:
    def model(name: str, reason: str = "", *, recent: bool = False) -> ModelInfo:
        available = not reason
        spec = ModelSpec(provider=name.partition("/")[0], model=name.partition("/")[2])
        return ModelInfo(spec=spec, provider=spec.provider, available=available, reason=reason, recent=recent)

    models = [model("a/one", recent=True), model("a/two"), model("b/three", "no key: /key b"), model("c/four")]
    models.append(model("c/five", "not running"))
    rows = model_rows(models, "", ModelSpec(provider="a", model="two"), 60)
    assert [(row.content.plain.split()[0], row.content.plain.split()[-1]) for row in rows if row.key] == [
        *(("a/one", "ready"), ("●", "?"), ("three", "?"), ("four", "ready"), ("five", "running"))
    ]
    assert {len(row.content.plain) for row in rows if row.key} == {60}


@pytest.mark.parametrize("query", ["", "model"])
def test_of_thousands_of_models_the_first_have_rows_and_the_one_in_use(query: str) -> None:
    def model(number: int) -> ModelInfo:
        return ModelInfo(spec=ModelSpec(provider="a", model=f"model-{number}"), provider="a", available=True)

    rows = model_rows([model(number) for number in range(3_000)], query, model(2_999).spec, 60)
    assert len(rows) < 600
    assert rows[-1].content.plain.strip() == "· 2,500 more: type to find them"
    assert query or "a/model-2999" in [row.key for row in rows]


async def test_a_number_is_a_budget() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        await app.ui_services.run_line("/thinking")
        await type_in(pilot, "16k")
        assert "budget 16k" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: services.models.chosen == ["16000"])
        await until(pilot, lambda: "‹16,000›" in screen_text(app))


async def test_the_bar_is_seen_only_while_one_is_at_the_levels() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, _, pilot):
        await app.ui_services.run_line("/thinking")
        await until(pilot, lambda: "type 16k for a budget" in screen_text(app))
        await pilot.press("left")
        await until(pilot, lambda: "effort medium" in screen_text(app))
        await pilot.press("escape")
        await until(
            pilot, lambda: "type 16k for a budget" not in screen_text(app) and "→ effort high" in screen_text(app)
        )


async def test_what_is_half_typed_is_forgotten_on_escape_and_a_second_escape_leaves() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        await app.ui_services.run_line("/thinking")
        await pilot.press("9", "escape")
        assert "budget 9" not in screen_text(app)
        await pilot.press("escape")
        assert app.focused is app.chat.composer
        assert services.models.chosen == []


@pytest.mark.long
async def test_a_star_marks_a_favourite_and_takes_the_mark_away() -> None:
    async with on_stage(size=(120, 40)) as (app, _services, pilot):
        await pilot.press("ctrl+t")
        await type_in(pilot, "haiku")
        await pilot.press("asterisk")
        await until(pilot, lambda: "claude-haiku-4-5 ★" in screen_text(app))
        await pilot.press("asterisk")
        await until(pilot, lambda: "claude-haiku-4-5 ★" not in screen_text(app))


@pytest.mark.long
async def test_the_mouse_takes_models_and_levels_too() -> None:
    async with on_stage(size=(120, 40)) as (_app, services, pilot):
        await pilot.click(RowList, offset=(4, 1))
        await until(pilot, lambda: services.models.chosen == ["deepseek/deepseek-v4-pro"])
        await pilot.click(ThinkingPicker, offset=(7, 0))
        await until(pilot, lambda: services.models.chosen[1:] == ["low"])


async def test_signs_typed_in_a_list_filter_it() -> None:
    async with on_stage() as (app, _, pilot):
        await pilot.press("ctrl+t")
        app.query_one(RowList).focus()
        await type_in(pilot, "@^_")
        await until(pilot, lambda: "@^_" in screen_text(app))


async def test_without_room_the_same_panels_open_as_a_sheet() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, services, pilot):
        assert "MODEL" not in screen_text(app)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "Model and thinking" in screen_text(app))
        await type_in(pilot, "flash")
        await pilot.press("enter")
        await until(pilot, lambda: services.models.chosen == ["google/gemini-3.8-flash"])
        await until(pilot, lambda: "● gemini-3.8-flash" in screen_text(app))
        await pilot.press("left", "enter")
        await until(pilot, lambda: app.screen is app.chat)
        assert services.models.chosen[1] == "med"


async def test_the_meter_follows_events_and_the_draft() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        services.chat.publish(MeterChanged(replace(scenes.METER, effective=101_000, certainty=Certainty.REPORTED)))
        await until(pilot, lambda: "101k sent of 200k" in screen_text(app))
        assert "CONTEXT   reported" in screen_text(app)
        await type_in(pilot, "four more words to weigh here")
        await until(pilot, lambda: "101k sent" in screen_text(app) and app.chat.composer.text.endswith("here"))


async def test_arriving_thinking_is_not_called_unsent_while_its_turn_runs() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        await until(pilot, lambda: "thinking not sent   12.4k" in screen_text(app))
        services.chat.publish(*scenes.begun("And then?"))
        await until(pilot, lambda: app.chat.is_busy())
        parts = {**scenes.METER.parts, Part.THINKING_STRIPPED: 15_000}
        services.chat.publish(MeterChanged(replace(scenes.METER, effective=63_000, raw=78_000, parts=parts)))
        await until(pilot, lambda: "63k sent of 200k" in screen_text(app))
        assert "thinking not sent   12.4k" in screen_text(app)
        assert "75.4k stored" in screen_text(app)
        services.chat.publish(*scenes.ended("So.", question="And then?"))
        await until(pilot, lambda: "thinking not sent     15k" in screen_text(app))
        assert "78k stored" in screen_text(app)


async def test_a_reading_of_the_draft_that_is_older_than_the_reported_one_is_taken_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        release = asyncio.Event()
        measured: list[str] = []
        fresh = services.chat.meter_with_draft

        async def late(draft: str) -> MeterReading:
            reading = await fresh(draft)
            measured.append(draft)
            if len(measured) == 1:
                await release.wait()
            return reading

        monkeypatch.setattr(services.chat, "meter_with_draft", late)
        await type_in(pilot, "x")
        await until(pilot, lambda: measured == ["x"])
        services.chat.publish(MeterChanged(replace(scenes.METER, effective=101_000, certainty=Certainty.REPORTED)))
        await until(pilot, lambda: "CONTEXT   reported" in screen_text(app))
        release.set()
        await until(pilot, lambda: measured == ["x", "x"])
        await until(pilot, lambda: all(worker.is_finished for worker in app.workers if worker.group == "weigh"))
        await pilot.pause()
        assert "CONTEXT   reported" in screen_text(app)


async def test_nothing_is_drawn_again_when_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, _pilot):
        drawn: list[object] = []
        view = services.chat.state.view(0)
        app.chat.sidebar.show(view)
        for panel in app.chat.sidebar.query(Static):
            monkeypatch.setattr(panel, "update", lambda content, **_: drawn.append(content))
        for _ in range(3):
            app.chat.sidebar.show(view)
        assert drawn == []
        app.chat.sidebar.show(replace(view, meter=READING))
        assert drawn != []


READING = MeterReading(
    effective=50_000,
    raw=60_000,
    limit=100_000,
    reserved=10_000,
    trigger=80_000,
    certainty=Certainty.ESTIMATED,
    parts={Part.SYSTEM: 25_000, Part.THINKING_SENT: 25_000, Part.THINKING_STRIPPED: 10_000},
)


def test_the_bar_shows_each_part_what_is_free_and_where_compression_starts() -> None:
    assert meter_lines(READING, 25).plain.splitlines() == [
        "██████████      ┊ ░░ 50 %",
        "50k sent of 100k",
        "60k stored",
        "▪ system+tools        25k",
        "▪ thinking sent       25k",
        "  thinking not sent   10k",
        "┊ compress at         80k",
    ]


@pytest.mark.parametrize(
    ("effective", "drawn"),
    [(0, "    "), (1, "▏   "), (6_250, "▎   "), (25_000, "█   "), (34_375, "█▍  "), (99_999, "████")],
)
def test_the_bar_is_filled_by_eighths_of_a_cell(effective: int, drawn: str) -> None:
    reading = replace(READING, effective=effective, trigger=None, reserved=0, parts={Part.USER: effective})
    shown = bar(reading, 4).plain
    assert shown == drawn


def test_parts_without_tokens_have_no_line() -> None:
    assert meter_lines(replace(READING, effective=0, raw=0, parts={}), 25).plain.splitlines() == [
        "                ┊ ░░  0 %",
        "0 sent of 100k",
        "┊ compress at         80k",
    ]
    full = replace(READING, parts=dict.fromkeys(set(Part), 7_000))
    assert "▪ you + draft         14k" in meter_lines(full, 25).plain


def test_without_box_drawing_the_bar_is_plain_characters() -> None:
    assert meter_lines(READING, 25, plain=True).plain.isascii()


@pytest.mark.parametrize("effective", [0, 1, 99_999, 100_000, 250_000])
@pytest.mark.parametrize("width", [1, 8, 31])
def test_the_bar_is_never_wider_than_its_place(effective: int, width: int) -> None:
    line = meter_lines(replace(READING, effective=effective), width).plain.splitlines()[0]
    assert len(line) <= max(width, 4 + len(" 250 %"))


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (40, "1M · $4/$20 · effort, always on"),
        (30, "1M · $4/$20 · effort"),
        (15, "1M · $4/$20"),
        (4, "1M"),
    ],
)
def test_facts_that_do_not_fit_are_left_out_whole(width: int, shown: str) -> None:
    assert whole_parts("1M · $4/$20 · effort, always on", width) == shown


def test_an_unknown_window_is_said() -> None:
    said = meter_lines(replace(READING, limit=None, trigger=None), 30).plain
    assert "50k sent, window unknown" in said


def test_unknown_prices_are_said_and_known_ones_summed() -> None:
    priced, free = scenes.answer("a", 1, "t", cost=0.25), scenes.answer("b", 2, cost=None)
    turn = replace(scenes.turn("q", "a"), messages=(priced, free))
    assert bill_lines(1, tuple(paid_in((turn,))), 32).plain.splitlines() == [
        "1 turn            at least $0.25",
        "thinking        ≥ 43 % of output",
    ]
    assert bill_lines(1, tuple(paid_in((replace(turn, messages=(free,)),))), 30).plain.splitlines() == [
        "1 turn            cost unknown",
        "thinking               unknown",
    ]
    assert bill_lines(0, (), 30).plain.splitlines() == [
        "nothing spent",
    ]


async def test_levels_step_with_a_key_from_the_composer() -> None:
    async with on_stage(size=(120, 40)) as (_, services, pilot):
        await pilot.press("shift+tab")
        await until(pilot, lambda: services.models.chosen == [ThinkingLevel.NONE.value])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", [200, 141, 120])
@pytest.mark.parametrize("sidebar", ["auto", "wide", "off"])
async def test_title_and_keys_begin_with_the_conversation(width: int, sidebar: str) -> None:
    async with on_stage(*scenes.CONVERSATION, size=(width, 30), values={"ui.sidebar": sidebar}) as (app, _, pilot):
        rows = screen_text(app).splitlines()
        composer = next(row for row in rows if "Write a message" in row)
        assert rows[0].index("ponder ·") == composer.index("❯") == rows[-1].index("enter send")
        await pilot.press("ctrl+b")
        await until(pilot, lambda: app.chat.sidebar.display is (sidebar == "off"))
        await pilot.pause()
        rows = screen_text(app).splitlines()
        composer = next(row for row in rows if "Write a message" in row)
        assert rows[0].index("ponder ·") == composer.index("❯") == rows[-1].index("enter send")


@pytest.mark.long
async def test_without_a_sidebar_the_label_of_the_demo_ends_with_the_conversation() -> None:
    async with on_stage(size=(200, 60), values={"ui.sidebar": "off"}) as (app, _, _pilot):
        app.chat.query_one(TitleBar).show_status(Status(demo=True))
        title = screen_text(app).splitlines()[0]
        assert len(title) == app.chat.query_one("#input-area").region.right - 1


async def test_a_warning_about_the_model_is_whole_and_without_marks_of_code() -> None:
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        warning = "`some-model` is not in the catalogue: using safe defaults"
        services.chat.publish(ModelChanged(scenes.OPUS, replace(scenes.PLAN, warnings=(warning,)), ""))
        await until(pilot, lambda: "! some-model" in screen_text(app))
        rows = [row.rpartition("│")[2].strip() for row in screen_text(app).splitlines()]
        at = next(number for number, row in enumerate(rows) if row.startswith("! some-model"))
        assert " ".join(rows[at : at + 4]).strip() == f"! {warning}".replace("`", "")
