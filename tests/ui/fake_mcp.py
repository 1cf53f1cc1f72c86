"""MCP servers of the fake services."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.app.mcp import McpService, ResourceRow
from tui.domain.forms import Form
from tui.domain.listing import McpPrompt


class FakeMcp(McpService):
    """No server offers anything."""

    def __init__(self) -> None:
        pass

    def follow(self, heard: Callable[[], None] | None) -> None:
        pass

    def follow_forms(self, heard: Callable[[], None] | None) -> None:
        pass

    def forms(self) -> Sequence[Form]:
        return ()

    def prompts(self) -> Sequence[McpPrompt]:
        return ()

    def is_resource(self, name: str) -> bool:
        return False

    def matching(self, start: str) -> Sequence[ResourceRow]:
        return ()
