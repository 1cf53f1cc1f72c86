"""The interface of tools, and a running call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel

from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock
from tui.domain.printable import printable
from tui.domain.tool_run import ToolRun
from tui.tools.permissions.permissions import IntendedAction, Permissions
from tui.tools.permissions.rules import Access, RequestedAccess, Strength


@dataclass(slots=True)
class CallContext:
    """A running call: asks for more permission and reports progress."""

    call: ToolCallBlock
    run: ToolRun
    permissions: Permissions
    redact: Callable[[str], str]
    strength: Strength = Strength.FULL
    """What a command may do: the lowest strength granted by any permission of this call."""
    rule: str = ""
    """The rule that granted this strength; empty if the user was asked."""

    def progress(self, text: str) -> None:
        """Report progress."""
        self.run.progress(self.redact(text))

    def withholds(self, requested: RequestedAccess, agreed: RequestedAccess) -> bool:
        """Whether a rule keeps a search in the folder ``agreed`` from showing this file."""
        return self.permissions.withholds(requested, agreed, self.run.session)

    async def permit(self, action: IntendedAction) -> None:
        """Ask the rules, then the user. Raises ToolError if the call is not allowed."""
        grant = await self.permissions.permit(self.call, action, self.run)
        if grant.strength.rank < self.strength.rank:
            self.strength, self.rule = grant.strength, grant.rule


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call."""

    content: tuple[TextBlock | ImageBlock, ...]
    failed: bool = False
    note: str = ""
    """The outcome in two or three words, for the user."""
    diff: str = ""
    """What it changed in a file, for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall:
    """A validated call, ready to run once it is permitted."""

    actions: Sequence[IntendedAction]
    perform: Callable[[CallContext], Awaitable[CallResult]]


class Tool(Protocol):
    """A built-in tool."""

    @property
    def name(self) -> str:
        """The name the model uses."""
        ...

    @property
    def description(self) -> str:
        """Short and precise text for the model."""
        ...

    @property
    def access(self) -> Access:
        """The kind of access the tool needs."""
        ...

    @property
    def arguments(self) -> type[BaseModel]:
        """The model that validates the arguments."""
        ...

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Validate a call without side effects. Raises ToolError."""
        ...


def on_a_line(path: Path) -> str:
    """Format a path for a note; a name with line breaks still takes one line."""
    return printable(str(path), keep_newlines=False)


def text_result(text: str, *, failed: bool = False, note: str = "", diff: str = "") -> CallResult:
    """A result of plain text."""
    return CallResult(content=(TextBlock(text=text),), failed=failed, note=note, diff=diff)
