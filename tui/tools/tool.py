"""The interface of tools, and Protocols for what a tool needs while it runs; the engine's classes implement them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel

from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock
from tui.domain.printable import printable
from tui.tools.permissions.rules import Access, RequestedAccess, Strength


class Approver(Protocol):
    """Asks the user for permission."""

    async def ask(
        self, call: ToolCallBlock, summary: str, detail: str, patterns: tuple[str, ...], note: str = ""
    ) -> str:
        """Returns ``once``, ``session``, one of ``patterns``, or ``no`` (optionally ``no: reason``).

        ``detail`` is written by the model, ``note`` by ponder.
        """
        ...

    def settle(self, call: ToolCallBlock) -> None:
        """Withdraw the question of a call that has become allowed in the meantime."""
        ...


class Run(Protocol):
    """The context of one call."""

    @property
    def approver(self) -> Approver:
        """Asks the user."""
        ...

    @property
    def progress(self) -> Callable[[str], None]:
        """Receives progress messages."""
        ...

    @property
    def tainted(self) -> bool:
        """Whether untrusted content has entered this conversation."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a call is about to do, for the rules and the user."""

    requested: RequestedAccess
    summary: str
    detail: str = ""
    """The full action, written by the model."""
    note: str = ""
    """Facts added by ponder, one per line."""
    patterns: tuple[str, ...] = ()
    """Rules to offer as permanent, narrowest first."""
    session: str = ""
    """The rule for the answer `session`; the narrowest pattern if empty."""


class Job(Protocol):
    """Lets a running tool ask for more permission and report progress."""

    @property
    def strength(self) -> Strength:
        """What a command may do: the lowest strength granted by any permission of this call."""
        ...

    @property
    def rule(self) -> str:
        """The rule that granted this strength; empty if the user was asked."""
        ...

    def progress(self, text: str) -> None:
        """Report progress."""
        ...

    def withholds(self, requested: RequestedAccess, agreed: RequestedAccess) -> bool:
        """Whether a rule keeps a search in the folder ``agreed`` from showing this file."""
        ...

    async def permit(self, intent: Intent) -> None:
        """Ask the rules, then the user. Raises ToolError if the call is not allowed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a call."""

    content: tuple[TextBlock | ImageBlock, ...]
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A validated call, ready to run once it is permitted."""

    intents: Sequence[Intent]
    perform: Callable[[Job], Awaitable[Outcome]]


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

    async def prepare(self, arguments: BaseModel) -> Prepared:
        """Validate a call without side effects. Raises ToolError."""
        ...


def on_a_line(path: Path) -> str:
    """Format a path for a note; a name with line breaks still takes one line."""
    return printable(str(path), keep_newlines=False)


def text_outcome(text: str, *, failed: bool = False) -> Outcome:
    """A result of plain text."""
    return Outcome(content=(TextBlock(text=text),), failed=failed)
