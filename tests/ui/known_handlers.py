"""One search for the handlers of a kind of message, for all applications of a test process.

For each message Textual looks through all classes that a widget is made of, of which most handle none of its kind: a
tenth of the time that a start takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from textual.message import Message
from textual.message_pump import MessagePump

Handlers = Iterable[tuple[type, Callable[[Message], Awaitable[Any]]]]

handlers_as_textual = MessagePump._get_dispatch_methods

_known: dict[tuple[type, str, type], tuple[tuple[type, str], ...] | None] = {}
"""Classes, and the names of their handlers; None if one is found by ``@on``, which looks at the message, too."""


def known_handlers(self: MessagePump, method_name: str, message: Message) -> Handlers:
    """As the original."""
    key = (type(self), method_name, type(message))
    if key not in _known:
        _known[key] = _search(*key)
    found = _known[key]
    return handlers_as_textual(self, method_name, message) if found is None else _named(self, found, message)


def _named(pump: MessagePump, found: tuple[tuple[type, str], ...], message: Message) -> Handlers:
    for holder, name in found:
        if message._no_default_action:  # one that was called before may have said so
            return
        yield holder, vars(holder)[name].__get__(pump, holder)


def _search(pump: type, method_name: str, kind: type) -> tuple[tuple[type, str], ...] | None:
    found = []
    for holder in pump.__mro__:
        if any(handled in kind.__mro__ for handled in vars(holder).get("_decorated_handlers", ())):
            return None
        name = f"_{method_name}" if vars(holder).get(f"_{method_name}") else method_name
        method = vars(holder).get(name)
        if method is not None and not getattr(method, "_textual_on", None):
            found.append((holder, name))
    return tuple(found)
