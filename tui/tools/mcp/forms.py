"""Forms of MCP servers: what one asks for, and waiting for the user. Depends on the protocol, not on the SDK."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tui.domain.errors import ToolError
from tui.domain.forms import FieldKind, Form, FormAnswer, FormField, Value
from tui.domain.printable import one_line, printable

MAX_FIELDS = 30
MAX_CHOICES = 200
MAX_MESSAGE = 4_000
MAX_ADDRESS = 4_000
MOST_FORMS = 20
"""Forms that one call may ask for."""
DECLINED = FormAnswer(action="decline")
CANCELLED = FormAnswer(action="cancel")


def form_of(server: str, number: str, asked: Mapping[str, object]) -> Form:
    """What a server asks for. Raises ToolError for what the protocol does not allow."""
    message = printable(str(asked.get("message") or ""))[:MAX_MESSAGE]
    if asked.get("mode") == "url":
        return Form(id=number, server=server, message=message, address=_address(asked.get("url")))
    schema = asked.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        raise ToolError("the form has no fields that can be shown")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    fields = tuple(
        _field(name, row if isinstance(row, dict) else {}, required=name in needed) for name, row in properties.items()
    )
    return Form(id=number, server=server, message=message, fields=fields)


def login_form(server: str, number: str, explained: str, address: str) -> Form:
    """Shows the address of a login, and takes the one to which the browser was sent on another machine."""
    field = FormField(
        name="address",
        title="Address where the browser ends",
        kind=FieldKind.TEXT,
        description="Only if the browser is on another machine: paste the address of the page that it cannot open.",
        required=True,
    )
    return Form(id=number, server=server, message=explained, fields=(field,), address=address, is_login=True)


def _address(text: object) -> str:
    try:
        url = urlsplit(text if isinstance(text, str) else "")
        is_web = url.scheme in ("http", "https") and bool(url.hostname) and url.username is None
    except ValueError:
        is_web = False
    if not isinstance(text, str) or not is_web or len(text) > MAX_ADDRESS or one_line(text, MAX_ADDRESS) != text:
        raise ToolError("the address is not one of the web")
    return text


def _field(name: str, row: Mapping[str, object], *, required: bool) -> FormField:
    kind, choices = _kind(row)
    least, most = _LIMITS[kind]
    return FormField(
        name=name,
        title=one_line(str(row.get("title") or name), 60),
        kind=kind,
        description=one_line(str(row.get("description") or ""), 300),
        required=required,
        default=_default(kind, row.get("default"), [value for value, _ in choices]),
        choices=choices,
        format=str(row.get("format") or "") if kind is FieldKind.TEXT else "",
        least=_limit(row.get(least)),
        most=_limit(row.get(most)),
    )


_LIMITS = {
    FieldKind.TEXT: ("minLength", "maxLength"),
    FieldKind.NUMBER: ("minimum", "maximum"),
    FieldKind.INTEGER: ("minimum", "maximum"),
    FieldKind.CHOICES: ("minItems", "maxItems"),
    FieldKind.CHOICE: ("", ""),
    FieldKind.YES_NO: ("", ""),
}


def _kind(row: Mapping[str, object]) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    items = row.get("items")
    match row.get("type"):
        case "string" if "enum" in row or "oneOf" in row:
            return FieldKind.CHOICE, _choices(row)
        case "string":
            return FieldKind.TEXT, ()
        case "number":
            return FieldKind.NUMBER, ()
        case "integer":
            return FieldKind.INTEGER, ()
        case "boolean":
            return FieldKind.YES_NO, ()
        case "array" if isinstance(items, dict):
            return FieldKind.CHOICES, _choices(items)
        case _:
            raise ToolError("the form has a field of a kind that the protocol does not know")


def _choices(row: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The values with their titles, in any of the protocol's spellings."""
    rows = row.get("oneOf") or row.get("anyOf")
    titled = [
        (each["const"], each.get("title"))
        for each in (rows if isinstance(rows, list) else [])
        if isinstance(each, dict) and isinstance(each.get("const"), str)
    ]
    values, names = row.get("enum"), row.get("enumNames")
    plain = [value for value in (values if isinstance(values, list) else []) if isinstance(value, str)]
    titles = names if isinstance(names, list) and len(names) == len(plain) else plain
    found = dict(titled or zip(plain, titles, strict=True))
    if not 0 < len(found) <= MAX_CHOICES:
        raise ToolError(f"the form has a choice of {len(found)}")
    return tuple((value, one_line(str(title or value), 100)) for value, title in found.items())


def _default(kind: FieldKind, given: object, values: list[str]) -> Value | None:
    """The default, if it is a value that the field can have."""
    match given:
        case str() if kind is FieldKind.TEXT and len(given) <= MAX_MESSAGE:
            return given
        case str() if kind is FieldKind.CHOICE and given in values:
            return given
        case bool():
            return given if kind is FieldKind.YES_NO else None
        case int() | float() if kind in (FieldKind.NUMBER, FieldKind.INTEGER) and math.isfinite(given):
            return given
        case list() if kind is FieldKind.CHOICES:
            return [value for value in values if value in given]
        case _:
            return None


def _limit(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


@dataclass(slots=True)
class OpenForms:
    """The forms that wait for the user, oldest first. Without a listener, all are declined."""

    heard: Callable[[], None] | None = None
    """Called when a form was asked for, or was withdrawn."""
    _open: dict[str, tuple[Form, asyncio.Future[FormAnswer]]] = field(default_factory=dict)

    def waiting(self) -> tuple[Form, ...]:
        return tuple(form for form, _ in list(self._open.values()))

    async def ask(self, form: Form) -> FormAnswer:
        """The user's answer."""
        if self.heard is None:
            return DECLINED
        future: asyncio.Future[FormAnswer] = asyncio.get_running_loop().create_future()
        self._open[form.id] = (form, future)
        self.heard()
        try:
            return await future
        finally:
            del self._open[form.id]
            if self.heard is not None:
                self.heard()

    async def answer(self, form_id: str, answer: FormAnswer) -> bool:
        """The user's answer; False if nobody waits for it any more."""
        _, future = self._open.get(form_id, (None, None))
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True

    def withdraw(self, form_id: str) -> None:
        """Nobody waits for the answer any more."""
        _, future = self._open.get(form_id, (None, None))
        if future is not None and not future.done():
            future.set_result(CANCELLED)


@dataclass(slots=True)
class ServerUse:
    """A call, or something else that is asked of a server, during which the server may ask for forms."""

    pause: Callable[[], AbstractContextManager[None]] = nullcontext
    """Stops the time limit of the use while the user fills in a form."""
    asked: list[str] = field(default_factory=list)
    """The ids of its forms."""
    _pauses: int = 0
    _paused: ExitStack = field(default_factory=ExitStack)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Without the time limit, however many forms are open at once."""
        self._pauses += 1
        if self._pauses == 1:
            self._paused.enter_context(self.pause())
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._paused.close()


@contextlib.contextmanager
def without_limit(limit: asyncio.Timeout, seconds: float) -> Iterator[None]:
    """Stop a time limit; afterwards it begins again."""
    limit.reschedule(None)
    try:
        yield
    finally:
        with contextlib.suppress(RuntimeError):  # what it limits has ended
            limit.reschedule(asyncio.get_running_loop().time() + seconds)
