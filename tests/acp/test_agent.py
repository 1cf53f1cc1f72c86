"""``ponder acp`` driven by the official client, in a process of its own."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, cast

import pytest

acp = pytest.importorskip("acp")
from acp import RequestError, schema, text_block  # noqa: E402 - only if it is installed
from acp.client.connection import ClientSideConnection  # noqa: E402

from tests import prefork  # noqa: E402
from tests.app.search_server import SearchServer, found, said, search  # noqa: E402
from tests.patience import PATIENCE_S  # noqa: E402
from tests.tools.scripted_model import ScriptedModel, Step  # noqa: E402
from tui.acp.updates import TOOL_KINDS  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Editor:
    """The editor's side: remembers what it is told, and answers questions by a function."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[tuple[Any, list[schema.PermissionOption]]] = []
        self.answer: Callable[[list[schema.PermissionOption]], str | None] = lambda options: "once"
        self.changed = asyncio.Event()

    def on_connect(self, conn: object) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.changed.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        chosen = self.answer(options)
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self.changed.clear()
                await self.changed.wait()

    def text(self, kind: str) -> str:
        return "".join(update.content.text for update in self.updates if update.session_update == kind)

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]


@asynccontextmanager
async def editor(home: Path, *options: str, **more: str) -> AsyncIterator[tuple[Editor, ClientSideConnection]]:
    mine = Editor()
    command = [sys.executable, "-m", "tui", "acp", *options]
    environment = prefork.surroundings(PONDER_HOME=str(home / "home"), **more)
    with prefork.start(command, stdin=PIPE, stdout=PIPE, env=environment) as process:
        try:
            async with asyncio.timeout(PATIENCE_S), _streams(process) as (reader, writer):
                agent = ClientSideConnection(cast("Any", mine), writer, reader)
                await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
                yield mine, agent
                await agent.close()
            await asyncio.to_thread(process.wait, PATIENCE_S)
        finally:
            process.kill()


@asynccontextmanager
async def _streams(process: Popen[bytes]) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
    writing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    try:
        yield reader, asyncio.StreamWriter(writing, protocol, None, loop)
    finally:
        writing.close()
        reading.close()


def _configured(home: Path, text: str) -> None:
    (home / "home" / "config").mkdir(parents=True)
    (home / "home" / "config" / "config.toml").write_text(text, "utf-8")


async def test_a_prompt_is_answered_with_thinking_and_the_choices_are_offered(tmp_path: Path) -> None:
    async with editor(tmp_path, "-m", "demo/fast/low") as (mine, agent):
        opened = await agent.new_session(cwd=str(tmp_path))
        ended = await agent.prompt(session_id=opened.session_id, prompt=[text_block("Hello")])
        chosen = await agent.set_config_option(config_id="thinking", session_id=opened.session_id, value="high")
        with pytest.raises(RequestError, match="neither a level nor a budget"):
            await agent.set_config_option(config_id="thinking", session_id=opened.session_id, value="much")
        with pytest.raises(RequestError, match="Resource not found"):
            await agent.prompt(session_id="unknown", prompt=[text_block("Hello")])
    assert ended.stop_reason == "end_turn"
    assert mine.text("agent_thought_chunk").startswith('The user says: "Hello".')
    assert mine.text("agent_message_chunk").startswith("## Welcome to ponder")
    assert mine.of("usage_update")[-1].size == 200_000
    rows = {option.id: option for option in opened.config_options or ()}
    assert (rows["model"].current_value, rows["model"].category) == ("demo/fast", "model")
    assert (rows["thinking"].current_value, rows["thinking"].category) == ("low", "thought_level")
    assert "demo/chat" in [option.value for option in rows["model"].options]
    assert [option.current_value for option in chosen.config_options] == ["demo/fast", "high"]


@pytest.mark.parametrize(
    ("answer", "ran", "status"),
    [("once", True, "completed"), ("no", False, "failed"), pytest.param(None, False, "failed", marks=pytest.mark.long)],
)
async def test_a_tool_call_asks_the_editor(tmp_path: Path, answer: str | None, ran: bool, status: str) -> None:
    steps: list[Step] = [[("shell", {"command": "touch made"})], "done"]
    with ScriptedModel(steps) as model:
        _configured(tmp_path, model.config("openai-chat"))
        async with editor(tmp_path) as (mine, agent):
            mine.answer = lambda options: answer
            opened = await agent.new_session(cwd=str(tmp_path))
            ended = await agent.prompt(session_id=opened.session_id, prompt=[text_block("go")])
    assert ended.stop_reason == "end_turn"
    [(call, options)] = mine.asked
    assert "touch made" in call.content[0].content.text
    assert [option.kind for option in options][:2] == ["allow_once", "allow_always"]
    assert options[-1].option_id == "no"
    [start], finish = mine.of("tool_call"), mine.of("tool_call_update")[-1]
    assert (start.kind, start.raw_input, start.title) == ("execute", {"command": "touch made"}, "shell touch made")
    assert (finish.tool_call_id, finish.status) == (start.tool_call_id, status)
    assert (tmp_path / "made").exists() == ran
    assert model.problems == []


async def test_nothing_of_a_tool_call_can_hide_in_the_editors_markdown(tmp_path: Path) -> None:
    command = "echo '```'\n<!-- touch made -->\n[ls](rm)"
    with ScriptedModel([[("shell", {"command": command})], "done"]) as model:
        _configured(tmp_path, model.config("openai-chat"))
        async with editor(tmp_path) as (mine, agent):
            opened = await agent.new_session(cwd=str(tmp_path))
            await agent.prompt(session_id=opened.session_id, prompt=[text_block("go")])
    [(call, _)] = mine.asked
    assert f"````\n{command}\n````" in call.content[0].content.text
    assert mine.of("tool_call_update")[-1].content[0].content.text.startswith("````\n```\n")


async def test_the_editor_stops_a_turn_and_what_arrived_is_kept(tmp_path: Path) -> None:
    async with editor(tmp_path, "-m", "demo/demo/high") as (mine, agent):
        opened = await agent.new_session(cwd=str(tmp_path))
        async with asyncio.TaskGroup() as group:
            prompt: list[Any] = [text_block("think hard about a puzzle")]
            running = group.create_task(agent.prompt(session_id=opened.session_id, prompt=prompt))
            await mine.until(lambda: bool(mine.of("agent_thought_chunk")))
            with pytest.raises(RequestError, match="A prompt is running"):
                await agent.prompt(session_id=opened.session_id, prompt=prompt)
            await agent.cancel(session_id=opened.session_id)
        assert running.result().stop_reason == "cancelled"
        await agent.set_config_option(config_id="model", session_id=opened.session_id, value="demo/fast")
        ended = await agent.prompt(session_id=opened.session_id, prompt=[text_block("Hello")])
        assert ended.stop_reason == "end_turn"


@pytest.mark.long
async def test_a_cancel_right_after_the_prompt_stops_it(tmp_path: Path) -> None:
    with ScriptedModel(["Later."]) as model:
        _configured(tmp_path, model.config("openai-chat"))
        async with editor(tmp_path) as (_, agent):
            opened = await agent.new_session(cwd=str(tmp_path))
            async with asyncio.TaskGroup() as group:
                prompt: list[Any] = [text_block("go")]
                running = group.create_task(agent.prompt(session_id=opened.session_id, prompt=prompt))
                second = group.create_task(_refusal(agent.prompt(session_id=opened.session_id, prompt=prompt)))
                group.create_task(agent.cancel(session_id=opened.session_id))
            assert running.result().stop_reason == "cancelled"
            assert "A prompt is running" in second.result()
            await agent.cancel(session_id=opened.session_id)
            await agent.cancel(session_id="unknown")
            model.steps[:] = ["Now."]
            assert (await agent.prompt(session_id=opened.session_id, prompt=prompt)).stop_reason == "end_turn"


async def _refusal(request: Awaitable[object]) -> str:
    with pytest.raises(RequestError) as caught:
        await request
    return str(caught.value)


async def test_an_editor_that_cannot_ask_has_said_no(tmp_path: Path) -> None:
    def refuse(options: list[schema.PermissionOption]) -> str:
        raise RequestError.method_not_found("session/request_permission")

    with ScriptedModel([[("shell", {"command": "touch made"})], "done", "again"]) as model:
        _configured(tmp_path, model.config("openai-chat"))
        async with editor(tmp_path) as (mine, agent):
            mine.answer = refuse
            opened = await agent.new_session(cwd=str(tmp_path))
            for _ in range(2):
                ended = await agent.prompt(session_id=opened.session_id, prompt=[text_block("go")])
                assert ended.stop_reason == "end_turn"
    assert [update.status for update in mine.of("tool_call_update")][-1] == "failed"
    assert not (tmp_path / "made").exists()


@pytest.mark.long
async def test_a_session_that_is_loaded_twice_at_once_is_one(tmp_path: Path) -> None:
    async with editor(tmp_path, "-m", "demo/fast") as (_, agent):
        opened = await agent.new_session(cwd=str(tmp_path))
        await agent.prompt(session_id=opened.session_id, prompt=[text_block("Hello")])
    async with editor(tmp_path, "-m", "demo/fast") as (_, agent):
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(agent.load_session(cwd=str(tmp_path), session_id=opened.session_id))
        assert (
            await agent.prompt(session_id=opened.session_id, prompt=[text_block("Hello")])
        ).stop_reason == "end_turn"
        with pytest.raises(RequestError, match="The session is open in"):
            await agent.load_session(cwd="/", session_id=opened.session_id)


@pytest.mark.long
async def test_a_stored_session_is_loaded_with_its_history(tmp_path: Path) -> None:
    with ScriptedModel([[("list_dir", {"path": "."})], "Nothing there.", "Still nothing."]) as model:
        _configured(tmp_path, model.config("anthropic"))
        async with editor(tmp_path) as (_, agent):
            opened = await agent.new_session(cwd=str(tmp_path))
            picture = schema.ImageContentBlock(type="image", data=PIXEL, mime_type="image/png")
            await agent.prompt(session_id=opened.session_id, prompt=[picture, text_block("What is here?")])
        async with editor(tmp_path) as (again, agent):
            await agent.load_session(cwd=str(tmp_path), session_id=opened.session_id)
            kinds = [update.session_update for update in again.updates]
            await agent.prompt(session_id=opened.session_id, prompt=[text_block("And now?")])
            with pytest.raises(RequestError, match="There is no session"):
                await agent.load_session(cwd=str(tmp_path), session_id="0" * 26)
    assert kinds == [
        *("user_message_chunk", "user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"),
    ]
    assert again.text("agent_message_chunk") == "Nothing there.Still nothing."
    assert len(model.bodies) == 3
    assert model.problems == []


async def test_files_of_the_editor_are_part_of_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("from the disk", "utf-8")
    with ScriptedModel(["Read."]) as model:
        _configured(tmp_path, model.config("openai-chat"))
        async with editor(tmp_path) as (_, agent):
            opened = await agent.new_session(cwd=str(tmp_path))
            embedded = schema.TextResourceContents(uri="file:///somewhere/open.py", text="unsaved = True")
            prompt: list[Any] = [
                schema.ResourceContentBlock(type="resource_link", name="notes", uri=(tmp_path / "notes.txt").as_uri()),
                schema.ResourceContentBlock(type="resource_link", name="page", uri="https://example.com/x"),
                schema.EmbeddedResourceContentBlock(type="resource", resource=embedded),
                text_block("Compare."),
            ]
            await agent.prompt(session_id=opened.session_id, prompt=prompt)
            missing = schema.ResourceContentBlock(type="resource_link", name="x", uri="file:///nowhere/x.txt")
            with pytest.raises(RequestError, match="is not a file"):
                await agent.prompt(session_id=opened.session_id, prompt=[missing])
            odd = schema.ImageContentBlock(
                type="image", data=base64.b64encode(b"no picture").decode(), mime_type="image/png"
            )
            with pytest.raises(RequestError, match="neither PNG"):
                await agent.prompt(session_id=opened.session_id, prompt=[odd])
    assert model.bodies[0]["messages"] == [
        {
            "role": "user",
            "content": '<file name="notes.txt">\nfrom the disk\n</file>\n\n[page](https://example.com/x)\n\n'
            '<file name="open.py">\nunsaved = True\n</file>\n\nCompare.',
        }
    ]


async def test_errors_are_sentences_with_their_advice(tmp_path: Path) -> None:
    async with editor(tmp_path, "-m", "anthropic/claude-sonnet-4-5") as (_, agent):
        opened = await agent.new_session(cwd=str(tmp_path))
        with pytest.raises(RequestError, match="There is no key for Anthropic") as caught:
            await agent.prompt(session_id=opened.session_id, prompt=[text_block("Hello")])
        with pytest.raises(RequestError, match="is not an absolute path of a folder"):
            await agent.new_session(cwd="relative")
    assert (caught.value.code, "ANTHROPIC_API_KEY" in str(caught.value)) == (-32000, True)


@pytest.mark.long
async def test_servers_of_the_editor_are_offered_and_the_users_own_keep_their_names(tmp_path: Path) -> None:
    server = str(Path(__file__).parents[1] / "fakes" / "plain_mcp_server.py")
    own = f'[mcp.servers.both]\ncommand = "{sys.executable}"\nargs = ["{server}"]\n'
    with ScriptedModel(["Done."]) as model:
        _configured(tmp_path, model.config("openai-chat") + own)
        async with editor(tmp_path) as (_, agent):
            theirs: list[Any] = [
                schema.McpServerStdio(name=name, command=command, args=[server], env=[])
                for name, command in (("extra", sys.executable), ("both", "/nowhere"))
            ]
            opened = await agent.new_session(cwd=str(tmp_path), mcp_servers=theirs)
            await agent.prompt(session_id=opened.session_id, prompt=[text_block("Hello")])
    offered = {tool["function"]["name"].partition("__")[0] for tool in model.bodies[0]["tools"]}  # type: ignore[attr-defined]
    assert {"mcp_extra", "mcp_both"} <= offered


async def test_two_sessions_work_in_their_own_folders_at_the_same_time(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    steps: list[Step] = [[("shell", {"command": "pwd > here"})], [("shell", {"command": "pwd > here"})], "done", "done"]
    with ScriptedModel(steps) as model:
        _configured(tmp_path, model.config("openai-chat"))
        async with editor(tmp_path) as (_, agent):
            sessions = [await agent.new_session(cwd=str(folder)) for folder in folders]
            async with asyncio.TaskGroup() as group:
                for session in sessions:
                    group.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("go")]))
    assert [(folder / "here").read_text().strip() for folder in folders] == [str(folder) for folder in folders]


def test_every_tool_has_a_kind() -> None:
    schemas = json.loads((ROOT / "tui" / "tools" / "definitions.json").read_text("utf-8"))
    assert {row["name"] for row in schemas} == set(TOOL_KINDS)


def test_a_client_that_goes_away_ends_the_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui", "acp", "-m", "demo/fast"]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    done = prefork.run(
        command,
        said=json.dumps(hello).encode() + b"\n",
        env=prefork.surroundings(PONDER_HOME=str(tmp_path)),
        timeout=PATIENCE_S,
    )
    [line] = done.stdout.splitlines()
    reply = json.loads(line)["result"]
    assert (done.returncode, reply["agentInfo"]["name"], reply["agentCapabilities"]["loadSession"]) == (
        0,
        "ponder",
        True,
    )


def test_lines_that_are_no_messages_are_answered_and_the_agent_goes_on(tmp_path: Path) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 0}}).encode()
    said = b"\n".join((b"no json", b"[1]", b"null", b"\xff", b"[" * 100_000, b"", hello, b""))
    command = [sys.executable, "-m", "tui", "acp", "-m", "demo/fast"]
    done = prefork.run(command, said=said, env=prefork.surroundings(PONDER_HOME=str(tmp_path)), timeout=PATIENCE_S)
    *refused, reply = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["error"]["code"] for row in refused] == [-32700, -32600, -32600, -32700, -32700]
    assert (reply["result"]["protocolVersion"], done.returncode, done.stderr) == (1, 0, b"")


def test_a_cancel_with_parameters_of_a_wrong_type_is_one_sentence_on_stderr(tmp_path: Path) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    wrong: list[object] = [{"sessionId": 5}, ["s"], None, {"sessionId": "s", "_meta": {"self": 1, "session_id": []}}]
    cancels = [{"jsonrpc": "2.0", "method": "session/cancel", "params": params} for params in wrong]
    said = b"".join(json.dumps(message).encode() + b"\n" for message in (*cancels, hello))
    command = [sys.executable, "-m", "tui", "acp", "-m", "demo/fast"]
    done = prefork.run(command, said=said, env=prefork.surroundings(PONDER_HOME=str(tmp_path)), timeout=PATIENCE_S)
    assert [json.loads(line)["result"]["protocolVersion"] for line in done.stdout.splitlines()] == [1]
    sentence = b"ignored a notification of the editor: session/cancel does not name a session\n"
    assert (done.returncode, done.stderr) == (0, sentence * 3)


def test_without_the_package_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tui.cli.main import main

    monkeypatch.setattr("tui.cli.acp.find_spec", lambda name: None)
    assert main(["acp"]) == 2
    assert "pip install 'ponder-tui[acp]'" in capsys.readouterr().err


def test_no_other_model_answers_for_one_that_a_broken_configuration_may_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tui.cli.main import main

    monkeypatch.setenv("PONDER_HOME", str(tmp_path / "home"))
    _configured(tmp_path, 'model = "demo/fast\n')
    assert main(["acp"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("ponder: `config.toml`, line 1")
    assert "Nothing was sent: correct it, or name a model" in told


async def test_nor_for_one_that_became_unreadable_while_the_editor_ran(tmp_path: Path) -> None:
    _configured(tmp_path, 'model = "demo/fast"\n')
    async with editor(tmp_path) as (_, agent):
        await agent.new_session(cwd=str(tmp_path))
        (tmp_path / "home" / "config" / "config.toml").write_text('model = "demo/fast\n', "utf-8")
        with pytest.raises(RequestError, match="line 1"):
            await agent.new_session(cwd=str(tmp_path))


@pytest.mark.long
async def test_a_search_of_the_provider_asks_nobody_and_its_sources_follow_the_answer(tmp_path: Path) -> None:
    page = ("https://physics.example/c", "The speed of light")
    step = ([search(1, "speed of light"), found(1, page), said("Fast.", page)], "end_turn", 1)
    async with SearchServer([step]) as server:
        _configured(
            tmp_path,
            f'[tools]\nwebSearch = true\n[providers.anthropic]\nbase_url = "{server.url}"\n',
        )
        key = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
        async with editor(tmp_path, "-m", "anthropic/claude-opus-5/none", **key) as (mine, agent):
            opened = await agent.new_session(cwd=str(tmp_path))
            await agent.prompt(session_id=opened.session_id, prompt=[text_block("How fast is light?")])
            mine.updates, heard = [], mine.updates
            await agent.load_session(cwd=str(tmp_path), session_id=opened.session_id)
    assert mine.asked == []
    told = [update for update in heard if update.session_update in ("tool_call", "tool_call_update")]
    assert [(update.tool_call_id, update.status) for update in (told[0], told[-1])] == [
        ("srvtoolu_1", "in_progress"),
        ("srvtoolu_1", "completed"),
    ]
    assert (told[0].kind, told[-1].title) == ("search", 'web_search "speed of light"')
    assert "https://physics.example/c" in told[-1].content[0].content.text
    answered = "Fast.\n\nSources:\n[1] The speed of light  https://physics.example/c"
    assert "".join(one.content.text for one in heard if one.session_update == "agent_message_chunk") == answered
    assert mine.text("agent_message_chunk") == answered
    assert [one.title for one in mine.of("tool_call")] == ['web_search "speed of light"']
