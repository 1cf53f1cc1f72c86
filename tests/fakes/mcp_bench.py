"""A toolbox with the MCP server that has prompts and resources, once it has listed them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.bench import Bench, open_bench
from tests.fakes.sdk_servers import sdk_server
from tests.patience import PATIENCE_S


@asynccontextmanager
async def offers_opened(around: Path, *ways: str, **names: str) -> AsyncIterator[Bench]:
    """The server is called ``docs``; ``names`` are further servers with their way."""
    rows = {"docs": ways, **{name: (way,) for name, way in names.items()}}
    commands = {name: sdk_server("mcp_offers.py", *row) for name, row in rows.items()}
    servers = {
        name: {"command": command, "args": arguments, "start_timeout": 50}
        for name, (command, arguments) in commands.items()
    }
    bench = open_bench(around, mcp={"servers": servers}, redact=lambda text: text.replace("sk-canary", "***"))
    mcp = bench.toolbox.mcp
    try:
        await bench.toolbox.ready()
        async with asyncio.timeout(PATIENCE_S):
            while any(row.state == "ready" and not (row.prompts and row.resources) for row in mcp.rows()):
                await asyncio.sleep(0.01)
        yield bench
    finally:
        await bench.toolbox.close()
