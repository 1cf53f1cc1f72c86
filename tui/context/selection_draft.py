"""The history while it is being made ready: messages of items, each item tied to the verdict on its stored block."""

from __future__ import annotations

from dataclasses import field, replace

from tui.domain.blocks import Block, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Origin, Role
from tui.domain.request import Reason, Verdict


@dataclass(slots=True)
class DraftItem:
    """A block on its way out; ``key`` is its place in the ledger, None for one made up to keep the history legal."""

    block: Block
    key: int | None = None

    @property
    def is_thinking(self) -> bool:
        """Whether it is thinking that goes as thinking."""
        return isinstance(self.block, ThinkingBlock)


@dataclass(slots=True)
class SelectionDraft:
    """A message on its way out."""

    role: Role
    items: list[DraftItem]
    source: Message | None = None
    in_open_loop: bool = False
    lost_thinking: bool = False
    """Thinking of this message stays behind."""
    lost_call: bool = False
    """A broken call of this message stays behind: what is left is not what the provider made."""
    joined: bool = False
    """Sent as one message with the draft before it."""

    @property
    def origin(self) -> Origin | None:
        """Where it came from."""
        return self.source.origin if self.source else None

    def calls(self) -> list[ToolCallBlock]:
        """Its tool calls, in order."""
        return [item.block for item in self.items if isinstance(item.block, ToolCallBlock)]

    def results(self) -> list[ToolResultBlock]:
        """Its tool results, in order."""
        return [item.block for item in self.items if isinstance(item.block, ToolResultBlock)]


@dataclass(slots=True)
class VerdictLog:
    """Verdicts and warnings as they fall; a later stage may revise what an earlier one let pass."""

    verdicts: list[Verdict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, message: Message, index: int, reason: Reason, *, sent: bool) -> int:
        """The first verdict on a stored block; the return value is its key."""
        kind = message.blocks[index].kind
        self.verdicts.append(Verdict(message_id=message.id, block=index, kind=kind, sent=sent, reason=reason))
        return len(self.verdicts) - 1

    def revise(self, item: DraftItem, reason: Reason, *, sent: bool = False) -> None:
        """A block that had passed stays behind after all, or goes in another shape."""
        if item.key is not None:
            self.verdicts[item.key] = replace(self.verdicts[item.key], sent=sent, reason=reason)

    def warn(self, sentence: str) -> None:
        """Something the user should read, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)
