"""What a toolbox needs to run one tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext

from tui.domain.blocks import ToolCallBlock
from tui.domain.fast_dataclass import dataclass

NO_USER = "no: this run has no user to ask"
"""The answer of ``ToolRun.ask`` in a run without a user."""


def _ignore() -> None:
    """What most callers do when a call begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """The connection of one call to the user."""

    ask: Callable[[ToolCallBlock, str, str, tuple[str, ...], str, str], Awaitable[str]]
    """Asks the user for permission: ``ask(call, summary, detail, patterns, note, session)``.

    Returns ``once``, ``session``, one of ``patterns``, or ``no`` (optionally ``no: reason``). ``detail`` is written by
    the model, ``note`` by ponder; ``session`` is the rule that this answer gives, empty if it gives none.
    """
    settle: Callable[[ToolCallBlock], None]
    """Withdraws the question about a call that has become allowed in the meantime."""
    progress: Callable[[str], None]
    """Receives progress messages."""
    tainted: bool
    """Untrusted content entered this conversation: network access and writes always ask."""
    session: str = ""
    """The session of the call: what the user allows for a session holds for no other."""
    limit_s: float | None = None
    """The engine's limit for the call; None is no limit."""
    paused: Callable[[], AbstractContextManager[None]] = nullcontext
    """Stops the limit while the call waits for the user."""
    private: bool = False
    """Nothing of the conversation may reach the disk."""
    begun: Callable[[], None] = _ignore
    """Called when the call was allowed and begins."""
