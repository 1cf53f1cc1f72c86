"""What an MCP server offers: its lists, and reading them again when the server says that they changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tui.domain.listing import McpPrompt, McpResource
from tui.tools.mcp.prompts import prompts_of
from tui.tools.mcp.resources import resources_of
from tui.tools.mcp.results import ForeignTool, tools_of

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp.client.subscriptions import Subscription

MAX_PAGES = 20
ENOUGH_ROWS = 2_000
"""More than any list may have: no further page is asked for."""
AGAIN_S = 1.0
"""Seconds between two readings of a list: a server may announce changes without end."""
LONGEST_PAUSE_S = 60.0
TOOLS, PROMPTS, RESOURCES = "tools", "prompts", "resources"
_NOTIFICATIONS = {f"notifications/{kind}/list_changed": kind for kind in (TOOLS, PROMPTS, RESOURCES)}


def _nothing() -> None:
    pass


@dataclass(slots=True)
class ServerLists:
    """The last lists of one server, also while it is not running: the next use starts it."""

    server: str
    changed: Callable[[], None] = _nothing
    """Called after a list other than the tools' has changed."""
    tools: tuple[ForeignTool, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    resources: tuple[McpResource, ...] = ()
    stale: set[str] = field(default_factory=set)
    """The lists to read again."""
    _remarks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _asked: int = 0
    _shown: dict[str, int] = field(default_factory=dict)
    """The number of the request whose answer each list is: a late answer does not replace a newer one."""

    @property
    def remarks(self) -> Sequence[str]:
        """What was left out of the lists, and why."""
        return [remark for kind in (TOOLS, PROMPTS, RESOURCES) for remark in self._remarks.get(kind, ())]

    def mark_stale(self, *kinds: str) -> None:
        """Read these lists again as soon as possible."""
        self.stale.update(kinds)
        self._news.set()

    def heard(self, method: str) -> None:
        """Take note of a notification."""
        if method in _NOTIFICATIONS:
            self.mark_stale(_NOTIFICATIONS[method])

    async def read_tools(self, client: Client) -> None:
        """Read the tools. If that fails, the list stays stale, so that no call relies on it."""
        self.stale.discard(TOOLS)  # first: a change that is announced while the list is read marks it again
        try:
            number = self._next()
            rows = await _tool_rows(client)
            if self._is_newest(TOOLS, number):
                self.tools, self._remarks[TOOLS] = tools_of(self.server, rows)
        except BaseException:
            self.stale.add(TOOLS)
            raise

    async def follow(self, client: Client, limit_s: float) -> None:
        """Read lists whenever they are stale, until cancelled. A list that cannot be read is left out."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        readers = {TOOLS: self.read_tools, PROMPTS: self._read_prompts, RESOURCES: self._read_resources}
        while True:
            await self._news.wait()
            self._news.clear()
            for kind in sorted(self.stale):
                try:
                    async with asyncio.timeout(limit_s):
                        await readers[kind](client)
                except (MCPError, ValueError, TimeoutError) as error:
                    if not isinstance(error, MCPError) or error.code != CONNECTION_CLOSED:  # else its state says it
                        self._remarks[kind] = (f"its {kind} could not be listed",)
            await asyncio.sleep(AGAIN_S)

    async def listen(self, client: Client) -> None:
        """Ask for the notifications that newer servers send only on request; ends if the server has none."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError
        from mcp.shared.subscriptions import event_to_notification

        pause = AGAIN_S
        while True:
            try:
                async with _listening(client) as events:
                    async for event in events:
                        self.heard(event_to_notification(event, {}).method)
                return
            except (ListenNotSupportedError, MCPError):
                return
            except SubscriptionLost:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                self.mark_stale(TOOLS, PROMPTS, RESOURCES)

    async def _read_prompts(self, client: Client) -> None:
        self.stale.discard(PROMPTS)
        number = self._next()
        rows = await _rows(client.list_prompts, "prompts") if client.server_capabilities.prompts is not None else ()
        if self._is_newest(PROMPTS, number):
            before = self.prompts
            self.prompts, self._remarks[PROMPTS] = prompts_of(self.server, rows)
            if self.prompts != before:
                self.changed()

    async def _read_resources(self, client: Client) -> None:
        self.stale.discard(RESOURCES)
        if client.server_capabilities.resources is None:
            return
        number = self._next()
        rows = await _rows(client.list_resources, "resources")
        templates = await _rows(client.list_resource_templates, "resource_templates")
        if self._is_newest(RESOURCES, number):
            self.resources, self._remarks[RESOURCES] = resources_of(self.server, rows, templates)

    def _next(self) -> int:
        self._asked += 1
        return self._asked

    def _is_newest(self, kind: str, number: int) -> bool:
        if number < self._shown.get(kind, 0):
            return False
        self._shown[kind] = number
        return True


def _listening(client: Client) -> AbstractAsyncContextManager[Subscription]:
    return client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True)


async def _tool_rows(client: Client) -> Sequence[Mapping[str, object]]:
    """Not every server that has tools says so; one that has none may refuse the question."""
    from mcp.shared.exceptions import MCPError

    try:
        return await _rows(client.list_tools, "tools")
    except MCPError:
        if client.server_capabilities.tools is None:
            return ()
        raise


async def _rows(page_of: Callable[..., Awaitable[Any]], kind: str) -> list[Mapping[str, object]]:
    """All pages of a list."""
    rows: list[Mapping[str, object]] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await page_of(cursor=cursor)
        rows += [row.model_dump(mode="json", by_alias=True, exclude_none=True) for row in getattr(page, kind)]
        cursor = page.next_cursor
        if not cursor or len(rows) >= ENOUGH_ROWS:
            break
    return rows
