"""The tree of turns over a real session: what it shows, and how it opens a branch."""

from __future__ import annotations

import random
import re
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.store.stage import CLAUDE, open_stage
from tests.ui.stage import screen_strips, type_in, until
from tui.domain.blocks import TextBlock
from tui.domain.messages import Message, Role, Turn
from tui.store.sessions import NewSession, ensure
from tui.store.turns import add_turn, close_turn, set_head
from tui.ui.dialogs.turn_tree import TreeView, TurnTreeSheet

TURNS, BRANCHES = 500, 80
PROMPT = re.compile(r"[├╭│─ …]*[●○] (Question number \d+\?)")


async def planted(home: Path, turns: int, branches: int) -> str:
    """A stored session with so many turns and ends; returns its id."""
    stage = open_stage(home)
    chance = random.Random(3)
    splits = set(chance.sample(range(2, turns), branches - 1))

    def write(connection: sqlite3.Connection) -> None:
        session = ensure(connection, NewSession(id="planted"), 1_800_000_000.0)
        path: list[int] = []
        for number in range(turns):
            if number in splits:
                path = path[: chance.randrange(1, len(path))]
            ask = Message(id=f"q{number}", role=Role.USER, blocks=(TextBlock(text=f"Question number {number}?"),))
            say = Message(
                id=f"a{number}", role=Role.ASSISTANT, blocks=(TextBlock(text="So."),), origin=CLAUDE, cost=0.01
            )
            turn = Turn(id=f"t{number}", messages=(ask, say))
            path.append(add_turn(connection, session, path[-1] if path else None, turn, 1_800_000_000.0 + number))
            close_turn(connection, session, path[-1])
        set_head(connection, session, path[-1], len(path))

    await stage.database.run(write)
    stage.database.close()
    return "planted"


def sheet(s: Screen) -> TurnTreeSheet:
    found = s.app.screen
    assert isinstance(found, TurnTreeSheet)
    return found


async def opened(s: Screen) -> TurnTreeSheet:
    await s.enter("/tree")
    await until(s.pilot, lambda: isinstance(s.app.screen, TurnTreeSheet))
    await s.pilot.pause()
    return sheet(s)


async def test_a_branch_is_found_and_opened_by_enter(tmp_path: Path) -> None:
    async with screen(tmp_path, stored_in="file") as s:
        for words in ("First question", "Second question", "Third question"):
            await s.ask(words)
        old = s.house.view().turns
        await s.house.services.chat.retry(old[1].id)
        await until(s.pilot, lambda: s.turns_drawn() == 2 and not s.app.chat.is_busy())
        await s.caught_up()
        tree = await opened(s)
        assert "4 turns · 2 branches" in s.text()
        for words in ("● First question", "├─○ Second question", "│ ○ Third question", "fast"):
            assert words in s.text()
        grounds = {part.style.bgcolor for part in tree.view.render_line(0) if part.style}
        assert {ground.name for ground in grounds if ground} == {s.app.theme_variables["surface"].lower()}
        await type_in(s.pilot, "third")
        await until(s.pilot, lambda: tree.turns.turns[tree.view.at].id == old[2].id)
        assert "1 match" in s.text()
        await s.pilot.press("enter")
        await until(s.pilot, lambda: [turn.id for turn in s.house.view().turns] == [turn.id for turn in old])
        await until(s.pilot, lambda: s.turns_drawn() == 3)
        await until(s.pilot, lambda: s.app.chat.transcript.cursor is not None)
        cursor = s.app.chat.transcript.cursor
        assert cursor is not None
        assert cursor[0].key == old[2].messages[0].id


@pytest.mark.long
async def test_a_turn_of_the_current_path_is_shown_where_it_is(tmp_path: Path) -> None:
    async with screen(tmp_path, stored_in="file") as s:
        await s.ask("First question")
        await s.ask("Second question")
        turns = s.house.view().turns
        tree = await opened(s)
        await s.pilot.press("up", "enter")
        await until(s.pilot, lambda: s.app.screen is s.app.chat)
        assert tree.turns.turns[tree.view.at].id == turns[0].id
        await until(s.pilot, lambda: s.app.chat.transcript.cursor is not None)
        assert s.house.view().turns == turns


async def test_without_a_turn_there_is_no_tree(tmp_path: Path) -> None:
    async with screen(tmp_path, stored_in="file") as s:
        await type_in(s.pilot, "/tree")
        await s.pilot.press("enter")
        await s.until_toast("There is no turn yet.")


@pytest.mark.long
async def test_a_tree_in_memory_has_the_path(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.ask("First question")
        await s.ask("Second question")
        await opened(s)
        for words in ("2 turns · 1 branch", "● First question", "● Second question"):
            assert words in s.text()
        await s.pilot.press("escape")
        await s.house.services.chat.retry(s.house.view().turns[1].id)
        await until(s.pilot, lambda: s.turns_drawn() == 2 and not s.app.chat.is_busy())
        await s.caught_up()
        await opened(s)
        assert "3 turns · 2 branches" in s.text()


@pytest.mark.long
async def test_a_key_in_a_large_tree_draws_two_rows_or_one_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await planted(tmp_path, TURNS, BRANCHES)
    async with screen(tmp_path, stored_in="file", reopen=session) as s:
        tree = await opened(s)
        assert f"{TURNS} turns · {BRANCHES} branches" in s.text()
        lines = 0
        render = TreeView.render_line

        def counted(self: TreeView, y: int) -> object:
            nonlocal lines
            lines += 1
            return render(self, y)

        monkeypatch.setattr(TreeView, "render_line", counted)
        at, seen = tree.view.at, set()
        for key in random.Random(5).choices(["up", "down", "left", "right", "pageup", "pagedown"], k=60):
            before = lines
            at = walked(tree, at, key)
            await s.pilot.press(key)
            await until(s.pilot, partial(is_at, s, tree, at))
            assert lines - before <= 4 * tree.view.size.height, key
            seen.add(at)
        assert len(seen) > 10


def walked(sheet: TurnTreeSheet, at: int, key: str) -> int:
    """Where a key leads to."""
    rows = sheet.turns.rows
    if key not in ("pageup", "pagedown"):
        return sheet.turns.walked(at, key)
    page = (sheet.view.size.height - 1) * (1 if key == "pagedown" else -1)
    return rows[min(len(rows) - 1, max(0, sheet.turns.row_of[at] + page))].turn


def is_at(s: Screen, sheet: TurnTreeSheet, at: int) -> bool:
    return sheet.view.at == at and cursor_line(s) == f"Question number {at}?"


def cursor_line(s: Screen) -> str:
    """The prompt that is drawn with the cursor; "" while none is."""
    ground = s.app.screen.query_one(TreeView).get_component_rich_style("tree--here").bgcolor
    drawn = screen_strips(s.app)
    rows = ["".join(part.text for part in strip if part.style and part.style.bgcolor == ground) for strip in drawn]
    found = [match[1] for row in rows if (match := PROMPT.search(row))]
    return found[0] if len(found) == 1 else ""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
@pytest.mark.long
async def test_it_fits_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    session = await planted(tmp_path, 60, 12)
    async with screen(tmp_path, stored_in="file", reopen=session, size=size) as s:
        await opened(s)
        for words in ("60 turns", "12 branches", "claude-opus-5", "$0.01", "siblings", "close"):
            assert words in s.text()
