"""Mutable messages for building a selection. Each item refers to the verdict on its stored block."""

from __future__ import annotations

from dataclasses import field, replace

from tui.domain.blocks import Block, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Origin, Role
from tui.domain.request import Reason, Verdict


@dataclass(slots=True)
class DraftItem:
    """A block to send. ``key`` is its index in the verdict log; None for a block inserted to keep the history valid."""

    block: Block
    key: int | None = None

    @property
    def is_thinking(self) -> bool:
        """Whether the block is sent as thinking."""
        return isinstance(self.block, ThinkingBlock)


@dataclass(slots=True)
class SelectionDraft:
    """A message to send."""

    role: Role
    items: list[DraftItem]
    source: Message | None = None
    in_open_loop: bool = False
    lost_thinking: bool = False
    """Some thinking of this message is not sent."""
    lost_call: bool = False
    """An incomplete call of this message is not sent, so the message differs from the provider's."""
    joined: bool = False
    """Whether to send it as one message with the previous draft."""

    @property
    def origin(self) -> Origin | None:
        """Origin of the stored message."""
        return self.source.origin if self.source else None

    def calls(self) -> list[ToolCallBlock]:
        """Return its tool calls in order."""
        return [item.block for item in self.items if isinstance(item.block, ToolCallBlock)]

    def results(self) -> list[ToolResultBlock]:
        """Return its tool results in order."""
        return [item.block for item in self.items if isinstance(item.block, ToolResultBlock)]


@dataclass(slots=True)
class VerdictLog:
    """Collects verdicts and warnings. A later stage may revise the verdict of an earlier one."""

    verdicts: list[Verdict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, message: Message, index: int, reason: Reason, *, sent: bool) -> int:
        """Record the first verdict on a stored block and return its key."""
        kind = message.blocks[index].kind
        self.verdicts.append(Verdict(message_id=message.id, block=index, kind=kind, sent=sent, reason=reason))
        return len(self.verdicts) - 1

    def revise(self, item: DraftItem, reason: Reason, *, sent: bool = False) -> None:
        """Change the verdict on a block: it is not sent, or sent in another form."""
        if item.key is not None:
            self.verdicts[item.key] = replace(self.verdicts[item.key], sent=sent, reason=reason)

    def warn(self, sentence: str) -> None:
        """Add a warning for the user, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)
