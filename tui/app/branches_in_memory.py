"""The branches of a session that is not stored."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.blocks import TextBlock
from tui.domain.cost import cost_of, paid_in
from tui.domain.listing import LONGEST_PROMPT, TurnInfo
from tui.domain.messages import Role, Turn


class BranchesInMemory:
    """All finished turns by the turn before them, and the active path."""

    def __init__(self, path: Sequence[Turn] = ()) -> None:
        self.path: list[Turn] = []
        self._turns: dict[str, Turn] = {}
        self._parents: dict[str, str | None] = {}
        self._chosen: dict[str | None, str] = {}
        """The turn that followed on the path last looked at."""
        self.replace(path)

    def add(self, turn: Turn, after: str | None) -> None:
        """Keep a turn as a branch; the path does not change."""
        self._turns[turn.id] = turn
        self._parents[turn.id] = after

    def append(self, turn: Turn) -> None:
        """Add a turn to the path."""
        self.replace([*self.path, turn])

    def replace(self, path: Sequence[Turn]) -> None:
        """Make these turns the path; the others stay beside it."""
        before: str | None = None
        for turn in path:
            self.add(turn, before)
            self._chosen[before] = turn.id
            before = turn.id
        self._chosen.pop(before, None)  # the branch is left here until a turn follows
        self.path = list(path)

    def others(self) -> list[Turn]:
        """The turns that are not on the path."""
        here = {turn.id for turn in self.path}
        return [turn for name, turn in self._turns.items() if name not in here]

    def siblings(self, turn_id: str) -> list[Turn]:
        """The turns after the same turn, this one included, oldest first."""
        parent = self._parents.get(turn_id)
        return [turn for name, turn in self._turns.items() if self._parents[name] == parent]

    def places(self) -> dict[str, tuple[int, int]]:
        """The turns with siblings: the place of each among them, counted from 1, and their number."""
        found: dict[str | None, list[str]] = {}
        for turn_id, parent in self._parents.items():
            found.setdefault(parent, []).append(turn_id)
        return {
            turn_id: (place, len(names))
            for names in found.values()
            if len(names) > 1
            for place, turn_id in enumerate(names, 1)
        }

    def activate(self, turn_id: str) -> None:
        """Make the path through this turn the active one, down to where it was last left."""
        path = [self._turns[turn_id]]
        while (before := self._parents[path[0].id]) is not None:
            path.insert(0, self._turns[before])
        while (after := self._chosen.get(path[-1].id)) is not None:
            path.append(self._turns[after])
        self.replace(path)

    def tree(self) -> list[TurnInfo]:
        """All turns as rows of the tree."""
        return [self._info(turn) for turn in self._turns.values()]

    def _info(self, turn: Turn) -> TurnInfo:
        answers = list(paid_in((turn,)))
        origin = answers[-1].origin if answers else None
        prompts = [message for message in turn.messages if message.role is Role.USER]
        words = (block.text for prompt in prompts for block in prompt.blocks if isinstance(block, TextBlock))
        return TurnInfo(
            id=turn.id,
            parent=self._parents[turn.id],
            prompt=" ".join(words)[:LONGEST_PROMPT],
            model=origin.model if origin is not None else "",
            level=origin.level if origin is not None else "",
            cost=cost_of(answers).dollars,
        )
