"""An MCP server by the official SDK, run as a program: well-behaved tools, and one for every way to misbehave."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

WAYS = sys.argv[1:]

if "hang" in WAYS:
    time.sleep(60)
if "flood" in WAYS:
    sys.stderr.write("noise " * 400_000 + "\nthe last words\n")
    sys.stderr.flush()
if "die" in WAYS:
    sys.exit("no database")

import anyio  # noqa: E402
from mcp.server import MCPServer  # noqa: E402
from mcp.server.mcpserver import Context, Image  # noqa: E402

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)

server = MCPServer("fake")
CHANGED = Path("changed")


def add(a: int, b: int) -> int:
    return a + b


server.add_tool(add, description="Other words." if CHANGED.exists() else "Adds \x1b[31mtwo numbers.")


@server.tool()
def weather(city: str) -> dict[str, object]:
    """Structured."""
    return {"city": city, "celsius": 21}


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=PNG, format="png")


@server.tool()
async def slowly(ctx: Context) -> str:
    """Tells its progress."""
    await ctx.report_progress(1, 2, "half way")
    return "done"


@server.tool()
async def waits() -> str:
    """Never ends by itself."""
    await anyio.sleep(60)
    return "?"


@server.tool()
def fails() -> str:
    """Fails."""
    raise ValueError("no such city")


@server.tool()
def dies() -> str:
    """Takes the server with it."""
    os._exit(3)


@server.tool()
def talks(megabytes: int) -> str:
    """Says more than anybody can read."""
    return "word " * (megabytes * 2**20 // 5)


@server.tool()
def environment() -> str:
    """What it can see."""
    return " ".join(sorted(os.environ))


if "http" in WAYS:
    server.run("streamable-http", host="127.0.0.1", port=int(WAYS[-1]))
else:
    server.run()
