"""One MCP server, through the official SDK.

The SDK is imported when the first server starts. Each server runs in its own task on the event loop that used it
first. It is started when needed, supervised during start-up, and restarted on the next use after it died.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from tui import __version__
from tui.domain.blocks import Block
from tui.domain.errors import ToolError
from tui.domain.format_numbers import count
from tui.domain.forms import FormAnswer
from tui.domain.listing import McpPrompt, McpResource, ServerInfo
from tui.domain.printable import one_line, printable
from tui.settings.user_files import with_home
from tui.tools.builtin.fetch_url import ProxyFor, no_proxy
from tui.tools.builtin.processes import MARK, OutputEnds, ProcessTree, proc_is_there
from tui.tools.mcp.configuration import ServerConfig, code_in_folder, safe_path
from tui.tools.mcp.forms import DECLINED, MOST_FORMS, OpenForms, ServerUse, form_of, login_form
from tui.tools.mcp.lists import PROMPTS, RESOURCES, TOOLS, ServerLists
from tui.tools.mcp.logins import SavedLogins
from tui.tools.mcp.prompts import prompt_blocks
from tui.tools.mcp.resources import is_offered, resource_blocks
from tui.tools.mcp.results import ForeignTool, call_result_of, remarks_line
from tui.tools.tool import CallResult

if TYPE_CHECKING:
    from mcp.client._transport import Transport
    from mcp.client.client import Client
    from mcp.client.context import ClientRequestContext
    from mcp.shared.exceptions import MCPError
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

    from tui.tools.mcp.oauth import ServerAuth
    from tui.tools.mcp.redirect import Redirected, RedirectServer


LOG = logging.getLogger(__name__)
T = TypeVar("T")
_USE: ContextVar[ServerUse | None] = ContextVar("use", default=None)
WAITING = "not started"
READY = "ready"
STARTING = "starting"
OFF = "off"
ENDED = "it ended: the next use starts it again"
SENT_TOO_MUCH = "it sent more than 16 MB at once and was ended: the next use starts it again"
LOOK_AGAIN_S = 1.0
LOGIN_WITHIN_S = 900.0
"""Seconds that a login may take; codes end sooner."""
_CLOSED = "Connection closed"
"""The SDK's message."""
FORGOTTEN = "it has forgotten this session: the next use starts a new one"
_OF_A_SESSION = re.compile("session|initiali", re.IGNORECASE)
_REFUSED = "Server returned an error response"
"""What the SDK says of a refusal without a reason."""
NOT_INSTALLED = "MCP support is not installed: `pip install 'ponder-tui[mcp]'` adds it"


@dataclass(slots=True)
class Server:
    """One server, which is started when it is used."""

    name: str
    config: ServerConfig
    folder: Path
    lists: ServerLists
    forms: OpenForms
    logins: SavedLogins
    proxy_for: ProxyFor = no_proxy
    state: str = WAITING
    _client: Client | None = None
    _life: asyncio.Task[None] | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _tree: ProcessTree | None = None
    _auth: ServerAuth | None = None
    _looked: float = 0.0
    _seen_dead: bool = False
    _sent_too_much: bool = False
    _refusal: int = 0
    """The status of the last message that a server over HTTP did not take."""
    _uses: list[ServerUse] = field(default_factory=list)
    """What is asked of the server now."""
    _stderr: OutputEnds = field(default_factory=lambda: OutputEnds(0, 4096))

    async def up(self) -> Client:
        """Start the server if necessary. Raises ToolError if that fails."""
        if self._client is not None and self._is_dead():
            await self.down("it ended")
        if self._life is None or self._life.done():
            self._looked, self._seen_dead, self._sent_too_much, self._refusal = 0.0, False, False, 0
            self.state, self._stop, self._settled = STARTING, asyncio.Event(), asyncio.Event()
            self._life = asyncio.get_running_loop().create_task(self._live(), name=f"mcp {self.name}")
        await self._settled.wait()
        if self._client is None:
            raise ToolError(f"The MCP server `{self.name}` is not available: {self.state}.")
        if TOOLS in self.lists.stale:
            await self.lists.read_tools(self._client)
        return self._client

    async def log_in(self) -> str:
        """Let the user log in, and start the server again; returns a message for the user."""
        if not self.config.may_log_in:
            reason = "its headers log in" if self.config.url else "it is a program on this machine"
            raise ToolError(f"There is no login at `{self.name}`: {reason}.")
        await _import_sdk()
        await self._login().log_in(self._show_login)
        await self.down(WAITING)
        await self.up()
        return f"You are logged in at {self.name}: {count(len(self.lists.tools), 'tool')}."

    async def log_out(self) -> str:
        """Forget and revoke the login; returns a message for the user."""
        if not self.config.may_log_in:
            raise ToolError(f"There is no login at `{self.name}`.")
        await _import_sdk()
        message = await self._login().log_out()
        await self.down(WAITING)
        return message

    def _login(self) -> ServerAuth:
        from tui.tools.mcp.oauth import ServerAuth

        if self._auth is None:
            self._auth = ServerAuth(self.name, self.config.url, self.config.oauth, self.logins, self.proxy_for)
        return self._auth

    def _login_needed(self) -> str:
        return f"it needs a login: `/mcp login {self.name}`" if self._auth is not None and self._auth.is_needed else ""

    async def _show_login(self, address: str, explained: str, redirect: RedirectServer) -> Redirected:
        """Show the address to the user, until the browser returns or the user pastes where it was sent."""
        from tui.tools.mcp.redirect import read_redirect

        form = login_form(self.name, secrets.token_hex(8), explained, address)
        loop = asyncio.get_running_loop()
        asked, received = loop.create_task(self.forms.ask(form)), loop.create_task(redirect.result())
        try:
            done, _ = await asyncio.wait({asked, received}, timeout=LOGIN_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
            if received in done:
                return received.result()
            answer = asked.result() if asked in done else DECLINED
            if answer.action != "accept":
                raise ToolError(f"The login at `{self.name}` was given up.")
            return read_redirect(str(answer.values.get("address", "")), redirect.address, redirect.state)
        finally:
            self.forms.withdraw(form.id)
            received.cancel()
            await asyncio.wait({asked, received})

    async def down(self, why: str) -> None:
        """Stop the server and wait until it has ended."""
        if self._life is None:
            return
        self._stop.set()
        await asyncio.wait({self._life})
        self.state = why

    async def call(
        self, tool: ForeignTool, arguments: Mapping[str, object], tell: Callable[[str], None], use: ServerUse
    ) -> CallResult:
        """Call a tool with exactly the definition the user permitted."""
        client = await self.up()
        if tool not in self.lists.tools:
            raise ToolError(f"`{tool.schema.name}` was changed or removed since it was offered. Not executed.")

        async def report(progress: float, total: float | None, message: str | None) -> None:
            count = f"{progress:g}" + (f" of {total:g}" if total else "")
            tell(one_line(f"{message} ({count})" if message else count, 200))

        async def called() -> CallToolResult:
            return await client.call_tool(tool.theirs, dict(arguments), progress_callback=report)

        with self._in_use(use):
            answer = self._after_visits(called, use)
            lost = "this call, which may have run", "the call may have run. Ask it for less"
            result = await self._answer(answer, *lost)
        return await asyncio.to_thread(self._result_of, tool, result)

    async def _after_visits(self, called: Callable[[], Awaitable[CallToolResult]], use: ServerUse) -> CallToolResult:
        """Call once more if the server refuses until the user has visited an address."""
        from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
        from mcp_types import URL_ELICITATION_REQUIRED

        try:
            return await called()
        except MCPError as error:
            if error.code != URL_ELICITATION_REQUIRED:
                raise
            for asked in UrlElicitationRequiredError.from_error(error.error).elicitations:
                answer = await self._ask(asked.model_dump(mode="json", by_alias=True, exclude_none=True), use)
                if answer.action != "accept":
                    raise
            return await called()

    @contextlib.contextmanager
    def _in_use(self, use: ServerUse) -> Iterator[None]:
        """What the server asks the user meanwhile belongs to this use, and is withdrawn with it."""
        self._uses.append(use)
        token = _USE.set(use)
        try:
            yield
        finally:
            _USE.reset(token)
            self._uses.remove(use)
            for form in use.asked:
                self.forms.withdraw(form)

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        # Older servers ask by a request of their own, which does not say what it belongs to.
        from mcp_types import ElicitResult

        use = _USE.get() or (self._uses[-1] if self._uses else None)
        if use is None:
            return ElicitResult(action="decline")
        answer = await self._ask(params.model_dump(mode="json", by_alias=True, exclude_none=True), use)
        accepted = answer.action == "accept"
        return ElicitResult(action=answer.action, content=dict(answer.values) if accepted and answer.values else None)

    async def _ask(self, asked: Mapping[str, object], use: ServerUse) -> FormAnswer:
        """The user's answer to a form; a no if it cannot be shown, or is one too many."""
        number = secrets.token_hex(8)
        use.asked.append(number)
        if len(use.asked) > MOST_FORMS:
            return DECLINED
        try:
            form = form_of(self.name, number, asked)
        except ToolError as error:
            LOG.warning("a form of the MCP server %s was declined: %s", self.name, error.message)
            return DECLINED
        with use.paused():
            return await self.forms.ask(form)

    async def prompt(self, prompt: McpPrompt, arguments: Mapping[str, str], use: ServerUse) -> tuple[Block, ...]:
        """The text of a prompt."""
        client = await self.up()
        with self._in_use(use):
            answer = client.get_prompt(prompt.theirs, dict(arguments))
            result = await self._answer(answer, "this request", "the prompt is too long")
        return prompt_blocks(prompt, result.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def resource(self, uri: str, use: ServerUse) -> tuple[tuple[str, Block], ...]:
        """The content of a resource that the server offers, with the names of its parts."""
        client = await self.up()
        if not is_offered(uri, self.lists.resources):
            raise ToolError(f"The MCP server `{self.name}` lists no resource `{one_line(uri, 100)}`.")
        with self._in_use(use):
            result = await self._answer(client.read_resource(uri), "this request", "the resource is too large")
        return resource_blocks(self.name, uri, result.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def completions(
        self, of: McpPrompt | McpResource, argument: str, typed: str, others: Mapping[str, str]
    ) -> Sequence[str]:
        """The server's suggestions for an argument of a prompt or a variable of a template."""
        from mcp_types import PromptReference, ResourceTemplateReference

        client = await self.up()
        if client.server_capabilities.completions is None:
            return []
        reference = (
            PromptReference(type="ref/prompt", name=of.theirs)
            if isinstance(of, McpPrompt)
            else ResourceTemplateReference(type="ref/resource", uri=of.uri)
        )
        answer = client.complete(reference, {"name": argument, "value": typed}, dict(others))
        return (await self._answer(answer, "this request", "too many suggestions")).completion.values

    async def _answer(self, request: Awaitable[T], what: str, too_much: str) -> T:
        """What the server answers. A failure becomes a ToolError, which says what may have happened."""
        from mcp.client import InputRequiredRoundsExceededError
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        self._refusal = 0
        try:
            return await request
        except MCPError as error:
            # Servers also use this code for their own errors.
            if error.code == CONNECTION_CLOSED and error.message == _CLOSED:
                await self.down(SENT_TOO_MUCH if self._sent_too_much else "it ended during a call")
                ended = (
                    f"sent more than 16 MB at once and was stopped: {too_much}; the next use restarts it."
                    if self._sent_too_much
                    else f"ended during {what}. The next use restarts it."
                )
                raise ToolError(f"The MCP server `{self.name}` {ended}") from None
            if needed := self._login_needed():
                raise ToolError(f"The MCP server `{self.name}` refused: {needed}.") from None
            if self._has_forgotten(error):
                await self.down(FORGOTTEN)
                raise ToolError(f"The MCP server `{self.name}` is not available: {FORGOTTEN}.") from None
            reason = self._status_told(error.message) or printable(error.message)[:2000]
            raise ToolError(f"The MCP server `{self.name}` refused: {reason}") from None
        except ValueError:
            raise ToolError(f"The MCP server `{self.name}` returned an invalid result.") from None
        except InputRequiredRoundsExceededError:
            raise ToolError(f"The MCP server `{self.name}` asked for input again and again.") from None

    def _has_forgotten(self, error: MCPError) -> bool:
        """Whether the server no longer knows the session, as after a restart: the protocol says 404, some say 400."""
        from mcp_types import METHOD_NOT_FOUND

        if self._refusal == 404:
            return error.code != METHOD_NOT_FOUND
        return self._refusal == 400 and _OF_A_SESSION.search(error.message) is not None

    def _status_told(self, message: object) -> str:
        """The status of a refusal, which the SDK leaves out; "" if the server gave a reason."""
        if message != _REFUSED or not self._refusal:
            return ""
        return f"HTTP {self._refusal}" + (": check its `headers`" if self._refusal in (401, 403) else "")

    def _result_of(self, tool: ForeignTool, result: CallToolResult) -> CallResult:
        return call_result_of(self.name, tool.theirs, result.model_dump(mode="json", by_alias=True, exclude_none=True))

    def row(self) -> ServerInfo:
        state = self._state_now()
        last = self._stderr.last_line() if state not in (READY, WAITING, OFF) else ""
        detail = remarks_line([*self.lists.remarks, *([f"last output: {last}"] if last else [])])
        return ServerInfo(
            name=self.name,
            state=state,
            tools=len(self.lists.tools),
            prompts=len(self.lists.prompts),
            resources=len(self.lists.resources),
            detail=detail,
        )

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
                    await self.lists.read_tools(client)
                deadline.cancel()
                self._client, self.state = client, READY
                self._settled.set()
                try:
                    await self._until_stopped(client)
                finally:
                    self._client = None
        except TimeoutError:
            self.state = f"it did not start within {limit:g} s"
        except Exception as error:  # noqa: BLE001 - a foreign program's fault is a state, and may be of any class
            self.state = SENT_TOO_MUCH if self._sent_too_much else self._login_needed() or self._why(error)
        finally:
            tree.kill()
            self._client = None
            self._settled.set()

    def _why(self, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        status = self._status_told(getattr(error, "message", None))
        return f"it could not be started ({status})" if status else _reason(error)

    async def _until_stopped(self, client: Client) -> None:
        """Keep the lists up to date meanwhile."""
        self.lists.mark_stale(PROMPTS, RESOURCES)
        async with asyncio.TaskGroup() as tasks:
            work = (self.lists.follow(client, self.config.start_timeout), self.lists.listen(client))
            running = [tasks.create_task(each) for each in work]
            await self._stop.wait()
            for task in running:
                task.cancel()

    async def _connected(self, tree: ProcessTree, stack: AsyncExitStack) -> Client:
        await _import_sdk()
        from mcp.client.client import Client
        from mcp_types import Implementation

        transport = self._transport(tree, stack)
        return await stack.enter_async_context(
            Client(
                transport,
                message_handler=self._on_message,
                elicitation_callback=self._elicit,
                client_info=Implementation(name="ponder", version=__version__),
                cache=None,
            )
        )

    def _transport(self, tree: ProcessTree, stack: AsyncExitStack) -> Transport:
        from tui.tools.mcp.transport import address, program

        if not self.config.command:
            auth = self._login() if self.config.may_log_in else None
            return address(
                self.config.url, self.config.headers, self.proxy_for(self.config.url), auth, self._was_refused
            )

        if os.name != "posix":
            raise ToolError("not started: servers that are programs do not work on Windows, only those with a `url`")

        def too_large() -> None:
            self._sent_too_much = True

        argv = [self.config.command, *self.config.args]
        folder = self.folder / with_home(Path(self.config.folder))
        if not self.config.folder and (found := code_in_folder(self.config.command, folder)):
            raise ToolError(
                f"not started, because `{self.config.command}` may run code of this folder (`{found}`): set `folder` in"
                f' `[mcp.servers.{self.name}]`, to "~" to start it elsewhere, or to "." to allow it'
            )
        environment = {**safe_path(argv), **self.config.env, MARK: tree.mark}
        return program(argv, environment, folder, stack.enter_context(_capture_tail(self._stderr)), tree, too_large)

    def _was_refused(self, status: int) -> None:
        self._refusal = status

    async def _on_message(self, message: object) -> None:
        self.lists.heard(getattr(message, "method", ""))


async def _import_sdk() -> None:
    """Import the SDK beside the event loop. Raises ToolError if it is not installed."""
    try:
        await asyncio.to_thread(importlib.import_module, "mcp.client.client")
    except ImportError:
        raise ToolError(NOT_INSTALLED) from None
    for name in ("mcp", "client", "httpx2"):
        # Without a handler, the SDK's log messages would go to stderr, which is the screen.
        logging.getLogger(name).addHandler(logging.NullHandler())


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
