"""Services that screens use: run commands, send prompts, attach files, react to settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING

from tui.commands.context import CommandContext, View
from tui.commands.registry import Registry
from tui.domain.blocks import Block
from tui.domain.counting import noun
from tui.domain.errors import ConfigError, ErrorKind, PonderError, ProviderError, UnknownModel, UsageError
from tui.domain.events import AppEvent, ApprovalAsked, CompressionFinished, SettingsChanged, Severity, TurnFailed
from tui.ui.command_screen import command_screen
from tui.ui.format_numbers import tokens
from tui.ui.live_settings import follow_settings
from tui.ui.terminal.notifications import Notifications
from tui.ui.terminal.textual_private import write_to_terminal
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.blocks import Fold
from tui.ui.transcript.build import Showing

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


class AppShell:
    """Implements ``Shell`` on top of the application."""

    def __init__(self, app: PonderApp, keymap: Mapping[str, tuple[str, ...]]) -> None:
        self._app = app
        self._fold = Fold(str(app.services.settings.layers().value("ui.thinking")))
        self._context = CommandContext(services=app.services, screen=command_screen(app), registry=app.registry)
        self.keymap = keymap
        self.attention = Notifications(self._to_terminal)

    @property
    def registry(self) -> Registry:
        return self._app.registry

    def theme_styles(self) -> ThemeStyles:
        """The theme's styles for line-drawn widgets."""
        return self._app.theming.theme_styles(self._app)

    def showing(self) -> Showing:
        """How thinking is shown."""
        shown = bool(self._app.services.settings.layers().value("reasoning.includeInResponse"))
        return Showing(thinking=shown, fold=self._fold)

    def step_thinking_view(self) -> Fold:
        """Switch all thinking to the next of folded, peek and full."""
        self._fold = self._fold.next
        self._app.chat.conversation.show(self.showing())
        return self._fold

    def context(self) -> CommandContext:
        """The context that commands run with."""
        return self._context

    async def run_line(self, line: str) -> bool:
        """Run a slash command and show its errors. False if the line was not a valid command."""
        try:
            await self.registry.run_line(self._context, line)
        except PonderError as error:
            self.say(error.message, Severity.ERROR, error.advice)
            return not isinstance(error, UsageError | UnknownModel | ConfigError)
        return True

    async def run_id(self, command: str) -> None:
        """Run the command with this id."""
        await self.guarded(self.registry.by_id(command).run(self._context, ""))

    async def guarded(self, work: Awaitable[None]) -> None:
        """Await the work and show its errors."""
        try:
            await work
        except PonderError as error:
            self.say(error.message, Severity.ERROR, error.advice)

    @property
    def edited_turn(self) -> str | None:
        """The turn whose prompt is in the composer and which the next prompt replaces."""
        return self._app.chat.edit_mode.replaced

    def edit_again(self, turn_id: str | None) -> None:
        """Resume an edit that could not be sent."""
        self._app.chat.edit_mode.begin(turn_id)

    async def submit(self, blocks: tuple[Block, ...], replaced: str | None) -> None:
        """Send a prompt; it replaces the turn ``replaced``, if given."""
        await self._app.editing.submit(blocks, replaced)

    async def take_back(self) -> None:
        """Put the last queued prompt into the composer."""
        await self._app.editing.take_back()

    def attach(self, path: str) -> None:
        """Attach a file or image as a chip in the composer."""

        async def read_and_insert() -> None:
            block = await asyncio.to_thread(self._app.services.drafts.read_attachment, path)
            composer = self._app.chat.composer
            composer.insert(composer.chips.attach(path.rpartition("/")[2], block) + " ")
            composer.focus()

        self._app.run_worker(self.guarded(read_and_insert()))

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Show a toast."""
        self._app.say(text, severity, advice)

    def _to_terminal(self, sequence: str) -> None:
        write_to_terminal(self._app, sequence)

    def heard(self, event: AppEvent) -> None:
        """Handle an event that concerns more than the chat screen."""
        self._call_back(event)
        match event:
            case ApprovalAsked():
                self._app.call_later(self._app.show_view, View.APPROVAL, event.call_id)
            case SettingsChanged(values):
                if "ui.thinking" in values:
                    self._fold = Fold(str(values["ui.thinking"]))
                if "ui.thinking" in values or "reasoning.includeInResponse" in values:
                    self._app.chat.conversation.show(self.showing())
                follow_settings(self._app, values)
            case CompressionFinished(before, after, error="", summary=summary) if summary:
                self.say(
                    f"Compressed {tokens(before)} → {tokens(after)} {noun(after, 'token')}.",
                    advice="/uncompress takes it back.",
                )
            case TurnFailed(turn, error):
                self._app.editing.restore(turn)
                if isinstance(error, ProviderError) and error.kind is ErrorKind.NO_KEY:
                    self._ask_for_key()
            case _:
                pass

    def _call_back(self, event: AppEvent) -> None:
        view = self._app.chat.view()
        wish = str(self._app.services.settings.layers().value("ui.bell"))
        title = view.title if view is not None else ""
        self.attention.heard(event, wish, title, waiting=view is not None and bool(view.queue))

    def _ask_for_key(self) -> None:
        view = self._app.chat.view()
        if view is not None and self._app.screen is self._app.chat:
            self._app.call_later(self._app.show_view, View.KEY, view.spec.provider)
