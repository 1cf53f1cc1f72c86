"""Whatever a model, a file or a provider says is drawn, never obeyed, wherever it stands."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from textual.events import Paste

from tests.ui import scenes
from tests.ui.foreign import ESCAPES, MARKUP, obeyed
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import (
    ApprovalAsked,
    Notice,
    QueueChanged,
    SaveFailed,
    Severity,
    TitleChanged,
    TurnFailed,
)
from tui.domain.listing import ExchangeInfo, ToolInfo
from tui.domain.messages import Turn
from tui.domain.printable import printable
from tui.domain.thinking import ModelSpec
from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import plain

ALL = " ".join([*ESCAPES.values(), *MARKUP])
FENCE = (
    f"```python\n{ALL}\n```\n\n| a | b |\n|---|---|\n| {ALL.replace('|', '/')} | x |\n\n> {ALL}\n\n- {ALL}\n\n# {ALL}\n"
)


async def test_in_every_kind_of_line_of_the_conversation() -> None:
    async with on_stage(scenes.turn(ALL, FENCE, 1, ALL), scenes.tool_turn(2), size=(120, 60)) as (app, services, pilot):
        services.chat.publish(
            TitleChanged(ALL),
            QueueChanged((ALL,)),
            SaveFailed(ALL),
            Notice(Severity.WARNING, ALL, ALL),
            *scenes.begun(ALL),
            *scenes.thinking(*ALL),
            *scenes.words(*FENCE),
        )
        services.chat.publish(
            *scenes.ended(FENCE, ALL, ALL)[:1],
            TurnFailed(Turn(id="live", messages=()), ProviderError(ErrorKind.OTHER, ALL, advice=ALL)),
        )
        await until(pilot, lambda: "waiting" in screen_text(app) or "NOT SAVED" in screen_text(app))
        app.ui_services.say(ALL, Severity.ERROR, ALL)
        await app.ui_services.run_id("thinking.view")
        await app.ui_services.run_id("thinking.view")
        seen = screen_text(app)
        for key in ("ctrl+home", "pagedown", "pagedown", "pagedown", "pagedown"):
            await pilot.press(key)
            seen += screen_text(app)
        assert obeyed(seen) == []
        assert "␛]52;c;ZXZpbA==␇" in seen
        assert "list[int]" in seen


@pytest.mark.long
async def test_in_every_sheet_and_in_the_sidebar() -> None:
    async with on_stage(scenes.turn(ALL, FENCE, 1, ALL), size=(130, 50)) as (app, services, pilot):
        services.library.rows = [
            replace(row, title=ALL, model=ALL, snippet=f"{ALL}\x02{ALL}\x03") for row in services.library.rows
        ]
        services.models.rows = tuple(
            replace(row, spec=ModelSpec(provider="x", model=ALL), provider=ALL, reason=ALL, available=False, note=ALL)
            for row in services.models.rows
        )
        services.keys.rows = tuple(replace(row, title=ALL, detail=ALL) for row in services.keys.rows)
        services.tools.rows = [ToolInfo(name=ALL, source=ALL, enabled=True, policy=ALL, tokens=1, description=ALL)]
        services.drafts.history = [ALL]
        services.chat.exchange = ExchangeInfo(
            request={"url": ALL, "headers": {ALL: ALL}, "body": {ALL: ALL}}, events=(ALL,)
        )
        seen = ""
        for line in ("/sessions", "/tools", "/settings", "/help", "/mcp", "/profile show x", "/key openai"):
            await app.ui_services.run_line(line)
            await pilot.pause()
            seen += screen_text(app)
            await pilot.press("escape")
        await app.ui_services.run_line("/context")
        for key in "1234":
            await pilot.press(key)
            seen += screen_text(app)
        await pilot.press("escape", "ctrl+r")
        seen += screen_text(app)
        await pilot.press("escape", "ctrl+t")
        seen += screen_text(app)
        assert obeyed(seen) == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(100, 40), (80, 24)])
async def test_in_the_question_whether_a_tool_may_run(size: tuple[int, int]) -> None:
    async with on_stage(size=size) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), ApprovalAsked("live", "c1", ALL, ALL, f"{ALL}\n{ALL}", (ALL,)))
        await until(pilot, lambda: " ASKS " in screen_text(app))
        assert obeyed(screen_text(app)) == []


async def test_in_what_is_pasted_and_in_the_popup() -> None:
    async with on_stage(size=(100, 30)) as (app, _services, pilot):
        app.chat.composer.post_message(Paste(ALL))
        await until(pilot, lambda: bool(app.chat.composer.text))
        assert obeyed(screen_text(app)) == []
        await app.ui_services.run_line("/sessions")
        await pilot.pause()
        app.focused.post_message(Paste(ALL))  # type: ignore[union-attr]  # the search field
        await pilot.pause()
        assert obeyed(screen_text(app)) == []


@pytest.mark.parametrize("text", [*ESCAPES.values(), *MARKUP], ids=[*ESCAPES, *map(str, range(len(MARKUP)))])
def test_split_over_deltas_it_is_drawn_as_when_it_comes_whole(text: str) -> None:
    whole = Document(f"x {text} y", closed=True)
    pieces = Document()
    for character in f"x {text} y":
        pieces.append(character)
    pieces.close()
    drawn = [plain(line) for line in pieces.lines(60)]
    assert drawn == [plain(line) for line in whole.lines(60)]
    assert obeyed("".join(drawn)) == []


def _longest_s(document: Document, pieces: list[str]) -> float:
    longest = 0.0
    for piece in pieces:
        began = time.process_time()
        document.append(piece)
        document.height(80)
        longest = max(longest, time.process_time() - began)
    return longest


def _quickest_s(text: str) -> float:
    taken = []
    for _ in range(3):
        began = time.thread_time()
        Document(text, closed=True).height(80)
        taken.append(time.thread_time() - began)
    return min(taken)


def test_a_fence_without_a_label_is_never_guessed_at() -> None:
    digits = "```\n" + "1234567890" * 4_000 + "\n```\n"
    named = "```text\n" + "1234567890" * 4_000 + "\n```\n"
    assert _quickest_s(digits) < 3 * _quickest_s(named) + 0.05


def test_a_megabyte_in_one_line_is_laid_out_in_time_that_grows_with_its_length_only() -> None:
    tenth = _longest_s(Document(), ["x" * 100_000])
    assert _longest_s(Document(), ["x" * 1_000_000]) < 30 * tenth + 0.05


@pytest.mark.parametrize(
    ("entity", "shown"),
    [("&#13;", "␍"), ("&#12;", "␌"), ("&#10;", "␊"), ("&#x202e;", "\\u{202E}"), ("&shy;", "\\u{AD}")],
)
def test_characters_that_are_written_as_entities_are_shown_as_those_that_are_not(entity: str, shown: str) -> None:
    """markdown-it makes characters of them after the source was looked at."""
    for line in ("a{}b", "# a{}b", "[a{}b](https://example.org)", "- **a{}b**", "> a{}b", "| x |\n| --- |\n| a{}b |"):
        rows = [plain(row) for row in Document(line.replace("{}", entity), closed=True).lines(60)]
        assert any(f"a{shown}b" in row for row in rows), rows
        assert all(printable(row) == row for row in rows)
