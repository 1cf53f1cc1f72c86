"""What a hostile server can do with the answers of a login at a cloud: they are read up to a limit."""

from __future__ import annotations

import asyncio
import gzip
import random
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faultserver.listener import Listener
from tests.faultserver.server import FaultServer
from tests.patience import PATIENCE_S
from tests.providers.cloud_user import FULL, Cloud, cloud
from tests.providers.test_cloud_tokens import service_account
from tui.domain.errors import NO_LOGIN
from tui.providers.clouds import short_answers

__all__ = ["cloud"]

urllib3 = pytest.importorskip("urllib3")

LIMIT = 20_000


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_answers, "LONGEST", LIMIT)
    monkeypatch.setattr("tui.providers.clouds.google.LONGEST", LIMIT)
    monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)


def _is_asked(monkeypatch: pytest.MonkeyPatch, folder: Path, model: str, url: str) -> None:
    match model.partition("/")[0]:
        case "bedrock":
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{url}/token")
        case "vertex":
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(service_account(folder, url)))
        case "azure":
            monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "prod")
            monkeypatch.setenv("IDENTITY_ENDPOINT", f"{url}/token")
            monkeypatch.setenv("IDENTITY_HEADER", "x")


class Once(Listener):
    """Sends one answer."""

    def __init__(self, head: str, body: bytes) -> None:
        super().__init__()
        self._answer = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n{head}\r\n".encode() + body

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self._answer)
        await writer.drain()


class EndlessServer(Listener):
    """Answers every request with letters without end."""

    asked = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            self.asked += 1
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
            while True:
                writer.write(b"x" * LIMIT)
                await writer.drain()


MODELS = ["bedrock/claude-opus-5-5", "vertex/gemini-3.8-flash", "azure/gpt-6.1-sol"]
ACCOUNT = {"region": "us-east-1", "project": "p", "location": "global", "resource": "r"}


async def test_a_compressed_answer_is_read_up_to_less_because_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_answers, "LONGEST_PACKED", 2_000)
    short_answers.limit_answers()
    packed = {length: gzip.compress(random.Random(1).randbytes(length)) for length in (1_000, 15_000)}

    def asked(url: str) -> bytes:
        with urllib3.PoolManager(retries=False) as pool:
            return bytes(pool.request("GET", url, timeout=PATIENCE_S).data)

    for length, encoding, fits in ((1_000, "gzip", True), (15_000, "gzip", False), (15_000, "", True)):
        head = f"content-encoding: {encoding}\r\n" if encoding else ""
        async with Once(head, packed[length]) as server:
            if fits:
                assert len(await asyncio.to_thread(asked, server.url)) >= length
            else:
                with pytest.raises(urllib3.exceptions.ProtocolError, match="its server sent more than"):
                    await asyncio.to_thread(asked, server.url)


@pytest.mark.parametrize("model", MODELS)
async def test_an_answer_without_end_ends_the_login(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """The server goes on for as long as anybody reads."""
    async with EndlessServer() as login, FaultServer([FULL]) as server:
        _is_asked(monkeypatch, tmp_path, model, login.url)
        outcome = await cloud.ask(server, model, account=ACCOUNT)
        seen = server.seen
    assert (outcome.error is not None and outcome.error.code, seen, login.asked > 0) == (NO_LOGIN, [], True)


async def test_secrets_of_the_environment_are_known_before_the_packages_of_a_cloud_can_quote_them(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They get the whole environment, and their loggers write what servers and programs answer."""
    monkeypatch.setenv("IDENTITY_HEADER", "the-header-of-the-identity")
    monkeypatch.setenv("ELSEWHERE_API_KEY", "the key of another provider")
    async with FaultServer([FULL]) as server:
        outcome = await cloud.ask(server, "vertex/gemini-3.8-flash", account=ACCOUNT)
    assert outcome.error is not None
    told = cloud.keys.redactor.clean("the-header-of-the-identity, the key of another provider")
    assert told == "***tity, ***ider"
