"""Runs the user's shell commands beside the screen and puts their output into the draft."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from tui.domain.command_lines import console_block, plain_output, without_line
from tui.domain.errors import PonderError, UsageError
from tui.domain.events import Severity
from tui.domain.format_numbers import duration
from tui.domain.printable import one_line
from tui.ui.graphemes import line_within
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.ui.app import PonderApp

STOPPED = "Stopped. The command may have run in part."


class RunningLine(Static):
    """The running command with its clock and its last line of output; nothing while none runs."""

    def __init__(self, *, still: bool) -> None:
        super().__init__("", id="running", markup=False)
        self._still = still
        self._command = ""
        self._began = 0.0
        self._output = ""
        self._clock: Timer | None = None
        self._is_asked = False

    def show_asked(self, asked: bool) -> None:  # noqa: FBT001 - a callback
        """Say that the command waits for an answer of the user, which it may do before it runs."""
        self._is_asked = asked
        self.draw()

    def begin(self, command: str) -> None:
        """Show a command; its clock moves if things may move."""
        self._command, self._output, self._began = command, "", time.monotonic()
        self.display = True
        self.draw()
        if not self._still:
            self._clock = self.set_interval(1, self.draw)

    def end(self) -> None:
        """Show nothing."""
        self.display = False
        if self._clock is not None:
            self._clock.stop()

    def on_resize(self) -> None:
        self.draw()

    def show_output(self, line: str) -> None:
        """Show the last line of the output."""
        self._output = line
        self.draw()

    def draw(self) -> None:
        """Fit what is known into the line."""
        if self._is_asked:
            self.update(Content.styled("waiting for your answer", "$accent"))
            return
        spent = "" if self._still else f" · {duration(time.monotonic() - self._began)}"
        end = f"{spent} · esc stops"
        room = max(20, self.app.size.width - 4)
        head = line_within(f"running {one_line(self._command, 200)}", max(12, room - len(end)))
        line = Content.styled(head, "$accent") + Content.styled(end, "$quiet")
        left = room - len(head) - len(end) - 3
        if self._output and left > 8:
            line += Content.styled(f" · {line_within(one_line(plain_output(self._output), 200), left)}", "$quiet")
        self.update(line)


class ShellCommands:
    """Runs one command at a time."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._line: RunningLine | None = None
        """Made for the first command."""
        self._running: asyncio.Task[str | PonderError] | None = None

    def show_asked(self, asked: bool) -> None:  # noqa: FBT001 - a callback
        """Say whether a question is on the screen."""
        if self._line is not None:
            self._line.show_asked(asked)

    def stop(self) -> bool:
        """Stop the running command; False if there is none."""
        if self._running is None:
            return False
        self._running.cancel()
        return True

    async def run(self, command: str, *, untrusted: bool = False) -> str:
        """Run a command and show it meanwhile; returns its output. Raises UsageError if it was not run."""
        if self._running is not None:
            raise UsageError("Another command is still running.", advice="esc stops it.")
        services = self._app.services
        if self._line is None:
            self._line = RunningLine(still=self._app.chat.status.still)
            self._app.chat.show_above_composer(self._line)
        line = self._line

        async def work() -> str | PonderError:
            try:
                return await services.tools.run_command(command, line.show_output, untrusted=untrusted)
            except PonderError as error:
                return error

        try:
            line.begin(command)
            async with asyncio.TaskGroup() as tasks:
                running = self._running = tasks.create_task(work())
        finally:
            self._running = None
            line.end()
        if running.cancelled():
            raise UsageError(STOPPED)
        if isinstance(outcome := running.result(), PonderError):
            raise outcome
        return outcome

    def start(self, command: str, row: int) -> None:
        """Run the command in this line of the draft; its output takes the place of the line."""
        composer = self._app.chat.composer
        if self._running is not None:
            self._app.say("Another command is still running.", advice="esc stops it.")
            return
        composer.past.remember(f"!{command}")
        composer.put(without_line(composer.text, row), at=(row, 0))
        session = self._app.services.chat.session_id

        async def work() -> None:
            try:
                output = await self.run(command)
            except PonderError as error:
                if session == self._app.services.chat.session_id:
                    self._insert(f"!{command}", end="")
                self._app.say(error.message, Severity.WARNING, error.advice)
                return
            if session == self._app.services.chat.session_id:
                self._insert(composer.chips.paste(console_block(command, output), f"!{command}")[0])

        start_work(self._app, work)

    def _insert(self, block: str, end: str = "\n") -> None:
        """Put a block above the line that is being typed, which stays whole."""
        composer = self._app.chat.composer
        row, column = composer.cursor_location
        if composer.document.get_line(row):
            end = "\n"
        composer.insert(block + end, (row, 0))
        below = row + (block + end).count("\n")
        composer.move_cursor((below, column) if end else (below, len(block)))
