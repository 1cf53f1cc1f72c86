"""Find and the search in help, in the program: what is searched, where it begins, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.ui.stage import type_in, until
from tui.ui.dialogs.find import FindBar
from tui.ui.transcript.blocks import Caption


def _words_of_labels(s: Screen) -> str:
    sections = s.app.chat.transcript.column.sections
    return " ".join(block.text() for section in sections for block in section.blocks if isinstance(block, Caption))


async def _find(s: Screen, words: str) -> FindBar:
    await s.pilot.press("ctrl+f")
    await until(s.pilot, lambda: isinstance(s.app.screen, FindBar))
    await type_in(s.pilot, words)
    bar = s.app.screen
    assert isinstance(bar, FindBar)
    return bar


@pytest.mark.long
async def test_ponders_own_labels_are_neither_counted_nor_marked(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.ask("Zebra?")
        await until(s.pilot, lambda: "· thinking 54 ·" in _words_of_labels(s))
        bar = await _find(s, "thinking 54")
        await s.until_it_says("nothing found")
        assert bar._hits == []
        transcript = s.app.chat.transcript
        column = transcript.column
        rows = range(column.top, column.top + column.height)
        labels = [row for row in rows if transcript._rows._is_label(row)]
        assert 0 < len(labels) < len(rows)


@pytest.mark.parametrize("size", [pytest.param((120, 40), marks=pytest.mark.long), (80, 24)])
async def test_the_bar_is_labelled_and_as_wide_as_the_composer(tmp_path: Path, size: tuple[int, int]) -> None:
    async with screen(tmp_path, size=size) as s:
        await s.ask("Zebra?")
        bar = await _find(s, "zebra")
        await s.until_it_says(" find ")
        area = s.app.chat.conversation_area.region
        await until(s.pilot, lambda: bar.query_one(".sheet").region.width == area.width)
        assert bar.query_one(".sheet").region.x == area.x
        assert "ctrl+o" not in s.text()


@pytest.mark.long
async def test_help_lists_what_has_the_word_and_not_what_has_its_letters(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.pilot.press("f1")
        await s.until_it_says("search keys and commands")
        await type_in(s.pilot, "copy")
        await s.until_it_says("/copy")
        await s.until_it_no_longer_says("/cost")
        assert [word for word in ("/compress", "/context", "/cost") if word in s.text()] == []
