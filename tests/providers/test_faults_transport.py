"""Faults of the way: every row T of the fault catalogue, through the real client."""
# ruff: noqa: N802 - the names carry the rows of the fault catalogue

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faultserver.egress import Canary, ForwardProxy, own_ca
from tests.faultserver.player import Seen, Step
from tests.faultserver.server import FaultServer
from tests.key_canary import CANARY
from tests.patience import PATIENCE_S
from tests.providers.conftest import BRISK, PATIENT, WIRES, Client, request, where
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.http.deadlines import RESUMED, Deadlines, RequestLimits
from tui.providers.http.request import HttpRequest
from tui.providers.http.transport import Transport

SAY: Step = {"say": "text", "text": "one two three four five"}
FULL: list[Step] = [{"say": "thinking", "text": "hm, let me see"}, SAY, {"end": 1}]
wires = pytest.mark.parametrize("wire", WIRES)


@pytest.mark.one_in(4)
@wires
async def test_T01_a_stalled_stream_ends_at_the_idle_limit_and_keeps_what_came(client: Client, wire: str) -> None:
    async with FaultServer([[SAY, {"hold": 1}]], wire) as server:
        outcome = await client.ask(server, wire, limits=replace(PATIENT, idle_s=BRISK.idle_s))
    assert outcome.error is not None
    assert outcome.error.message.endswith(f"for {BRISK.idle_s:g} s."), "the idle limit, and not a longer one"
    assert (outcome.error.kind, outcome.error.retryable, outcome.complete) == (ErrorKind.STALLED, True, False)
    assert "one two three four five".startswith(outcome.text)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "openai-chat", "gemini", "ollama"])
async def test_T02_pings_do_not_keep_a_dead_generation_alive(client: Client, wire: str) -> None:
    async with FaultServer([[SAY, {"ping": [0.05, 40]}, {"hold": 1}]], wire) as server:
        began = time.monotonic()
        outcome = await client.ask(server, wire, limits=replace(PATIENT, meaning_s=BRISK.meaning_s))
        assert BRISK.meaning_s - 0.1 < time.monotonic() - began
    assert outcome.error is not None
    assert outcome.error.message.endswith(f"sent nothing for {BRISK.meaning_s:g} s.")
    assert outcome.error.kind is ErrorKind.STALLED
    assert "keeps the connection open" in outcome.error.message


async def test_T03_no_headers_names_the_host_and_the_seconds(client: Client) -> None:
    async with FaultServer([[{"hold": 1}]]) as server:
        outcome = await client.ask(server, limits=BRISK)
        assert outcome.error is not None
        assert outcome.error.message == f"No response from `127.0.0.1:{server.port}` in 1 s."
        assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TIMEOUT, True)


@pytest.mark.one_in(4)
@wires
@pytest.mark.parametrize("framing", ["chunked", "close"])
async def test_T04_a_bare_end_without_the_wires_own_end_is_no_success(client: Client, wire: str, framing: str) -> None:
    async with FaultServer([[{"status": 200, "framing": framing}, SAY]], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable, outcome.complete) == (ErrorKind.TRUNCATED, True, False)


@wires
async def test_T05_a_reset_says_how_far_it_came(client: Client, wire: str) -> None:
    async with FaultServer([[SAY, {"rst": 1}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.NETWORK, True)
    assert "bytes" in outcome.error.message


@pytest.mark.one_in(6)
@wires
@pytest.mark.parametrize("broken", ["rst", "eof", "cut_chunk", "bad_chunk", "garbage"])
async def test_T05_a_connection_that_breaks_after_the_end_of_the_answer_is_no_fault(
    client: Client, wire: str, broken: str
) -> None:
    async with FaultServer([[SAY, {"end": 1}, {broken: 1}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert (outcome.error, outcome.text, outcome.complete) == (None, "one two three four five", True)


@pytest.mark.one_in(4)
@wires
async def test_T17_bytes_without_end_after_the_end_of_the_answer_do_not_keep_it_open(client: Client, wire: str) -> None:
    async with FaultServer([[SAY, {"end": 1}, {"ping": [0.05, 100_000]}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert (outcome.error, outcome.text, outcome.complete) == (None, "one two three four five", True)


async def test_T17_after_an_end_that_was_none_the_limits_of_a_running_answer_hold(client: Client) -> None:
    more: Step = {"say": "text", "text": " six seven"}
    script: list[Step] = [SAY, {"end": 1}, {"sleep": 0.02}, more, {"hold": 1}]
    limits = replace(PATIENT, idle_s=BRISK.idle_s, after_end_s=30.0)
    async with FaultServer([script], "gemini") as server:
        outcome = await client.ask(server, "gemini", limits=limits)
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.STALLED


@wires
async def test_T21_a_flood_after_the_end_of_the_answer_is_no_fault(client: Client, wire: str) -> None:
    async with FaultServer([[SAY, {"end": 1}, {"raw": "x" * 40_000}]], wire) as server:
        outcome = await client.ask(server, wire, limits=replace(PATIENT, stream_bytes=20_000))
    assert (outcome.error, outcome.text, outcome.complete) == (None, "one two three four five", True)


@pytest.mark.parametrize(("status", "secure"), [(400, False), (401, True), (413, False), (413, True)])
async def test_T05_an_answer_before_a_reset_during_the_upload_is_read(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, secure: bool
) -> None:
    tls = None
    if secure:
        ca = own_ca(tmp_path)
        tls = ca.server
        monkeypatch.setenv("SSL_CERT_FILE", str(ca.bundle))
    said = {"error": {"message": "Said before all came."}}
    script: list[Step] = [{"status": status, "json": said}, {"rst": 1}]
    async with FaultServer([script], "openai-chat", tls=tls, read_body=False) as server:
        large = request("x" * 12_000_000)
        outcome = await client.ask(server, "openai-chat", asked=large, limits=RequestLimits(), at_most_s=100.0)
    assert outcome.error is not None
    assert (outcome.error.status, "Said before all came." in outcome.error.message) == (status, True)


@pytest.mark.parametrize(
    "script",
    [
        [{"status": 200, "framing": "cl:99999"}, SAY],
        [SAY, {"cut_chunk": 1}],
        [SAY, {"bad_chunk": 1}],
        [SAY, {"garbage": 1}],
    ],
    ids=["short_cl", "cut_chunk", "bad_chunk", "garbage"],
)
async def test_T06_broken_framing_is_a_broken_connection(client: Client, script: list[Step]) -> None:
    async with FaultServer([script]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.NETWORK, True)
    assert "one two" in outcome.text


async def test_T07_compression_is_declined_and_a_compressed_stream_still_read(client: Client) -> None:
    async with FaultServer([[{"status": 200, "packing": "ok"}, *FULL]]) as server:
        outcome = await client.ask(server)
        assert server.seen[0].headers["accept-encoding"] == "identity"
    assert (outcome.error, outcome.text, outcome.complete) == (None, "one two three four five", True)


async def test_T07_truncated_gzip_is_no_success(client: Client) -> None:
    async with FaultServer([[{"status": 200, "packing": "trunc"}, SAY]]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.TRUNCATED


async def test_T07_corrupt_gzip_is_retryable(client: Client) -> None:
    async with FaultServer([[{"status": 200, "h": {"content-encoding": "gzip"}}, {"badgzip": 1}]]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.NETWORK, True)


async def test_T08_a_bomb_is_stopped_at_the_cap_without_eating_memory(client: Client) -> None:
    script: list[Step] = [{"status": 200, "packing": "ok"}, {"raw": ": begin\n\n"}, {"bomb": 200}]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with FaultServer([script]) as server:
        outcome = await client.ask(server, limits=replace(PATIENT, stream_bytes=8_000_000))
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TOO_LARGE, False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000


async def test_T09_a_refused_connection_asks_whether_the_local_server_runs(client: Client) -> None:
    async with FaultServer([FULL]) as server:
        port = server.port
    outcome = await client.ask(f"http://127.0.0.1:{port}")
    assert outcome.error is not None
    assert outcome.error.message == f"`127.0.0.1:{port}` refused the connection."
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.CONNECT, True)
    assert outcome.error.advice == "Is the server running?"


async def test_T09_an_unknown_host_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        import socket

        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    outcome = await client.ask("https://no-such-host.invalid")
    assert outcome.error is not None
    assert outcome.error.message == "There is no network address for `no-such-host.invalid`."


@pytest.mark.parametrize("expired", [False, True])
async def test_T10_an_untrusted_certificate_is_not_retried_and_the_ca_setting_named(
    client: Client, tmp_path: Path, expired: bool
) -> None:
    ca = own_ca(tmp_path, expired=expired)
    async with FaultServer([FULL], tls=ca.server) as server:
        outcome = await client.ask(server)
        assert server.seen == []
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TLS, False)
    assert 'issued by "Corporate Inspection CA"' in outcome.error.message
    assert "SSL_CERT_FILE" in outcome.error.advice


async def test_T10_the_bundle_in_SSL_CERT_FILE_is_trusted(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca = own_ca(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.bundle))
    async with FaultServer([FULL], tls=ca.server) as server:
        outcome = await client.ask(server)
    assert (outcome.error, outcome.text) == (None, "one two three four five")


def no_file(path: Path) -> None:
    """Leave the path without a file."""


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
@pytest.mark.parametrize("make", [no_file, os.mkfifo, Path.touch, lambda path: path.write_text("root:x:0:0")])
async def test_T10_certificates_that_are_none_are_said_and_not_waited_for(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, make: Callable[[Path], object]
) -> None:
    ca = own_ca(tmp_path)
    named = tmp_path / "named"
    make(named)
    monkeypatch.setenv(variable, str(named))
    async with FaultServer([FULL], tls=ca.server) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TLS, False)
    assert outcome.error.message == "The certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be read."


@pytest.mark.parametrize("status", [200, 403, 502])
async def test_T11_a_captive_portal_shows_its_title_not_its_page(client: Client, status: int) -> None:
    page = b"<!DOCTYPE html><html><head><title>Hotel Wifi Login</title></head><body>" + b"x" * 5000 + b"</body></html>"
    async with FaultServer([[{"status": status, "ct": "text/html", "body": page}]]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert outcome.error.kind in (ErrorKind.NOT_A_STREAM, ErrorKind.PERMISSION)
    assert "Hotel Wifi Login" in outcome.error.message
    assert len(outcome.error.message) < 300


async def test_T12_a_whole_json_answer_instead_of_a_stream_is_an_answer(client: Client) -> None:
    whole = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "all at once"}], "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip
    async with FaultServer([[{"status": 200, "json": whole}]]) as server:
        outcome = await client.ask(server)
    assert (outcome.error, outcome.text, outcome.complete) == (None, "all at once", True)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "gemini"])
async def test_T13_a_redirect_is_not_followed_and_its_place_named(client: Client, wire: str, code: int) -> None:
    async with Canary() as elsewhere:
        async with FaultServer([[{"redirect": f"{elsewhere.url}/take", "code": code}]], wire) as server:
            outcome = await client.ask(server, wire)
        assert elsewhere.heard == []
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.REDIRECT, False)
    assert f"`{elsewhere.url.removeprefix('http://')}/take`" in outcome.error.message


async def test_T14_early_cancels_do_not_hold_up_the_next_request(client: Client) -> None:
    async with FaultServer([*[[{"hold": 1}]] * 60, FULL]) as server:
        # Without limits a connection that is not given back is never given back.
        backend = client.backend(replace(PATIENT, header_s=0, private_header_s=0, idle_s=0, meaning_s=0, total_s=0))
        for number in range(60):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.0004 * (number % 30)):
                    await client.ask(server, backend=backend)
        server.scripts = [FULL]
        outcome = await client.ask(server, backend=backend)
    assert (outcome.error, outcome.text) == (None, "one two three four five")


async def test_T15_a_proxy_is_used_and_named_without_its_password(client: Client) -> None:
    async with FaultServer([FULL]) as server, ForwardProxy(server.port) as proxy:
        through = client.backend(environ={"http_proxy": proxy.url}, plain_http=["models.example"])
        outcome = await client.ask("http://models.example", backend=through)
        assert proxy.asked == ["POST http://models.example/v1/messages HTTP/1.1"]
        past = client.backend(environ={"http_proxy": proxy.url, "no_proxy": "127.0.0.1"})
        direct = await client.ask(server, backend=past)
        assert len(proxy.asked) == 1
    assert (outcome.error, outcome.text, direct.text) == (None, *["one two three four five"] * 2)


async def test_T15_a_dead_or_silent_proxy_is_named(client: Client) -> None:
    async with ForwardProxy(0, silent=True) as proxy:
        name = proxy.url.rpartition("@")[2].removeprefix("http://")
        backend = client.backend(BRISK, environ={"HTTP_PROXY": proxy.url}, plain_http=["models.example"])
        silent = await client.ask("http://models.example", backend=backend)
    backend = client.backend(environ={"HTTP_PROXY": proxy.url}, plain_http=["models.example"])
    dead = await client.ask("http://models.example", backend=backend)
    for outcome, kind in ((silent, ErrorKind.TIMEOUT), (dead, ErrorKind.CONNECT)):
        assert outcome.error is not None
        assert outcome.error.kind is kind
        assert f"proxy `{name}`" in outcome.error.message
        assert "proxy-password" not in outcome.error.message + outcome.error.advice


@pytest.mark.parametrize(("status", "retryable"), [(407, False), (403, False), (302, False), (502, True)])
async def test_T15_a_proxy_that_does_not_connect_is_quoted_with_its_status(
    client: Client, status: int, retryable: bool
) -> None:
    async with FaultServer([[{"status": status, "body": "<html>"}]]) as server:
        proxy = server.url.replace("http://", "http://user:proxy-password@")
        outcome = await client.ask("https://models.example", backend=client.backend(environ={"HTTPS_PROXY": proxy}))
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.CONNECT, retryable)
    assert outcome.error.message.endswith(f"does not connect to `models.example`: HTTP status {status}.")
    assert ("password" in outcome.error.advice) == (status == 407)
    assert "proxy-password" not in outcome.error.message + outcome.error.advice


@pytest.mark.parametrize("proxy", ["http://[", "http://user:proxy-password@127.0.0.1:abc", "http://", "http://p:99999"])
async def test_T15_a_proxy_whose_address_cannot_be_read_is_an_error_of_ours(client: Client, proxy: str) -> None:
    outcome = await client.ask("https://models.example", backend=client.backend(environ={"HTTPS_PROXY": proxy}))
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.INVALID_REQUEST, False)
    assert outcome.error.message == "The address of the proxy for `models.example` cannot be read."


@pytest.mark.parametrize("status", [300, 304])
async def test_T13_a_redirect_to_nowhere_names_its_status(client: Client, status: int) -> None:
    async with FaultServer([[{"status": status}]]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert (outcome.error.status, outcome.error.retryable) == (status, False)
    assert f"answered with HTTP status {status} but named no address to redirect to" in outcome.error.message


async def test_T16_after_the_machine_slept_the_attempt_ends_at_once() -> None:
    wall = [1000.0]
    deadlines = Deadlines(PATIENT, "`host`", wall=lambda: wall[0], look_every_s=0.01)
    wall[0] += 3600
    waiting = asyncio.get_running_loop().create_future()
    deadlines.watch(waiting)
    fault = await waiting  # by no other limit, as its words say
    assert isinstance(fault, ProviderError)
    assert "slept" in fault.message
    assert (fault.kind, fault.code, fault.retryable) == (ErrorKind.NETWORK, RESUMED, True)


async def test_T17_one_byte_at_a_time_for_ever_ends_at_the_limit_of_meaning(client: Client) -> None:
    async with FaultServer([[SAY, {"drip": [0.04, b"event: message_delta" * 9]}]]) as server:
        outcome = await client.ask(server, limits=replace(PATIENT, meaning_s=BRISK.meaning_s))
    assert outcome.error is not None
    assert (outcome.error.kind, "keeps the connection open" in outcome.error.message) == (ErrorKind.STALLED, True)


async def test_T18_a_flood_of_headers_is_refused_for_good(client: Client) -> None:
    async with FaultServer([[{"huge_header": 200_000}]]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TOO_LARGE, False)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("secure", [False, True])
async def test_T19_a_server_that_answers_and_then_reads_no_more_is_heard(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    tls = None
    if secure:
        ca = own_ca(tmp_path)
        tls = ca.server
        monkeypatch.setenv("SSL_CERT_FILE", str(ca.bundle))
    refusal: list[Step] = [{"status": 413, "json": {"error": {"message": "Too much."}}}, {"sleep": 1000}]
    async with FaultServer([refusal, FULL], "openai-chat", tls=tls, read_body=False) as server:
        backend = client.backend(replace(PATIENT, answered_s=0.3))
        refused = await client.ask(server, "openai-chat", asked=request("x" * 60_000_000), backend=backend)
        server.read_body = True
        answered = await client.ask(server, "openai-chat", backend=backend)
        assert server.connections == 2, "the rest of the upload would be taken for a request"
    assert refused.error is not None
    assert (refused.error.status, "Too much." in refused.error.message) == (413, True)
    assert (answered.error, answered.text) == (None, "one two three four five")


@pytest.mark.long
async def test_T19_the_limit_for_writing_is_one_of_standstill(client: Client) -> None:
    class SlowReader(FaultServer):
        """Needs much longer than the limit for the whole request, and much less for each part."""

        async def _request(self, reader: asyncio.StreamReader) -> Seen:
            seen = await super()._request(reader)
            left = int(seen.headers["content-length"])
            while left > 0:
                left -= len(await reader.readexactly(min(left, 2**20)))
                await asyncio.sleep(0.25)
            return seen

    async with SlowReader([FULL], read_body=False) as server:
        outcome = await client.ask(server, asked=request("x" * 30_000_000), limits=replace(PATIENT, write_s=3.0))
    assert (outcome.error, outcome.text) == (None, "one two three four five")


async def test_T19_a_server_that_takes_nothing_in_ends_at_the_write_limit(client: Client) -> None:
    async with FaultServer([[{"wait": asyncio.Event()}]], read_body=False) as server:
        limits = replace(PATIENT, write_s=BRISK.write_s)
        outcome = await client.ask(server, asked=request("x" * 60_000_000), limits=limits)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TIMEOUT, True)


async def test_T20_a_kept_connection_that_is_gone_is_replaced_without_a_word(client: Client) -> None:
    async with FaultServer([FULL, [{"rst": 1}], FULL]) as server:
        backend = client.backend()
        first = await client.ask(server, backend=backend)
        second = await client.ask(server, backend=backend)
        assert (len(server.seen), server.connections) == (3, 2)
    assert (first.text, second.text, second.error) == (*["one two three four five"] * 2, None)


@wires
async def test_cancelling_hangs_up_at_once(client: Client, wire: str) -> None:
    async with FaultServer([[SAY, {"hold": 1}]], wire) as server:
        # Without limits nothing but the cancel can end it.
        backend = client.backend(replace(PATIENT, idle_s=0, meaning_s=0, total_s=0))
        async with aclosing(backend.stream(where(wire, server.url), request())) as events:
            async for _ in events:
                break
        async with asyncio.timeout(PATIENCE_S):
            while server.seen[0].closed_at is None:
                await asyncio.sleep(0.002)


@wires
async def test_a_good_answer_goes_through_on_every_wire_with_the_key_in_its_header(client: Client, wire: str) -> None:
    async with FaultServer([FULL], wire) as server:
        outcome = await client.ask(server, wire)
        headers = server.seen[0].headers
        name = {"anthropic": "x-api-key", "gemini": "x-goog-api-key", "gemini-array": "x-goog-api-key"}.get(wire)
        assert (headers[name] if name else headers["authorization"].removeprefix("Bearer ")) == CANARY
        assert CANARY not in server.seen[0].path
    assert (outcome.error, outcome.thinking, outcome.text) == (None, "hm, let me see", "one two three four five")
    assert outcome.blocks.usage is not None
    assert (outcome.blocks.usage.input, outcome.complete) == (100, True)


async def test_a_response_that_ends_after_everything_was_closed_leaves_no_connection_open() -> None:
    async with FaultServer([[{"status": 200, "json": {}}]], answers_get=True) as server:
        transport = Transport(environ={})
        request = HttpRequest(url=f"{server.url}/v1/models", method="GET")
        async with transport.open(request) as response:
            await transport.aclose()
            assert await response.read_all(1024) == b"{}"
        async with transport.open(request) as response:
            await response.read_all(1024)
    assert server.connections == 2
