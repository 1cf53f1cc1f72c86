"""Fetching: which addresses, which way, how much, and what the model is told."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from tests.fakes.bench import Bench, open_bench, outcome, pictures, words
from tui.domain.blocks import DENIED
from tui.tools.builtin.fetch_url import FetchUrl
from tui.tools.builtin.network_addresses import NetworkKind, network_kind_of

Handler = Callable[[httpx.Request], httpx.Response]


@dataclass
class Web:
    """Hosts and their addresses, pages and what was asked of them."""

    bench: Bench
    addresses: dict[str, list[str]] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)

    async def resolve(self, host: str, _: int) -> list[str]:
        if host not in self.addresses:
            raise OSError("unknown")
        return self.addresses[host]

    def serve(self, handler: Handler) -> None:
        def recorded(request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            return _unread(handler(request))

        tool = FetchUrl(self.resolve, httpx.MockTransport(recorded))
        self.bench.toolbox.tools = {**self.bench.toolbox.tools, "fetch_url": tool}


def _unread(response: httpx.Response) -> httpx.Response:
    """As it comes from a network: not read yet."""
    if not response.is_stream_consumed and not hasattr(response, "_content"):
        return response
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return httpx.Response(response.status_code, headers=headers, content=_pieces(response.content))


def _fetch_url(web: Web) -> FetchUrl:
    tool = web.bench.toolbox.tools["fetch_url"]
    assert isinstance(tool, FetchUrl)
    return tool


@pytest.fixture
def web(bench: Bench) -> Web:
    made = Web(bench, {"example.org": ["93.184.216.34"], "other.org": ["93.184.216.35"]})
    made.serve(lambda _: httpx.Response(200, text="hello", headers={"content-type": "text/plain"}))
    return made


async def test_the_checked_address_is_the_one_that_is_connected_to(web: Web) -> None:
    good, text = outcome(await web.bench.call("fetch_url", "once", url="https://Example.org/a?b=1#c"))
    assert (good, text.split("\n")[-1]) == (True, "hello")
    request = web.requests[0]
    assert (str(request.url), request.headers["host"], request.extensions["sni_hostname"], request.method) == (
        "https://93.184.216.34/a?b=1",
        "example.org",
        "example.org",
        "GET",
    )
    sheet = web.bench.user.asked[0]
    assert (sheet.summary, sheet.patterns) == ("Fetch from example.org", ("fetch_url(example.org)",))
    assert "GET https://example.org/a?b=1" in sheet.detail
    assert {"cookie", "authorization"}.isdisjoint(request.headers)


async def test_each_host_is_asked_about_once(web: Web) -> None:
    await web.bench.call("fetch_url", "session", url="https://example.org/a")
    again = await web.bench.call("fetch_url", url="http://example.org/b")
    other = await web.bench.call("fetch_url", url="https://other.org/")
    assert [result.failed for result in (again, other)] == [False, True]


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("8.8.8.8", NetworkKind.INTERNET),
        ("2606:4700::1111", NetworkKind.INTERNET),
        ("127.0.0.1", NetworkKind.PRIVATE),
        ("127.9.9.9", NetworkKind.PRIVATE),
        ("::1", NetworkKind.PRIVATE),
        ("10.0.0.1", NetworkKind.PRIVATE),
        ("172.16.0.1", NetworkKind.PRIVATE),
        ("192.168.1.1", NetworkKind.PRIVATE),
        ("fd12::1", NetworkKind.PRIVATE),
        ("::ffff:127.0.0.1", NetworkKind.PRIVATE),
        ("::ffff:10.0.0.1", NetworkKind.PRIVATE),
        ("::127.0.0.1", NetworkKind.PRIVATE),
        ("64:ff9b::7f00:1", NetworkKind.PRIVATE),
        ("64:ff9b::a9fe:a9fe", NetworkKind.NEVER),
        ("2002:7f00:1::", NetworkKind.PRIVATE),
        ("2002:a9fe:a9fe::", NetworkKind.NEVER),
        ("::ffff:169.254.169.254", NetworkKind.NEVER),
        ("169.254.169.254", NetworkKind.NEVER),
        ("fe80::1%eth0", NetworkKind.NEVER),
        ("fd00:ec2::254", NetworkKind.NEVER),
        ("100.100.100.200", NetworkKind.NEVER),
        ("0.0.0.0", NetworkKind.NEVER),
        ("::", NetworkKind.NEVER),
        ("224.0.0.1", NetworkKind.NEVER),
        ("ff02::1", NetworkKind.NEVER),
        ("not an address", NetworkKind.NEVER),
        ("168.63.129.16", NetworkKind.NEVER),
        ("::ffff:168.63.129.16", NetworkKind.NEVER),
        ("64:ff9b::a83f:8110", NetworkKind.NEVER),
        ("2002:a83f:8110::", NetworkKind.NEVER),
        ("2001:0:808:808:0:0:57c0:7eef", NetworkKind.NEVER),
        ("192.0.0.192", NetworkKind.NEVER),
        ("169.254.170.2", NetworkKind.NEVER),
        ("100.64.0.1", NetworkKind.NEVER),
        ("::ffff:0:8.8.8.8", NetworkKind.INTERNET),
        ("::ffff:0:127.0.0.1", NetworkKind.PRIVATE),
        ("::ffff:0:169.254.169.254", NetworkKind.NEVER),
        ("::169.254.169.254", NetworkKind.NEVER),
        ("64:ff9b:1::808:808", NetworkKind.NEVER),
        ("64:ff9b:1:a9fe:a9:fe00::", NetworkKind.NEVER),
        ("2a00:1::5efe:a9fe:a9fe", NetworkKind.NEVER),
        ("2a00:1::200:5efe:7f00:1", NetworkKind.PRIVATE),
        ("fec0::1", NetworkKind.NEVER),
        ("fe80::a9fe:a9fe", NetworkKind.NEVER),
        ("fd00:ec2::23", NetworkKind.NEVER),
        ("fd20:ce::254", NetworkKind.NEVER),
        ("fd00:c1::a9fe:a9fe", NetworkKind.NEVER),
        ("fd00:42::42", NetworkKind.NEVER),
        ("0.1.2.3", NetworkKind.NEVER),
        ("240.0.0.1", NetworkKind.NEVER),
        ("255.255.255.255", NetworkKind.NEVER),
    ],
)
def test_addresses_are_seen_through_their_disguises(address: str, reach: NetworkKind) -> None:
    assert network_kind_of(address) is reach


async def test_metadata_is_never_fetched_and_nobody_is_asked(web: Web) -> None:
    web.addresses |= {"169.254.169.254": ["169.254.169.254"], "sneaky.org": ["93.184.216.34", "169.254.169.254"]}
    for host in ("169.254.169.254", "sneaky.org"):
        result = await web.bench.call("fetch_url", "once", url=f"http://{host}/latest/meta-data")
        assert outcome(result) == (False, f"`{host}` resolves to an address that ponder never fetches from.")
    assert (web.bench.user.asked, web.requests) == ([], [])


async def test_this_machine_is_asked_about_every_time_and_never_for_always(web: Web) -> None:
    web.addresses["localhost"] = ["127.0.0.1"]
    for _ in range(2):
        await web.bench.call("fetch_url", "session", url="http://localhost:8080/")
        sheet = web.bench.user.asked[0]
        assert (sheet.summary, sheet.patterns) == ("Fetch from localhost:8080 on this machine or network", ())


async def test_a_decimal_address_is_what_it_means(bench: Bench) -> None:
    await bench.call("fetch_url", url="http://2130706433/")
    assert bench.user.asked[0].summary == "Fetch from 2130706433 on this machine or network"


async def test_a_resolver_that_changes_its_mind_changes_nothing(web: Web) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])

    async def rebinding(_: str, __: int) -> list[str]:
        return next(answers)

    tool = FetchUrl(rebinding, _fetch_url(web).transport)
    web.bench.toolbox.tools = {**web.bench.toolbox.tools, "fetch_url": tool}
    await web.bench.call("fetch_url", "once", url="http://example.org/")
    assert [request.url.host for request in web.requests] == ["93.184.216.34"]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org",
        "file:///etc/passwd",
        "example.org",
        "http://",
        "http://a:b@example.org/",
        "http://x y/",
        "http://[::1",
    ],
)
async def test_what_is_no_address_is_an_answer(web: Web, url: str) -> None:
    assert (await web.bench.call("fetch_url", "once", url=url)).failed
    assert web.requests == []


def _redirecting(routes: dict[str, str]) -> Handler:
    def handler(request: httpx.Request) -> httpx.Response:
        here = f"{request.headers['host']}{request.url.path}"
        if here in routes:
            return httpx.Response(302, headers={"location": routes[here]})
        return httpx.Response(200, text="arrived")

    return handler


async def test_redirects_within_a_host_are_followed_and_to_another_asked_about(web: Web) -> None:
    web.serve(_redirecting({"example.org/a": "/b", "example.org/b": "https://other.org/c"}))
    refused = await web.bench.call("fetch_url", "once", "no", url="https://example.org/a")
    asked = [sheet.summary for sheet in web.bench.user.asked]
    assert (outcome(refused), asked) == ((False, DENIED), ["Fetch from example.org", "Fetch from other.org"])
    assert {request.headers["host"] for request in web.requests} == {"example.org"}
    allowed = await web.bench.call("fetch_url", "once", "once", url="https://example.org/a")
    assert words(allowed).split("\n")[-1] == "arrived"


@pytest.mark.parametrize(
    ("location", "asked"),
    [
        ("/b", []),
        ("http://localhost:8080/b", []),
        ("http://localhost:2375/b", ["Fetch from localhost:2375 on this machine or network"]),
        ("https://localhost:8080/b", ["Fetch from localhost:8080 on this machine or network"]),
        ("http://example.org:81/b", ["Fetch from example.org"]),
    ],
)
async def test_another_port_or_scheme_of_a_machine_nearby_is_asked_about(
    web: Web, location: str, asked: list[str]
) -> None:
    web.addresses["localhost"] = ["127.0.0.1"]
    web.serve(_redirecting({"localhost:8080/a": location}))
    result = await web.bench.call("fetch_url", "once", url="http://localhost:8080/a")
    assert [sheet.summary for sheet in web.bench.user.asked[1:]] == asked
    assert result.failed is bool(asked)
    assert len(web.requests) == (1 if asked else 2)


async def test_a_machine_nearby_that_changes_its_address_on_the_way_is_asked_about_again(web: Web) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.7"]])

    async def rebinding(_: str, __: int) -> list[str]:
        return next(answers)

    web.serve(_redirecting({"router.lan/a": "/b"}))
    tool = replace(_fetch_url(web), resolver=rebinding)
    web.bench.toolbox.tools = {**web.bench.toolbox.tools, "fetch_url": tool}
    result = await web.bench.call("fetch_url", "once", url="http://router.lan/a")
    assert (result.failed, len(web.bench.user.asked), len(web.requests)) == (True, 2, 1)


@pytest.mark.parametrize(
    ("location", "answer"),
    [
        ("http://169.254.169.254/", "`169.254.169.254` resolves to an address that ponder never fetches from."),
        ("http://example.org/", "`example.org` redirects to plain http: not followed."),
        ("file:///etc/passwd", "Only complete http and https addresses can be fetched."),
        ("https://example.org/a", "More than 5 redirects."),
    ],
)
async def test_redirects_are_checked_like_the_first_address(web: Web, location: str, answer: str) -> None:
    web.addresses["169.254.169.254"] = ["169.254.169.254"]
    web.serve(_redirecting({"example.org/a": location}))
    result = await web.bench.call("fetch_url", "once", "once", url="https://example.org/a")
    assert outcome(result) == (False, answer)


async def test_a_long_page_comes_in_pieces_that_fit_together(web: Web) -> None:
    page = "".join(f"{number} " for number in range(30_000))
    web.serve(lambda _: httpx.Response(200, text=page, headers={"content-type": "text/plain"}))
    got = ""
    for _ in range(4):
        text = words(await web.bench.call("fetch_url", "session", url="https://example.org/", start=len(got)))
        got += text.partition("\n\n")[2]
    assert got == page


@pytest.mark.long
async def test_a_page_is_cut_at_5_mb_after_inflating(web: Web) -> None:
    bomb = gzip.compress(b"x" * 200_000_000)
    headers = {"content-type": "text/plain", "content-encoding": "gzip"}
    web.serve(lambda _: httpx.Response(200, content=_pieces(bomb), headers=headers))
    text = words(await web.bench.call("fetch_url", "once", url="https://example.org/"))
    assert "5,242,880 characters follow" in text
    assert "(the page is longer than 5,242,880 bytes and was cut)" in text


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), 65_536):
        yield data[at : at + 65_536]


async def test_a_server_that_never_ends_is_given_up(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.tools.builtin.fetch_url.MAX_SECONDS", 0.1)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.01)
            yield b"x"

    web.serve(lambda _: httpx.Response(200, content=endless()))
    result = await web.bench.call("fetch_url", "once", url="https://example.org/")
    assert outcome(result) == (False, "`example.org` did not finish within 0.1 s.")


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (httpx.Response(404, text="gone"), (False, "https://example.org/ answered 404; 4 characters follow")),
        (
            httpx.Response(200, content=b"\0\1", headers={"content-type": "application/zip"}),
            (False, "https://example.org/ a"),
        ),
        (httpx.Response(200, html="<title>T</title><p>hi"), (True, "https://example.org/ answered 200; 5 characters")),
    ],
)
async def test_what_came_is_said_and_marked_as_words_of_others(
    web: Web, response: httpx.Response, answer: tuple[bool, str]
) -> None:
    web.serve(lambda _: response)
    good, text = outcome(await web.bench.call("fetch_url", "once", url="https://example.org/"))
    assert (good, text[: len(answer[1])]) == answer


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "unicode_escape", "base64", "no-such", "a\0b"])
async def test_an_encoding_that_no_page_has_is_taken_for_utf_8(web: Web, charset: str) -> None:
    """Python's punycode takes minutes for this page, in a thread that nothing can stop."""
    body = b"a" * 1_000_000 + b"-" + b"b9" * 1_000_000
    response = httpx.Response(200, stream=httpx.ByteStream(body))
    response.headers = httpx.Headers([(b"content-type", b"text/plain; charset=" + charset.encode())])
    web.serve(lambda _: response)
    began = time.process_time()
    good, text = outcome(await web.bench.call("fetch_url", "once", url="https://example.org/"))
    assert good
    assert text.endswith("a" * 1000)
    assert time.process_time() - began < 10


async def test_a_picture_comes_as_a_picture(web: Web) -> None:
    web.serve(lambda _: httpx.Response(200, content=b"\x89PNG\r\n\x1a\n123", headers={"content-type": "text/html"}))
    result = await web.bench.call("fetch_url", "once", url="https://example.org/x.png")
    assert [picture.media_type for picture in pictures(result)] == ["image/png"]


@pytest.mark.parametrize(
    ("error", "words_of_ours"),
    [(httpx.ConnectError(""), "no connection"), (httpx.ReadTimeout(""), "it took too long"), (OSError(), "OSError")],
)
async def test_failures_are_told_in_our_own_words(web: Web, error: Exception, words_of_ours: str) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    web.serve(fail)
    result = await web.bench.call("fetch_url", "once", url="https://example.org/")
    assert outcome(result) == (False, f"`example.org` could not be fetched: {words_of_ours}.")


async def test_a_proxy_of_the_environment_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", unused_tcp_port):
        result = await open_bench(tmp_path).call("fetch_url", "once", url=f"http://127.0.0.1:{unused_tcp_port}/")
    assert words(result).endswith("\n\nhi")
