"""Sessions of MCP servers over HTTP that restart, servers that refuse, and answers that are refused."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fakes.bench import open_bench, words
from tests.fakes.plain_http_mcp import plain_http_mcp
from tui.tools.mcp.server import FORGOTTEN

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")

UNKNOWN = {"code": -32600, "message": "Session not found"}
NOT_BEGUN = {"code": -32000, "message": "Bad Request: Server not initialized"}
BAD_WORDS = {"code": -32602, "message": "Unknown city"}


@pytest.mark.parametrize(
    ("status", "error", "said", "sessions"),
    [
        (404, UNKNOWN, f"The MCP server `fake` is not available: {FORGOTTEN}.", 2),
        (400, NOT_BEGUN, f"The MCP server `fake` is not available: {FORGOTTEN}.", 2),
        (400, BAD_WORDS, "The MCP server `fake` refused: Unknown city", 1),
        (404, {"code": -32601, "message": "no such method"}, "The MCP server `fake` refused: no such method", 1),
    ],
)
async def test_the_next_call_begins_a_new_session_if_a_server_has_forgotten_the_old_one(
    tmp_path: Path, status: int, error: dict[str, object], said: str, sessions: int
) -> None:
    async with plain_http_mcp() as server:
        bench = open_bench(tmp_path, mcp={"servers": {"fake": {"url": server.address, "start_timeout": 50}}})
        try:
            await bench.toolbox.ready()
            server.forgotten = (status, error)
            assert said in words(await bench.call("mcp_fake__go", "once"))
            assert f"session {sessions}" in words(await bench.call("mcp_fake__go", "once"))
        finally:
            await bench.toolbox.close()


@pytest.mark.parametrize(("status", "reason"), [(401, "HTTP 401: check its `headers`"), (503, "HTTP 503")])
async def test_the_status_of_a_server_that_refuses_is_told(tmp_path: Path, status: int, reason: str) -> None:
    async with plain_http_mcp() as server:
        server.refusal = status
        row = {"url": server.address, "headers": {"Authorization": "Bearer ended"}, "start_timeout": 50}
        bench = open_bench(tmp_path, mcp={"servers": {"fake": row}})
        try:
            await bench.toolbox.ready()
            assert [each.state for each in bench.toolbox.servers()] == [f"it could not be started ({reason})"]
        finally:
            await bench.toolbox.close()


async def test_an_answer_that_is_compressed_unasked_is_refused_at_once(tmp_path: Path) -> None:
    async with plain_http_mcp() as server:
        bench = open_bench(tmp_path, mcp={"servers": {"fake": {"url": server.address, "start_timeout": 50}}})
        try:
            await bench.toolbox.ready()
            server.encoding = "gzip"
            said = words(await bench.call("mcp_fake__go", "once"))
            assert "refused: Unexpected content type: compressed by gzip, though that was not asked for" in said
        finally:
            await bench.toolbox.close()
