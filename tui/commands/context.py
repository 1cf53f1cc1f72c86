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
    """What a command can put on the screen."""

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
    """``argument`` is the call that waits."""
    FIND = "find"
    HISTORY = "history"
    TEXT = "text"
    """A page of markdown: ``title`` newline content."""


class Copy(StrEnum):
    """What is copied."""

    ANSWER = "answer"
    CODE = "code"
    THINKING = "thinking"
    WITH_THINKING = "with thinking"
    ALL = "all"


Step = Literal["page_up", "page_down", "half_up", "half_down", "up", "down", "end", "home"]
"""How far the transcript is scrolled."""


class Screen(Protocol):
    """What is seen."""

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """A sentence that goes away by itself."""
        ...

    async def show(self, view: View, argument: str = "") -> None:
        """Open something."""
        ...

    def theme_names(self) -> Sequence[str]:
        """Themes to choose from."""
        ...

    def use_theme(self, name: str) -> None:
        """Switch; raises UsageError with the nearest names."""
        ...

    def toggle_sidebar(self) -> str:
        """Show or hide it; the value of ``ui.sidebar`` that does so."""
        ...

    def step_thinking_view(self) -> str:
        """Folded → peek → full for the whole conversation; the word for it."""
        ...

    def copy(self, what: Copy) -> str:
        """Copy; the sentence for the user."""
        ...

    def draft(self) -> str:
        """What stands in the composer."""
        ...

    def put_draft(self, text: str) -> None:
        """Put words into the composer."""
        ...

    def attach(self, path: str) -> None:
        """Attach a file to the draft."""
        ...

    async def edit_in_editor(self) -> None:
        """Edit the draft in $EDITOR."""
        ...

    def chosen_turn(self) -> str | None:
        """The turn under the cursor, or the last one."""
        ...

    async def edit_turn(self, turn_id: str) -> None:
        """Put that turn's prompt into the composer; sending forks."""
        ...

    def scroll(self, step: Step) -> None:
        """Move the transcript."""
        ...

    def move_cursor(self, step: int) -> None:
        """Move the transcript's cursor."""
        ...

    def shift_code(self, columns: int) -> None:
        """Move the code under the cursor sideways; 0 cuts its long lines or wraps them again."""
        ...

    async def session_changed(self) -> None:
        """Another session is open: draw it."""
        ...

    async def quit(self) -> None:
        """End the program."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """The argument of every command handler."""

    services: AppServices
    screen: Screen
    registry: Registry

    def view(self) -> SessionView:
        """Return a snapshot of the open session."""
        return self.services.chat.view()
