"""What screens ask of the application around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tui.commands.context import CommandContext
from tui.commands.registry import Registry
from tui.domain.blocks import Block
from tui.domain.events import AppEvent, Severity
from tui.ui.transcript.build import Showing
from tui.ui.transcript.ink import Ink


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

    def ink(self) -> Ink:
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

    async def submit(self, blocks: tuple[Block, ...]) -> None:
        """Send a prompt, or the edit of one."""
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
