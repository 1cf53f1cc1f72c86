"""MCP servers that ask without end, or read nothing: the program stays quick, and small."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench, outcome
from tests.patience import PATIENCE_S
from tui.domain.blocks import ToolCallBlock, ToolResultBlock

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")

PLAIN = str(Path(__file__).parents[1] / "fakes" / "plain_mcp_server.py")
MOST_TASKS = 300


@asynccontextmanager
async def _opened(around: Path, way: str) -> AsyncIterator[Bench]:
    server = {"command": sys.executable, "args": [PLAIN, way], "start_timeout": 50}
    bench = open_bench(around, mcp={"servers": {"fake": server}})
    try:
        await bench.toolbox.ready()
        yield bench
    finally:
        await bench.toolbox.close()


def _called(bench: Bench, arguments: str = "{}") -> asyncio.Task[ToolResultBlock]:
    bench.user.answers = ["once"]
    call = ToolCallBlock(call_id="c", name="mcp_fake__t", arguments=arguments)
    return asyncio.get_running_loop().create_task(bench.toolbox.run(call, bench.user.run()))


async def _progress(bench: Bench, times: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(bench.user.progress) < times:
            await asyncio.sleep(0)


@pytest.mark.long
async def test_requests_without_end_are_left_unanswered_and_take_no_memory(tmp_path: Path) -> None:
    async with _opened(tmp_path, "requests") as bench:
        running = _called(bench)
        await _progress(bench, 3)
        assert len(asyncio.all_tasks()) < MOST_TASKS
        running.cancel()
        await asyncio.wait({running})


async def test_requests_of_a_server_that_waits_for_answers_are_all_answered(tmp_path: Path) -> None:
    async with _opened(tmp_path, "pings") as bench:
        good, text = outcome(await _called(bench))
    assert good
    assert text.endswith("500 answers")


async def test_a_server_that_reads_nothing_delays_neither_a_cancel_nor_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The SDK waits so long for such a server: with this, for ever.
    monkeypatch.setattr("mcp.shared.jsonrpc_dispatcher._ABANDON_WRITE_TIMEOUT", 10 * PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        async with _opened(tmp_path, "deaf") as bench:
            first = _called(bench)
            await _progress(bench, 1)
            stuck = _called(bench, '{"x": "' + "y" * 1_000_000 + '"}')
            while not bench.user.asked[1:]:
                await asyncio.sleep(0)
            for running in (first, stuck):
                running.cancel()
                await asyncio.wait({running})


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"x": "\\ud83d half"}', "The arguments contain half a character (a lone surrogate). Not executed."),
        ('{"x": 1e400}', "The arguments contain a number that is too large. Not executed."),
        ('{"x": ' + "[" * 300 + "]" * 300 + "}", "The arguments are nested more than 100 levels deep. Not executed."),
    ],
)
async def test_arguments_that_cannot_be_sent_as_they_are_shown_are_refused(
    tmp_path: Path, arguments: str, why: str
) -> None:
    async with _opened(tmp_path, "pings") as bench:
        assert outcome(await _called(bench, arguments)) == (False, why)
        assert bench.user.asked == []
        assert bench.toolbox.servers()[0].state == "ready"


async def test_a_schema_of_results_is_not_applied_because_a_pattern_in_it_can_take_for_ever(tmp_path: Path) -> None:
    async with _opened(tmp_path, "promises") as bench:
        good, text = outcome(await _called(bench))
    assert good
    assert text.endswith("Ada")  # does not fit the schema
