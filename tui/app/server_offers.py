"""What MCP servers offer to the user: prompts as commands."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui.app.open_session import OpenSession
from tui.domain.errors import PonderError, UsageError
from tui.domain.printable import one_line

if TYPE_CHECKING:
    from tui.domain.blocks import Block
    from tui.domain.listing import ServerPrompt
    from tui.tools.mcp.servers import McpServers

COMPLETE_WITHIN_S = 2.0
"""Seconds that completion waits for a server."""


class ServerOffers:
    """Prompts of the configured MCP servers."""

    def __init__(self, current: OpenSession) -> None:
        self._current = current

    @property
    def _servers(self) -> McpServers | None:
        return self._current.program.toolbox.mcp

    def follow(self, heard: Callable[[], None] | None) -> None:
        """Call this, on the event loop of the caller, when an offer has changed; None ends it."""
        if self._servers is None:
            return
        loop = asyncio.get_running_loop()

        def pass_on() -> None:
            if heard is not None and not loop.is_closed():
                loop.call_soon_threadsafe(heard)

        self._servers.follow(pass_on)

    def prompts(self) -> Sequence[ServerPrompt]:
        """The prompts that the servers have listed."""
        return self._servers.prompts() if self._servers is not None else ()

    async def prompt(self, prompt: ServerPrompt, typed: str) -> tuple[Block, ...]:
        """The text of a prompt with what was typed after its name as arguments."""
        assert self._servers is not None, "a server listed the prompt"
        return await self._current.call(self._servers.prompt(prompt, read_arguments(prompt, typed)))

    def complete(self, prompt: ServerPrompt, typed: str) -> Sequence[str]:
        """The server's suggestions for the argument at the end of what was typed. Blocking."""
        servers, argument, value, others = self._servers, *open_argument(prompt, typed)
        if servers is None or not argument:
            return ()
        found = self._current.program.engine.call(servers.completions(prompt, argument, value, others))
        try:
            values = found.result(COMPLETE_WITHIN_S)
        except (PonderError, TimeoutError):
            found.cancel()
            return ()
        return [shlex.quote(each) for each in values]


def usage(prompt: ServerPrompt) -> str:
    """The arguments of a prompt, as help shows them."""
    names = (one_line(argument.name, 30).upper() for argument in prompt.arguments)
    pairs = zip(names, prompt.arguments, strict=True)
    return " ".join(name if argument.required else f"[{name}]" for name, argument in pairs)


def read_arguments(prompt: ServerPrompt, typed: str) -> Mapping[str, str]:
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


def open_argument(prompt: ServerPrompt, typed: str) -> tuple[str, str, Mapping[str, str]]:
    """The name of the argument being typed, what there is of it, and the earlier ones; "" if there is none."""
    head, _, last = typed.rpartition(" ")
    given = dict(_named(prompt, head))
    free = [argument.name for argument in prompt.arguments if argument.name not in given]
    words = [word for word in _words(head) if _name_of(prompt, word) is None]
    others = {**given, **dict(zip(free, words, strict=False))}
    left = [name for name in free if name not in others]
    return (left[0] if left else "", last, others)


def _named(prompt: ServerPrompt, typed: str) -> list[tuple[str, str]]:
    return [(name, word.partition("=")[2]) for word in _words(typed) if (name := _name_of(prompt, word)) is not None]


def _name_of(prompt: ServerPrompt, word: str) -> str | None:
    name, equals, _ = word.partition("=")
    return next((argument.name for argument in prompt.arguments if equals and argument.name == name), None)


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:
        return typed.split()
