"""The input area: composer, completion popup and status line; passes input to commands or to the model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.markup import escape
from textual.message import Message
from textual.widgets import Static

from tui.commands.registry import Completion, Registry, complete, cost_of_line, is_command, is_taken
from tui.domain.command_lines import command_at
from tui.domain.errors import PonderError
from tui.domain.events import Severity
from tui.domain.format_numbers import count
from tui.domain.lazy_regex import lazy_regex
from tui.domain.usage import MeterReading
from tui.engine.state import SessionView
from tui.ui import first_answer
from tui.ui.chat.status_line import StatusLine
from tui.ui.input.composer import Composer
from tui.ui.input.queued_prompts import QueuedPrompts
from tui.ui.input.session_draft import SessionDraft
from tui.ui.services import UiServices

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.ui.input.completion_popup import Popup


MENTION = lazy_regex(r"(?:^|\s)@([^\s@⟦⟧]{0,200})$")


def mention_at(text: str, column: int, row: int) -> str | None:
    """The path being typed after an ``@`` at the cursor, or None."""
    lines = text.split("\n")
    if row >= len(lines):
        return None
    found = MENTION.search(lines[row][:column])
    return found[1] if found else None


def mention_rows(services: AppServices, start: str) -> list[Completion]:
    """Popup rows for a resource of an MCP server, or a path."""
    found = services.mcp.matching(start)
    resources = [Completion(row.word, row.word, row.title, row.whole) for row in found]
    paths = () if services.mcp.is_resource(start) else services.drafts.complete_path(start)
    return [*resources, *(Completion(path, path, _about_path(path), not path.endswith("/")) for path in paths)]


def _about_path(path: str) -> str:
    """What a row attaches if that is more than one file."""
    return "all files that fit" if any(wildcard in path for wildcard in "*?") else ""


def with_mention(text: str, column: int, row: int, path: str) -> tuple[str, str]:
    """The draft without the ``@word`` at the cursor, and that word."""
    lines = text.split("\n")
    found = MENTION.search(lines[row][:column])
    if found is None:
        return text, ""
    start = found.start(1) - 1
    lines[row] = lines[row][:start] + lines[row][column:]
    return "\n".join(lines), path


READY_AFTER_S = 0.2
"""Delay between the first letter and loading what the first answer needs, so that the letter is drawn first."""
AROUND = 3
"""Rows below the transcript apart from the composer's: rule, status, keys."""
RULE_BESIDE = 2
"""Columns of the line that are drawn around its words."""
RUNS_IT = "enter runs this line in the shell"


class InputArea(Vertical):
    """The composer with everything around it."""

    class MeterRead(Message):
        """The meter with the draft included."""

        def __init__(self, reading: MeterReading, before: MeterReading | None) -> None:
            super().__init__()
            self.reading = reading
            self.before = before
            """The session's own reading when the draft was measured; with a newer one, this one is out of date."""

    def __init__(
        self,
        services: AppServices,
        ui_services: UiServices,
        composer: Composer,
        draft: SessionDraft,
        status: StatusLine,
    ) -> None:
        super().__init__(id="input-area")
        self._services = services
        self._ui_services = ui_services
        self._composer = composer
        self._draft = draft
        self._rule: Sequence[str] = ()
        self.rule_columns = 0
        """Columns from the left that the words on the line above the composer take."""
        self._cost = ""
        """What the typed command costs."""
        self._popup: Popup | None = None
        """Created when there is first a completion."""
        self._status = status
        self._queued = QueuedPrompts()
        self.session_reading: MeterReading | None = None
        """The session's own reading that was drawn last."""
        self._has_typed = False

    def compose(self) -> ComposeResult:
        yield self._queued
        with Horizontal(id="line"):
            yield Static(">" if self.screen.has_class("-plain") else "❯", id="mark", markup=False)
            yield self._composer
        yield self._status

    @on(Composer.Sent)
    async def _send(self, event: Composer.Sent) -> None:
        event.stop()
        await self._send_text(event.text, after_step=event.after_step)

    async def _send_text(self, text: str, *, after_step: bool = False) -> None:
        composer = self._composer
        command = command_at(text, composer.cursor_location[0])
        if command is not None:
            self._ui_services.shell.start(command, composer.cursor_location[0])
            return
        if is_command(text.strip()):
            composer.take()
            self._draft.keep()  # a command that ends the program is not the draft of the next start
            with self._draft.typing_ahead():
                is_valid = await self._ui_services.run_line(text.strip())
            if not is_valid and not composer.text:
                composer.put(text)  # for the user to correct
            return
        blocks = composer.chips.blocks(text)
        if not blocks:
            return
        edited = self._ui_services.edited_turn  # emptying the composer ends the edit
        composer.take()
        self._draft.keep()
        try:
            await self._ui_services.submit(blocks, edited, after_step=after_step)
            composer.chips.clear()
        except PonderError as error:
            composer.put(text)
            self._ui_services.edit_again(edited)
            self._ui_services.say(error.message, Severity.ERROR, error.advice)

    @on(Composer.Typed)
    def _typed(self, event: Composer.Typed) -> None:
        text = event.text
        row, column = self._composer.cursor_location
        mention = mention_at(text, column, row)
        if text.startswith("/") and "\n" not in text:
            found = partial(complete, self._ui_services.registry, self._ui_services.context(), text)
            if self._reads_files(text):
                self._offer_from_thread(text, found)
            else:
                self._offer(found())
        elif mention is not None:
            self._offer_from_thread(text, partial(mention_rows, self._services, mention))
        else:
            self._offer(())
        self._show_cost(text)
        self._draft.keep()
        self.measure_draft()
        if text and not self._has_typed:
            self._has_typed = True
            self.set_timer(READY_AFTER_S, self._get_ready)

    @work(group="ready")
    async def _get_ready(self) -> None:
        """Load what sends the first prompt and what draws the first answer, while the user still types."""
        await asyncio.to_thread(first_answer.load)
        await self._services.models.get_ready()

    @on(Composer.SelectionChanged)
    def _cursor_moved(self) -> None:
        if "!" in (text := self._composer.text):
            self._show_cost(text)

    def on_unmount(self) -> None:
        """Store the draft when the program ends."""
        self._draft.leave()

    def show_above_composer(self, line: Static) -> None:
        """Add a line above the composer."""
        self.mount(line, before=0)

    @on(QueuedPrompts.Removed)
    async def _removed(self, event: QueuedPrompts.Removed) -> None:
        await self._ui_services.remove_queued(event.prompt)

    def show_queue(self, view: SessionView) -> None:
        """Show the queued prompts, and when each is sent."""
        self._queued.show(view, max(20, self.size.width))

    def show_rule(self, parts: Sequence[str], *, editing: bool) -> None:
        """Show parts on the line above the composer; in the warning colour while an earlier prompt is edited."""
        self._rule = parts
        self.set_class(editing, "-editing")
        self._draw_rule()

    def _show_cost(self, text: str) -> None:
        """Say on the same line what a typed command makes the next request write to the prompt cache again."""
        if not is_command(text):
            typed = command_at(text, self._composer.cursor_location[0])
            self._set_cost(RUNS_IT if typed is not None else "")
        elif self._reads_files(text):
            self._find_cost_in_thread(text)
        else:
            self._set_cost(self._cost_of(text))

    def _set_cost(self, cost: str) -> None:
        if cost != self._cost:
            self._cost = cost
            self._draw_rule()

    def _cost_of(self, text: str) -> str:
        if not self._services.chat.has_session:
            return ""
        return cost_of_line(self._ui_services.registry, self._ui_services.context(), text)

    @work(exclusive=True, group="cost")
    async def _find_cost_in_thread(self, text: str) -> None:
        cost = await asyncio.to_thread(self._cost_of, text)
        if self._composer.text == text:
            self._set_cost(cost)

    def on_resize(self) -> None:
        """Redraw the rule and refit the composer for the new width."""
        self._draw_rule()
        self.call_after_refresh(self._composer.fit_height)

    def _draw_rule(self) -> None:
        """The first part gives the state, the last how to leave it; on narrow screens those between are dropped.

        The cost of a typed command comes first: the state was said before it was typed.
        """
        parts = [self._cost, *self._rule] if self._cost else list(self._rule)
        while len(parts) > 2 and len(" · ".join(parts)) > self.size.width - 4:
            parts.pop(-2)
        words = f" {' · '.join(parts)} " if parts else ""
        text = escape(words)
        if self.border_title != text:
            self.border_title = text
            self.rule_columns = len(words) + RULE_BESIDE if words else 0
            self._ui_services.toasts.follow_line()

    def _offer(self, rows: Sequence[Completion]) -> None:
        if self._popup is None and rows:
            from tui.ui.input.completion_popup import Popup

            self._popup = Popup(self._accept)
            self.screen.mount(self._popup)
        if self._popup is not None:
            self._popup.fit(self.region, self._composer.fit_height() + self._queued.rows + AROUND)
            self._popup.offer(rows)
        self._composer.popup_open = bool(rows)

    def _reads_files(self, text: str) -> bool:
        command = self._ui_services.registry.by_slash(text[1:].partition(" ")[0])
        return command is not None and command.argument is not None and command.argument.reads_files

    @work(exclusive=True, group="offer")
    async def _offer_from_thread(self, text: str, find: Callable[[], Sequence[Completion]]) -> None:
        """Offer completions found on disk, unless the draft has changed meanwhile."""
        rows = await asyncio.to_thread(find)
        if self._composer.text == text:
            self._offer(rows)

    def _chosen(self) -> Completion | None:
        return self._popup.chosen() if self._popup is not None else None

    @on(Composer.Trimmed)
    def _trimmed(self, event: Composer.Trimmed) -> None:
        self._ui_services.say(
            f"Pasted {count(event.kept, 'character')}. Only the first million were kept.", Severity.WARNING
        )

    @work(exclusive=True, group="weigh")
    async def measure_draft(self) -> None:
        """Read the meter with the draft."""
        before = self.session_reading
        text = self._composer.text
        for_the_model = not (text == "/" or is_command(text))
        if not self._services.chat.has_session:
            return  # the one being opened reports its own reading
        reading = await self._services.chat.meter_with_draft(
            self._composer.chips.written_out(text) if for_the_model else ""
        )
        self.post_message(self.MeterRead(reading, before))

    @on(Composer.Pressed)
    async def _pressed(self, event: Composer.Pressed) -> None:
        match event.key:
            case "help":
                await self._ui_services.run_id("program.help")
            case "end":
                await self._ui_services.run_id("view.follow")
            case "up" | "down" if self._popup is not None:
                self._popup.move(1 if event.key == "down" else -1)
            case "escape":
                self._offer(())
            case "tab":
                self._accept()
            case "enter":
                await self._accept_or_send()
            case _:
                await self._act(event.key)

    async def _act(self, what: str) -> None:
        """Do what a key of the empty composer means for the queue, or for a retry that is awaited."""
        match what:
            case "take_last_queued":
                await self._ui_services.take_last_queued()
            case "resume":
                await self._services.chat.resume_queue()
            case "move":
                await self._services.chat.move_last_queued()
            case "now":
                await self._ui_services.retry_now()
            case "agree":
                await self._ui_services.agree_to_wait()
            case _:
                pass

    def _accept(self) -> None:
        chosen = self._chosen()
        if chosen is None:
            return
        row, column = self._composer.cursor_location
        if mention_at(self._composer.text, column, row) is None:
            self._composer.put(chosen.line)
            return
        text, path = with_mention(self._composer.text, column, row, chosen.line)
        self._offer(())
        if chosen.whole:
            self._composer.put(text)
            self._ui_services.attach(path)
        else:
            self._composer.put(f"{text}@{path}")

    async def _accept_or_send(self) -> None:
        chosen = self._chosen()
        text = self._composer.text
        # What was offered when enter was pressed may be gone: letters typed before it are looked at first.
        if chosen is not None and is_command(text) and self._row_is_meant(chosen, text):
            text = chosen.line
            self._accept()
            if not self._is_taken(text):
                return
        elif chosen is not None and not (is_command(text) and _is_complete(self._ui_services.registry, text)):
            self._accept()
            return
        self._offer(())
        await self._send_text(text)

    def _row_is_meant(self, chosen: Completion, text: str) -> bool:
        """Whether the selected row is what enter takes: the user moved to it, or it completes what cannot be run."""
        if chosen.line.strip() == text.strip():
            return False
        moved = self._popup is not None and self._popup.was_moved
        return moved or (chosen.line.lower().startswith(text.lower()) and self._is_taken(text) is False)

    def _is_taken(self, line: str) -> bool | None:
        if not self._services.chat.has_session:
            return None
        return is_taken(self._ui_services.registry, self._ui_services.context(), line)


def _is_complete(registry: Registry, text: str) -> bool:
    word, blank, rest = text.removeprefix("/").partition(" ")
    return registry.by_slash(word) is not None and not (blank and not rest)
