"""What a tool needs while it runs, as Protocols in this room: the engine hands in its own, which fit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel

from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock
from tui.domain.printable import printable
from tui.tools.permissions.rules import Access, RequestedAccess
from tui.tools.sandbox.strength import Strength


class Approver(Protocol):
    """Asks the user."""

    async def ask(
        self, call: ToolCallBlock, summary: str, detail: str, patterns: tuple[str, ...], note: str = ""
    ) -> str:
        """``once``, ``session``, one of ``patterns``, or ``no`` (optionally ``no: reason``).

        ``detail`` holds the model's words, ``note`` what ponder says about them.
        """
        ...

    def settle(self, call: ToolCallBlock) -> None:
        """A call that waits for an answer needs none any more: it is allowed now."""
        ...


class Run(Protocol):
    """The surroundings of one call."""

    @property
    def approver(self) -> Approver:
        """Who is asked."""
        ...

    @property
    def progress(self) -> Callable[[str], None]:
        """Where a tool says how far it is."""
        ...

    @property
    def tainted(self) -> bool:
        """Untrusted content entered this conversation."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a call is about to do, as the rules and the user see it."""

    wish: RequestedAccess
    summary: str
    detail: str = ""
    """What would be done, in full; the model's words."""
    note: str = ""
    """What ponder says about it, one fact a line."""
    patterns: tuple[str, ...] = ()
    """Rules to offer for always, narrowest first."""
    session: str = ""
    """The rule that `session` stands for; the narrowest pattern when not set."""


class Job(Protocol):
    """The hands of a running tool: it may ask for more permission and tell its progress."""

    @property
    def strength(self) -> Strength:
        """What a command may do: the least that any question about this call allowed."""
        ...

    @property
    def rule(self) -> str:
        """The rule that gave this strength; empty where the user was asked."""
        ...

    def progress(self, text: str) -> None:
        """Say how far it is."""
        ...

    async def permit(self, intent: Intent) -> None:
        """Ask the rules, then the user; raises ToolError when the answer is no."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a tool brought back."""

    content: tuple[TextBlock | ImageBlock, ...]
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call that was looked at and may be run once it is permitted."""

    intents: Sequence[Intent]
    perform: Callable[[Job], Awaitable[Outcome]]


class Tool(Protocol):
    """A built-in tool."""

    @property
    def name(self) -> str:
        """As the model calls it."""
        ...

    @property
    def description(self) -> str:
        """For the model: short and precise."""
        ...

    @property
    def access(self) -> Access:
        """What it does to the world."""
        ...

    @property
    def arguments(self) -> type[BaseModel]:
        """What it takes."""
        ...

    async def prepare(self, arguments: BaseModel) -> Prepared:
        """Look, but do not touch; raises ToolError."""
        ...


def on_a_line(path: Path) -> str:
    """A path as a fact of a note: whatever its name holds, it stays on its line."""
    return printable(str(path), keep_newlines=False)


def said(text: str, *, failed: bool = False) -> Outcome:
    """An outcome in words."""
    return Outcome(content=(TextBlock(text=text),), failed=failed)
