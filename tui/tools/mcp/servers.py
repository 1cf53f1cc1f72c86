"""MCP servers from ``[mcp.servers.NAME]`` of config.toml, through the official SDK.

The SDK is imported when the first server starts. Each server runs in its own task on the event loop that used it
first. It is started when needed, supervised during start-up, and restarted on the next use after it died.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tui.domain.errors import ConfigError, ToolError
from tui.domain.listing import ServerInfo
from tui.domain.printable import one_line, printable
from tui.domain.request import ToolSchema
from tui.settings.user_files import may_exist, with_home
from tui.tools.builtin.fetch_url import ProxyFor, no_proxy
from tui.tools.builtin.network_addresses import Reach, reach_of
from tui.tools.builtin.processes import MARK, OutputEnds, ProcessTree, proc_is_there
from tui.tools.mcp.results import ForeignTool, outcome_of, remarks_line, tools_of
from tui.tools.permissions.permissions import Intent, offered
from tui.tools.permissions.rules import Access, RequestedAccess
from tui.tools.tool import Job, Outcome, Prepared

if TYPE_CHECKING:
    from mcp.client._transport import Transport
    from mcp.client.client import Client
    from mcp_types import CallToolResult


_NAME = re.compile(r"(?=.{1,32}\Z)[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
"""Without ``__``, which separates the server's name from the tool's."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class ServerConfig(BaseModel):
    """One server: a program that is started, or an address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = ""
    """The program to start; it speaks on stdin and stdout."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    """Variables it gets besides PATH, HOME, LANG and the like; ``${NAME}`` takes one of ours."""
    folder: str = ""
    """Where the program starts: `~` and relative paths are possible. The working folder if empty."""
    url: str = ""
    """The address of a streamable HTTP server."""
    headers: Mapping[str, str] = Field(default_factory=dict)
    """Sent with every request; ``${NAME}`` takes a variable of the environment."""
    enabled: bool = True
    start_timeout: Annotated[float, Field(gt=0, le=120)] = 10.0
    """Seconds until it must answer."""

    @model_validator(mode="after")
    def _check_transport(self) -> ServerConfig:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either `command` or `url`")
        if self.url and not _may_be_reached(self.url):
            raise ValueError("`url` must be https, or http on this machine or network")
        return self


def read_servers(
    table: Mapping[str, object], environment: Mapping[str, str]
) -> tuple[Mapping[str, ServerConfig], list[ConfigError]]:
    """The valid servers, and the errors in the others."""
    servers: dict[str, ServerConfig] = {}
    problems: list[ConfigError] = []
    listed = table.get("servers", {})
    for name, row in listed.items() if isinstance(listed, dict) else ():
        where = f"`[mcp.servers.{name}]`"
        try:
            if not _NAME.fullmatch(name):
                raise ConfigError(f"{where}: a name has letters, digits, `-` and single `_`, 32 at most.", key=name)
            servers[name] = _expanded(ServerConfig.model_validate(row), environment, where)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = ".".join(map(str, first["loc"]))
            problems.append(ConfigError(f"{where}{f' `{key}`' if key else ''}: {first['msg']}.", key=name))
        except ConfigError as problem:
            problems.append(problem)
    unknown = set(table) - {"servers"}
    problems += [ConfigError(f"`[mcp]` has no key `{key}`.", key=key, nearest=("servers",)) for key in unknown]
    return servers, problems


def _expanded(server: ServerConfig, environment: Mapping[str, str], where: str) -> ServerConfig:
    def value(text: str) -> str:
        missing = [name for name in _VARIABLE.findall(text) if name not in environment]
        if missing:
            raise ConfigError(f"{where}: the variable `{missing[0]}` is not set.", key=missing[0])
        return _VARIABLE.sub(lambda found: environment[found[1]], text)

    return server.model_copy(
        update={
            "env": {name: value(text) for name, text in server.env.items()},
            "headers": {name: value(text) for name, text in server.headers.items()},
        }
    )


def _may_be_reached(text: str) -> bool:
    try:
        url = urlsplit(text)
        host = url.hostname or ""
    except ValueError:
        return False
    if url.scheme == "https":
        return bool(host)
    return url.scheme == "http" and (host == "localhost" or reach_of(host) is Reach.PRIVATE)


MAX_PAGES = 20
WAITING = "not started"
READY = "ready"
STARTING = "starting"
OFF = "off"
ENDED = "it ended: the next use starts it again"
SENT_TOO_MUCH = "it sent more than 16 MB at once and was ended: the next use starts it again"
LOOK_AGAIN_S = 1.0
_CLOSED = "Connection closed"
"""The SDK's message."""
NOT_INSTALLED = "MCP support is not installed: `pip install 'ponder-tui[mcp]'` adds it"


@dataclass(slots=True)
class Server:
    """One server. ``tools`` is the last list it sent, also while it is not running: the next use starts it."""

    name: str
    config: ServerConfig
    folder: Path
    proxy_for: ProxyFor = no_proxy
    state: str = WAITING
    tools: tuple[ForeignTool, ...] = ()
    remarks: tuple[str, ...] = ()
    _client: Client | None = None
    _life: asyncio.Task[None] | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _tree: ProcessTree | None = None
    _stale: bool = False
    _looked: float = 0.0
    _seen_dead: bool = False
    _sent_too_much: bool = False
    _stderr: OutputEnds = field(default_factory=lambda: OutputEnds(0, 4096))

    async def up(self) -> Client:
        """Start the server if necessary. Raises ToolError if that fails."""
        if self._client is not None and self._is_dead():
            await self.down("it ended")
        if self._life is None or self._life.done():
            self._looked, self._seen_dead, self._sent_too_much = 0.0, False, False
            self.state, self._stop, self._settled = STARTING, asyncio.Event(), asyncio.Event()
            self._life = asyncio.get_running_loop().create_task(self._live(), name=f"mcp {self.name}")
        await self._settled.wait()
        if self._client is None:
            raise ToolError(f"The MCP server `{self.name}` is not available: {self.state}.")
        if self._stale:
            self._stale = False
            try:
                await self._list(self._client)
            except BaseException:
                # The new list was not read, so the next call requests it again.
                self._stale = True
                raise
        return self._client

    async def down(self, why: str) -> None:
        """Stop the server and wait until it has ended."""
        if self._life is None:
            return
        self._stop.set()
        await asyncio.wait({self._life})
        self.state = why

    async def call(self, tool: ForeignTool, arguments: Mapping[str, object], tell: Callable[[str], None]) -> Outcome:
        """Call a tool with exactly the definition the user permitted."""
        client = await self.up()
        if tool not in self.tools:
            raise ToolError(f"`{tool.schema.name}` was changed or removed since it was offered. Not executed.")
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        async def report(progress: float, total: float | None, message: str | None) -> None:
            tell(one_line(message or f"{progress:g}" + (f" of {total:g}" if total else ""), 200))

        try:
            result = await client.call_tool(tool.theirs, dict(arguments), progress_callback=report)
        except MCPError as error:
            # Servers also use this code for their own errors.
            if error.code == CONNECTION_CLOSED and error.message == _CLOSED:
                await self.down(SENT_TOO_MUCH if self._sent_too_much else "it ended during a call")
                if self._sent_too_much:
                    raise ToolError(
                        f"The MCP server `{self.name}` sent more than 16 MB at once and was stopped: the call may "
                        "have run. Ask it for less; the next use restarts it."
                    ) from None
                raise ToolError(
                    f"The MCP server `{self.name}` ended during this call, which may have run. "
                    "The next use restarts it."
                ) from None
            raise ToolError(f"The MCP server `{self.name}` refused: {printable(error.message)[:2000]}") from None
        except ValueError:
            raise ToolError(f"The MCP server `{self.name}` returned an invalid result.") from None
        return await asyncio.to_thread(self._outcome, tool, result)

    def _outcome(self, tool: ForeignTool, result: CallToolResult) -> Outcome:
        return outcome_of(self.name, tool.theirs, result.model_dump(mode="json", by_alias=True, exclude_none=True))

    def row(self) -> ServerInfo:
        state = self._state_now()
        last = self._stderr.last_line() if state not in (READY, WAITING, OFF) else ""
        detail = remarks_line([*self.remarks, *([f"last output: {last}"] if last else [])])
        return ServerInfo(name=self.name, state=state, tools=len(self.tools), detail=detail)

    def _state_now(self) -> str:
        """Detects that the process died. This reads the process table, so it is done at most once a second."""
        if self.state == READY and time.monotonic() - self._looked >= LOOK_AGAIN_S:
            self._looked, self._seen_dead = time.monotonic(), self._is_dead()
        return ENDED if self.state == READY and self._seen_dead else self.state

    def _is_dead(self) -> bool:
        return self._tree is not None and proc_is_there() and not self._tree.alive()

    async def _live(self) -> None:
        """Run the server from start to end. Failures become the state, because nothing awaits the task's result."""
        limit = self.config.start_timeout
        clock = asyncio.get_running_loop()
        tree = ProcessTree(None, secrets.token_hex(16))
        self._tree = tree if self.config.command else None
        try:
            async with AsyncExitStack() as stack:
                # The SDK takes seconds to shut down a hanging server, so its processes are killed first.
                deadline = clock.call_later(limit, tree.kill)
                stack.callback(deadline.cancel)
                async with asyncio.timeout(limit):
                    client = await self._connected(tree, stack)
                    await self._list(client)
                deadline.cancel()
                self._client, self.state = client, READY
                self._settled.set()
                try:
                    await self._stop.wait()
                finally:
                    self._client = None
        except TimeoutError:
            self.state = f"it did not start within {limit:g} s"
        except Exception as error:  # noqa: BLE001 - a foreign program's fault is a state, and may be of any class
            self.state = SENT_TOO_MUCH if self._sent_too_much else _reason(error)
        finally:
            tree.kill()
            self._client = None
            self._settled.set()

    async def _connected(self, tree: ProcessTree, stack: AsyncExitStack) -> Client:
        try:
            await asyncio.to_thread(importlib.import_module, "mcp.client.client")
        except ImportError:
            raise ToolError(NOT_INSTALLED) from None
        for name in ("mcp", "client", "httpx2"):
            # Without a handler, the SDK's log messages would go to stderr, which is the screen.
            logging.getLogger(name).addHandler(logging.NullHandler())
        from mcp.client.client import Client

        transport = self._transport(tree, stack)
        return await stack.enter_async_context(Client(transport, message_handler=self._on_message, cache=None))

    def _transport(self, tree: ProcessTree, stack: AsyncExitStack) -> Transport:
        from tui.tools.mcp.transport import address, program

        if not self.config.command:
            return address(self.config.url, self.config.headers, self.proxy_for(self.config.url))

        def too_large() -> None:
            self._sent_too_much = True

        argv = [self.config.command, *self.config.args]
        folder = self.folder / with_home(Path(self.config.folder))
        if not self.config.folder and (found := code_in_folder(self.config.command, folder)):
            raise ToolError(
                f"not started, because `{self.config.command}` may run code of this folder (`{found}`): set `folder` in"
                f' `[mcp.servers.{self.name}]`, to "~" to start it elsewhere, or to "." to allow it'
            )
        environment = {**_safe_path(argv), **self.config.env, MARK: tree.mark}
        return program(argv, environment, folder, stack.enter_context(_capture_tail(self._stderr)), tree, too_large)

    async def _on_message(self, message: object) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._stale = True

    async def _list(self, client: Client) -> None:
        rows: list[Mapping[str, object]] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            rows += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        self.tools, self.remarks = tools_of(self.name, rows)


@dataclass(slots=True)
class McpServers:
    """The configured servers; there may be none."""

    servers: Sequence[Server]

    def schemas(self) -> Mapping[str, tuple[str, ToolSchema]]:
        """Server name and definition by tool name, for all servers that have listed their tools."""
        return {tool.schema.name: (server.name, tool.schema) for server in self.servers for tool in server.tools}

    async def prepare(self, name: str, arguments: Mapping[str, object]) -> Prepared:
        """Validate a call. Raises ToolError."""
        server, tool = self._find(name)

        async def perform(job: Job) -> Outcome:
            return await server.call(tool, arguments, job.progress)

        intent = Intent(
            requested=RequestedAccess(tool=name, access=Access.MCP, target=tool.fingerprint),
            summary=f"Call {one_line(tool.theirs, 60)} of the MCP server {server.name}",
            detail=_shown(arguments, tool.schema.description),
            patterns=offered(name, (tool.fingerprint,)),
        )
        return Prepared(intents=(intent,), perform=perform)

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
            for tool in server.tools:
                if tool.schema.name == name:
                    return server, tool
        raise ToolError(f"There is no tool `{name}`.")


_STARTERS = frozenset(("bun", "bunx", "corepack", "deno", "npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg"))
"""Programs that take code or settings from the folder they start in, or from one above."""
_TAKEN = (
    *("node_modules", "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", "pnpm-workspace.yaml"),
    *("bunfig.toml", "deno.json", "deno.jsonc"),
)


def code_in_folder(command: str, folder: Path) -> str:
    """What a command would run or obey of a working folder that it was not told about; empty if nothing."""
    found = shutil.which(command) if PurePath(command).name == command else None
    if found is not None and folder in Path(found).absolute().parents:
        return printable(str(Path(found).absolute().relative_to(folder)), keep_newlines=False)
    if PurePath(command).stem.lower() not in _STARTERS:
        return ""
    home = with_home(Path("~"))
    for place in (folder, *folder.parents):
        if place == home:  # what is there belongs to the user
            return ""
        for name in _TAKEN:
            if may_exist(place / name):
                return name
    return ""


def _safe_path(argv: Sequence[str]) -> dict[str, str]:
    """``python -m`` would run a module of this name from the working folder, before the installed one."""
    is_python = re.fullmatch(r"(?:python|pypy)[0-9.]*(?:\.exe)?", PurePath(argv[0]).name, re.IGNORECASE)
    return {"PYTHONSAFEPATH": "1"} if is_python and "-m" in argv else {}


def open_servers(configs: Mapping[str, ServerConfig], folder: Path, proxy_for: ProxyFor) -> McpServers:
    """Create the configured servers without starting them."""
    return McpServers(
        [
            Server(
                name=name, config=config, folder=folder, proxy_for=proxy_for, state=WAITING if config.enabled else OFF
            )
            for name, config in configs.items()
        ]
    )


async def _try_up(server: Server) -> None:
    with contextlib.suppress(ToolError):
        await server.up()


@contextlib.contextmanager
def _capture_tail(ends: OutputEnds) -> Iterator[int]:
    """A descriptor to write to; only the end of the output is kept, however long it is."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    loop = asyncio.get_running_loop()

    def readable() -> None:
        with contextlib.suppress(OSError):
            data = os.read(reading, 65536)
            if data:
                ends.add(data)
            else:
                loop.remove_reader(reading)

    loop.add_reader(reading, readable)
    try:
        yield writing
    finally:
        os.close(writing)
        readable()
        loop.remove_reader(reading)
        os.close(reading)


def _reason(error: BaseException) -> str:
    if isinstance(error, ToolError):
        return error.message
    if isinstance(error, BaseExceptionGroup):
        return _reason(error.exceptions[0])
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        return one_line(f"it sent what the protocol does not allow: `{where}`: {first['msg']}", 160)
    words = error.strerror if isinstance(error, OSError) else getattr(error, "message", None)
    return f"it could not be started ({one_line(str(words or type(error).__name__), 100)})"


def _shown(arguments: Mapping[str, object], description: str) -> str:
    """The arguments as unambiguous JSON, then the server's description of its tool, quoted."""
    lines = [json.dumps(arguments, ensure_ascii=False, indent=2), "", "The server describes this tool as follows:"]
    return "\n".join([*lines, *(f"> {line}" for line in description.split("\n"))])
