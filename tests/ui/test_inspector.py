"""The wire inspector shows the very request, what stays behind and why."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tests.ui import scenes
from tests.ui.fake_chat import BODY
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.format_numbers import tokens
from tui.domain.listing import ExchangeInfo
from tui.domain.usage import Part
from tui.ui.dialogs import sheet
from tui.ui.dialogs.inspector import Inspector, as_curl, diff_lines, meter_rows
from tui.ui.markdown.runs import plain
from tui.ui.panels.json_view import first_folds, nodes
from tui.ui.panels.page import Page


async def test_parts_say_what_goes_what_stays_and_why() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(140, 50)) as (app, _, pilot):
        await pilot.press("f12")
        await until(pilot, lambda: "Turn 2" in screen_text(app))
        said = screen_text(app)
        place = app.screen.query_one(".sheet").region
        page = [line[place.x + 1 : place.right - 1].strip(" │") for line in said.splitlines()]
        start = page.index("Sent: 62.4k tokens   ≈ estimated; 74.8k stored    Not sent")
        assert [line.split() for line in page[start + 1 : start + 7]] == [
            ["system+tools", "3.1k", "thinking", "12.4k"],
            ["you", "1k"],
            ["answers", "22k", "Limits"],
            ["thinking", "sent", "36.3k", "context", "window", "200k"],
            ["reserved", "for", "the", "answer", "32k"],
            ["compress", "at", "143k"],
        ]
        line = next(line for line in said.splitlines() if "✗ not sent" in line)
        assert "  thinking  " in line
        assert "  your settings" in line
        assert "Thinking: high (adaptive, effort high)" in said


async def test_the_request_folds_and_its_keys_are_masked() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 50)) as (app, _, pilot):
        await app.ui_services.run_line("/context")
        await until(pilot, lambda: "Turn 2" in screen_text(app))
        await pilot.press("2")
        await until(pilot, lambda: '"max_tokens": 32000' in screen_text(app))
        assert '"x-api-key": "sk-…masked"' in screen_text(app)
        await pilot.press("down", "down", "down", "space")
        await until(pilot, lambda: '▸ "headers": { 2 fields },' in screen_text(app))
        assert "x-api-key" not in screen_text(app)


@pytest.mark.long
async def test_a_click_on_a_tab_turns_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "FITTING_S", 60.0)  # it is painted when it has its height: then the tabs stay
    async with on_stage(*scenes.CONVERSATION, size=(120, 50)) as (app, _, pilot):
        await app.ui_services.run_line("/context")
        await until(pilot, lambda: "Turn 2" in screen_text(app))
        inspector = app.screen
        assert isinstance(inspector, Inspector)
        await until(pilot, lambda: not inspector.is_fitting)
        row, line = next((row, line) for row, line in enumerate(screen_text(app).splitlines()) if "2 Request" in line)
        await pilot.click(offset=(line.index("2 Request") + 3, row))
        await until(pilot, lambda: '"max_tokens": 32000' in screen_text(app))


async def test_the_last_exchange_and_the_difference_are_pages_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        services.chat.exchange = ExchangeInfo(
            request={"method": "POST", "url": "https://x.example/v1", "body": {**BODY, "max_tokens": 1}},
            events=("message_start", "message_stop"),
            seconds=4.2,
        )
        await app.ui_services.run_line("/context")
        await until(pilot, lambda: "Turn 2" in screen_text(app))
        await pilot.press("3")
        await until(pilot, lambda: "took 4.2 s" in screen_text(app) and "message_stop" in screen_text(app))
        await pilot.press("tab")
        await until(pilot, lambda: '+  "max_tokens": 32000' in screen_text(app))
        await pilot.press("s")
        await until(pilot, lambda: (tmp_path / "ponder-request.json").exists())
        saved = tmp_path / "ponder-request.json"
        assert json.loads(saved.read_text())["body"] == BODY
        assert saved.stat().st_mode & 0o777 == 0o600


def test_curl_says_the_same_request_to_a_shell() -> None:
    body = {"text": "it's $HOME `x`"}
    words = shlex.split(
        as_curl({"method": "POST", "url": "https://x.example/?a=1&b=2", "headers": {"A": "b c"}, "body": body}).replace(
            "\\\n", ""
        )
    )
    assert words[words.index("-H") + 1] == "A: b c"
    assert json.loads(words[words.index("--data-binary") + 1]) == body
    assert "https://x.example/?a=1&b=2" in words


def test_the_same_request_twice_differs_in_nothing() -> None:
    assert diff_lines(BODY, dict(BODY)) == []


def test_long_lists_start_folded_but_for_their_end() -> None:
    value = {"messages": [{"n": number} for number in range(20)]}
    folded = first_folds(value)
    assert folded == {("messages", number) for number in range(16)}
    shown = [plain(node.runs) for node in nodes(value, folded)]
    assert shown.count("{ 1 fields },") == 16
    assert shown[-5:] == ["{", '"n": 19', "}", "]", "}"]


@pytest.mark.parametrize("value", [{}, [], "", 0, None, True, {"a": [[], {}]}, [1, "x", None]])
def test_unfolded_the_tree_is_the_json(value: object) -> None:
    assert json.loads("".join(plain(node.runs) for node in nodes(value, set()))) == value


async def test_reasons_have_a_column_and_no_text_touches_the_scrollbar() -> None:
    turns = [scenes.turn(f"{'A long question ' * number}?", "Words. " * 40, number, "Hm. " * 30) for number in (1, 9)]
    async with on_stage(*turns, size=(100, 30)) as (app, _, pilot):
        await pilot.press("f12")
        await until(pilot, lambda: "Wire inspector" in screen_text(app) and "Sent:" in screen_text(app))
        page = app.screen.query_one(Page)
        rows = [row for row in page.text().splitlines() if "your settings" in row]
        assert len(rows) == 2
        assert len({row.index("your settings") for row in rows}) == 1
        assert page.size.width < page.outer_size.width
        assert max(len(row.rstrip()) for row in page.text().splitlines()) < page.size.width


def test_what_is_not_sent_adds_up_to_what_is_stored_and_not_sent() -> None:
    reading = replace(scenes.METER, raw=scenes.METER.effective + 15_000)
    thinking = reading.parts[Part.THINKING_STRIPPED]
    rows = [plain(line) for line in meter_rows(reading, 80)]
    at = next(number for number, row in enumerate(rows) if row.startswith("Not sent"))
    assert [row.split() for row in rows[at + 1 : at + 3]] == [
        ["thinking", tokens(thinking)],
        ["replaced", "by", "a", "summary", tokens(15_000 - thinking)],
    ]


def test_what_is_stored_is_said_only_where_it_differs() -> None:
    same = plain(next(iter(meter_rows(replace(scenes.METER, raw=scenes.METER.effective), 80))))
    assert same == "Sent: 62.4k tokens   ≈ estimated"
