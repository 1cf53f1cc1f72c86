"""A journal in memory that can be told to fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.errors import StoreError
from tui.domain.messages import BlockGrowth, Message, Turn


def joined(before: Block, more: Block) -> Block:
    """A block with the words that came since."""
    match before, more:
        case TextBlock() | ThinkingBlock(), TextBlock() | ThinkingBlock():
            return replace(more, text=before.text + more.text)
        case ToolCallBlock(), ToolCallBlock():
            return replace(more, arguments=before.arguments + more.arguments)
        case _:
            return more


@dataclass
class MemoryJournal:
    """Keeps what a store would: the path, the messages of each turn, every call by name."""

    calls: list[str] = field(default_factory=list)
    messages: dict[str, Message] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    view: CompressionView | None = None
    runs: list[SummaryRun] = field(default_factory=list)
    held: int = 0
    queue: list[list[Block]] = field(default_factory=list)
    failing: StoreError | None = None

    def _write(self, name: str) -> None:
        if self.failing is not None:
            raise self.failing
        self.calls.append(name)

    async def turn_started(self, session: str, turn: Turn) -> None:
        self._write("turn_started")
        self.turns[turn.id] = turn
        self.path.append(turn.id)
        self.messages.update({message.id: message for message in turn.messages})

    async def checkpoint(self, session: str, turn_id: str, message: Message) -> None:
        self._write("checkpoint")
        self.messages[message.id] = message

    async def grown(
        self, session: str, turn_id: str, message: Message, grown: Sequence[BlockGrowth], *, whole: bool
    ) -> bool:
        self._write("checkpoint")
        before = () if whole else self.messages[message.id].blocks
        blocks = list(before)
        for growth in grown:
            if growth.position == len(blocks):
                blocks.append(growth.block)
            else:
                blocks[growth.position] = joined(blocks[growth.position], growth.block)
        self.messages[message.id] = replace(message, blocks=tuple(blocks))
        return True

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        self._write("message_added")
        self.messages[message.id] = message

    async def turn_finished(self, session: str, turn: Turn) -> None:
        self._write("turn_finished")
        self.turns[turn.id] = turn

    async def history_replaced(self, session: str, turns: Sequence[Turn]) -> None:
        self._write("history_replaced")
        self.path = [turn.id for turn in turns]

    async def compressed(self, session: str, view: CompressionView | None) -> None:
        self._write("compressed")
        self.view = view

    async def summary_run(self, session: str, run: SummaryRun) -> None:
        self._write("summary_run")
        self.runs.append(run)

    async def turn_kept(self, session: str, turn: Turn, after: str | None) -> None:
        self._write("turn_kept")
        self.turns[turn.id] = turn
        self.messages.update({message.id: message for message in turn.messages})

    async def queued(self, session: str, prompts: Sequence[Sequence[Block]]) -> None:
        if self.failing is not None:
            raise self.failing
        self.queue = [list(prompt) for prompt in prompts]

    async def still_open(self, session: str) -> None:
        self.held += 1
