"""Forms of MCP servers: fields that are entered one by one, or an address to visit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.app.form_values import constraints, field_value, form_values
from tui.domain.errors import UsageError
from tui.domain.forms import FieldKind, Form, FormAnswer, FormField, Value
from tui.domain.printable import printable
from tui.linear.questions import Choice, NotAnswered
from tui.linear.sentences import spoken

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

SEND, DECLINE, AGAIN, EMPTY = "send", "decline", "again", "empty"


async def fill_in_forms(app: LinearApp) -> None:
    """Ask for everything that servers wait for."""
    while forms := app.services.mcp.forms():
        form = forms[0]
        answer = await _answer(app, form)
        if not await app.services.mcp.answer_form(form, answer):
            app.conversation.say(f"{form.server} no longer waits for an answer.")


async def _answer(app: LinearApp, form: Form) -> FormAnswer:
    """Nothing is sent before the user says so; leaving a question gives no answer."""
    app.out.say([f"The MCP server {form.server} asks, not ponder:", *(f"  {row}" for row in form.message.split("\n"))])
    if form.address:
        app.out.say(address_lines(form.address))
    while True:
        try:
            entered = {field.name: value for field in form.fields if (value := await _entered(app, field)) is not None}
        except NotAnswered:
            return FormAnswer(action="cancel")
        send = "I have opened it, go on" if form.address else f"send this to {form.server}"
        rows = [Choice(SEND, send), Choice(DECLINE, "decline")]
        rows += [Choice(AGAIN, "enter it again")] if form.fields else []
        chosen = await app.questions.choose(value_lines(form, entered), rows)
        if chosen == SEND:
            return FormAnswer(action="accept", values=form_values(form.fields, entered))
        if chosen != AGAIN:
            return FormAnswer(action="decline" if chosen == DECLINE else "cancel")


def value_lines(form: Form, entered: dict[str, Value]) -> list[str]:
    """What would be sent."""
    return [f"{field.title}: {_shown(field, entered.get(field.name))}" for field in form.fields]


def _shown(field: FormField, value: Value | None) -> str:
    return printable(value_words(field, value), keep_newlines=False)


def value_words(field: FormField, value: Value | None) -> str:
    """A value as the user knows it."""
    words = dict(field.choices)
    if value is None or value in ("", []):
        return "empty"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(words.get(each, each) for each in value)
    return words.get(str(value), str(value))


async def _entered(app: LinearApp, field: FormField) -> Value | None:
    """Ask for a field until it is right. Raises NotAnswered."""
    about = f"{field.title}, {spoken(constraints(field))}."
    app.out.say([about, *([field.description] if field.description else [])])
    while True:
        value = await (_chosen(app, field) if _rows(field) else _typed(app, field))
        try:
            return field_value(field, value)
        except UsageError as error:
            app.out.say([f"Error: {error.message}"])


def _rows(field: FormField) -> list[Choice]:
    if field.kind is FieldKind.YES_NO:
        return [Choice("true", "yes"), Choice("false", "no")]
    return [Choice(value, words) for value, words in field.choices]


async def _typed(app: LinearApp, field: FormField) -> Value | None:
    default = f", enter alone for {field.default}" if field.default not in (None, "") else ""
    text = await app.questions.line(f"{field.title}{default}: ")
    return text or field.default


async def _chosen(app: LinearApp, field: FormField) -> Value | None:
    """One row, or several one after the other; enter alone ends."""
    rows = _rows(field)
    if field.kind is not FieldKind.CHOICES:
        key = await app.questions.choose([], rows)
        if key is None:
            return field.default
        return key == "true" if field.kind is FieldKind.YES_NO else key
    chosen = set(field.default) if isinstance(field.default, list) else set()
    given = len(rows)
    while (key := await app.questions.choose([], rows, first=given)) is not None:
        chosen ^= {key}
        given = 0
        words = ", ".join(row.text for row in rows if row.key in chosen) or "none"
        app.out.say([f"Chosen: {words}."])
    return [row.key for row in rows if row.key in chosen]


def address_lines(address: str) -> list[str]:
    """The address in full, and its host as computers read it: letters of other scripts can look like others."""
    from urllib.parse import urlsplit

    host = urlsplit(address).hostname or ""
    try:
        plain = host.encode("idna").decode()
    except UnicodeError:
        plain = ascii(host)
    return [f"Open this in your browser, if you trust {plain}:", f"  {address}"]
