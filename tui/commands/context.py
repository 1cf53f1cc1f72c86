"""What a command receives: the services of ``tui.app`` and the functions of the screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from tui.domain.events import Severity
from tui.domain.fast_dataclass import dataclass

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.commands.registry import Registry
    from tui.engine.state import SessionView


class View(StrEnum):
    """Screens and dialogs a command can open."""

    SESSIONS = "sessions"
    INSPECTOR = "inspector"
    SETTINGS = "settings"
    THEMES = "themes"
    HELP = "help"
    PALETTE = "palette"
    MODELS = "models"
    COMPARE = "compare"
    TREE = "tree"
    ASIDE = "aside"
    """``argument`` is the question."""
    KEY = "key"
    TOOLS = "tools"
    APPROVAL = "approval"
    """``argument`` is the id of the call."""
    FIND = "find"
    HISTORY = "history"
    TEXT = "text"
    """``argument`` is a title, a newline, and markdown."""


class Copy(StrEnum):
    """What a command can copy."""

    ANSWER = "answer"
    CODE = "code"
    THINKING = "thinking"
    WITH_THINKING = "with thinking"
    ALL = "all"


Step = Literal["page_up", "page_down", "half_up", "half_down", "up", "down", "end", "home"]
"""Distances to scroll the transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What commands can do on the screen: functions that ``tui.ui`` supplies."""

    toast: Callable[[str, Severity, str], None]
    """Show a text and an advice."""
    open: Callable[[View, str], Awaitable[None]]
    theme_names: Callable[[], Sequence[str]]
    use_theme: Callable[[str], None]
    """Switch the theme; raises UsageError that lists similar names."""
    toggle_sidebar: Callable[[], str]
    """Show or hide the sidebar; returns the matching value of ``ui.sidebar``."""
    step_thinking_view: Callable[[], str]
    """Cycle folded, peek and full for all thinking; returns the new state."""
    copy: Callable[[Copy], str]
    """Copy to the clipboard; returns a message for the user."""
    draft: Callable[[], str]
    """The text in the composer."""
    put_draft: Callable[[str], None]
    """Replace the text in the composer."""
    attach: Callable[[str], None]
    edit_in_editor: Callable[[], Awaitable[None]]
    """Edit the draft in $EDITOR."""
    chosen_turn: Callable[[], str | None]
    """The id of the turn under the cursor, or of the last turn."""
    edit_turn: Callable[[str], None]
    """Put a turn's prompt into the composer; sending it creates a branch."""
    scroll: Callable[[Step], None]
    move_cursor: Callable[[int], None]
    """Move the cursor by blocks."""
    shift_code: Callable[[int], None]
    """Scroll the code under the cursor sideways; 0 toggles wrapping."""
    session_changed: Callable[[], object]
    """Draw the session that is open now."""
    quit: Callable[[], None]

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Show a toast."""
        self.toast(text, severity, advice)

    async def show(self, view: View, argument: str = "") -> None:
        """Open a screen or dialog."""
        await self.open(view, argument)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """The argument of every command handler."""

    services: AppServices
    screen: Screen
    registry: Registry

    def view(self) -> SessionView:
        """Return a snapshot of the open session."""
        return self.services.chat.view()
