"""The MCP servers of config.toml: their tools for models, and their prompts and resources for the user."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from tui.domain.blocks import Block, TextBlock
from tui.domain.errors import ToolError
from tui.domain.listing import McpPrompt, McpResource, ServerInfo
from tui.domain.printable import one_line
from tui.domain.request import ToolSchema
from tui.tools.builtin.fetch_url import ProxyFor
from tui.tools.mcp.configuration import ServerConfig
from tui.tools.mcp.forms import OpenForms, ServerUse, without_limit
from tui.tools.mcp.lists import ServerLists
from tui.tools.mcp.logins import SavedLogins
from tui.tools.mcp.prompts import with_words
from tui.tools.mcp.resources import is_offered, template_of
from tui.tools.mcp.results import ForeignTool
from tui.tools.mcp.server import OFF, READY, WAITING, Server
from tui.tools.permissions.permissions import IntendedAction, offered
from tui.tools.permissions.rules import Access, RequestedAccess
from tui.tools.tool import CallContext, CallResult, PreparedCall

ANSWER_WITHIN_S = 60.0
"""Seconds for what the user, not the model, asks of a server."""
DEEPEST = 100
"""Levels of the arguments of a call; the SDK writes about 200."""
MAX_VALUES = 100
MAX_VALUE = 200

T = TypeVar("T")


@dataclass(slots=True)
class McpServers:
    """The configured servers; there may be none."""

    servers: Sequence[Server]
    forms: OpenForms = field(default_factory=OpenForms)
    redact: Callable[[str], str] = str
    """Removes known secrets from texts of servers."""

    def schemas(self) -> Mapping[str, tuple[str, ToolSchema]]:
        """Server name and definition by tool name, for all servers that have listed their tools."""
        return {tool.schema.name: (server.name, tool.schema) for server in self.servers for tool in server.lists.tools}

    async def prepare(self, name: str, arguments: Mapping[str, object]) -> PreparedCall:
        """Validate a call. Raises ToolError."""
        server, tool = self._find(name)
        _check_sendable(arguments)

        async def perform(running: CallContext) -> CallResult:
            return await server.call(tool, arguments, running.progress, ServerUse(running.run.paused))

        action = IntendedAction(
            requested=RequestedAccess(tool=name, access=Access.MCP, target=tool.fingerprint),
            summary=f"Call {one_line(tool.theirs, 60)} of the MCP server {server.name}",
            detail=_shown(arguments, tool.schema.description),
            patterns=offered(name, (tool.fingerprint,)),
        )
        return PreparedCall(actions=(action,), perform=perform)

    def prompts(self) -> tuple[McpPrompt, ...]:
        """The prompts of all servers, by their slash words."""
        return with_words([prompt for server in self.servers for prompt in server.lists.prompts])

    async def prompt(self, prompt: McpPrompt, arguments: Mapping[str, str]) -> tuple[Block, ...]:
        """The text of a prompt. Raises ToolError."""
        blocks = await self._in_time(
            lambda use: self._named(prompt.server).prompt(prompt, arguments, use), prompt.server
        )
        return tuple(map(self._without_secrets, blocks))

    async def completions(
        self, of: McpPrompt | McpResource, argument: str, typed: str, others: Mapping[str, str]
    ) -> Sequence[str]:
        """Suggestions for an argument of a prompt or a variable of a template, as far as they can be typed."""
        server = self._named(of.server)
        if server.state != READY:
            return ()
        values = await self._in_time(lambda _: server.completions(of, argument, typed, others), of.server)
        return [value for value in values[:MAX_VALUES] if value.strip() and one_line(value, MAX_VALUE) == value]

    def resources(self) -> Mapping[str, tuple[McpResource, ...]]:
        """The resources of each server that is not switched off."""
        return {server.name: server.lists.resources for server in self.servers if server.state != OFF}

    async def resource(self, server: str, uri: str) -> tuple[tuple[str, Block], ...]:
        """The content of a resource. Raises ToolError."""
        parts = await self._in_time(lambda use: self._named(server).resource(uri, use), server)
        return tuple((name, self._without_secrets(block)) for name, block in parts)

    async def addresses(self, template: McpResource, typed: str) -> Sequence[str]:
        """Addresses that a template with one variable can mean, as the server completes what was typed."""
        shape = template_of(template.uri)
        if shape is None or len(shape.variables) != 1 or not typed.startswith(shape.beginning):
            return ()
        values = await self.completions(template, shape.variables[0], typed[len(shape.beginning) :], {})
        return [f"{shape.beginning}{value}{shape.end}" for value in values if " " not in value]

    def is_offered(self, template: McpResource, uri: str) -> bool:
        """Whether a template means this address."""
        return is_offered(uri, (template,))

    def _without_secrets(self, block: Block) -> Block:
        return replace(block, text=self.redact(block.text)) if isinstance(block, TextBlock) else block

    def follow(self, heard: Callable[[], None]) -> None:
        """Call this, on the servers' thread, whenever a list has changed."""
        for server in self.servers:
            server.lists.changed = heard

    async def _in_time(self, work: Callable[[ServerUse], Awaitable[T]], server: str) -> T:
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S) as limit:
                return await work(ServerUse(partial(without_limit, limit, ANSWER_WITHIN_S)))
        except TimeoutError:
            raise ToolError(f"The MCP server `{server}` did not answer within {ANSWER_WITHIN_S:g} seconds.") from None

    def _named(self, name: str) -> Server:
        found = next((server for server in self.servers if server.name == name), None)
        if found is None or found.state == OFF:
            raise ToolError(f"There is no MCP server `{name}`.")
        return found

    async def log_in(self, name: str) -> str:
        """Let the user log in at a server; returns a message for the user. Raises ToolError."""
        return await self._named(name).log_in()

    async def log_out(self, name: str) -> str:
        """Forget and revoke the login at a server; returns a message for the user. Raises ToolError."""
        return await self._named(name).log_out()

    def with_login(self) -> Sequence[str]:
        """The names of servers at which one can log in."""
        return [server.name for server in self.servers if server.config.may_log_in and server.state != OFF]

    def rows(self) -> Sequence[ServerInfo]:
        """Data for ``/mcp``."""
        return [server.row() for server in self.servers]

    async def ready(self) -> None:
        """Start all enabled servers concurrently; returns when each has started or failed."""
        await asyncio.gather(*(_try_up(server) for server in self.servers if server.state != OFF))

    async def close(self) -> None:
        """Stop all servers."""
        await asyncio.gather(*(server.down(WAITING) for server in self.servers))

    def _find(self, name: str) -> tuple[Server, ForeignTool]:
        for server in self.servers:
            for tool in server.lists.tools:
                if tool.schema.name == name:
                    return server, tool
        raise ToolError(f"There is no tool `{name}`.")


def open_servers(
    configs: Mapping[str, ServerConfig],
    folder: Path,
    proxy_for: ProxyFor,
    redact: Callable[[str], str],
    logins: SavedLogins,
) -> McpServers:
    """Create the configured servers without starting them."""
    forms = OpenForms()
    return McpServers(
        [
            Server(
                name=name,
                config=config,
                folder=folder,
                lists=ServerLists(name),
                forms=forms,
                logins=logins,
                proxy_for=proxy_for,
                state=WAITING if config.enabled else OFF,
            )
            for name, config in configs.items()
        ],
        forms,
        redact,
    )


async def _try_up(server: Server) -> None:
    with contextlib.suppress(ToolError):
        await server.up()


def _check_sendable(arguments: Mapping[str, object]) -> None:
    """Raise ToolError for arguments that the SDK cannot write: it would end the server, or change them."""
    if _is_deeper(arguments, DEEPEST):
        raise ToolError(f"The arguments are nested more than {DEEPEST} levels deep. Not executed.")
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ToolError("The arguments contain half a character (a lone surrogate). Not executed.") from None
    except ValueError:
        raise ToolError("The arguments contain a number that is too large. Not executed.") from None


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner if isinstance(one, Mapping | list))


def _shown(arguments: Mapping[str, object], description: str) -> str:
    """The arguments as unambiguous JSON, then the server's description of its tool, quoted."""
    lines = [json.dumps(arguments, ensure_ascii=False, indent=2), "", "The server describes this tool as follows:"]
    return "\n".join([*lines, *(f"> {line}" for line in description.split("\n"))])
