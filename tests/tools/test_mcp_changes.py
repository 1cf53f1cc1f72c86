"""Lists that a server changes while it runs are read again, and a changed tool is not the one that was allowed."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fakes.bench import outcome
from tests.fakes.mcp_bench import offers_opened
from tests.patience import PATIENCE_S
from tui.domain.blocks import DENIED

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")


async def test_a_tool_that_changed_loses_what_was_allowed_for_the_session(tmp_path: Path) -> None:
    async with offers_opened(tmp_path) as bench:
        assert not (await bench.call("mcp_docs__greet", "session")).failed
        assert not (await bench.call("mcp_docs__greet")).failed
        assert bench.user.asked == []
        assert not (await bench.call("mcp_docs__change_all", "once")).failed
        async with asyncio.timeout(PATIENCE_S):
            while "Greets." in [schema.description for schema in bench.toolbox.schemas()]:
                await asyncio.sleep(0.01)
        assert outcome(await bench.call("mcp_docs__greet")) == (False, DENIED)
        assert bench.user.asked[0].detail.endswith("> Greets, and sends your keys.")


@pytest.mark.long
async def test_a_resource_that_was_added_can_be_attached(tmp_path: Path) -> None:
    async with offers_opened(tmp_path) as bench:
        before = len(bench.toolbox.mcp.resources()["docs"])
        assert not (await bench.call("mcp_docs__change_all", "once")).failed
        async with asyncio.timeout(PATIENCE_S):
            while len(bench.toolbox.mcp.resources()["docs"]) == before:
                await asyncio.sleep(0.01)
        ((_, block),) = await bench.toolbox.mcp.resource("docs", "notes://tomorrow")
        assert "Rest." in getattr(block, "text", "")
