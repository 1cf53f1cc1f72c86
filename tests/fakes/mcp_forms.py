"""An MCP server by the official SDK, run as a program, whose tools ask the user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import ElicitRequestURLParams
from pydantic import BaseModel, Field

server = MCPServer("forms")
visited: list[str] = []


class Order(BaseModel):
    """Every kind of field that a model of pydantic can have."""

    name: Annotated[str, Field(min_length=2, max_length=20, description="As on the parcel")]
    email: Annotated[str, Field(json_schema_extra={"format": "email"})]
    amount: Annotated[int, Field(ge=1, le=9)] = 2
    weight: float | None = None
    gift: bool = False
    size: Literal["small", "large"] = "small"


def ask_order() -> Elicit[Order]:
    return Elicit("What do you order?", Order)


@server.tool()
async def order(answer: Annotated[ElicitationResult[Order], Resolve(ask_order)]) -> str:
    """Asks for an order."""
    return f"{answer.action} {answer.data.model_dump() if answer.action == 'accept' else ''}"


@server.tool()
async def refuses_first(ctx: Context) -> str:
    """Refuses until an address was visited."""
    if not visited:
        visited.append("x")
        asked = ElicitRequestURLParams(message="First log in.", url="https://example.com/first", elicitation_id="e")
        raise UrlElicitationRequiredError([asked])
    return "done"


@server.tool()
async def waits(ctx: Context) -> str:
    """Tells its progress, and waits for a file."""
    await ctx.report_progress(1, 2, "half way")
    while not Path("go-on").exists():
        await anyio.sleep(0.02)
    return "done"


server.run()
