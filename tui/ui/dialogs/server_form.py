"""The sheet for what an MCP server asks of the user: fields to fill in, or an address to visit.

All texts of the server are inside the box. Nothing is sent, and no address is opened, before the user says so.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events, on, work
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from tui.app.form_values import constraints, form_values
from tui.domain.errors import UsageError
from tui.domain.forms import FieldKind, Form, FormAnswer, FormField, Value
from tui.domain.printable import one_line, printable
from tui.ui.dialogs.sheet import STYLES, Keys, Sheet
from tui.ui.input.field import Field
from tui.ui.panels.row_list import Row, RowList
from tui.ui.workers import start_work

STEERING = frozenset({"up", "down", "tab", "shift+tab", "pageup", "pagedown"})
BESIDE = {"tab": "down", "shift+tab": "up"}
SEND, COPY, DECLINE = "send", "copy", "decline"
WHO_ASKS = "an MCP server asks, not ponder"
QUIET_S = 0.3
"""Time after a letter, and after the form appears, in which nothing is sent: the user may be writing a message."""
TYPED = frozenset({FieldKind.TEXT, FieldKind.NUMBER, FieldKind.INTEGER})


class ServerForm(Sheet[None]):
    """Gives the answer to the services; escape gives none."""

    CSS_PATH: ClassVar = [*Sheet.CSS_PATH, str(STYLES / "server_form.tcss")]
    SHAPE: ClassVar[str] = "-middle"
    ESCAPE = "no answer"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "pick"))

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form
        self._entered: dict[str, Value] = {
            field.name: _typed(field.default) if field.kind in TYPED else field.default
            for field in form.fields
            if field.default is not None
        }
        self._rows = _form_rows(form)
        self._typed_at = time.monotonic()
        self._answered = False

    def inside(self) -> Sequence[Widget]:
        """The server's words, the fields, and the line to type in."""
        message = "\n".join(filter(None, (self._form.message, _address_lines(self._form.address))))
        self._list = RowList()
        self._field = Field(handed_on=STEERING)
        self._about = Static("", markup=False, classes="detail")
        words = VerticalScroll(Static(Content(printable(message)), markup=False), classes="words", can_focus=False)
        return (words, self._list, self._field, self._about)

    def on_mount(self) -> None:
        self.retitle(f"Log in to {self._form.server}" if self._form.is_login else f"{self._form.server} asks")
        self.note("" if self._form.is_login else WHO_ASKS)
        self._draw()
        if self._form.is_login:
            self._list.select_key(COPY)
        elif not self._form.fields:
            self._list.highlighted = None  # an enter that was meant for the draft is ignored
        self._list.focus()
        self._show_row()

    def on_unmount(self) -> None:
        """A sheet that could not be shown gives no answer."""
        if not self._answered and self.app.is_running:
            services, form = self.ponder.services.mcp, self._form

            async def cancel() -> None:
                await services.answer_form(form, FormAnswer(action="cancel"))

            start_work(self.app, cancel)

    def look(self) -> None:
        """Close if nobody waits for the answer any more."""
        if not self._answered and all(form.id != self._form.id for form in self.ponder.services.mcp.forms()):
            self._answered = True
            if not self._form.is_login:  # the browser has returned
                self.ponder.say(f"{self._form.server} no longer waits for an answer.")
            self.dismiss(None)

    def _draw(self) -> None:
        self._list.show_rows([Row(key, self._line(key, words)) for key, words in self._rows])

    def _line(self, key: str, words: str) -> Content:
        field = self._field_of(key)
        if field is None:
            return Content.styled(words, "$foreground" if key else "bold $foreground")
        value = self._entered.get(field.name)
        if field.kind in TYPED:
            shown = one_line(str(value), 60) if value not in (None, "") else "…"
            return Content.styled(f"{words}  ", "bold $foreground") + Content.styled(shown, "$accent")
        _, _, choice = key.partition(" ")[2].partition(" ")
        if field.kind is FieldKind.YES_NO:
            mark = "[x]" if value is True else "[ ]" if value is False or not field.required else "[?]"
        else:
            chosen = field.choices[int(choice)][0]
            is_on = chosen in value if isinstance(value, list) else chosen == value
            mark = ("[x]" if is_on else "[ ]") if field.kind is FieldKind.CHOICES else "(•)" if is_on else "( )"
        return Content.styled(f"{mark} {words}", "$foreground")

    def _field_of(self, key: str | None) -> FormField | None:
        kind, _, rest = (key or "").partition(" ")
        return self._form.fields[int(rest.partition(" ")[0])] if kind == "field" else None

    def _show_row(self) -> None:
        """Show what belongs to the selected row: the line to type in, and what the field takes."""
        field = self._field_of(self._list.chosen)
        is_typed = field is not None and field.kind in TYPED
        self._field.display = is_typed
        about = "" if field is None else "\n".join(filter(None, (field.description, constraints(field))))
        self._about.update(Content.styled(about, "$quiet"))
        if field is not None and is_typed:
            with self.prevent(Input.Changed):
                self._field.value = str(self._entered.get(field.name, ""))
            self._field.placeholder = field.title
            self._field.cursor_position = len(self._field.value)
            self._field.focus()
        else:
            self._list.focus()

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._show_row()

    @on(Field.Pressed)
    def _steered(self, event: Field.Pressed) -> None:
        self._list.step(BESIDE.get(event.key, event.key))
        self._show_row()  # at once: a letter that follows belongs to the next field

    async def on_key(self, event: events.Key) -> None:
        if event.is_printable:
            self._typed_at = time.monotonic()
        if event.key in BESIDE:
            event.stop()
            event.prevent_default()
            self._list.step(BESIDE[event.key])
        elif event.key == "space" and self._list.has_focus:
            event.stop()
            self._pick()

    @on(Input.Changed)
    def _typed_into(self, event: Input.Changed) -> None:
        field = self._field_of(self._list.chosen)
        self._typed_at = time.monotonic()
        if field is not None and field.kind in TYPED:
            self._entered[field.name] = event.value
            self._draw()

    @on(Input.Submitted)
    def _next(self) -> None:
        self._list.step("down")

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._pick()

    def _pick(self) -> None:
        key = self._list.chosen
        field = self._field_of(key)
        if field is not None and key is not None:
            self._toggle(field, key)
        elif key in (SEND, DECLINE) and time.monotonic() - self._typed_at < QUIET_S:
            return
        elif key == SEND:
            self._send()
        elif key == COPY:
            self.ponder.copying.selection(self._form.address)
        elif key == DECLINE:
            self._answer("decline")

    def _toggle(self, field: FormField, key: str) -> None:
        value = self._entered.get(field.name)
        if field.kind is FieldKind.YES_NO:
            self._entered[field.name] = value is not True
        elif field.kind in (FieldKind.CHOICE, FieldKind.CHOICES):
            chosen = field.choices[int(key.rpartition(" ")[2])][0]
            if field.kind is FieldKind.CHOICE:
                self._entered[field.name] = "" if chosen == value and not field.required else chosen
            else:
                before = value if isinstance(value, list) else []
                both = {*before} ^ {chosen}
                self._entered[field.name] = [each for each, _ in field.choices if each in both]
        self._draw()

    def _send(self) -> None:
        try:
            values = form_values(self._form.fields, self._entered)
        except UsageError as error:
            self._about.update(Content.styled(f"✗ {error.message}", "$error"))
            return
        self._give(FormAnswer(action="accept", values=values))

    def action_leave(self) -> None:
        """Escape gives no answer."""
        self._answer("cancel")

    def _answer(self, action: Literal["accept", "decline", "cancel"]) -> None:
        self._give(FormAnswer(action=action))

    def _give(self, answer: FormAnswer) -> None:
        if not self._answered:
            self._answered = True
            self._deliver(answer)

    @work
    async def _deliver(self, answer: FormAnswer) -> None:
        await self.ponder.services.mcp.answer_form(self._form, answer)
        self.dismiss(None)


def _form_rows(form: Form) -> list[tuple[str, str]]:
    """The keys and texts of the rows; headings have no key."""
    rows: list[tuple[str, str]] = []
    for number, field in enumerate(form.fields):
        title = f"{field.title} *" if field.required else field.title
        if field.choices:
            rows.append(("", title))
            rows += [(f"field {number} {place}", f"{words}") for place, (_, words) in enumerate(field.choices)]
        else:
            rows.append((f"field {number} ", title))
    if form.is_login:
        return [(COPY, "Copy the address"), *rows, (SEND, "Go on with the pasted address"), (DECLINE, "Give up")]
    if form.address:
        return [(COPY, "Copy the address"), (SEND, "Go on: I have opened it"), (DECLINE, "Decline")]
    return [*rows, (SEND, f"Send to {form.server}"), (DECLINE, "Decline")]


def _typed(value: Value | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _address_lines(address: str) -> str:
    """The address in full, and its host as computers read it: letters of other scripts can look like others."""
    if not address:
        return ""
    from urllib.parse import urlsplit

    host = urlsplit(address).hostname or ""
    try:
        plain = host.encode("idna").decode()
    except UnicodeError:
        plain = ascii(host)
    return f"\nOpen this in your browser, if you trust {plain}:\n{address}"
