"""The reference MCP servers, installed from npm and PyPI: they list and call. Needs the network, npm and minutes."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bench import Bench, open_bench, outcome
from tests.patience import PATIENCE_S

pytest.importorskip("mcp")
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

NPM = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem")
PYPI = ("mcp-server-git", "mcp-server-time", "mcp-server-fetch")


def _installing(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} could not install: {done.stderr[-300:]}")


@pytest.fixture(scope="module")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs."""
    program = shutil.which("npm")
    if program is None:
        pytest.skip("no npm")
    folder = tmp_path_factory.mktemp("npm")
    _installing(program, "install", "--silent", "--prefix", str(folder), *NPM)
    return folder / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs."""
    folder = tmp_path_factory.mktemp("python")
    _installing(sys.executable, "-m", "venv", str(folder))
    _installing(str(folder / "bin" / "pip"), "install", "--quiet", *PYPI)
    return folder / "bin"


async def _used(
    around: Path, server: Mapping[str, object], *calls: tuple[str, Mapping[str, Any]]
) -> list[tuple[bool, str]]:
    """What a server's tools say; it must come up and go down."""
    bench: Bench = open_bench(around, mcp={"servers": {"s": {"start_timeout": 60, **server}}})
    try:
        await bench.toolbox.ready()
        assert [row.state for row in bench.toolbox.servers()] == ["ready"]
        answers = []
        for name, arguments in calls:
            good, text = outcome(await bench.call(f"mcp_s__{name}", "once", **arguments))
            answers.append((good, text.partition("\n\n")[2]))
        return answers
    finally:
        await bench.toolbox.close()


async def test_everything_over_stdio(npm: Path, tmp_path: Path) -> None:
    server = {"command": str(npm / "mcp-server-everything")}
    answers = await _used(tmp_path, server, ("echo", {"message": "hello"}), ("get-sum", {"a": 2, "b": 3}))
    assert [(good, "hello" in text or "5" in text) for good, text in answers] == [(True, True)] * 2


async def test_everything_over_http(npm: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        str(npm / "mcp-server-everything"),
        "streamableHttp",
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.1)
                    continue
                writer.close()
                break
        (answer,) = await _used(tmp_path, {"url": f"http://127.0.0.1:{port}/mcp"}, ("echo", {"message": "hello"}))
        assert (answer[0], "hello" in answer[1]) == (True, True)
    finally:
        process.kill()
        await process.wait()


async def test_the_filesystem_server(npm: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a.txt").write_text("its words")
    server = {"command": str(npm / "mcp-server-filesystem"), "args": [str(tmp_path / "shared")]}
    answers = await _used(tmp_path, server, ("read_text_file", {"path": str(tmp_path / "shared" / "a.txt")}))
    assert answers == [(True, "its words")]


async def test_the_time_server(python: Path, tmp_path: Path) -> None:
    ((good, text),) = await _used(
        tmp_path, {"command": str(python / "mcp-server-time")}, ("get_current_time", {"timezone": "Europe/Rome"})
    )
    assert (good, "Europe/Rome" in text) == (True, True)


async def test_the_git_server(python: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "new.txt").write_text("x")
    server = {"command": str(python / "mcp-server-git"), "args": ["--repository", str(repository)]}
    ((good, text),) = await _used(tmp_path, server, ("git_status", {"repo_path": str(repository)}))
    assert (good, "new.txt" in text) == (True, True)


async def test_the_fetch_server_lists_and_tells_its_failure(python: Path, tmp_path: Path) -> None:
    ((good, text),) = await _used(
        tmp_path, {"command": str(python / "mcp-server-fetch")}, ("fetch", {"url": "http://127.0.0.1:9/x"})
    )
    assert (good, text != "") == (False, True)
