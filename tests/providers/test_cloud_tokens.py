"""Vertex AI and Azure through the real backend: the tokens of their logins, and the addresses."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.providers.cloud_servers import LoginServer
from tests.providers.cloud_user import FULL, Cloud, cloud, metadata_of_google
from tui.domain.errors import ErrorKind

__all__ = ["cloud"]

# Google Cloud


def service_account(folder: Path, url: str) -> Path:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "service-account.json"
    path.write_text(
        json.dumps(
            {
                "type": "service_account",
                "project_id": "the-project",
                "private_key": private.decode(),
                "private_key_id": "1",
                "client_email": "models@the-project.iam.gserviceaccount.com",
                "token_uri": f"{url}/token",
            }
        )
    )
    return path


def google_token(number: int, seconds: int = 3600) -> dict[str, object]:
    return {"access_token": f"google-access-token-number-{number}", "expires_in": seconds, "token_type": "Bearer"}


@pytest.mark.parametrize(
    ("model", "wire", "path"),
    [
        ("gemini-3.8-flash", "gemini", "publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse"),
        ("claude-opus-5-5", "anthropic", "publishers/anthropic/models/claude-opus-5-5:streamRawPredict"),
        (
            "claude-sonnet-4-5@20250929", "anthropic",
            "publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
        ),
        ("qwen/qwen3-coder-maas", "openai-chat", "endpoints/openapi/chat/completions"),
    ],
)  # fmt: skip
async def test_vertex_gets_the_token_of_a_service_account(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str, wire: str, path: str
) -> None:
    async with LoginServer({"/token": [google_token(1)]}) as oauth, FaultServer([FULL], wire=wire) as server:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(service_account(tmp_path, oauth.url)))
        outcome = await cloud.ask(server, f"vertex/{model}", account={"location": "europe-west1"})
        seen = server.seen[0]
    assert (outcome.error, outcome.text) == (None, "fine")
    assert seen.path == f"/v1/projects/the-project/locations/europe-west1/{path}"
    assert seen.headers["authorization"] == "Bearer google-access-token-number-1"
    if wire == "anthropic":
        assert (seen.json["anthropic_version"], "model" in seen.json) == ("vertex-2023-10-16", False)
        assert "anthropic-version" not in seen.headers


async def test_a_google_token_is_renewed_before_it_ends_and_once_after_a_refusal(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refused: list[Step] = [
        {"status": 401, "json": {"error": {"code": 401, "message": "Invalid credentials", "status": "UNAUTHENTICATED"}}}
    ]
    tokens = [google_token(1, seconds=60), *map(google_token, (2, 3, 4))]
    async with (
        LoginServer({"/token": tokens}) as oauth,
        FaultServer([FULL, FULL, refused, FULL, refused], wire="gemini") as server,
    ):
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(service_account(tmp_path, oauth.url)))
        outcomes = [await cloud.ask(server, "vertex/gemini-3.8-flash", account={"project": "p"}) for _ in range(4)]
        used = [seen.headers["authorization"][-1] for seen in server.seen]
    assert used == ["1", "2", "2", "3", "3", "4"]
    assert [outcome.text for outcome in outcomes] == ["fine", "fine", "fine", ""]
    assert outcomes[3].error is not None
    assert outcomes[3].error.kind is ErrorKind.AUTH
    assert outcomes[3].error.advice.startswith(
        "The Google Cloud login: service account was refused. Log in again: `gcloud auth application-default login`."
    )


async def test_the_metadata_service_of_google_is_asked(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Mapping[str, Sequence[Any]] = {
        "/computeMetadata/v1/instance/service-accounts/default/token": [google_token(7)],
        "/computeMetadata/v1/instance/service-accounts/default/": [{"email": "me@here", "scopes": [], "aliases": []}],
        "/computeMetadata/v1/project/project-id": ["its-project"],
        "/computeMetadata/v1/universe": ["googleapis.com"],
        "/": ["ok"],
    }
    monkeypatch.setattr(metadata_of_google, "_NO_GCE_CHECK", False)
    async with LoginServer(answers) as metadata, FaultServer([FULL], wire="gemini") as server:
        monkeypatch.setenv("GCE_METADATA_IP", f"127.0.0.1:{metadata.port}")
        monkeypatch.setattr(metadata_of_google, "_GCE_METADATA_HOST", f"127.0.0.1:{metadata.port}")
        outcome = await cloud.ask(server, "vertex/gemini-3.8-flash")
        seen = server.seen[0]
    assert outcome.error is None
    assert seen.path.startswith("/v1/projects/its-project/locations/global/")
    assert seen.headers["authorization"] == "Bearer google-access-token-number-7"


# Azure


async def test_azure_gets_a_key_in_both_headers(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-of-mine")
    async with FaultServer([FULL], wire="openai-responses") as server:
        outcome = await cloud.ask(server, "azure/gpt-6.1-sol", account={"resource": "res"})
        seen = server.seen[0]
    assert (outcome.error, seen.path, seen.json["model"]) == (None, "/openai/v1/responses", "gpt-6.1-sol")
    assert (seen.headers["api-key"], seen.headers["x-api-key"]) == ("azure-key-of-mine",) * 2
    assert "authorization" not in seen.headers


async def test_azure_gets_the_token_of_a_managed_identity_and_it_is_kept(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:

    ends = int(time.time()) + 3600
    tokens = [
        {"access_token": f"azure-access-token-number-{number}", "expires_on": str(ends), "token_type": "Bearer",
         "resource": "https://ai.azure.com"} for number in (1, 2)
    ]  # fmt: skip
    refused: list[Step] = [{"status": 401, "json": {"error": {"code": "401", "message": "Token is expired"}}}]
    async with LoginServer({"/msi": tokens}) as identity, FaultServer([FULL, FULL, refused, FULL]) as server:
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "prod")
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{identity.url}/msi")
        monkeypatch.setenv("IDENTITY_HEADER", "x")
        outcomes = [await cloud.ask(server, "azure/claude-opus-5-5", account={"resource": "r"}) for _ in range(3)]
        seen = server.seen
    assert [outcome.text for outcome in outcomes] == ["fine"] * 3
    assert {request.path for request in seen} == {"/anthropic/v1/messages"}
    assert [request.headers["authorization"][-1] for request in seen] == ["1", "1", "1", "2"]
    assert "resource=https" in identity.seen[0]
