"""Secrets of config.toml, keyring and environment are known to everything that shows, logs or exports words."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import types
from pathlib import Path

import pytest

from tests.app.stage import config, house
from tests.fakes.bench import ScriptedUser
from tests.store.stage import Stage, a_turn
from tui.cli.main import main
from tui.domain.blocks import TextBlock, ToolCallBlock
from tui.providers.configured_secrets import server_secrets
from tui.providers.redaction import Redactor, holds_secret
from tui.settings.paths import find_paths
from tui.store.database import Database

ENVIRONMENT = {"MINE_KEY": "own-provider-key", "GW_WORD": "word-by-a-variable", "TRACKER": "tracker-by-variable"}
SECRETS = (
    *ENVIRONMENT.values(),
    "header-of-own-provider", "keyring-key-of-openai", "mcp-env-value", "mcp-argument", "mcp-option",
    "mcp-header-value", "mcp-password", "mcp-query-value", "mcp-bearer-in-argument",
)  # fmt: skip
CONFIG = """
[providers.mine]
wire = "openai-chat"
base_url = "https://mine.example/v1"
key_env = ["MINE_KEY"]
headers = { X-Pwd = "header-of-own-provider", X-Team = "${GW_WORD}" }

[mcp.servers.local]
command = "no-such-program"
args = ["--mode", "fast-and-plain", "--token", "mcp-argument", "--api-key=mcp-option", "--header",
        "Authorization: Bearer mcp-bearer-in-argument"]
env = { SERVICE_PASSWORD = "mcp-env-value", TRACKER = "${TRACKER}", LOG_LEVEL = "chatty" }
enabled = false

[mcp.servers.far]
url = "https://user:mcp-password@far.example/mcp?sig=mcp-query-value"
headers = { Authorization = "Bearer mcp-header-value" }
enabled = false
"""
WORDS = "\n".join((*SECRETS, "fast-and-plain", "chatty", '"token": "of-my-own-data"'))


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config(tmp_path, CONFIG)
    for name, value in {"PONDER_HOME": str(tmp_path), **ENVIRONMENT}.items():
        monkeypatch.setenv(name, value)
    keyring = types.ModuleType("keyring")
    kept = {("ponder", "openai@api.openai.com"): "keyring-key-of-openai"}
    keyring.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    return tmp_path


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_exports_of_the_command_line_know_the_keys_that_the_screen_knows(
    home: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    stage = Stage(Database(find_paths(os.environ).database))
    asyncio.run(stage.keep("01TOLD", a_turn(1, "What are my keys?", WORDS)))
    stage.database.close()
    assert main(["sessions", "export", "01TOLD", "--format", form]) == 0
    printed = capsys.readouterr().out
    assert leaks(printed) == []
    assert "fast-and-plain" in printed
    assert "of-my-own-data" in printed


def test_an_encoded_request_does_not_hold_them_either(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "chat.json").write_text(json.dumps({"turns": [{"user": WORDS}]}))
    assert main(["wire", "encode", str(home / "chat.json"), "--model", "mine/some-model"]) == 0
    printed = capsys.readouterr()
    assert leaks(printed.out + printed.err) == []
    assert "of-my-own-data" in printed.out


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_lists_of_sessions_do_not_hold_them_either(
    home: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    stage = Stage(Database(find_paths(os.environ).database))
    asyncio.run(stage.keep("01TOLD", a_turn(1, "What is word-by-a-variable and chatty?", "An own-provider-key.")))
    stage.database.close()
    assert main(["sessions", "list", *more]) == 0
    assert main(["sessions", "search", "what", *more]) == 0
    assert main(["sessions", "search", "own", *more]) == 0
    printed = capsys.readouterr().out
    assert leaks(printed) == []
    assert "chatty" in printed


async def test_what_a_tool_reads_has_them_masked_before_anything_was_asked_of_a_provider(home: Path) -> None:
    (home / "notes.txt").write_text(WORDS)
    configured = tuple(word for word in SECRETS if word not in ("own-provider-key", "keyring-key-of-openai"))
    async with house(home, environment=ENVIRONMENT, tools=True) as h:
        call = ToolCallBlock(call_id="1", name="read_file", arguments='{"path": "notes.txt"}')
        user = ScriptedUser()
        result = await h.program.toolbox.run(call, user.run())
        servers = h.program.toolbox.servers()
    text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    assert [word for word in configured if word in text] == []
    assert [word in text for word in ("fast-and-plain", "chatty", '"token": "of-my-own-data"')] == [True] * 3
    assert user.asked == []
    assert [server.name for server in servers] == ["local", "far"]


def test_arguments_of_a_server_tell_their_secrets_in_many_forms() -> None:
    row = {
        "args": ["run", "-e", "DB_PASSWORD=in-a-variable", "--key", "after-a-name", "--key=after-equals", "a", "--auth"]
    }
    assert server_secrets(row, {}) == {"in-a-variable", "after-a-name", "after-equals"}
    assert server_secrets({"args": "--token=x", "env": 3, "headers": [], "url": None}, {}) == set()


@pytest.mark.parametrize(
    "text",
    [
        "GET https://f.example/api?code=TOP-secret-1== failed",
        "https://blob.example/a?sv=2020&sig=TOP-secret-1%3D&se=1",
        "Ocp-Apim-Subscription-Key: TOP-secret-1",
        "x-functions-key=TOP-secret-1",
        "X-Pwd: TOP-secret-1",
        "{'Authorization': 'Digest username=\"me\", response=\"TOP-secret-1\"'}",
        "Authorization: AWS4-HMAC-SHA256 Credential=a/2020, Signature=TOP-secret-1",
        "AuthorizationX: TOP-secret-1",
        "X-Authorization-Internal: b'TOP-secret-1'",
        "X-Auth: Basic TOP-secret-1",
        "authorization: Bearer TOP-secret-1",
        "Cookie: a=TOP-secret-1; b=TOP-secret-1",
        '{"error": "{\\\\"api_key\\\\": \\\\"TOP-secret-1\\\\"}"}',
        '{"error": "{\\"api_key\\": \\"TOP-secret-1\\"}"}',
        '{"subscriptionKey": "TOP-secret-1"}',
        "MY_SERVICE_TOKEN=TOP-secret-1 ponder",
    ],
)
def test_errors_and_logs_lose_what_its_name_says_is_secret(text: str) -> None:
    clean = Redactor().clean(text)
    assert "TOP-secret" not in clean
    assert "***" in clean


@pytest.mark.parametrize(
    "text",
    [
        '{"error": {"code": "invalid_api_key", "type": "auth_error", "message": "Incorrect API key provided"}}',
        "HTTP 400: max_output_tokens: must be at most 8192 (status code=400)",
        "retry-after: 30, x-request-id: req_0123456789",
        "Set `GW_TOKEN`, or correct `headers` of `[providers.gw]` in `config.toml`.",
        "https://host.example/v1?api-version=2&alt=sse&model=gpt",
    ],
)
def test_what_an_error_says_stays_readable(text: str) -> None:
    assert Redactor().clean(text) == text


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("X-Pwd", True), ("Authorization", True), ("AuthorizationX", True), ("X-Authorization-Internal", True),
        ("Ocp-Apim-Subscription-Key", True), ("API_KEY_2", True), ("PGPASSWORD", True), ("--auth-token", True),
        ("X-Amz-Signature", True), ("session_id", True), ("X-Auth-Mode", False), ("x-monkey", False), ("author", False),
        ("code", False), ("max_tokens", False), ("passage", False), ("", False), ("X-Region", False),
    ],
)  # fmt: skip
def test_names_tell_what_is_secret_by_their_last_word(name: str, secret: bool) -> None:
    assert holds_secret(name) is secret
