"""Services that screens use: run commands, send prompts, attach files, react to settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual import constants

from tui.commands.builtin import registry as builtins
from tui.commands.builtin.chat import CLIPBOARD
from tui.commands.builtin.mcp_prompts import MCP_PROMPT, mcp_prompt_commands
from tui.commands.builtin.project import PROMPT, template_commands
from tui.commands.keymap import key_words
from tui.commands.registry import CommandContext, Registry, Screen, ScrollStep, View
from tui.domain.blocks import Block
from tui.domain.errors import NO_LOGIN, ConfigError, ErrorKind, PonderError, ProviderError, UnknownModel, UsageError
from tui.domain.events import (
    AppEvent,
    ApprovalAsked,
    CompressionFinished,
    Notice,
    SettingsChanged,
    Severity,
    TurnFailed,
    TurnFinished,
)
from tui.domain.format_numbers import noun, tokens
from tui.domain.printable import one_line
from tui.settings.schema import nearest
from tui.ui.chat.toasts import Toasts
from tui.ui.diagram_updates import DiagramUpdates
from tui.ui.input.shell_commands import ShellCommands
from tui.ui.pictures.pictures import Pictures
from tui.ui.terminal.notifications import Notifications
from tui.ui.terminal.textual_private import write_to_terminal
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.blocks import Fold
from tui.ui.transcript.build_sections import DisplayOptions
from tui.ui.transcript.code_display import shift_code, toggle_source
from tui.ui.transcript.stops import jump
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.app.background_sessions import BackgroundEvent
    from tui.app.prompt_templates import PromptTemplates
    from tui.ui.app import PonderApp


class UiServices:
    """What screens use of the application."""

    def __init__(self, app: PonderApp, keymap: Mapping[str, tuple[str, ...]]) -> None:
        self._app = app
        self._fold = Fold(str(app.services.settings.layers().value("ui.thinking")))
        self._context = CommandContext(services=app.services, screen=command_screen(app), registry=app.registry)
        self.keymap = keymap
        self.toasts = Toasts(app)
        self.notifications = Notifications(self._to_terminal)
        self.pictures = Pictures(app)
        self.diagrams = DiagramUpdates(app)
        self.shell = ShellCommands(app)
        self.recent_commands: list[str] = []
        """Ids of the commands chosen in the palette since the start, newest first."""

    @property
    def registry(self) -> Registry:
        return self._app.registry

    def theme_styles(self) -> ThemeStyles:
        """The theme's styles for line-drawn widgets."""
        return self._app.theming.theme_styles(self._app)

    def display_options(self) -> DisplayOptions:
        """How thinking and pictures are shown."""
        layers = self._app.services.settings.layers()
        shown = bool(layers.value("reasoning.includeInResponse"))
        still = bool(layers.value("ui.plain")) or not layers.value("ui.motion")
        return DisplayOptions(thinking=shown, fold=self._fold, pictures=self.pictures, still=still)

    def step_thinking_view(self) -> Fold:
        """Switch all thinking to the next of folded, peek and full."""
        self._fold = self._fold.next
        self._app.chat.conversation.show(self.display_options())
        return self._fold

    async def reread_prompts(self) -> None:
        """Read the prompt templates; from now on they are commands."""
        self.use_prompts(await asyncio.to_thread(self._app.services.project.read_templates, builtins().slash_words))

    def use_prompts(self, templates: PromptTemplates) -> None:
        """Make commands of the templates, in place of earlier ones."""
        registry = self.registry.with_commands(PROMPT, template_commands(templates))
        self._app.registry = registry
        self._context = replace(self._context, registry=registry)

    def use_mcp_prompts(self) -> None:
        """Make commands of the prompts that MCP servers list now. Other commands keep their words."""
        prompts = self._app.services.mcp.prompts()
        others = {command.slash for command in self.registry if not command.id.startswith(MCP_PROMPT)}
        registry = self.registry.with_commands(MCP_PROMPT, mcp_prompt_commands(prompts, others))
        self._app.registry = registry
        self._context = replace(self._context, registry=registry)

    def show_forms(self) -> None:
        """Show the form that an MCP server waits for; close one that no longer waits."""
        from tui.ui.dialogs.server_form import ServerForm

        shown = [screen for screen in self._app.screen_stack if isinstance(screen, ServerForm)]
        for sheet in shown:
            sheet.look()
        forms = self._app.services.mcp.forms()
        if forms and not shown:
            self._app.push_screen(ServerForm(forms[0]), lambda _: self.show_forms())

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
        await self.run_showing_errors(lambda: self.registry.by_id(command).run(self._context, ""))

    async def run_showing_errors(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work and show its errors."""
        try:
            await work()
        except PonderError as error:
            self.say(error.message, Severity.ERROR, error.advice)

    @property
    def edited_turn(self) -> str | None:
        """The turn whose prompt is in the composer and which the next prompt replaces."""
        return self._app.chat.edit_mode.replaced

    def edit_again(self, turn_id: str | None) -> None:
        """Resume an edit that could not be sent."""
        self._app.chat.edit_mode.begin(turn_id)

    async def submit(self, blocks: tuple[Block, ...], replaced: str | None, *, after_step: bool = False) -> None:
        """Send a prompt; it replaces the turn ``replaced``, if given."""
        await self._app.editing.submit(blocks, replaced, after_step=after_step)

    async def retry_now(self) -> None:
        """Do not wait before a retry. The draft stays a draft."""
        await self._app.services.chat.end_wait(now=True)

    async def agree_to_wait(self) -> None:
        """Accept the long wait before a retry."""
        self._app.chat.conversation.waiting_lines.agree()
        await self._app.services.chat.end_wait(now=False)

    async def remove_queued(self, prompt: str = "") -> None:
        """Remove the last queued prompt, or this one."""
        await self._app.editing.remove_queued(prompt)

    async def take_last_queued(self) -> None:
        """Put the last queued prompt into the composer."""
        await self._app.editing.take_last_queued()

    def attach(self, path: str) -> None:
        """Attach a file, the files of a folder or pattern, or a resource of an MCP server, as chips in the composer."""
        servers, drafts = self._app.services.mcp, self._app.services.drafts

        async def read_and_insert() -> None:
            found: tuple[tuple[str, Block], ...]
            left_out = ""
            if path == CLIPBOARD:
                found = await drafts.read_clipboard()
            elif servers.is_resource(path):
                found = await servers.resource(path)
            else:
                read = await asyncio.to_thread(drafts.read_attachments, path)
                found, left_out = read.blocks, read.left_out
            composer = self._app.chat.composer
            composer.insert("".join(composer.chips.attach(name, block) + " " for name, block in found))
            composer.focus()
            if left_out:
                self.say(left_out)

        start_work(self._app, lambda: self.run_showing_errors(read_and_insert))

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Show a toast."""
        self._app.say(text, severity, advice)

    def _to_terminal(self, sequence: str) -> None:
        write_to_terminal(self._app, sequence)

    def handle_event(self, event: AppEvent) -> None:
        """Handle an event that concerns more than the chat screen."""
        self._notify(event)
        match event:
            case ApprovalAsked():
                self.ask(event)
            case SettingsChanged(values):
                if "ui.thinking" in values:
                    self._fold = Fold(str(values["ui.thinking"]))
                if "ui.thinking" in values or "reasoning.includeInResponse" in values:
                    self._app.chat.conversation.show(self.display_options())
                follow_settings(self._app, values)
            case Notice():
                self.toasts.say_beside_conversation(event)
            case CompressionFinished():
                self.toasts.drop()  # that it compresses is no longer true
                if event.error or event.summary:
                    self.toasts.say_beside_conversation(_compression_notice(event))
            case TurnFailed(turn, error):
                self._app.editing.restore(turn)
                if isinstance(error, ProviderError) and error.kind is ErrorKind.NO_KEY and error.code != NO_LOGIN:
                    self._ask_for_key()
            case _:
                pass

    def ask(self, asked: ApprovalAsked) -> None:
        """Show a question of the session on the screen."""
        self._app.call_later(self._app.show_view, View.APPROVAL, asked.call_id)

    def _notify(self, event: AppEvent) -> None:
        view = self._app.chat.view()
        setting = str(self._app.services.settings.layers().value("ui.bell"))
        title = view.title if view is not None and not self._app.services.sessions.private else ""
        self.notifications.notify(event, setting, title, waiting=view is not None and bool(view.queue))

    def heard_elsewhere(self, news: BackgroundEvent) -> None:
        """Handle what happened in a session that is not on the screen."""
        self._app.chat.show_elsewhere()
        row, event = news.session, news.event
        if event is None or row.id == self._app.services.chat.session_id:
            return
        setting = str(self._app.services.settings.layers().value("ui.bell"))
        self.notifications.notify(event, setting, "" if row.private else row.title, waiting=bool(row.queued))
        if isinstance(event, TurnFinished | TurnFailed) and row.queued:
            return  # its next prompt is sent now
        if isinstance(event, ApprovalAsked) and self._app.screen is self._app.chat:
            return  # the line above the composer says it, and a message would cover the line
        words, severity = _news_words(event)
        if words:
            self.say(f"“{one_line(row.title, 40)}” {words}", severity, f"{self.key_of_next_session()} opens it.")

    def key_of_next_session(self) -> str:
        """The key or the command that goes to the session that needs the user most."""
        keys = self.keymap.get("session.next")
        return key_words(keys[0]) if keys else "/next"

    def key_of_answer_now(self) -> str:
        """The key or the command that skips the wait before a retry."""
        keys = self.keymap.get("chat.answer_now")
        return key_words(keys[0]) if keys else "/now"

    def _ask_for_key(self) -> None:
        view = self._app.chat.view()
        if view is not None and self._app.screen is self._app.chat:
            self._app.call_later(self._app.show_view, View.KEY, view.spec.provider)


def _compression_notice(event: CompressionFinished) -> Notice:
    """What the conversation says of it."""
    if event.error:
        return Notice(Severity.WARNING, f"Not compressed: {event.error}")
    sizes = f"{tokens(event.before)} → {tokens(event.after)} {noun(event.after, 'token')}"
    return Notice(Severity.INFO, f"Compressed {sizes}.", "Undo with /uncompress.")


def _news_words(event: AppEvent) -> tuple[str, Severity]:
    """What to say of an event of another session; "" if nothing."""
    match event:
        case ApprovalAsked(tool=tool, answers=answers):
            return "asks about a spending limit" if answers else f"asks whether {tool} may run", Severity.WARNING
        case TurnFinished(cancelled=False):
            return "has answered", Severity.INFO
        case TurnFailed(_, error):
            return f"could not answer: {error.message}", Severity.WARNING
        case _:
            return "", Severity.INFO


def command_screen(app: PonderApp) -> Screen:
    """The functions for commands. The parts of the application are looked up when a command runs: some exist later."""
    parts = ScreenParts(app)

    def move_cursor(step: int) -> None:
        had_focus = app.chat.focused is app.chat.transcript
        app.chat.set_focus(app.chat.transcript)  # at once: more keys may be on their way
        if had_focus:
            app.chat.transcript.move_cursor(step)
        else:
            app.chat.transcript.place_cursor()

    return Screen(
        toast=app.say,
        open=app.show_view,
        theme_names=app.theming.names,
        use_theme=parts.use_theme,
        toggle_sidebar=parts.toggle_sidebar,
        step_thinking_view=lambda: app.ui_services.step_thinking_view().value,
        copy=lambda what: app.copying.copy(what),
        draft=parts.draft,
        put_draft=parts.put_draft,
        attach=lambda path: app.ui_services.attach(path),
        edit_in_editor=lambda: app.editing.in_editor(),
        chosen_turn=parts.chosen_turn,
        edit_turn=parts.edit_turn,
        scroll=parts.scroll,
        move_cursor=move_cursor,
        jump=lambda place: jump(app.chat.transcript, place),
        shift_code=lambda columns: shift_code(app.chat.transcript, columns),
        reread_prompts=lambda: app.ui_services.reread_prompts(),
        start=parts.start,
        toggle_source=lambda: toggle_source(app.chat.transcript),
        session_changed=lambda: app.chat.open(),
        show_turn=parts.show_turn,
        quit=lambda: app.leave(),
        run_shell=lambda command, untrusted: app.ui_services.shell.run(command, untrusted=untrusted),
    )


class ScreenParts:
    """The operations that concern several parts of the application."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do work beside the screen and show its errors."""
        start_work(self._app, lambda: self._app.ui_services.run_showing_errors(work))

    def use_theme(self, name: str) -> None:
        """Switch to a theme, or list the valid names."""
        theming = self._app.theming
        names = theming.names()
        if name != "auto" and name not in names:
            if name in ("light", "dark"):
                alike = [one for one in names if theming.file(one).theme.dark == (name == "dark")]
                advice = f"These are {name}: {', '.join(alike)}."
            elif near := nearest(name, list(names)):
                advice = f"Did you mean {', '.join(near)}?"
            else:
                advice = f"There are auto, {', '.join(names)}."
            raise UsageError(f"There is no theme `{name}`.", advice=advice)
        self._app.choose_theme(name)

    def toggle_sidebar(self) -> str:
        """Toggle the sidebar; returns the new setting, ``auto`` if that gives the same result at this width."""
        chat = self._app.chat
        shown = not chat.sidebar.display
        chat.sidebar_setting = "auto"
        chat.place_sidebar(chat.size.width)
        if chat.sidebar.display != shown:
            chat.sidebar_setting = "narrow" if shown else "off"
            chat.place_sidebar(chat.size.width)
        return chat.sidebar_setting

    def draft(self) -> str:
        """The draft, with pasted text written out."""
        composer = self._app.chat.composer
        return composer.chips.written_out(composer.text)

    def put_draft(self, text: str) -> None:
        """Replace the draft."""
        self._app.chat.composer.put(text)
        self._app.chat.composer.focus()

    def chosen_turn(self) -> str | None:
        """The turn under the cursor, else the last finished one."""
        view = self._app.chat.view()
        if view is None or not view.turns:
            return None
        cursor = self._app.chat.transcript.cursor
        if cursor is not None and self._app.chat.focused is self._app.chat.transcript:
            for turn in view.turns:
                if any(message.id == cursor[0].key for message in turn.messages):
                    return turn.id
        return view.turns[-1].id

    def show_turn(self, turn_id: str) -> None:
        """Draw the open session, with the cursor on a turn."""
        self._app.chat.when_shown = lambda: self._app.chat.put_cursor_on(turn_id)
        self._app.chat.open()

    def edit_turn(self, turn_id: str) -> None:
        """Put the turn's prompt into the composer; the next send replaces the turn."""
        view = self._app.chat.view()
        turn = next((turn for turn in view.turns if turn.id == turn_id), None) if view is not None else None
        if turn is None:
            raise UsageError("That turn no longer exists.")
        self._app.editing.begin(turn_id, turn.user_blocks)

    def scroll(self, step: ScrollStep) -> None:
        transcript = self._app.chat.transcript
        half = max(1, transcript.size.height // 2)
        moves: dict[str, Callable[[], None]] = {
            "page_up": lambda: transcript.scroll_page_up(animate=False),
            "page_down": lambda: transcript.scroll_page_down(animate=False),
            "half_up": lambda: transcript.scroll_relative(y=-half, animate=False),
            "half_down": lambda: transcript.scroll_relative(y=half, animate=False),
            "up": lambda: transcript.scroll_up(animate=False),
            "down": lambda: transcript.scroll_down(animate=False),
            "home": lambda: transcript.scroll_home(animate=False),
            "end": transcript.follow,
        }
        moves[step]()


def follow_settings(app: PonderApp, values: Mapping[str, object]) -> None:
    """Apply the settings that are not read at each use."""
    if "favourites" in values:
        app.chat.sidebar.refresh_models()
    if "ui.theme" in values:
        _apply_theme(app, str(values["ui.theme"]))
    if "ui.plain" in values or "ui.motion" in values:
        apply_motion_setting(app)
    if "ui.plain" in values:
        app.chat.set_plain()
        app.chat.transcript.recolour(app.ui_services.theme_styles())
        app.chat.sidebar.redraw()
    if "ui.images" in values or "ui.plain" in values:
        app.ui_services.pictures.follow_settings()
    if "ui.vim" in values:
        app.chat.set_vim()
    if "ui.sidebar" in values:
        app.chat.sidebar_setting = str(values["ui.sidebar"])
    if "ui.sidebar" in values or "ui.plain" in values:
        app.chat.place_sidebar(app.chat.size.width)


def apply_motion_setting(app: PonderApp) -> None:
    """Stop all animation if a setting or a screen reader requires it."""
    layers = app.services.settings.layers()
    still = bool(layers.value("ui.plain")) or not layers.value("ui.motion")
    app.animation_level = "none" if still else constants.TEXTUAL_ANIMATIONS
    app.chat.composer.blink(on=not still)
    app.chat.status.still = still


def _apply_theme(app: PonderApp, name: str) -> None:
    """Switch to the theme named in a setting, if it exists."""
    try:
        app.ui_services.context().screen.use_theme(name)
    except PonderError as error:
        app.say(error.message, Severity.ERROR, error.advice)
