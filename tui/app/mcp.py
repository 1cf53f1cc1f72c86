"""What MCP servers offer to the user: prompts as commands, and resources to attach."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.app.attachments import refuse_documents
from tui.app.current_session import CurrentSession
from tui.domain.errors import PonderError, UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.printable import one_line

if TYPE_CHECKING:
    from tui.domain.blocks import Block
    from tui.domain.forms import Form, FormAnswer
    from tui.domain.listing import McpPrompt, McpResource
    from tui.tools.mcp.servers import McpServers

COMPLETE_WITHIN_S = 2.0
"""Seconds that completion waits for a server."""
MOST_ROWS = 60


class McpService:
    """Prompts and resources of the configured MCP servers."""

    def __init__(self, current: CurrentSession) -> None:
        self._current = current

    @property
    def _servers(self) -> McpServers | None:
        return self._current.program.toolbox.mcp

    def follow(self, heard: Callable[[], None] | None) -> None:
        """Call this, on the event loop of the caller, when an offer has changed; None ends it."""
        if self._servers is not None:
            self._servers.follow(_on_this_loop(heard) if heard is not None else _nothing)

    def follow_forms(self, heard: Callable[[], None] | None) -> None:
        """The same when a form waits or no longer waits. Without a listener, all are declined."""
        if self._servers is not None:
            self._servers.forms.heard = _on_this_loop(heard) if heard is not None else None

    def forms(self) -> Sequence[Form]:
        """The forms that wait for the user, oldest first."""
        return self._servers.forms.waiting() if self._servers is not None else ()

    async def answer_form(self, form: Form, answer: FormAnswer) -> bool:
        """Answer a form; False if the server no longer waits for it."""
        assert self._servers is not None, "a server asked for the form"
        return await self._current.call(self._servers.forms.answer(form.id, answer))

    async def log_in(self, server: str) -> str:
        """Let the user log in at a server; returns a message for the user."""
        return await self._current.call(self._configured().log_in(server))

    async def log_out(self, server: str) -> str:
        """Forget and revoke the login at a server; returns a message for the user."""
        return await self._current.call(self._configured().log_out(server))

    def with_login(self) -> Sequence[str]:
        """The names of servers at which one can log in."""
        return self._servers.with_login() if self._servers is not None else ()

    def _configured(self) -> McpServers:
        if self._servers is None:
            raise UsageError("There are no MCP servers.", advice="`[mcp.servers.NAME]` in config.toml adds one.")
        return self._servers

    def prompts(self) -> Sequence[McpPrompt]:
        """The prompts that the servers have listed."""
        return self._servers.prompts() if self._servers is not None else ()

    async def prompt(self, prompt: McpPrompt, typed: str) -> tuple[Block, ...]:
        """The text of a prompt with what was typed after its name as arguments."""
        assert self._servers is not None, "a server listed the prompt"
        return await self._current.call(self._servers.prompt(prompt, read_arguments(prompt, typed)))

    def complete(self, prompt: McpPrompt, typed: str) -> Sequence[str]:
        """The server's suggestions for the argument at the end of what was typed. Blocking."""
        servers, argument, value, others = self._servers, *open_argument(prompt, typed)
        if servers is None or not argument:
            return ()
        return [shlex.quote(each) for each in self._soon(servers.completions(prompt, argument, value, others))]

    def is_resource(self, name: str) -> bool:
        """Whether a name that was typed is that of a resource: it begins with the name of a server."""
        server, colon, _ = name.partition(":")
        return bool(colon) and self._servers is not None and server in self._servers.resources()

    async def resource(self, name: str) -> tuple[tuple[str, Block], ...]:
        """The content of the resource ``SERVER:URI`` as blocks of the prompt, with their names."""
        assert self._servers is not None, "a server of this name is configured"
        server, _, uri = name.partition(":")
        found = await self._current.call(self._servers.resource(server, uri))
        refuse_documents([block for _, block in found], self._current.facts)
        return found

    def matching(self, start: str) -> Sequence[ResourceRow]:
        """Rows for what was typed after an ``@``: servers, then the resources of one. Blocking."""
        if self._servers is None:
            return ()
        name, colon, typed = start.partition(":")
        offered = self._servers.resources()
        if not colon:
            return [
                ResourceRow(f"{server}:", f"{count(len(found), 'resource')} of the MCP server", whole=False)
                for server, found in offered.items()
                if found and name.lower() in server.lower()
            ]
        rows = [ResourceRow(resource.uri, resource.title) for resource in _plain(offered.get(name, ()), typed)]
        ends = time.monotonic() + COMPLETE_WITHIN_S
        for template in offered.get(name, ()):
            if template.is_template and len(rows) < MOST_ROWS and time.monotonic() < ends:
                rows += self._of_template(self._servers, template, typed)
        return [replace(row, word=f"{name}:{row.word}") for row in rows[:MOST_ROWS]]

    def _of_template(self, servers: McpServers, template: McpResource, typed: str) -> list[ResourceRow]:
        beginning, title = template.uri.partition("{")[0], template.title or template.uri
        if typed.startswith(beginning):
            typed_whole = [typed] if typed != beginning and servers.is_offered(template, typed) else []
            found = dict.fromkeys([*self._soon(servers.addresses(template, typed)), *typed_whole])
            return [ResourceRow(address, title) for address in found]
        if typed.lower() in template.uri.lower() or typed.lower() in title.lower():
            return [ResourceRow(beginning, f"{title}: {template.uri}", whole=False)]
        return []

    def _soon(self, asked: Coroutine[object, object, Sequence[str]]) -> Sequence[str]:
        """What a server answers while the user types; nothing if it takes long or fails."""
        found = self._current.program.engine.call(asked)
        try:
            return found.result(COMPLETE_WITHIN_S)
        except (PonderError, TimeoutError):
            found.cancel()
            return ()


def _nothing() -> None:
    pass


def _on_this_loop(heard: Callable[[], None]) -> Callable[[], None]:
    """A function for other threads that calls ``heard`` on this event loop."""
    loop = asyncio.get_running_loop()

    def pass_on() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            loop.call_soon_threadsafe(heard)

    return pass_on


def _plain(resources: Sequence[McpResource], typed: str) -> Sequence[McpResource]:
    """Resources whose address or title contains what was typed; those whose address begins with it come first."""
    lower = typed.lower()
    plain = [each for each in resources if not each.is_template]
    begin = [each for each in plain if each.uri.lower().startswith(lower)]
    contain = [each for each in plain if lower in each.uri.lower() or lower in each.title.lower()]
    return list(dict.fromkeys([*begin, *contain]))


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A completion of what was typed after an ``@``."""

    word: str
    title: str
    whole: bool = True
    """False if more must be typed."""


def usage(prompt: McpPrompt) -> str:
    """The arguments of a prompt, as help shows them."""
    names = (one_line(argument.name, 30).upper() for argument in prompt.arguments)
    pairs = zip(names, prompt.arguments, strict=True)
    return " ".join(name if argument.required else f"[{name}]" for name, argument in pairs)


def read_arguments(prompt: McpPrompt, typed: str) -> Mapping[str, str]:
    """The arguments by name: words in order, quotes keep some together, the last one takes the rest.

    ``NAME=VALUE`` gives one by its name.
    """
    given = dict(_named(prompt, typed))
    free = [argument.name for argument in prompt.arguments if argument.name not in given]
    words = [word for word in _words(typed) if _name_of(prompt, word) is None]
    if len(words) > len(free) > 0:
        words[len(free) - 1 :] = [" ".join(words[len(free) - 1 :])]
    if words and not free:
        raise UsageError(f"`/{prompt.word}` takes {usage(prompt) or 'no arguments'}.")
    given |= dict(zip(free, words, strict=False))
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in given]
    if missing:
        names = ", ".join(one_line(name, 30).upper() for name in missing)
        raise UsageError(f"`/{prompt.word}` needs {names}.", advice=f"It takes: {usage(prompt)}")
    return given


def open_argument(prompt: McpPrompt, typed: str) -> tuple[str, str, Mapping[str, str]]:
    """The name of the argument being typed, what there is of it, and the earlier ones; "" if there is none."""
    head, _, last = typed.rpartition(" ")
    given = dict(_named(prompt, head))
    free = [argument.name for argument in prompt.arguments if argument.name not in given]
    words = [word for word in _words(head) if _name_of(prompt, word) is None]
    others = {**given, **dict(zip(free, words, strict=False))}
    left = [name for name in free if name not in others]
    return (left[0] if left else "", last, others)


def _named(prompt: McpPrompt, typed: str) -> list[tuple[str, str]]:
    return [(name, word.partition("=")[2]) for word in _words(typed) if (name := _name_of(prompt, word)) is not None]


def _name_of(prompt: McpPrompt, word: str) -> str | None:
    name, equals, _ = word.partition("=")
    return next((argument.name for argument in prompt.arguments if equals and argument.name == name), None)


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:
        return typed.split()
