"""The program line by line: takes the user's lines, runs commands, and shuts down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.domain.blocks import TextBlock
from tui.domain.command_lines import command_of, console_block, plain_output
from tui.domain.errors import NO_LOGIN, ErrorKind, PonderError, ProviderError
from tui.domain.events import AppEvent, ApprovalAsked, RetryScheduled, Severity, TurnFailed, TurnFinished, TurnStarted
from tui.domain.format_numbers import count
from tui.domain.messages import Role, Turn
from tui.domain.printable import one_line
from tui.linear.approvals import Approvals
from tui.linear.conversation import Conversation
from tui.linear.line_reader import TypedText
from tui.linear.prompt_draft import PromptDraft
from tui.linear.prompt_writer import AFTER_S, PromptWriter
from tui.linear.questions import Choice, Questions
from tui.linear.start import Startup
from tui.linear.typed_input import TypedInput
from tui.linear.work_queue import WorkQueue

if TYPE_CHECKING:
    from tui.app.background_sessions import BackgroundEvent
    from tui.app.services import AppServices
    from tui.commands.registry import CommandContext, Registry
    from tui.linear.line_reader import LineReader
    from tui.linear.line_writer import LineWriter

TICK_S = 1.0
MOST_RUNNING = 8
PIPE_CLOSED = 141
"""The exit code that shells report for a program whose reader closed the pipe."""

OnTyped = Callable[[TypedText | None], None]


class LinearApp:
    """One run of the program."""

    def __init__(
        self,
        services: AppServices,
        out: LineWriter,
        make_reader: Callable[[OnTyped], LineReader],
        make_commands: Callable[[], Registry],
        copy_text: Callable[[str], str],
    ) -> None:
        """``make_commands`` is called with the first command; ``copy_text`` returns how a text was copied."""
        self.services = services
        self.out = out
        self.copy_text = copy_text
        self.typed_input = TypedInput(self)
        self.typed = make_reader(self.typed_input.take_from_thread)
        self.questions = Questions(out, self.typed, self.typed_input.take)
        self.conversation = Conversation(services, out, self._heard, self._opened)
        self.draft = PromptDraft(services.drafts)
        out.went = self._output_ended
        out.prompt_lost = lambda: self.prompt_writer.later()
        self.approvals = Approvals(services, out, self.questions, lambda: self.conversation.view().approvals)
        self._make_commands = make_commands
        self._context: CommandContext | None = None
        self._start = Startup(self, make_commands)
        self.work = WorkQueue(self._failed, lambda: self.prompt_writer.soon())
        self.prompt_writer = PromptWriter(self)
        self.deleted: list[str] = []
        """Sessions that were deleted from the list, the last one last."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Future[int] | None = None

    async def run(self) -> int:
        """Run until the user quits; returns the exit code."""
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.create_future()
        self.services.sessions.listen(self._heard_elsewhere)
        self.services.mcp.follow_forms(self._form_asked)
        self.typed.start()
        try:
            async with asyncio.TaskGroup() as tasks:
                parts = (self._follow(), self.approvals.run(), self.work.run(), self._tick(), self._start.get_ready())
                running = [tasks.create_task(part) for part in parts]
                try:
                    return await self._end
                finally:
                    for task in running:
                        task.cancel()
        finally:
            self.services.sessions.listen(None)
            self.services.mcp.follow_forms(None)
            self.draft.keep(self.typed.unfinished() if self.typed.is_terminal else "")

    @property
    def is_ending(self) -> bool:
        return self._end is None or self._end.done()

    def end(self, code: int) -> None:
        """End the program; from its own loop."""
        if self._end is not None and not self._end.done():
            self._end.set_result(code)

    def end_from_thread(self, code: int) -> None:
        """The same from any thread."""
        self.call_from_thread(lambda: self.end(code))

    def interrupt_from_thread(self) -> None:
        """Ctrl+c, from a signal handler."""
        self.call_from_thread(self.typed_input.interrupt)

    def call_from_thread(self, function: Callable[[], None]) -> None:
        """Call a function in the program's own loop."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(function)

    # What runs

    async def _follow(self) -> None:
        self.draft.enter(self.services.chat.session_id)
        self._start.say_problems()
        if self.draft.kept:
            self.say_draft()
        self.prompt_writer.soon()
        await self.conversation.follow()

    def _failed(self, error: PonderError) -> None:
        self.conversation.say(error.message, Severity.ERROR, error.advice)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.conversation.still()

    # What is entered

    async def do_entered(self, text: str) -> None:
        """Run a command, or send a prompt."""
        if text.startswith("/"):
            from tui.commands.registry import is_command  # with the first command

            if is_command(text):
                context = self.context()
                await context.registry.run_line(context, text)
                return
        elif (command := command_of(text)) is not None:
            await self._shell_line(command)
            return
        await self.submit(text)

    async def submit(self, text: str) -> None:
        """Send a prompt, or queue it; it replaces the turn that is edited."""
        draft, chat = self.draft, self.services.chat
        blocks = draft.blocks(text)
        replaced = draft.edited or (draft.kept_for if text == draft.kept else None)
        was_busy = self.conversation.is_busy
        self.conversation.chosen_turn = None
        self.prompt_writer.is_sending = not was_busy
        try:
            if replaced is not None and any(turn.id == replaced for turn in self.conversation.view().turns):
                await chat.edit(replaced, blocks)
            else:
                await chat.submit(blocks)
        except PonderError:
            self.prompt_writer.is_sending = False
            draft.kept, draft.kept_for = text, replaced
            draft.keep()
            raise
        draft.sent(text)
        if was_busy and replaced is None:
            self.conversation.say("Queued. It is sent when this answer ends.")

    def context(self) -> CommandContext:
        """The context that commands run with."""
        if self._context is None:
            self._context = self._made_context(self._make_commands())
        if prompts := self.services.mcp.prompts():
            from tui.commands.builtin.mcp_prompts import MCP_PROMPT, mcp_prompt_commands

            registry = self._context.registry
            others = {command.slash for command in registry if not command.id.startswith(MCP_PROMPT)}
            self.use_registry(registry.with_commands(MCP_PROMPT, mcp_prompt_commands(prompts, others)))
        return self._context

    def use_commands(self, registry: Registry) -> None:
        """Use these commands, unless one was needed before."""
        self._context = self._context or self._made_context(registry)

    def _made_context(self, registry: Registry) -> CommandContext:
        from tui.commands.registry import CommandContext
        from tui.linear.command_screen import command_screen
        from tui.linear.own_commands import with_own_commands

        own = with_own_commands(registry, self)
        return CommandContext(services=self.services, screen=command_screen(self), registry=own)

    def use_registry(self, registry: Registry) -> None:
        """Use these commands from now on."""
        assert self._context is not None, "only a command changes the commands"
        self._context = replace(self._context, registry=registry)

    async def run_shell(self, command: str, *, untrusted: bool = False) -> str:
        """Run a shell command by the rules for tools; returns its output."""
        self.out.say([f"Running {one_line(command, 200)}. Ctrl+c stops it."])
        return await self.services.tools.run_command(command, lambda _: None, untrusted=untrusted)

    async def _shell_line(self, command: str) -> None:
        """Run what the user typed after ``!``, and attach its output to the next prompt."""
        output = await self.run_shell(command)
        lines = plain_output(output).rstrip("\n").split("\n")
        self.out.say([*lines, "End of the output. It is attached to the next prompt."])
        self.draft.attach(f"!{one_line(command, 60)}", TextBlock(text=console_block(command, output)))

    # Stopping and leaving

    async def leave(self) -> None:
        """Quit; asks if something runs."""
        working = self.services.sessions.working()
        if working and not self.typed_input.has_ended:
            rows = [f"{one_line(row.title, 60)}, {row.activity.value}" for row in working[:MOST_RUNNING]]
            kept = "Nothing" if all(row.private for row in working) else "What has arrived"
            title = [f"{count(len(working), 'session')} still at work:", *rows, f"{kept} is kept."]
            answer = await self.questions.choose(title, [Choice("quit", "stop and quit"), Choice("stay", "stay")])
            if answer != "quit":
                return
        self.end(0)

    # What happens

    def _heard(self, event: AppEvent) -> None:
        self.approvals.look()
        match event:
            case TurnStarted():
                self.prompt_writer.is_sending = False
            case TurnFailed(turn, error):
                self.prompt_writer.is_sending = False
                self._restore(turn)
                if isinstance(error, ProviderError) and error.kind is ErrorKind.NO_KEY and error.code != NO_LOGIN:
                    self.work.add(lambda: self._ask_for_key())
            case RetryScheduled(needs_consent=True):
                self.work.add(self._ask_to_wait)
            case _:
                pass
        self.prompt_writer.soon()

    def _restore(self, turn: Turn) -> None:
        """Keep a prompt that got no answer, unless the user is writing something else."""
        if any(message.role is not Role.USER for message in turn.messages) or self.draft.is_open:
            return
        self.draft.put_back(turn.user_blocks, turn.id)
        self.out.say(["Your prompt got no answer and is kept. /draft sends it again."])

    async def _ask_for_key(self) -> None:
        from tui.commands.registry import View

        await self.context().screen.open(View.KEY, self.conversation.view().spec.provider)

    async def _ask_to_wait(self) -> None:
        rows = [Choice("wait", "wait"), Choice("now", "send it again now"), Choice("stop", "stop")]
        answer = await self.questions.choose([], rows)
        if answer in ("wait", "now"):
            await self.services.chat.end_wait(now=answer == "now")
        else:
            await self.services.chat.cancel()

    def _output_ended(self) -> None:
        if not self.typed.is_terminal:  # a terminal that is gone is noticed elsewhere
            self.end_from_thread(PIPE_CLOSED)

    def _form_asked(self) -> None:
        if self.services.mcp.forms():
            from tui.linear.form_view import fill_in_forms  # few servers have forms

            self.work.add(lambda: fill_in_forms(self))

    def _heard_elsewhere(self, news: BackgroundEvent) -> None:
        self.call_from_thread(lambda: self._say_elsewhere(news))

    def _say_elsewhere(self, news: BackgroundEvent) -> None:
        row = news.session
        words = {ApprovalAsked: "asks", TurnFinished: "has answered", TurnFailed: "could not answer"}
        if news.event is not None and type(news.event) in words and not row.queued:
            self.out.say([f'"{one_line(row.title, 40)}" {words[type(news.event)]}. /next opens it.'])

    def say_draft(self) -> None:
        """Mention a prompt that was not sent."""
        self.conversation.say(f"Not sent yet: {one_line(self.draft.kept, 400)}")
        self.conversation.say("/draft sends it, /draft drop discards it.")

    def _opened(self) -> None:
        is_start = self._context is None  # no command has run, so nothing more is said before the prompt
        self.prompt_writer.soon(0.0 if is_start else AFTER_S)

    def session_changed(self, turn: str | None = None) -> None:
        """Another session, or another branch, is open now."""
        self.draft.enter(self.services.chat.session_id)
        self.conversation.reopen(turn)
        if self.draft.kept:
            self.say_draft()
