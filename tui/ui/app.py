"""The Textual application: connects screens, themes, keys and commands, which are implemented elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.worker import WorkerFailed

from tui.commands.keymap import Keymap
from tui.commands.registry import CommandScope, Registry, View
from tui.domain.errors import UsageError
from tui.domain.events import Severity
from tui.domain.patient_executor import PatientExecutor
from tui.engine.state import Phase
from tui.ui.chat.screen import ChatScreen
from tui.ui.dialogs.open_view import open_view
from tui.ui.dialogs.sheet import Sheet
from tui.ui.global_keys import GlobalKeys, own_driver
from tui.ui.input.editing import Editing, FindSteps
from tui.ui.services import UiServices
from tui.ui.terminal.clipboard import Clipboard
from tui.ui.terminal.cluster_rows import with_whole_rows
from tui.ui.terminal.desktop_programs import Links
from tui.ui.terminal.sixel_rows import with_sixels
from tui.ui.terminal.textual_private import (
    HookedApp,
    add_bindings,
    running_pump,
    set_bindings,
)
from tui.ui.theme.current_theme import CurrentTheme
from tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.screen import Screen

    from tui.app.background_sessions import BackgroundEvent
    from tui.app.services import AppServices
    from tui.ui.terminal.background import BackgroundQuestion
    from tui.ui.terminal.shutdown import Shutdown
    from tui.ui.terminal.stdio_redirect import StdioRedirect


def close_broken_sheet(app: PonderApp, error: Exception) -> bool:
    """Close the sheet that raised the error. False if the error did not come from a sheet."""
    sheet = _sheet_at_work()
    if sheet is None:
        return False
    if isinstance(error, NoMatches) and sheet not in app.screen_stack:
        return True
    cause = error.error if isinstance(error, WorkerFailed) else error
    LOG.error("the sheet %s raised", type(sheet).__name__, exc_info=cause)
    if app.screen is sheet:
        app.pop_screen()
        app.say("This screen failed and was closed.", Severity.ERROR, "The log has details: /doctor shows its path")
    return True


def _sheet_at_work() -> Sheet[object] | None:
    """The sheet whose widget, timer or worker is running now."""
    pump = running_pump()
    nodes = pump.ancestors_with_self if isinstance(pump, DOMNode) else []
    return next((node for node in nodes if isinstance(node, Sheet)), None)


WIDGET_ACTIONS = {"block.fold": "fold_at_cursor"}
"""Commands that are actions of the widget that has the focus."""


def bindings_for(registry: Registry, keymap: Mapping[str, tuple[str, ...]], scope: CommandScope) -> list[Binding]:
    """Bindings of one scope. Keys of the global scope take priority over the focused widget."""
    taken: set[str] = set()
    found: list[Binding] = []
    for command in registry:
        if command.scope is not scope or (command.owned_by_widget and command.id not in WIDGET_ACTIONS):
            continue
        keys = [key for key in keymap.get(command.id, ()) if key not in taken]
        taken.update(keys)
        found.extend(
            Binding(
                key,
                WIDGET_ACTIONS.get(command.id, f"app.command('{command.id}')"),
                command.title,
                show=False,
                priority=scope is not CommandScope.TRANSCRIPT,
                id=f"{command.id}:{key}",
            )
            for key in keys
        )
    return found


LOG = logging.getLogger(__name__)


class PonderApp(HookedApp[int]):
    """The Textual application of ``ponder``."""

    CSS_PATH: ClassVar = ["styles/chat.tcss", "styles/sidebar.tcss", "styles/toasts.tcss"]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "ponder"

    def __init__(self, services: AppServices, registry: Registry, keymap: Keymap, theming: CurrentTheme) -> None:
        self.theming = theming
        # Set before Textual starts, because it decides from this how to remove colours.
        super().__init__(driver_class=own_driver(), ansi_color=theming.starts_ansi or None)
        self.services = services
        self.registry = registry
        self.keymap: Mapping[str, tuple[str, ...]] = keymap.keys
        self.ui_services = UiServices(self, self.keymap)
        self.copying = Clipboard(self)
        self.editing = Editing(self)
        self.finding = FindSteps(self)
        self.global_keys = GlobalKeys(self)
        self.links = Links(self)
        self.shutdown: Shutdown | None = None
        self.question: BackgroundQuestion | None = None
        self.stdio_redirect: StdioRedirect | None = None
        self.stopped_by: Exception | None = None
        theming.install(self)
        set_bindings(
            self,
            [
                *bindings_for(registry, self.keymap, CommandScope.ANYWHERE),
                *self.global_keys.bindings(),
            ],
        )
        self.chat = ChatScreen(services, self.ui_services)
        add_bindings(self.chat.composer, bindings_for(registry, self.keymap, CommandScope.COMPOSER))
        add_bindings(
            self.chat.transcript,
            [
                *bindings_for(registry, self.keymap, CommandScope.TRANSCRIPT),
                Binding("n", "app.step_find(1)", "next found", show=False),
                Binding("N", "app.step_find(-1)", "previous found", show=False),
                Binding("x", "app.remove_queued", "remove the last queued prompt", show=False),
            ],
        )

    def get_default_screen(self) -> ChatScreen:
        return self.chat

    def on_mount(self) -> None:
        """Start the handling of global keys and signals."""
        asyncio.get_running_loop().set_default_executor(PatientExecutor())
        self.global_keys.begin(self.shutdown, self.stdio_redirect)
        self.watch(self, "app_focus", lambda here: self.ui_services.notifications.focus_changed(here=here), init=False)
        self.theming.watch(self)
        self.services.sessions.listen(self._heard_elsewhere)
        self.ui_services.diagrams.begin()
        self.services.mcp.follow(lambda: self._later(self.ui_services.use_mcp_prompts))
        self.ui_services.use_mcp_prompts()
        self.services.mcp.follow_forms(lambda: self._later(self.ui_services.show_forms))

    def on_unmount(self) -> None:
        """Hear no more of sessions in the background, and decode nothing more."""
        self.services.sessions.listen(None)
        self.services.mcp.follow(None)
        self.services.mcp.follow_forms(None)
        self.ui_services.pictures.close()
        self.ui_services.diagrams.end()

    def _heard_elsewhere(self, news: BackgroundEvent) -> None:
        self._later(self.ui_services.heard_elsewhere, news)

    def _later(self, work: Callable[..., None], *arguments: object) -> None:
        """Do something as the application, which a callback of the event loop is not."""
        with contextlib.suppress(RuntimeError):  # the screen has just ended
            self.call_later(work, *arguments)

    def leave(self) -> None:
        """Quit; asks once if something runs."""
        working = self.services.sessions.working()
        if not working or self.is_asking_to_quit:
            self.exit(return_code=0)
            return
        from tui.ui.dialogs.quit import Quit

        def answered(answer: str | None) -> None:
            if answer is not None:
                self.exit(return_code=0)

        self.ui_services.toasts.drop()
        self.push_screen(Quit(working), answered)

    @property
    def is_asking_to_quit(self) -> bool:
        """Whether the question is shown whether to quit."""
        return bool(self.screen.has_class("-quit"))

    # Actions bound to keys

    async def action_command(self, command: str) -> None:
        """Run the command with this id."""
        await self.ui_services.run_id(command)

    async def action_escape(self) -> None:
        """Go back one step."""
        await self.global_keys.escape()

    async def action_interrupt(self) -> None:
        """Copy, stop, clear or quit, whichever applies first."""
        await self.global_keys.interrupt()

    def action_sleep(self) -> None:
        """Suspend to the shell; ``fg`` resumes."""
        self.global_keys.sleep()

    async def action_remove_queued(self) -> None:
        """Remove the last queued prompt."""
        await self.ui_services.remove_queued()

    async def action_step_find(self, step: int) -> None:
        """Go to the next or previous match of the last search; while a retry is awaited, n sends it now."""
        if step > 0 and self.chat.status.status.phase is Phase.RETRYING:
            await self.ui_services.retry_now()
        else:
            self.finding.step(step)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands while a sheet is open, because it has its own keys; shift+tab follows `ui.levelKey`."""
        if action == "command" and parameters[:1] == ("thinking.next",):
            return self.screen is self.chat and bool(self.services.settings.layers().value("ui.levelKey"))
        if action == "command" and parameters[:1] == ("composer.history",) and self.chat.composer.has_normal_keys:
            return False  # ctrl+r makes a change again
        if action == "command" and self.screen is not self.chat:
            over = self.screen.OPENS_OVER if isinstance(self.screen, Sheet) else frozenset()
            return bool(parameters) and parameters[0] in {"program.quit", *over}
        return True

    # Services for screens

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Show a toast."""
        self.ui_services.toasts.say(text, severity, advice)

    async def show_view(self, view: View, argument: str) -> None:
        self.ui_services.toasts.drop()
        await open_view(self, view, argument)

    def choose_theme(self, name: str) -> None:
        """Switch to a theme and store the choice."""
        if name not in ("auto", *self.theming.names()):
            raise UsageError(f"There is no theme `{name}`.")
        self.theming.choose(self, name)
        self.chat.transcript.recolour(self.ui_services.theme_styles())

    @on(Transcript.BranchClicked)
    async def _branch_clicked(self, event: Transcript.BranchClicked) -> None:
        await self.ui_services.run_id("chat.branch" if event.step > 0 else "chat.previous_branch")

    @on(Transcript.RetryClicked)
    async def _retry_clicked(self, event: Transcript.RetryClicked) -> None:
        await (self.ui_services.retry_now() if event.now else self.ui_services.run_id("chat.stop"))

    @on(Transcript.LinkClicked)
    def _link_clicked(self, event: Transcript.LinkClicked) -> None:
        self.links.clicked(event.href)

    @on(Transcript.CodeClicked)
    def _code_clicked(self, event: Transcript.CodeClicked) -> None:
        self.copying.code(event.code)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by the best available way; Textual uses only the terminal's."""
        self.copying.selection(text)

    def before_painting(self, screen: Screen[object], update: RenderableType | None) -> RenderableType | None:
        """Change rows with wide characters so that they do not shift their neighbours, and draw sixels over others."""
        if isinstance(screen, Sheet) and screen.is_fitting:
            return None
        shown, pictures = with_whole_rows(screen, update), self.ui_services.pictures
        if pictures.has_sixels:
            shown = with_sixels(shown, pictures.sixels_of, self.size.height)
        return cast("RenderableType | None", shown)

    def handle_error(self, error: Exception) -> bool:
        """Close a sheet that raises; any other error ends the program in order."""
        return close_broken_sheet(self, error)

    def log_fatal_error(self, error: Exception | None) -> None:
        """Log the error without local values, which a traceback of Textual would contain."""
        self.stopped_by = error
        LOG.error("the screen stopped", exc_info=error)

    def get_css_variables(self) -> dict[str, str]:
        """Variables of the theme, and ``quiet`` for texts: muted, and dim where muted text has no colour of its own."""
        variables = super().get_css_variables()
        muted = variables["muted-text"]
        variables["quiet"] = f"{muted} dim" if muted == variables["answer-text"] else muted
        return variables

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Defaults for our variables, for themes that lack them."""
        return self.theming.defaults()
