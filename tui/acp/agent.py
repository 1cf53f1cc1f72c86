"""The agent that an editor talks to: it opens sessions and passes on what the protocol asks of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp import RequestError, schema
from acp.interfaces import Client
from acp.meta import PROTOCOL_VERSION

from tui import __version__
from tui.acp.editor_session import EditorSession
from tui.acp.prompt_blocks import ContentBlock
from tui.domain.errors import ErrorKind, PonderError, ProviderError

McpServer = schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer | schema.McpServerStdio
OpenEditorSession = Callable[[Path, Mapping[str, object], str | None], Awaitable[EditorSession]]
"""Opens a session in a folder with MCP servers: a stored one by its id, or (None) a new one."""


class PonderAgent:
    """Implements the agent's side of the protocol."""

    def __init__(self, open_session: OpenEditorSession) -> None:
        self._open = open_session
        self._sessions: dict[str, EditorSession] = {}
        self._opening = asyncio.Lock()
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Remember the connection to the editor."""
        self._client = conn

    async def initialize(self, **_: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,  # the only one, whatever the editor asked for
            agent_info=schema.Implementation(name="ponder", title="ponder", version=__version__),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=True),
            ),
            auth_methods=[],
        )

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[McpServer] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        session = await self._opened(cwd, mcp_servers, None)
        return schema.NewSessionResponse(session_id=session.id, config_options=session.options())

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[McpServer] | None = None, **_: Any
    ) -> schema.LoadSessionResponse:
        session = await self._opened(cwd, mcp_servers, session_id)
        for update in session.history():
            await self._editor().session_update(session.id, update)
        return schema.LoadSessionResponse(config_options=session.options())

    async def prompt(self, session_id: str, prompt: Sequence[ContentBlock], **_: Any) -> schema.PromptResponse:
        try:
            return await self._session(session_id).prompt(prompt, self._editor())
        except PonderError as error:
            raise as_request_error(error) from None

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self._sessions:
            await self._sessions[session_id].cancel()

    async def set_config_option(
        self,
        config_id: str,
        session_id: str,
        value: object,
        **_: Any,
    ) -> schema.SetSessionConfigOptionResponse:
        session = self._session(session_id)
        try:
            await session.choose(config_id, str(value))
        except PonderError as error:
            raise as_request_error(error) from None
        return schema.SetSessionConfigOptionResponse(config_options=session.options())

    async def close(self) -> None:
        """End all sessions."""
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Nothing is known that an editor could tell."""

    async def _opened(self, cwd: str, mcp_servers: Sequence[McpServer] | None, stored: str | None) -> EditorSession:
        async with self._opening:  # two requests for a stored session get the same one
            folder = Path(cwd)
            if stored in self._sessions:
                session = self._sessions[stored]
                if session.folder != folder:
                    raise RequestError(-32602, f"The session is open in {session.folder}.")
                return session
            try:
                session = await self._open(folder, server_tables(mcp_servers or ()), stored)
            except PonderError as error:
                raise as_request_error(error) from None
            self._sessions[session.id] = session
            return session

    def _session(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RequestError.resource_not_found(session_id)
        return self._sessions[session_id]

    def _editor(self) -> Client:
        assert self._client is not None, "requests come over a connection"
        return self._client


def server_tables(servers: Sequence[McpServer]) -> dict[str, object]:
    """MCP servers of the editor as tables of ``[mcp.servers]``; kinds that ponder cannot use are left out."""
    found: dict[str, object] = {}
    for server in servers:
        match server:
            case schema.McpServerStdio():
                env = {variable.name: variable.value for variable in server.env}
                found[server.name] = {"command": server.command, "args": list(server.args), "env": env}
            case schema.HttpMcpServer():
                headers = {header.name: header.value for header in server.headers}
                found[server.name] = {"url": server.url, "headers": headers}
            case _:
                pass
    return found


def as_request_error(error: PonderError) -> RequestError:
    """The error with its advice, as the editor shows it."""
    text = f"{error.message} {error.advice}".strip()
    if isinstance(error, ProviderError) and error.kind in (ErrorKind.NO_KEY, ErrorKind.AUTH):
        return RequestError(-32000, text)
    return RequestError(-32603, text)
