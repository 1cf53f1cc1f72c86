"""Requests are shown and exported without what the user's configuration holds of secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.stage import config, house
from tests.narrow import expect_type
from tui.cli.main import main
from tui.providers.redacted_request import shown_url
from tui.providers.redaction import config_secrets, holds_secret
from tui.ui.dialogs.inspector import as_curl

SECRETS = (
    "sk-header-canary-1", "session=cookie-canary-2", "password-canary-3", "query-canary-4", "body-canary-5",
    "deep-canary-6", "token-canary-7",
)  # fmt: skip
CONFIG = """
[providers.gateway]
title = "Gateway"
wire = "openai-chat"
base_url = "https://user:password-canary-3@gw.example/v1?api_key=query-canary-4&api-version=2"
auth = "none"
[providers.gateway.headers]
X-Api-Key = "sk-header-canary-1"
Cookie = "session=cookie-canary-2"
X-Proxy-Token = "token-canary-7"
X-Team = "blue"
[providers.gateway.extra_body]
api_key = "body-canary-5"
route = {secretToken = "deep-canary-6", order = "price"}
"""
HERE = "gateway/some-model"


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


async def test_the_inspector_and_its_curl_show_no_secret_of_the_configuration(tmp_path: Path) -> None:
    config(tmp_path, CONFIG)
    async with house(tmp_path, model=HERE) as h:
        shown = await h.services.chat.wire_preview("My key is none of your business")
    assert leaks(json.dumps(shown) + as_curl(shown)) == []
    headers, body = expect_type(dict, shown["headers"]), expect_type(dict, shown["body"])
    assert headers["x-team"] == "blue"
    assert body["route"] == {"secretToken": "***", "order": "price"}
    assert "api-version=2" in as_curl(shown)


async def test_a_login_at_a_cloud_is_shown_as_the_token_that_is_sent_and_a_key_as_a_key(tmp_path: Path) -> None:
    account = {"AZURE_RESOURCE_NAME": "mine"}
    for place, (environment, sent) in {
        "login": (account, {"authorization": "Bearer ***"}),
        "key": ({**account, "AZURE_OPENAI_API_KEY": "az-canary-1"}, {"api-key": "***", "x-api-key": "***"}),
    }.items():
        async with house(tmp_path / place, model="azure/gpt-6.1-sol", environment=environment) as h:
            shown = expect_type(dict, (await h.services.chat.wire_preview("Hi"))["headers"])
        assert {name: value for name, value in shown.items() if "***" in str(value)} == sent


async def test_a_key_that_was_loaded_is_masked_where_it_is_said_in_the_chat(tmp_path: Path) -> None:
    key = "sk-loaded-canary-0123456789"
    async with house(tmp_path, model="openai/gpt-5.6-sol", environment={"OPENAI_API_KEY": key}) as h:
        h.program.keys.find(h.program.catalog.provider("openai"))
        shown = await h.services.chat.wire_preview(f'{{"key": "mine", "real": "{key}"}}')
    assert key not in json.dumps(shown)
    assert '"key": "mine"' in json.dumps(shown["body"]).replace('\\"', '"')


@pytest.mark.parametrize("arguments", [("wire", "encode", "--model", HERE), ("plan", HERE)], ids=["encode", "plan"])
def test_the_command_line_shows_none_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, arguments: tuple[str, ...]
) -> None:
    config(tmp_path, CONFIG)
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    (tmp_path / "chat.json").write_text('{"turns": [{"user": "Hello"}]}')
    file = [str(tmp_path / "chat.json")] if arguments[0] == "wire" else []
    assert main([*arguments, *file]) == 0
    printed = capsys.readouterr()
    assert leaks(printed.out + printed.err) == []
    assert "gw.example/v1" in printed.out


@pytest.mark.parametrize(
    ("key", "sent"),
    [("", {"authorization": "Bearer ***"}), ("az-canary-1", {"api-key": "***", "x-api-key": "***"})],
    ids=["login", "key"],
)
def test_the_command_line_shows_the_token_of_a_login_or_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str, sent: object
) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    monkeypatch.setenv("AZURE_RESOURCE_NAME", "mine")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", key)
    (tmp_path / "chat.json").write_text('{"turns": [{"user": "Hello"}]}')
    assert main(["wire", "encode", "--model", "azure/gpt-6.1-sol", str(tmp_path / "chat.json")]) == 0
    headers = json.loads(capsys.readouterr().out)["headers"]
    assert {name: value for name, value in headers.items() if "***" in value} == sent


async def test_what_the_configuration_holds_never_gets_into_the_log(tmp_path: Path) -> None:
    config(tmp_path, CONFIG)
    async with house(tmp_path, model=HERE) as h:
        found = config_secrets(h.program.catalog.provider("gateway"))
    assert {"sk-header-canary-1", "password-canary-3", "query-canary-4", "body-canary-5", "deep-canary-6"} <= found


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.example/v1", "https://api.example/v1"),
        ("https://me@api.example:8443/v1", "https://***@api.example:8443/v1"),
        ("http://a:b@c/d?key=1&version=2&flag", "http://***@c/d?key=***&version=2&flag"),
        ("http://c?sig_token=", "http://c?sig_token"),
    ],
)
def test_addresses_keep_what_is_no_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("X-Api-Key", True), ("Cookie", True), ("X-Proxy-Token", True), ("subscriptionKey", True), ("apikey", True),
        ("max_tokens", False), ("tokens", False), ("X-Team", False), ("keyboard", False), ("monkey", False),
    ],
)  # fmt: skip
def test_names_tell_what_is_secret(name: str, secret: bool) -> None:
    assert holds_secret(name) is secret
