"""What the backend sends where, besides faults: addresses, headers, counts, and what it costs to import."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.key_canary import CANARY
from tests.providers.conftest import Client, request, target, where
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.backend import open_backend
from tui.providers.http.address import checked_url, join_url, proxy_for

FULL: list[Step] = [{"say": "text", "text": "fine"}, {"end": 1}]


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://h", "/v1/messages", "https://h/v1/messages"),
        ("https://h/", "v1/messages", "https://h/v1/messages"),
        ("https://h/v1", "/v1/messages", "https://h/v1/messages"),
        ("https://h/v1", "/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/v1/chat/completions", "/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/v1beta", "/models/m:streamGenerateContent?alt=sse", "https://h/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("https://h/anthropic", "/v1/messages", "https://h/anthropic/v1/messages"),
        ("https://h/v1?api-version=1", "/chat/completions", "https://h/v1/chat/completions?api-version=1"),
        ("https://h/v1/?api-version=1", "/v1/messages", "https://h/v1/messages?api-version=1"),
        ("https://h/d/chat/completions?v=1", "/chat/completions", "https://h/d/chat/completions?v=1"),
        ("https://h/v1beta?key=k", "/models?pageSize=9", "https://h/v1beta/models?key=k&pageSize=9"),
    ],
)  # fmt: skip
def test_base_urls_and_paths_join_however_they_are_written(base: str, path: str, url: str) -> None:
    assert join_url(base, path) == url


@pytest.mark.parametrize(
    "url",
    ["ftp://h/x", "https://", "https://h:99999/", "https://h:port/", "nonsense", "https://a b/", "https://[::1/",
     "https://" + "x" * 64 + "ü.example/"],
)  # fmt: skip
async def test_a_base_url_that_is_none_is_an_error_of_ours(client: Client, url: str) -> None:
    outcome = await client.ask(url)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.INVALID_REQUEST, False)


@pytest.mark.parametrize("host", ["api.example.com", "8.8.8.8"])
async def test_plain_http_is_not_spoken_to_strangers(client: Client, host: str) -> None:
    outcome = await client.ask(f"http://user:{CANARY}@{host}/v1")
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.INVALID_REQUEST
    assert "without encryption" in outcome.error.message


@pytest.mark.parametrize(
    "host",
    ["134744072", "0x08080808", "010002004010", "8.8.2056", "0x8.8.8.8", "[::ffff:8.8.8.8]", "１３４７４４０７２"],
)
def test_a_public_number_is_a_stranger_in_any_spelling(host: str) -> None:
    with pytest.raises(ProviderError, match="without encryption"):
        checked_url(f"http://{host}/v1")


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "017700000001"])
def test_this_machine_is_known_in_any_spelling(host: str) -> None:
    address = checked_url(f"http://{host}/v1")
    assert (address.loopback, address.must_resolve_nearby) == (True, False)


def resolve_as(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, list[str]]) -> None:
    loop = asyncio.get_running_loop()
    system = loop.getaddrinfo

    async def resolve(host: str | bytes, port: int, **options: int) -> list[object]:
        name = host if isinstance(host, str) else host.decode()
        return [row for number in names.get(name, [name]) for row in await system(number, port, **options)]

    monkeypatch.setattr(loop, "getaddrinfo", resolve)


@pytest.mark.parametrize("numbers", [["8.8.8.8"], ["192.168.1.5", "8.8.8.8"], ["2001:4860:4860::8888"]])
async def test_a_name_without_a_dot_is_a_stranger_where_it_resolves_to_one(
    client: Client, monkeypatch: pytest.MonkeyPatch, numbers: list[str]
) -> None:
    resolve_as(monkeypatch, {"ai": numbers})
    outcome = await client.ask("http://ai/v1")
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.INVALID_REQUEST
    assert outcome.error.message.startswith("`ai` would get key and prompt without encryption")


async def test_a_name_without_a_dot_is_asked_where_it_resolves_to_the_own_network(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultServer([FULL]) as server:
        resolve_as(monkeypatch, {"ollama": ["127.0.0.1"]})
        outcome = await client.ask(server.url.replace("127.0.0.1", "ollama"))
    assert (outcome.error, outcome.text) == (None, "fine")


async def test_a_name_that_only_the_proxy_knows_is_a_stranger(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FaultServer([FULL]) as proxy:
        resolve_as(monkeypatch, {"ai": []})
        backend = client.backend(environ={"http_proxy": proxy.url})
        outcome = await client.ask("http://ai/v1", backend=backend)
        assert proxy.seen == []
    assert outcome.error is not None
    assert "without encryption" in outcome.error.message


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "192.168.1.5", "10.0.0.1", "box.local", "ollama"])
def test_plain_http_is_fine_at_home(host: str) -> None:
    address = checked_url(f"http://{host}:1234/v1")
    assert (address.private, address.secure, address.port) == (True, False, 1234)


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({"HTTPS_PROXY": "http://p:1"}, "https://api.example.com", "http://p:1"),
        ({"https_proxy": "p:1"}, "https://api.example.com", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "https://api.example.com", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://192.168.0.1", None),
        ({"ALL_PROXY": "http://p:1"}, "http://localhost:8080", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, "https://api.example.com", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other.com, .example.com"}, "https://api.example.com", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, "https://api.example.com", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample.com"}, "https://api.example.com", "http://p:1"),
        ({}, "https://api.example.com", None),
    ],
)
def test_proxies_are_those_of_the_environment(environ: dict[str, str], url: str, proxy: str | None) -> None:
    found = proxy_for(checked_url(url), environ)
    assert (found.geturl() if found else None) == proxy


async def test_the_users_headers_go_along_and_beta_lists_are_joined(client: Client) -> None:
    async with FaultServer([FULL]) as server:
        outcome = await client.ask(server, headers={"X-Team": "blue", "anthropic-beta": "one,two"})
        headers = server.seen[0].headers
    assert outcome.error is None
    assert (headers["x-team"], headers["anthropic-beta"].startswith("one,two")) == ("blue", True)
    assert headers["user-agent"].startswith("ponder/")


async def test_a_header_that_cannot_be_sent_is_named(client: Client) -> None:
    outcome = await client.ask("http://localhost:1", headers={"X-Name": "Zoë\nInjected: yes"})
    assert outcome.error is not None
    assert outcome.error.message == "The header `x-name` has a character that is not allowed in headers."


async def test_what_json_cannot_say_is_an_error_of_ours(client: Client) -> None:
    asked = request(extra_body={"x": {1, 2}})
    outcome = await client.ask("http://localhost:1", "openai-chat", asked=asked)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.INVALID_REQUEST, False)


async def test_half_a_character_in_the_prompt_is_sent_as_the_replacement(client: Client) -> None:
    async with FaultServer([FULL]) as server:
        outcome = await client.ask(server, asked=request("half \ud83d"))
        assert "half \ufffd" in server.seen[0].body.decode()
    assert (outcome.error, outcome.text) == (None, "fine")


async def test_a_model_on_another_wire_goes_to_that_wires_base(client: Client) -> None:
    async with FaultServer([FULL]) as server:
        place = where("anthropic", "http://127.0.0.1:9")
        provider = replace(place.provider, bases={"anthropic": f"{server.url}/anthropic"})
        backend = client.backend()
        events = [event async for batch in backend.stream(target(provider, place.facts), request()) for event in batch]
        assert server.seen[0].path == "/anthropic/v1/messages"
    assert events


@pytest.mark.parametrize(
    ("wire", "path", "body"),
    [
        ("anthropic", "/v1/messages/count_tokens", {"input_tokens": 42}),
        ("openai-responses", "/responses/input_tokens", {"object": "response.input_tokens", "input_tokens": 42}),
        ("gemini", "/models/asked-model:countTokens", {"totalTokens": 42}),
    ],
)
async def test_tokens_are_counted_where_a_provider_can(
    client: Client, wire: str, path: str, body: dict[str, object]
) -> None:
    async with FaultServer([[{"status": 200, "json": body}]], wire) as server:
        assert await client.backend().count(where(wire, server.url), request()) == 42
        assert server.seen[0].path.partition("?")[0] == path
        assert not {"stream", "max_tokens", "max_output_tokens"} & server.seen[0].json.keys()


@pytest.mark.parametrize(
    ("wire", "paths"),
    [
        ("openai-chat", ["/chat/completions", "/v1/chat/completions", "/v1/chat/completions"]),
        ("openai-responses", ["/responses", "/v1/responses", "/v1/responses"]),
    ],
)
async def test_a_base_url_without_its_version_is_found_out_once(client: Client, wire: str, paths: list[str]) -> None:
    async with FaultServer([[{"status": 404, "json": {"detail": "Not Found"}}], FULL], wire) as server:
        backend = client.backend()
        outcomes = [await client.ask(server, wire, backend=backend) for _ in range(2)]
        assert [seen.path for seen in server.seen] == paths
    assert [(outcome.error, outcome.text) for outcome in outcomes] == [(None, "fine")] * 2


async def test_a_model_that_is_not_there_is_not_looked_for_elsewhere(client: Client) -> None:
    error = {"error": {"message": "The model `asked-model` does not exist", "code": "model_not_found"}}
    async with FaultServer([[{"status": 404, "json": error}], FULL], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
        assert len(server.seen) == 1
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.NOT_FOUND


async def test_a_compatible_server_that_cannot_count_gives_no_number(client: Client) -> None:
    async with FaultServer([[{"status": 404, "json": {"error": {"message": "no such path"}}}]]) as server:
        assert await client.backend().count(where("anthropic", server.url), request()) is None
    assert await client.backend().count(where("ollama", "http://localhost:1"), request()) is None


async def test_an_unreadable_credentials_file_is_an_error_the_engine_knows(client: Client, tmp_path: Path) -> None:
    client.environ.clear()
    (tmp_path / "credentials.toml").write_text("not [ toml")
    (tmp_path / "credentials.toml").chmod(0o600)
    outcome = await client.ask("http://localhost:1")
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.NO_KEY


async def test_the_demo_needs_no_key_and_no_network(client: Client) -> None:
    from tui.catalog.catalog import packaged_catalog

    catalog = packaged_catalog()
    backend = open_backend(client.keys, environ={}, demo_speed=0.0)
    place = target(catalog.provider("demo"), catalog.find("demo", "fast"))
    events = [event async for batch in backend.stream(place, request(model="fast")) for event in batch]
    await backend.aclose()
    assert len(events) > 20


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    heavy = "{'textual', 'rich', 'keyring', 'mcp', 'httpx', 'pydantic', 'tui.providers.demo.server'}"
    code = f"import sys, tui.providers.backend; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_demo_needs_no_http_library() -> None:
    code = """
import sys
import tui.providers.http.transport, tui.providers.demo.server
unwanted = {'httpx', 'httpcore', 'urllib.request', 'email', 'tui.providers.http.httpx_connection'}
print(sorted(unwanted & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_line_over_http_brings_no_screen_library_along() -> None:
    code = """
import sys, asyncio
import tui.providers.http.httpx_connection
import httpx
print(sorted({'textual', 'rich', 'keyring', 'mcp', 'pydantic', 'click', 'pygments'} & set(sys.modules)), httpx.main)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("[] <function main")


async def test_errors_of_the_backend_are_provider_errors_only(client: Client) -> None:
    backend = client.backend()
    with pytest.raises(ProviderError):
        await backend.count(where("anthropic", "http://localhost:1"), request())
