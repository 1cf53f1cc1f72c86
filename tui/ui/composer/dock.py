"""The dock: composer, completion popup and status line; words go from here to commands or to the model."""

from __future__ import annotations

from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from tui.commands.context import Desk
from tui.commands.parse import complete, is_command
from tui.domain.errors import PonderError
from tui.domain.events import Severity
from tui.domain.usage import MeterReading
from tui.ui.composer.composer import Composer
from tui.ui.composer.mentions import mention_at, mention_rows, with_mention
from tui.ui.screens.port import Shell
from tui.ui.widgets.popup import Popup
from tui.ui.widgets.status_line import StatusLine


class Dock(Vertical):
    """Where the user writes."""

    @dataclass
    class Weighed(Message):
        """The meter with the draft in it."""

        reading: MeterReading

    def __init__(self, desk: Desk, shell: Shell, composer: Composer, popup: Popup, status: StatusLine) -> None:
        super().__init__(id="dock")
        self._desk = desk
        self._shell = shell
        self._composer = composer
        self._popup = popup
        self._status = status

    def compose(self) -> ComposeResult:
        """The line to write on, the status below it."""
        with Horizontal(id="line"):
            yield Static(">" if self.screen.has_class("-plain") else "❯", id="mark", markup=False)
            yield self._composer
        yield self._status

    @on(Composer.Sent)
    async def _send(self, event: Composer.Sent) -> None:
        event.stop()
        await self._send_text(event.text)

    async def _send_text(self, text: str) -> None:
        composer = self._composer
        if is_command(text.strip()):
            composer.take()
            await self._shell.run_line(text.strip())
            return
        blocks = composer.chips.blocks(text)
        if not blocks:
            return
        composer.take()
        self._desk.drafts.keep_draft("")
        try:
            await self._shell.submit(blocks)
            composer.chips.clear()
        except PonderError as error:
            composer.put(text)
            self._shell.say(error.message, Severity.ERROR, error.advice)

    @on(Composer.Typed)
    def _typed(self, event: Composer.Typed) -> None:
        text = event.text
        row, column = self._composer.cursor_location
        mention = mention_at(text, column, row)
        if text.startswith("/") and "\n" not in text:
            self._popup.offer(complete(self._shell.registry, self._shell.context(), text))
        elif mention is not None:
            self._popup.offer(mention_rows(mention, self._desk.drafts.complete_path))
        else:
            self._popup.close()
        self._composer.popup_open = self._popup.is_open
        self._desk.drafts.keep_draft(text)
        self._weigh()

    @on(Composer.Trimmed)
    def _trimmed(self, event: Composer.Trimmed) -> None:
        self._shell.say(f"The paste had {event.kept:,} characters; the first million is kept.", Severity.WARNING)

    @work(exclusive=True, group="weigh")
    async def _weigh(self) -> None:
        reading = await self._desk.chat.weigh(self._composer.chips.written_out(self._composer.text))
        self.post_message(self.Weighed(reading))

    @on(Composer.Pressed)
    async def _pressed(self, event: Composer.Pressed) -> None:
        match event.key:
            case "help":
                await self._shell.run_id("program.help")
            case "up" | "down":
                self._popup.move(1 if event.key == "down" else -1)
            case "escape":
                self._close_popup()
            case "tab":
                self._accept()
            case "enter":
                await self._accept_or_send()
            case _:
                pass

    def _close_popup(self) -> None:
        self._popup.close()
        self._composer.popup_open = False

    def _accept(self) -> None:
        chosen = self._popup.chosen()
        if chosen is None:
            return
        row, column = self._composer.cursor_location
        if mention_at(self._composer.text, column, row) is None:
            self._composer.put(chosen.line)
            return
        text, path = with_mention(self._composer.text, column, row, chosen.line)
        self._close_popup()
        if path.endswith("/"):
            self._composer.put(f"{text}@{path}")
        else:
            self._composer.put(text)
            self._shell.attach(path)

    async def _accept_or_send(self) -> None:
        chosen = self._popup.chosen()
        text = self._composer.text
        whole = chosen is None or chosen.line.strip() == text.strip()
        if is_command(text) and (whole or self._is_complete(text)):
            self._close_popup()
            await self._send_text(text)
        else:
            self._accept()

    def _is_complete(self, text: str) -> bool:
        word, blank, rest = text.removeprefix("/").partition(" ")
        return self._shell.registry.by_slash(word) is not None and not (blank and not rest)
