"""What a command receives: the services of ``tui.app`` and the screen, a Protocol that ``tui.ui`` implements."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

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


class Screen(Protocol):
    """What commands can do on the screen."""

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Show a toast."""
        ...

    async def show(self, view: View, argument: str = "") -> None:
        """Open a screen or dialog."""
        ...

    def theme_names(self) -> Sequence[str]: ...

    def use_theme(self, name: str) -> None:
        """Switch the theme; raises UsageError that lists similar names."""
        ...

    def toggle_sidebar(self) -> str:
        """Show or hide the sidebar; returns the matching value of ``ui.sidebar``."""
        ...

    def step_thinking_view(self) -> str:
        """Cycle folded, peek and full for all thinking; returns the new state."""
        ...

    def copy(self, what: Copy) -> str:
        """Copy to the clipboard; returns a message for the user."""
        ...

    def draft(self) -> str:
        """The text in the composer."""
        ...

    def put_draft(self, text: str) -> None:
        """Replace the text in the composer."""
        ...

    def attach(self, path: str) -> None: ...

    async def edit_in_editor(self) -> None:
        """Edit the draft in $EDITOR."""
        ...

    def chosen_turn(self) -> str | None:
        """The id of the turn under the cursor, or of the last turn."""
        ...

    async def edit_turn(self, turn_id: str) -> None:
        """Put a turn's prompt into the composer; sending it creates a branch."""
        ...

    def scroll(self, step: Step) -> None:
        """Scroll the transcript."""
        ...

    def move_cursor(self, step: int) -> None:
        """Move the cursor by blocks."""
        ...

    def shift_code(self, columns: int) -> None:
        """Scroll the code under the cursor sideways; 0 toggles wrapping."""
        ...

    async def session_changed(self) -> None:
        """Draw the session that is open now."""
        ...

    async def quit(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """The argument of every command handler."""

    services: AppServices
    screen: Screen
    registry: Registry

    def view(self) -> SessionView:
        """Return a snapshot of the open session."""
        return self.services.chat.view()
