"""Fetching behind a proxy: who looks the name up, what the user is told, and what no proxy is ever asked for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, outcome
from tests.faultserver.egress import ForwardProxy
from tui.bootstrap.program import proxy_of
from tui.tools.builtin.fetch_url import FetchUrl

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


@dataclass
class Proxied:
    """A real proxy that leads everything to one real server, and what is known of names on this side of it."""

    bench: Bench
    proxy: ForwardProxy
    port: int
    addresses: dict[str, list[str]] = field(default_factory=dict)

    async def resolve(self, host: str, _: int) -> list[str]:
        if host not in self.addresses:
            raise OSError("unknown")
        return self.addresses[host]


async def _page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(PAGE)
    await writer.drain()
    writer.close()


@pytest.fixture
async def proxied(bench: Bench) -> AsyncIterator[Proxied]:
    server = await asyncio.start_server(_page, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, ForwardProxy(port) as proxy:
        made = Proxied(bench, proxy, port)
        made.addresses = {
            "example.org": ["93.184.216.34"],
            "metadata.example": ["169.254.169.254"],
            "169.254.169.254": ["169.254.169.254"],
            "here.example": ["127.0.0.1"],
        }
        bench.toolbox.tools = {
            **bench.toolbox.tools,
            "fetch_url": FetchUrl(made.resolve, proxy_for=lambda _: proxy.url),
        }
        yield made


async def test_the_proxy_is_given_the_name_and_the_user_is_told(proxied: Proxied) -> None:
    good, text = outcome(await proxied.bench.call("fetch_url", "once", url="http://example.org/a"))
    assert (good, text.split("\n")[-1]) == (True, "hello")
    assert proxied.proxy.asked == ["GET http://example.org/a HTTP/1.1"]
    sheet = proxied.bench.user.asked[0]
    assert sheet.summary == "Fetch from example.org"
    name = proxied.proxy.url.rpartition("@")[2]
    assert sheet.note == f"at 93.184.216.34, through the proxy {name}"


async def test_a_name_that_only_the_proxy_knows_is_asked_about_each_time(proxied: Proxied) -> None:
    for _ in range(2):
        good, _ = outcome(await proxied.bench.call("fetch_url", "session", url="http://far.example/"))
        asked = [(sheet.summary, sheet.patterns) for sheet in proxied.bench.user.asked]
        assert (good, asked) == (True, [("Fetch from far.example, wherever the proxy finds it", ())])


@pytest.mark.parametrize("host", ["metadata.example", "169.254.169.254", "printer", "db.internal"])
async def test_no_proxy_is_asked_for_what_may_never_be_fetched(host: str, proxied: Proxied) -> None:
    good, _ = outcome(await proxied.bench.call("fetch_url", url=f"http://{host}/"))
    assert (good, proxied.proxy.asked, proxied.bench.user.asked) == (False, [], [])


async def test_what_is_on_this_machine_is_fetched_straight_and_asked_about(proxied: Proxied) -> None:
    good, _ = outcome(await proxied.bench.call("fetch_url", "once", url=f"http://here.example:{proxied.port}/"))
    assert (good, proxied.proxy.asked) == (True, [])
    assert proxied.bench.user.asked[0].summary == f"Fetch from here.example:{proxied.port} on this machine or network"


@pytest.mark.parametrize("make", [os.mkfifo, Path.touch, lambda path: None])
async def test_certificates_that_are_none_are_said_and_not_waited_for(
    proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object]
) -> None:
    make(tmp_path / "named")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "named"))
    good, text = outcome(await proxied.bench.call("fetch_url", "once", url="http://example.org/a"))
    assert (good, text) == (False, "The certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be read.")


async def test_a_proxy_whose_address_cannot_be_read_is_an_answer_to_the_model(bench: Bench) -> None:
    proxy_for = partial(proxy_of, environment={"HTTPS_PROXY": "http://["})
    bench.toolbox.tools = {**bench.toolbox.tools, "fetch_url": FetchUrl(proxy_for=proxy_for)}
    good, text = outcome(await bench.call("fetch_url", url="https://example.org/"))
    assert (good, text.startswith("The address of the proxy for `example.org` cannot be read.")) == (False, True)


def test_the_proxy_is_the_one_that_providers_are_asked_through() -> None:
    environment = {"HTTPS_PROXY": "http://proxy:3128", "ALL_PROXY": "proxy-of-all:1", "NO_PROXY": "example.org"}
    urls = ("https://a.com/", "http://a.com/", "https://www.example.org/", "https://localhost/")
    assert [proxy_of(url, environment) for url in urls] == ["http://proxy:3128", "http://proxy-of-all:1", None, None]
