"""What screens use of the application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tui.commands.context import CommandContext
from tui.commands.registry import Registry
from tui.domain.blocks import Block
from tui.domain.events import AppEvent, Severity
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.build import Showing


class Shell(Protocol):
    """The application's services for screens."""

    @property
    def registry(self) -> Registry: ...

    @property
    def keymap(self) -> Mapping[str, tuple[str, ...]]:
        """Keys in force, by command."""
        ...

    def theme_styles(self) -> ThemeStyles:
        """The theme's styles for line-drawn widgets."""
        ...

    def showing(self) -> Showing:
        """How thinking is shown."""
        ...

    def context(self) -> CommandContext:
        """The context that commands run with."""
        ...

    async def run_line(self, line: str) -> bool:
        """Run a slash command and show its errors. False if the line was not a valid command."""
        ...

    async def run_id(self, command: str) -> None:
        """Run the command with this id."""
        ...

    @property
    def edited_turn(self) -> str | None:
        """The turn whose prompt is in the composer and which the next prompt replaces."""
        ...

    def edit_again(self, turn_id: str | None) -> None:
        """Resume an edit that could not be sent."""
        ...

    async def submit(self, blocks: tuple[Block, ...], replaced: str | None) -> None:
        """Send a prompt; it replaces the turn ``replaced``, if given."""
        ...

    async def take_back(self) -> None:
        """Put the last queued prompt back into the composer."""
        ...

    def attach(self, path: str) -> None:
        """Attach a file to the draft."""
        ...

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Show a toast."""
        ...

    def heard(self, event: AppEvent) -> None:
        """Handle an event that concerns more than the chat screen (an approval, a theme setting)."""
        ...
