"""A user with an account at a cloud, whose servers are those of the test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.patience import PATIENCE_S
from tests.providers.cloud_servers import secret_of
from tests.providers.conftest import PATIENT, Outcome, request, target
from tui.catalog.catalog import Catalog, packaged_catalog, users_catalog
from tui.domain.errors import ProviderError
from tui.providers.backend import ProviderBackend
from tui.providers.http.transport import Transport
from tui.providers.keys import Keys

pytest.importorskip("botocore.session")
pytest.importorskip("azure.identity")
metadata_of_google = pytest.importorskip("google.auth.compute_engine._metadata")

FULL: list[Step] = [{"say": "text", "text": "fine"}, {"end": 1}]
STARTED_WITH = ("AWS_", "GOOGLE_", "CLOUDSDK_", "GCE_", "AZURE_", "IDENTITY_", "ANTHROPIC_", "CLOUD_ML")


@dataclass
class Cloud:
    """A user with an account at a cloud, whose address is a server of the test."""

    keys: Keys
    backends: list[ProviderBackend]

    async def ask(self, server: FaultServer, name: str, *, account: Mapping[str, str] | None = None) -> Outcome:
        outcome = Outcome()
        provider, _, model = name.partition("/")
        catalog = at(server.url, provider, account or {})
        facts = catalog.find(provider, model)
        aim = target(catalog.provider(provider), facts)
        try:
            async with asyncio.timeout(PATIENCE_S):
                async for batch in self.backend().stream(aim, request(model=facts.id)):
                    outcome.events.extend(batch)
        except ProviderError as error:
            outcome.error = error
        return outcome

    def backend(self) -> ProviderBackend:
        if not self.backends:
            self.backends.append(
                ProviderBackend(self.keys, lambda: Transport(limits=PATIENT, environ={}), limits=PATIENT)
            )
        return self.backends[0]


def at(url: str, provider: str, account: Mapping[str, str]) -> Catalog:
    """The packaged provider at another host: its paths and placeholders stay."""
    packaged = packaged_catalog().provider(provider)

    def moved(address: str) -> str:
        return url + "/" + address.removeprefix("https://").partition("/")[2]

    row = {
        "base_url": moved(packaged.base_url),
        "bases": {wire: moved(base) for wire, base in packaged.bases.items()},
        "account": dict(account),
    }
    catalog, problems = users_catalog(packaged_catalog(), {"providers": {provider: row}}, {}, file="config.toml")
    assert problems == []
    return catalog


@pytest.fixture
async def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cloud]:
    """Without any login: neither variables nor files nor programs of the machine that runs the tests."""
    for name in list(os.environ):
        if name.startswith(STARTED_WITH):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    monkeypatch.setattr(metadata_of_google, "_NO_GCE_CHECK", True)  # the variable is read by the import
    monkeypatch.setenv("AZURE_CONFIG_DIR", str(tmp_path / "azure"))
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "dev")  # the metadata service may be the machine's
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Cloud(Keys(tmp_path / "credentials.toml", environ=os.environ, use_keyring=False), [])
    yield found
    found.keys.stop_commands()
    for backend in found.backends:
        await backend.aclose()


def static_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST0")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret_of(0))
