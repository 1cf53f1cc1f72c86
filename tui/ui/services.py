"""What screens ask of the application around them."""

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
    """The application, as seen from a screen."""

    @property
    def registry(self) -> Registry:
        """The command table."""
        ...

    @property
    def keymap(self) -> Mapping[str, tuple[str, ...]]:
        """Keys in force, by command."""
        ...

    def ink(self) -> ThemeStyles:
        """The theme's colours for line-drawn widgets."""
        ...

    def showing(self) -> Showing:
        """How thinking is shown."""
        ...

    def context(self) -> CommandContext:
        """What commands touch."""
        ...

    async def run_line(self, line: str) -> bool:
        """Run a slash command; what is wrong with it is said. False where it was not typed right."""
        ...

    async def run_id(self, command: str) -> None:
        """Run a command of the table."""
        ...

    @property
    def edited_turn(self) -> str | None:
        """The turn whose prompt is in the composer, to be replaced by what is sent."""
        ...

    def edit_again(self, turn_id: str | None) -> None:
        """Go on with an edit that could not be sent."""
        ...

    async def submit(self, blocks: tuple[Block, ...], replaced: str | None) -> None:
        """Send a prompt; it takes the place of the turn ``replaced``."""
        ...

    async def take_back(self) -> None:
        """Put the last queued prompt back into the composer."""
        ...

    def attach(self, path: str) -> None:
        """Attach a file to the draft."""
        ...

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """A sentence that goes away by itself."""
        ...

    def heard(self, event: AppEvent) -> None:
        """Something happened that concerns more than the screen (an approval, a theme setting)."""
        ...
