"""A toolbox that is built on first use, while its definitions are available at once.

Building it loads pydantic and every tool, which takes as long as half a start, and most conversations end without a
tool call. Requests need only the definitions, which are stored in ``definitions.json``.
``python -m tui.tools.lazy_toolbox`` regenerates that file from the tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tui.domain.request import ToolSchema
from tui.tools.missing_here import missing_tools

if TYPE_CHECKING:
    from tui.domain.blocks import ToolCallBlock, ToolResultBlock
    from tui.domain.errors import PonderError
    from tui.domain.listing import ServerInfo, ToolInfo
    from tui.domain.tool_run import ToolRun
    from tui.tools.mcp.servers import McpServers
    from tui.tools.toolbox import Toolbox

DEFINITIONS = Path(__file__).parent / "definitions.json"


@cache
def built_in_schemas() -> tuple[ToolSchema, ...]:
    """The definitions of the built-in tools that work here, in the order in which they are offered."""
    rows = json.loads(DEFINITIONS.read_text(encoding="utf-8"))
    return tuple(ToolSchema(**row) for row in rows if row["name"] not in missing_tools())


class LazyToolbox:
    """Replaces a toolbox without MCP servers and without errors in its rules; otherwise build it at once."""

    def __init__(self, build: Callable[[], Toolbox]) -> None:
        self._build = build
        self._built: Toolbox | None = None

    @property
    def toolbox(self) -> Toolbox:
        """The real toolbox."""
        if self._built is None:
            self._built = self._build()
        return self._built

    @property
    def mcp(self) -> McpServers | None:
        """There are no servers."""
        return None

    @property
    def problems(self) -> Sequence[PonderError]:
        """Errors in the user's rules."""
        return () if self._built is None else self._built.problems

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Definitions to offer."""
        return built_in_schemas() if self._built is None else self._built.schemas()

    def schemas_if(self, name: str, *, enabled: bool) -> tuple[ToolSchema, ...]:
        """Definitions that would be offered if a tool were turned on or off."""
        if self._built is not None:
            return self._built.schemas_if(name, enabled=enabled)
        return tuple(schema for schema in built_in_schemas() if enabled or schema.name != name)

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        """Run one call to its end."""
        return await self.toolbox.run(call, run)

    def rows(self, count_tokens: Callable[[ToolSchema], int]) -> Sequence[ToolInfo]:
        """All tools, for lists."""
        return self.toolbox.rows(count_tokens)

    def servers(self) -> Sequence[ServerInfo]:
        """MCP servers, for lists."""
        return () if self._built is None else self._built.servers()

    def enable(self, name: str, *, enabled: bool) -> None:
        """Offer a tool to models, or stop offering it."""
        self.toolbox.enable(name, enabled=enabled)

    async def ready(self) -> None:
        """There are no servers to start."""

    async def close(self) -> None:
        """Stop what was started."""
        if self._built is not None:
            await self._built.close()


def definitions() -> str:
    """The required content of ``definitions.json``."""
    from tui.tools.toolbox import ToolEnvironment, build_toolbox, schema_of

    here = Path()
    context = ToolEnvironment(folder=here, home=here, environment={}, permissions_file=here / "permissions.toml")
    rows = [
        {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
        for schema in map(schema_of, build_toolbox(context).tools.values())
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DEFINITIONS.write_text(definitions(), encoding="utf-8")
