"""The reference MCP servers, installed from npm and PyPI: they list and call. Needs the network, npm and minutes."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bench import Bench, open_bench, outcome
from tests.patience import PATIENCE_S
from tui.domain.blocks import TextBlock
from tui.domain.forms import FieldKind, Form, FormAnswer

pytestmark = [
    pytest.mark.minutes,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed"),
]

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


@asynccontextmanager
async def _everything(npm: Path, around: Path, *answers: FormAnswer) -> AsyncIterator[tuple[Bench, list[Form]]]:
    """The server that has all of the protocol, with a user who gives these answers to its forms."""
    server = {"command": str(npm / "mcp-server-everything"), "start_timeout": 60}
    bench = open_bench(around, mcp={"servers": {"s": server}})
    mcp, heard, asked = bench.toolbox.mcp, asyncio.Event(), list[Form]()
    mcp.forms.heard = heard.set

    async def user() -> None:
        while True:
            await heard.wait()
            heard.clear()
            for form in mcp.forms.waiting():
                asked.append(form)
                await mcp.forms.answer(form.id, answers[len(asked) - 1])

    task = asyncio.create_task(user())
    try:
        await bench.toolbox.ready()
        async with asyncio.timeout(PATIENCE_S):
            while not (mcp.prompts() and mcp.resources()["s"]):
                await asyncio.sleep(0.05)
        yield bench, asked
    finally:
        task.cancel()
        await asyncio.wait({task})
        await bench.toolbox.close()


async def test_prompts_of_everything(npm: Path, tmp_path: Path) -> None:
    async with _everything(npm, tmp_path) as (bench, _):
        mcp = bench.toolbox.mcp
        prompts = {prompt.word: prompt for prompt in mcp.prompts()}
        assert {"s:simple-prompt", "s:args-prompt", "s:completable-prompt", "s:resource-prompt"} <= prompts.keys()
        (block,) = await mcp.prompt(prompts["s:args-prompt"], {"city": "Rome", "state": "Lazio"})
        assert isinstance(block, TextBlock)
        assert block.text.startswith("Prompt `args-prompt` of the MCP server `s`:\n\n")
        assert "Rome" in block.text
        chosen = prompts["s:completable-prompt"]
        departments = await mcp.completions(chosen, "department", "", {})
        assert departments
        assert await mcp.completions(chosen, "name", "", {"department": departments[0]})
        with_resource = await mcp.prompt(prompts["s:resource-prompt"], {"resourceType": "Text", "resourceId": "1"})
        assert [isinstance(block, TextBlock) and "Resource 1" in block.text for block in with_resource] == [True], (
            with_resource
        )


async def test_resources_of_everything(npm: Path, tmp_path: Path) -> None:
    async with _everything(npm, tmp_path) as (bench, _):
        mcp = bench.toolbox.mcp
        resources = mcp.resources()["s"]
        document = next(each.uri for each in resources if each.uri.endswith("architecture.md"))
        ((chip, block),) = await mcp.resource("s", document)
        assert isinstance(block, TextBlock)
        assert (chip, len(block.text) > 500) == (f"s:{document}", True)
        template = next(each for each in resources if each.is_template and "text" in each.uri)
        addresses = await mcp.addresses(template, template.uri.partition("{")[0] + "1")
        assert addresses
        ((_, block),) = await mcp.resource("s", addresses[0])
        assert isinstance(block, TextBlock)


async def test_forms_of_everything(npm: Path, tmp_path: Path) -> None:
    accept = FormAnswer(action="accept", values={"name": "Ada", "check": True})
    async with _everything(npm, tmp_path, accept, FormAnswer(action="decline"), FormAnswer(action="accept")) as (
        bench,
        asked,
    ):
        good, text = outcome(await bench.call("mcp_s__trigger-elicitation-request", "once"))
        assert (good, "Ada" in text) == (True, True)
        good, text = outcome(await bench.call("mcp_s__trigger-elicitation-request", "once"))
        assert (good, "declined" in text) == (True, True)
        good, text = outcome(
            await bench.call("mcp_s__trigger-url-elicitation", "once", url="https://example.com/flow", message="Go")
        )
        assert good, text
    fields, again, visit = asked
    assert {field.kind for field in fields.fields} == set(FieldKind)  # all that the protocol knows
    assert again.fields == fields.fields
    assert (visit.address, visit.fields) == ("https://example.com/flow", ())


async def test_progress_of_everything_and_what_it_is_not_told(npm: Path, tmp_path: Path) -> None:
    async with _everything(npm, tmp_path) as (bench, _):
        result = await bench.call("mcp_s__trigger-long-running-operation", "once", duration=1, steps=4)
        assert not result.failed
        assert [text for text in bench.user.progress if text.endswith("of 4")] == bench.user.progress
        assert len(bench.user.progress) >= 3
        # It offers these tools only to clients that announce sampling or roots.
        names = {schema.name for schema in bench.toolbox.schemas()}
        assert {"mcp_s__trigger-sampling-request", "mcp_s__get-roots-list"}.isdisjoint(names)
