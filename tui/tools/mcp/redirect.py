"""Receives the redirect at the end of a login, on this machine or as an address that the user pastes."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tui.domain.errors import ToolError
from tui.domain.printable import one_line

PATH = "/callback"
MAX_REQUEST = 16_384
READ_WITHIN_S = 10.0
_PAGE = "<!doctype html><meta charset=utf-8><title>ponder</title><p>{}"
_DONE = "You are logged in. You can close this page."
_WRONG = "This is not the login that ponder waits for."


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected:
    """What the authorization server sent back."""

    code: str
    issuer: str | None


def read_redirect(address: str, expected: str, state: str) -> Redirected:
    """Read the address that a browser was sent to. Raises ToolError if it is not the end of this login."""
    wrong = ToolError("This is not an address that the login leads to: it begins with " + expected)
    try:
        url, ours = urlsplit(address.strip()), urlsplit(expected)
        values = {name: found[0] for name, found in parse_qs(url.query).items() if len(found) == 1}
    except ValueError:
        raise wrong from None
    if (url.scheme, url.netloc, url.path) != (ours.scheme, ours.netloc, ours.path):
        raise wrong
    if not secrets.compare_digest(values.get("state", "").encode(), state.encode()):
        raise ToolError("The address belongs to another login (its state is wrong). Nothing was sent.")
    if "error" in values:
        why = one_line(values.get("error_description") or values["error"], 200)
        raise ToolError(f"The login was refused: {why}")
    if not values.get("code"):
        raise ToolError("The address has no code.")
    return Redirected(code=values["code"], issuer=values.get("iss"))


@dataclass(slots=True)
class RedirectServer:
    """Waits on this machine for the browser. Requests that do not belong to the login change nothing."""

    state: str
    address: str = ""
    """Where the browser is sent to."""
    _server: asyncio.Server | None = None
    _result: asyncio.Future[Redirected] = field(default_factory=asyncio.Future)

    async def start(self, port: int) -> None:
        """Listen; 0 is any free port. Raises ToolError if the port is in use."""
        try:
            self._server = await asyncio.start_server(self._answer, "127.0.0.1", port, limit=MAX_REQUEST)
        except OSError as error:
            raise ToolError(f"Port {port} for the login cannot be used: {error.strerror}.") from None
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def result(self) -> Redirected:
        """What the browser brings. Raises ToolError if the login was refused."""
        return await asyncio.shield(self._result)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if not self._result.done():
            self._result.cancel()
        elif not self._result.cancelled():
            self._result.exception()  # it was taken, or nobody wants it

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, text = "400 Bad Request", _WRONG
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(READ_WITHIN_S):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            if self._take(head):
                status, text = "200 OK", _DONE
        page = _PAGE.format(text).encode()
        fields = f"content-type: text/html\r\ncontent-length: {len(page)}\r\nreferrer-policy: no-referrer\r\n"
        writer.write(
            f"HTTP/1.1 {status}\r\n{fields}cache-control: no-store\r\nconnection: close\r\n\r\n".encode() + page
        )
        with contextlib.suppress(OSError):
            await writer.drain()
        writer.close()

    def _take(self, head: list[str]) -> bool:
        """Whether a request ends the login."""
        method, _, rest = head[0].partition(" ")
        target = rest.partition(" ")[0]
        hosts = [line.partition(":")[2].strip() for line in head[1:] if line.lower().startswith("host:")]
        # A page on another host that leads to this machine has another name in its request.
        if method != "GET" or hosts != [urlsplit(self.address).netloc] or self._result.done():
            return False
        try:
            found = read_redirect(f"http://{hosts[0]}{target}", self.address, self.state)
        except ToolError as error:
            if "state" in error.message or not error.message.startswith("The login was refused"):
                return False
            self._result.set_exception(error)
            return False
        self._result.set_result(found)
        return True
