"""Transports to MCP servers with a limit on message size.

The SDK's transports accept messages of any size, and the one for programs copies its whole buffer for every chunk.
Imported only if the SDK is installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from tui.domain.format_numbers import count
from tui.tools.builtin.processes import ProcessTree
from tui.tools.mcp.addresses import CheckedAddresses

MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of one message: room for a few of the largest accepted images. Servers often include a text twice."""
GRACE_S = 0.5
"""Seconds a server has to exit after its input is closed; then its processes are killed."""
UNREADABLE = "its answer cannot be read"
_ID = re.compile(rb'"id"\s*:\s*(?:(\d{1,18})|"([^"\\]{1,100})")')
STREAMS_EVERY_S = 0.25
END_WITHIN_S = 1.0
CANCELLED = "notifications/cancelled"
CANCEL_WITHIN_S = 0.1
"""Seconds in which a server must take note that a request was given up."""
MOST_UNANSWERED = 100
"""Requests of a server that wait for an answer. Further ones get none: a server may ask without end."""
MOST_ROWS = 2_000
"""Rows of a list in a message, more than any list may have that is shown: the SDK takes a while to check each."""
TOO_LARGE = f"a message of more than {MAX_MESSAGE // 2**20} MB"

_FromServer = MemoryObjectSendStream[SessionMessage | Exception]
_ToServer = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def program(
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    stderr: int,
    tree: ProcessTree,
    too_large: Callable[[], None],
) -> AsyncIterator[TransportStreams]:
    """Start a server; end it with all its processes afterwards, or when a message is too large."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env={**get_default_environment(), **environment},
        cwd=folder,
        start_new_session=True,
        limit=MAX_MESSAGE,
    )
    guard = await _guarded(process.pid, tree.mark)
    # A server started with an empty environment (`env -i`, `sudo`) does not carry the marker.
    tree.leader, tree.pipe = process.pid, f"pipe:[{os.fstat(stderr).st_ino}]"
    sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_sender, write_receiver = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with sender:
            if not await _read_all(process, sender):
                too_large()
                tree.kill()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(_forget_leader, process, tree, guard)
            tasks.start_soon(_write_all, process, write_receiver, sender)
            try:
                yield _bounded(receiver, write_sender)
            finally:
                with anyio.CancelScope(shield=True):
                    await _ended(process, tree)
                    await _dismissed(guard)
                    for stream in (receiver, write_sender, sender, write_receiver):
                        await stream.aclose()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _drained(process)


@asynccontextmanager
async def address(
    url: str,
    headers: Mapping[str, str],
    proxy: str | None,
    auth: httpx2.Auth | None,
    refused: Callable[[int], None],
) -> AsyncIterator[TransportStreams]:
    """Connect to a server over HTTP; ``refused`` gets the status of each message that it does not take."""

    async def look(response: httpx2.Response) -> None:
        if response.request.method == "POST" and response.status_code >= 400:
            refused(response.status_code)

    async with (
        http_client(proxy, headers, auth, look) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE) as (receiver, sender),
    ):
        yield _bounded(receiver, sender)


def _bounded(receiver: ReadStream[SessionMessage | Exception], sender: WriteStream[SessionMessage]) -> TransportStreams:
    unanswered: set[RequestId] = set()
    return _Bounded(receiver, unanswered), _Answering(sender, unanswered)


class _Bounded:
    """What a server sends, within limits, and without requests before earlier ones are answered."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], unanswered: set[RequestId]) -> None:
        self._stream = stream
        self._unanswered = unanswered

    @property
    def last_context(self) -> object:
        """What the SDK asks streams for."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while self._is_left_out(received := await self._stream.receive()):
            pass
        return _within_limits(received)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Bounded:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while self._is_left_out(received := await self._stream.__anext__()):
            pass
        return _within_limits(received)

    def _is_left_out(self, received: SessionMessage | Exception) -> bool:
        """Whether this is one request too many: the SDK answers each in a task of its own."""
        match received.message if isinstance(received, SessionMessage) else None:
            case JSONRPCRequest(id=number):
                if number in self._unanswered or len(self._unanswered) >= MOST_UNANSWERED:
                    return True
                self._unanswered.add(number)
            case JSONRPCNotification(method=method, params={"requestId": str() | int() as number}):
                if method == CANCELLED:
                    self._unanswered.discard(number)
        return False

    async def __aenter__(self) -> _Bounded:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)


class _Answering:
    """What is sent to a server; takes note of the requests of the server that it answers."""

    def __init__(self, stream: WriteStream[SessionMessage], unanswered: set[RequestId]) -> None:
        self._stream = stream
        self._unanswered = unanswered

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCNotification) and item.message.method == CANCELLED:
            # The SDK waits five seconds for a server that does not read, and the user as long for the end of a call.
            with anyio.move_on_after(CANCEL_WITHIN_S):
                await self._stream.send(item)
            return
        await self._stream.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
            self._unanswered.discard(item.message.id)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Answering:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)


def _within_limits(received: SessionMessage | Exception) -> SessionMessage | Exception:
    """Shorten long lists, and remove the schemas of results.

    The SDK would compare each result with its schema while nothing else runs: a pattern such as `(a|a)*` in it takes
    for ever, and a result that does not fit would be lost. For the model, a result is text, whatever its schema says.
    """
    answer = received.message if isinstance(received, SessionMessage) else None
    result = answer.result if isinstance(answer, JSONRPCResponse) else {}
    tools = result.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            tool.pop("outputSchema", None)
    for name, rows in result.items():
        if isinstance(rows, list) and len(rows) > MOST_ROWS:
            result[name] = rows[:MOST_ROWS]
            if name == "content":
                left_out = f"({count(len(rows) - MOST_ROWS, 'more part')} of the result left out)"
                result[name].append({"type": "text", "text": left_out})
    return received


def http_client(
    proxy: str | None,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    *looks: Callable[[httpx2.Response], Awaitable[None]],
) -> httpx2.AsyncClient:
    """A client that follows no redirects, and whose answers have a limit."""
    # Uncompressed data cannot grow after it was counted.
    plain = {**(headers or {}), "accept-encoding": "identity"}
    return httpx2.AsyncClient(
        headers=plain,
        auth=auth,
        timeout=httpx2.Timeout(30.0, read=300.0),
        # The client's own choice of a proxy would send requests for this machine, with their headers, to HTTP_PROXY.
        transport=httpx2.AsyncHTTPTransport(proxy=proxy),
        event_hooks={"request": [_Pace(), _end_soon], "response": [*looks, _refuse_compressed, _limited]},
    )


async def _end_soon(request: httpx2.Request) -> None:
    """Do not wait long for a server to take note of the end of a session."""
    if request.method == "DELETE":
        request.extensions["timeout"] = httpx2.Timeout(END_WITHIN_S).as_dict()


class _Pace:
    """Delays requests for a stream of events: the SDK makes the next one as soon as the server says, also at once."""

    def __init__(self) -> None:
        self._next = 0.0

    async def __call__(self, request: httpx2.Request) -> None:
        if request.method == "GET":
            now = time.monotonic()
            begins = max(now, self._next)
            self._next = begins + STREAMS_EVERY_S
            await asyncio.sleep(begins - now)


def login_client(addresses: CheckedAddresses) -> httpx2.AsyncClient:
    """A client for the requests of a login, each of which is checked before it is sent."""
    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity"},
        timeout=httpx2.Timeout(30.0),
        transport=_CheckedTransport(addresses),
        event_hooks={"response": [_limited]},
    )


class _CheckedTransport(httpx2.AsyncBaseTransport):
    """Connects to the numbers that were checked: resolved again, the name could lead elsewhere."""

    def __init__(self, addresses: CheckedAddresses) -> None:
        self._addresses = addresses
        self._transports: dict[str | None, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        numbers = await self._addresses.check(str(request.url))
        proxy = self._addresses.proxy_for(str(request.url))
        if (transport := self._transports.get(proxy)) is None:
            transport = self._transports[proxy] = httpx2.AsyncHTTPTransport(proxy=proxy)
        if proxy is not None:  # which gets the name: TLS verifies it, and many proxies reject numbers
            return await transport.handle_async_request(request)
        for number in numbers[:-1]:
            with contextlib.suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await transport.handle_async_request(_at(number, request))
        return await transport.handle_async_request(_at(numbers[-1], request))

    async def aclose(self) -> None:
        for transport in self._transports.values():
            await transport.aclose()


def _at(number: str, request: httpx2.Request) -> httpx2.Request:
    """The request, to be sent to this number; certificates are still those of the name."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=number),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


async def _read_all(process: asyncio.subprocess.Process, to_client: _FromServer) -> bool:
    """Forward every line until the server's output ends; False if one was too large."""
    assert process.stdout is not None
    while True:
        try:
            line = await process.stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return True
        except asyncio.LimitOverrunError:
            return False
        try:
            message: SessionMessage | Exception = SessionMessage(
                jsonrpc_message_adapter.validate_json(line, by_name=False)
            )
        except ValueError as error:
            message = _repaired_message(line) or error
        try:
            await to_client.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return True


def _repaired_message(line: bytes) -> SessionMessage | None:
    """A message without its halves of characters, or an error for the call that the message answers.

    Without one of them, the call would wait for its time limit.
    """
    with contextlib.suppress(ValueError, RecursionError):
        repaired = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
        return SessionMessage(jsonrpc_message_adapter.validate_json(repaired, by_name=False))
    found = _ID.search(line)
    if found is None:
        return None
    number = int(found[1]) if found[1] else str(found[2], errors="replace")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message=UNREADABLE)))


async def _write_all(process: asyncio.subprocess.Process, messages: _ToServer, to_client: _FromServer) -> None:
    assert process.stdin is not None
    try:
        async with messages:
            async for message in messages:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode(errors="replace") + b"\n")
                await process.stdin.drain()
    except (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        # Signal the end, so that the client does not wait for an answer that cannot arrive.
        await to_client.aclose()


async def _forget_leader(
    process: asyncio.subprocess.Process, tree: ProcessTree, guard: asyncio.subprocess.Process | None
) -> None:
    """Once nobody of the process group is left, the system may give its number to another program."""
    await process.wait()
    if not tree.alive():
        tree.leader = None
        await _dismissed(guard)


_GUARD = """
trap '' HUP INT QUIT TERM
read -r dismissed && exit
sleep 1
kill -TERM -- "-$1"
sleep 1
kill -KILL -- "-$1"
for each in /proc/[0-9]*; do
    grep -qs -- "$2" "$each/environ" && kill -KILL "${each#/proc/}"
done
"""
"""Ends a server, with the processes that left its group, if ponder has ended without doing so (``kill -9``).

A shell, because it needs a tenth of the memory of Python. It waits for the end of its input, which ponder alone holds.
"""


async def _guarded(leader: int, mark: str) -> asyncio.subprocess.Process | None:
    """The process that ends a server when ponder is killed."""
    if os.name != "posix":
        return None
    try:
        return await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _GUARD, "sh", str(leader), mark),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return None


async def _dismissed(guard: asyncio.subprocess.Process | None) -> None:
    """Nothing is left to be ended."""
    if guard is None or guard.stdin is None or guard.returncode is not None:
        return
    with contextlib.suppress(OSError):
        guard.stdin.write(b"\n")
        await guard.stdin.drain()
        guard.stdin.close()
    await guard.wait()


async def _ended(process: asyncio.subprocess.Process, tree: ProcessTree) -> None:
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()
    await tree.end(process)


async def _drained(process: asyncio.subprocess.Process) -> None:
    """Read what an ended server has left in its pipe: asyncio closes the pipe only when it has seen its end."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError, OSError):  # a process that no signal reaches may hold the pipe
        async with asyncio.timeout(GRACE_S):
            while await process.stdout.read(MAX_MESSAGE):
                pass


class _Counted(httpx2.AsyncByteStream):
    """A response body with a size limit."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._body:
            count += len(chunk)
            if count > MAX_MESSAGE:
                raise httpx2.StreamError(TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


async def _refuse_compressed(response: httpx2.Response) -> None:
    """As a type that the SDK tells at once. If this raised, a call would have no answer until its time is over."""
    encoding = response.headers.pop("content-encoding", "identity")
    if encoding.lower() not in ("identity", ""):
        response.headers["content-type"] = f"compressed by {encoding[:20]}, though that was not asked for"


async def _limited(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity").lower() not in ("identity", ""):
        raise httpx2.DecodingError("the answer is compressed, though that was not asked for")
    # The SSE reader limits each event; a stream of events has no total limit.
    is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if not is_events and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Counted(response.stream)
