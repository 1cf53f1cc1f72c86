"""The tree of turns: its lines, the walk by its structure, and what a key costs."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tui.domain.listing import TurnInfo
from tui.ui.dialogs.turn_tree import TurnTree


def turns(*parents: int | None) -> list[TurnInfo]:
    """One turn per parent, by its number from 0."""
    return [
        TurnInfo(id=f"t{number}", parent=None if parent is None else f"t{parent}", prompt=f"Question {number}")
        for number, parent in enumerate(parents)
    ]


def drawn(tree: TurnTree) -> list[str]:
    return [f"{row.lines}{'●' if row.turn in tree.path else '○'} {row.turn}" for row in tree.rows]


def path(*numbers: int) -> list[str]:
    return [f"t{number}" for number in numbers]


def test_the_current_path_is_straight_and_others_stand_beside_it() -> None:
    tree = TurnTree(turns(None, 0, 1, 0, 3, 3, 5, 0), path(0, 3, 5, 6))
    assert drawn(tree) == ["● 0", "├─○ 1", "│ ○ 2", "├─○ 7", "● 3", "├─○ 4", "● 5", "● 6"]


def test_branches_of_branches_and_several_first_turns() -> None:
    tree = TurnTree(turns(None, 0, 0, None, 3, 3, None), path(6))
    assert drawn(tree) == ["╭─○ 0", "│ ├─○ 1", "│ ○ 2", "├─○ 3", "│ ├─○ 4", "│ ○ 5", "● 6"]


def test_up_and_down_follow_a_branch_and_left_and_right_its_siblings() -> None:
    tree = TurnTree(turns(None, 0, 1, 0, 3), path(0, 3, 4))
    assert [tree.walked(4, key) for key in ("up", "left", "right")] == [3, 4, 4]
    assert [tree.walked(3, key) for key in ("up", "left", "right", "down")] == [0, 1, 1, 4]
    assert [tree.walked(1, key) for key in ("up", "down", "left")] == [0, 2, 3]
    assert tree.walked(0, "up") == 0
    assert tree.walked(4, "down") == 4
    assert tree.walked(2, "down") == 3, "a branch ends: the row below"


def test_every_turn_of_every_tree_is_drawn_once_and_can_be_reached() -> None:
    random_ = random.Random(7)
    for _ in range(60):
        size = random_.randint(1, 60)
        infos = turns(
            *(None if not number or random_.random() < 0.05 else random_.randrange(number) for number in range(size))
        )
        by_id = {info.id: info for info in infos}
        on_path: list[str] = []
        here: str | None = random_.choice(infos).id
        while here is not None:
            on_path.insert(0, here)
            here = by_id[here].parent
        tree = TurnTree(infos, on_path)
        assert sorted(row.turn for row in tree.rows) == list(range(size))
        assert reached(tree) == set(range(size))
        for row in tree.rows:
            parent = tree.parent(row.turn)
            assert parent is None or tree.row_of[parent] < tree.row_of[row.turn]
            assert row.lines == "" or row.turn not in tree.path


def reached(tree: TurnTree) -> set[int]:
    found, waiting = set[int](), [tree.head]
    while waiting:
        turn = waiting.pop()
        if turn not in found:
            found.add(turn)
            waiting += [tree.walked(turn, key) for key in ("up", "down", "left", "right")]
    return found


def test_a_damaged_tree_is_drawn_as_far_as_it_has_a_beginning() -> None:
    infos = [*turns(None, 0), TurnInfo(id="a", parent="b", prompt=""), TurnInfo(id="b", parent="a", prompt="")]
    assert len(TurnTree(infos, ["t0"]).rows) == 2
    assert drawn(TurnTree([TurnInfo(id="x", parent="gone", prompt="")], [])) == ["○ 0"]


def test_searching_finds_all_words_in_prompts_and_models() -> None:
    infos: Sequence[TurnInfo] = [
        TurnInfo(id="a", parent=None, prompt="Why is the sky blue?", model="claude-opus-5", level="med"),
        TurnInfo(id="b", parent="a", prompt="And the sea?", model="gpt-5.5"),
        TurnInfo(id="c", parent="a", prompt="SKY at night", model="gpt-5.5"),
    ]
    tree = TurnTree(infos, ["a", "c"])
    assert [tree.rows[row].turn for row in tree.matching("sky")] == [0, 2]
    assert [tree.rows[row].turn for row in tree.matching("gpt sky")] == [2]
    assert tree.matching("moon") == []
