"""CPU time of drawing the tree of turns and of one key in it.

python -m bench.turn_tree [TURNS] [BRANCHES]
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time

from textual.app import App, ComposeResult

from bench.screens import theme_styles
from tui.domain.listing import TurnInfo
from tui.ui.chat.screen import FRAME_S
from tui.ui.dialogs.turn_tree import TreeView, TurnTree

KEYS = 300


def many_turns(turns: int, branches: int) -> tuple[list[TurnInfo], list[str]]:
    """Turns with so many ends, and the path to the last one."""
    chance = random.Random(3)
    splits = set(chance.sample(range(2, turns), branches - 1))
    infos: list[TurnInfo] = []
    path: list[str] = []
    for number in range(turns):
        if number in splits:
            path = path[: chance.randrange(1, len(path))]
        prompt = f"Question number {number}, which is longer than a row has room for. " * 2
        parent = path[-1] if path else None
        path.append(f"t{number}")
        infos.append(
            TurnInfo(id=path[-1], parent=parent, prompt=prompt, model="claude-opus-5", level="med", cost=0.0123)
        )
    return infos, path


class TreeApp(App[None]):
    """The tree alone."""

    def __init__(self, tree: TurnTree) -> None:
        super().__init__()
        self.shown = TreeView(tree, theme_styles(), tree.head)

    def compose(self) -> ComposeResult:
        yield self.shown


async def measured(turns: int, branches: int) -> dict[str, float | int]:
    infos, path = many_turns(turns, branches)
    began = time.process_time()
    tree = TurnTree(infos, path)
    layout = time.process_time() - began
    app = TreeApp(tree)
    taken: list[float] = []
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        for key in random.Random(5).choices(("up", "down", "left", "right"), k=KEYS):
            began = time.process_time()
            app.shown.put(tree.walked(app.shown.at, key))
            await pilot.pause()
            taken.append(time.process_time() - began)
        began = time.process_time()
        app.shown.mark(frozenset(tree.matching("number 17")))
        await pilot.pause()
        search = time.process_time() - began
    return {
        "turns": turns,
        "branches": tree.branches,
        "layout_ms": round(1000 * layout, 2),
        "key_median_ms": round(1000 * statistics.median(taken), 2),
        "key_most_ms": round(1000 * max(taken), 2),
        "search_ms": round(1000 * search, 2),
        "frame_ms": round(1000 * FRAME_S, 1),
    }


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:]]
    turns, branches = (*numbers, 500, 80)[:2] if len(numbers) != 1 else (numbers[0], 80)
    result = asyncio.run(measured(turns, branches))
    for name, value in result.items():
        print(f"{name:>14}  {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
