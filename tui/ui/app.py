"""The application: puts screens, themes, keys and commands together. What things do is said elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import App
from textual.binding import BindingsMap

from tui.commands.context import CommandContext, Desk, View
from tui.commands.keymap import Keymap
from tui.commands.registry import Place, Registry
from tui.domain.blocks import Block
from tui.domain.errors import PonderError, UsageError
from tui.domain.events import AppEvent, ApprovalAsked, SettingsChanged, Severity
from tui.ui.binding import bindings_for
from tui.ui.copying import Copying
from tui.ui.editing import Editing
from tui.ui.manners import Manners
from tui.ui.screen_port import AppScreen
from tui.ui.screens.chat import ChatScreen
from tui.ui.screens.views import open_view
from tui.ui.theming import Theming
from tui.ui.transcript.blocks import Fold
from tui.ui.transcript.build import Showing
from tui.ui.transcript.ink import Ink


class PonderApp(App[int]):
    """``ponder`` on the screen."""

    CSS_PATH: ClassVar = ["styles/chat.tcss", "styles/sidebar.tcss", "styles/dialogs.tcss"]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "ponder"

    def __init__(self, desk: Desk, registry: Registry, keymap: Keymap, theming: Theming) -> None:
        self.theming = theming
        super().__init__()
        self.desk = desk
        self.registry = registry
        self.keymap: Mapping[str, tuple[str, ...]] = keymap.keys
        self.copying = Copying(self)
        self.editing = Editing(self)
        self.manners = Manners(self)
        self._fold = Fold(str(desk.settings.layers().value("ui.thinking")))
        self._command_context = CommandContext(desk=desk, screen=AppScreen(self), registry=registry)
        theming.install(self)
        self._bindings = BindingsMap(
            [
                *bindings_for(registry, self.keymap, Place.ANYWHERE),
                *self.manners.bindings(),
            ]
        )
        self.chat = ChatScreen(desk, self)
        self.chat.composer._bindings.key_to_bindings.update(
            BindingsMap(bindings_for(registry, self.keymap, Place.COMPOSER)).key_to_bindings
        )
        self.chat.transcript._bindings.key_to_bindings.update(
            BindingsMap(bindings_for(registry, self.keymap, Place.TRANSCRIPT)).key_to_bindings
        )

    def get_default_screen(self) -> ChatScreen:
        """The chat is where one begins."""
        return self.chat

    def on_mount(self) -> None:
        """Terminal manners."""
        self.manners.begin()
        self.theming.watch(self)

    # Commands

    def context(self) -> CommandContext:
        """What commands touch."""
        return self._command_context

    async def action_command(self, command: str) -> None:
        """Run a command of the table."""
        await self.run_id(command)

    async def action_escape(self) -> None:
        """One step back."""
        await self.manners.escape()

    async def action_interrupt(self) -> None:
        """Copy, stop, clear or quit."""
        await self.manners.interrupt()

    def action_end_of_input(self) -> None:
        """Quit from an empty composer."""
        if not self.chat.composer.text:
            self.exit(return_code=0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Commands rest while a sheet is open; the sheet has its own keys."""
        if action == "command" and self.screen is not self.chat:
            return bool(parameters) and parameters[0] in ("program.quit",)
        return True

    async def run_id(self, command: str) -> None:
        """Run a command without words."""
        await self._guarded(self.registry.by_id(command).run(self._command_context, ""))

    async def run_line(self, line: str) -> None:
        """Run a typed command."""
        await self._guarded(self.registry.run_line(self._command_context, line))

    async def _guarded(self, work: object) -> None:
        try:
            await work  # type: ignore[misc]  # a coroutine of ours
        except PonderError as error:
            self.say(error.message, Severity.ERROR, error.advice)

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """A toast."""
        level = {Severity.INFO: "information", Severity.WARNING: "warning", Severity.ERROR: "error"}[severity]
        words = f"{text}\n{advice}" if advice else text
        self.notify(words, severity=level, markup=False, timeout=8 if severity is Severity.ERROR else 4)  # type: ignore[arg-type]  # one of three

    # For screens

    def ink(self) -> Ink:
        """The theme's colours."""
        return self.theming.ink(self)

    def showing(self) -> Showing:
        """How thinking is shown."""
        return Showing(thinking=bool(self.desk.settings.layers().value("reasoning.includeInResponse")), fold=self._fold)

    def step_thinking_view(self) -> Fold:
        """The next of folded, peek, full, for all."""
        self._fold = self._fold.next
        self.chat.conversation.show(self.showing())
        return self._fold

    async def submit(self, blocks: tuple[Block, ...]) -> None:
        """Send a prompt, or the edit of one."""
        await self.editing.submit(blocks)

    def begin_edit(self, turn_id: str, blocks: tuple[Block, ...]) -> None:
        """The next send replaces this turn."""
        self.editing.begin(turn_id, blocks)

    def attach(self, path: str) -> None:
        """A file or image as a chip in the composer."""
        try:
            block = self.desk.drafts.read_attachment(path)
        except PonderError as error:
            self.say(error.message, Severity.ERROR, error.advice)
            return
        composer = self.chat.composer
        composer.insert(composer.chips.attach(path.rpartition("/")[2], block) + " ")
        composer.focus()

    async def edit_in_editor(self) -> None:
        """The draft in $EDITOR."""
        await self.editing.in_editor()

    async def show_view(self, view: View, argument: str) -> None:
        """Open a screen."""
        await open_view(self, view, argument)

    def heard(self, event: AppEvent) -> None:
        """What concerns more than the chat screen."""
        match event:
            case ApprovalAsked():
                self.call_later(self.show_view, View.TOOLS, f"approve {event.call_id}")
            case SettingsChanged(values):
                if "ui.theme" in values:
                    self.theming.choose(self, str(values["ui.theme"]))
                if "reasoning.includeInResponse" in values:
                    self.chat.conversation.show(self.showing())
            case _:
                pass

    # Themes

    def theme_names(self) -> Sequence[str]:
        """All themes by name."""
        return self.theming.names()

    def choose_theme(self, name: str) -> None:
        """Switch."""
        if name not in ("auto", *self.theming.names()):
            raise UsageError(f"There is no theme `{name}`.")
        self.theming.choose(self, name)
        self.chat.transcript.recolour(self.ink())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our variables for themes that lack them."""
        return self.theming.defaults()
