"""Amazon Bedrock through the real backend: where credentials come from, and how requests are signed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.providers.cloud_servers import LoginServer, aws_credentials, secret_of, signature_fault
from tests.providers.cloud_user import FULL, Cloud, at, cloud, static_login
from tui.providers.clouds.sigv4 import AwsSigner, Clock
from tui.providers.keys import KeyLocation
from tui.providers.redaction import Secret

__all__ = ["cloud"]

ENDED: list[Step] = [
    {"status": 403, "json": {"message": "The security token included in the request is expired"}},
]


@pytest.mark.parametrize(
    ("model", "wire", "path", "sent"),
    [
        ("claude-opus-5-5", "anthropic", "/anthropic/v1/messages", "global.anthropic.claude-opus-5-5"),
        ("gpt-6.1-sol", "openai-responses", "/openai/v1/responses", "global.openai.gpt-6.1-sol"),
        ("qwen.qwen3-32b-v1:0", "openai-chat", "/openai/v1/chat/completions", "qwen.qwen3-32b-v1:0"),
    ],
)
async def test_requests_to_bedrock_are_signed_as_they_are_sent(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, model: str, wire: str, path: str, sent: str
) -> None:
    static_login(monkeypatch)
    async with FaultServer([FULL], wire=wire) as server:
        outcome = await cloud.ask(server, f"bedrock/{model}", account={"region": "us-east-1"})
        seen = server.seen[0]
    assert (outcome.error, outcome.text) == (None, "fine")
    assert (seen.method, seen.path, seen.json["model"]) == ("POST", path, sent)
    assert signature_fault(seen, secret_of(0)) == ""
    assert signature_fault(seen, secret_of(1)) != ""
    assert "x-amz-security-token" not in seen.headers


async def test_a_bedrock_key_is_sent_as_it_is_and_nobody_logs_in(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    static_login(monkeypatch)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-of-mine")
    async with FaultServer([FULL]) as server:
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})
        assert server.seen[0].headers["authorization"] == "Bearer bedrock-api-key-of-mine"
    assert outcome.error is None


async def test_region_and_profile_come_from_the_files_of_aws(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "aws-config").write_text("[profile work]\nregion = eu-central-1\n")
    (tmp_path / "aws-credentials").write_text(
        f"[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = {secret_of(3)}\n"
    )
    async with FaultServer([FULL]) as server:
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"profile": "work"})
        assert signature_fault(server.seen[0], secret_of(3), region="eu-central-1") == ""
    assert outcome.error is None
    provider = at("http://127.0.0.1:1", "bedrock", {"profile": "work"}).provider("bedrock")
    key = await asyncio.to_thread(cloud.keys.require, provider)
    assert key is not None
    assert (key.location, key.source) == (KeyLocation.CLOUD, "AWS login: ~/.aws/credentials, profile work")


async def test_credentials_of_a_container_are_renewed_before_they_end(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = aws_credentials(1, minutes=2), aws_credentials(2)
    async with LoginServer({"/creds": [short, long]}) as metadata, FaultServer([FULL]) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/creds")
        for _ in range(3):
            assert (await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})).error is None
        used = [seen.headers["x-amz-security-token"][-1] for seen in server.seen]
        faults = [signature_fault(seen, secret_of(int(number))) for seen, number in zip(server.seen, used, strict=True)]
    assert (used, faults) == (["2", "2", "2"], ["", "", ""])
    assert len(metadata.seen) == 2


async def test_credentials_that_end_early_are_fetched_again_once(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"/creds": [*map(aws_credentials, (1, 2, 3))]}
    async with LoginServer(answers) as metadata, FaultServer([FULL, ENDED, FULL, ENDED]) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/creds")
        outcomes = [
            await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"}) for _ in range(3)
        ]
        used = [seen.headers["x-amz-security-token"][-1] for seen in server.seen]
    assert used == ["1", "1", "2", "2", "3"]
    assert [outcome.text for outcome in outcomes] == ["fine", "fine", ""]
    assert outcomes[2].error is not None
    assert "is expired" in outcomes[2].error.message


async def test_the_role_of_an_instance_is_used(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Mapping[str, Sequence[Any]] = {
        "/latest/api/token": ["a-metadata-token"],
        "/latest/meta-data/iam/security-credentials/": ["the-role"],
        "/latest/meta-data/iam/security-credentials/the-role": [aws_credentials(4)],
    }
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    async with LoginServer(answers) as metadata, FaultServer([FULL]) as server:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})
        assert signature_fault(server.seen[0], secret_of(4)) == ""
    assert outcome.error is None


async def test_a_role_is_assumed_with_a_web_identity(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "identity").write_text("a.web.identity")
    given = aws_credentials(5)
    xml = (
        '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
        "<AssumeRoleWithWebIdentityResult><Credentials>"
        f"<SessionToken>{given['Token']}</SessionToken><SecretAccessKey>{given['SecretAccessKey']}</SecretAccessKey>"
        f"<Expiration>{given['Expiration']}</Expiration><AccessKeyId>{given['AccessKeyId']}</AccessKeyId>"
        "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    )
    async with LoginServer({"/": [xml]}) as tokens, FaultServer([FULL]) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", tokens.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/models")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "identity"))
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5")
        assert signature_fault(server.seen[0], secret_of(5)) == ""
    assert outcome.error is None


@pytest.mark.parametrize("hours", [3, -3])
async def test_a_wrong_clock_is_corrected_by_the_servers(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    static_login(monkeypatch)
    there = datetime.now(UTC) + timedelta(hours=hours)
    late: list[Step] = [
        {"status": 403, "json": {"message": "Signature expired"}, "h": {"date": format_datetime(there, usegmt=True)}}
    ]
    async with FaultServer([late, FULL]) as server:
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})
        again = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})
        stamps = [
            datetime.strptime(seen.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) for seen in server.seen
        ]
        faults = [signature_fault(seen, secret_of(0)) for seen in server.seen]
    assert (outcome.text, again.text, faults) == ("fine", "fine", [""] * 3)
    assert [abs(stamp - there) < timedelta(minutes=30) for stamp in stamps] == [False, True, True]


async def test_a_refusal_that_no_login_changes_is_final(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    static_login(monkeypatch)
    denied: list[Step] = [{"status": 403, "json": {"message": "You don't have access to the model"}}]
    async with FaultServer([denied]) as server:
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})
        assert len(server.seen) == 1
    assert outcome.error is not None
    assert outcome.error.message == "You don't have access to the model"


HEADERS = st.dictionaries(
    st.sampled_from(["content-type", "anthropic-version", "user-agent", "x-team"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=30),
)


@given(
    body=st.binary(max_size=200),
    path=st.text(st.sampled_from("abcXYZ019-._~%:/"), max_size=30),
    query=st.sampled_from(["", "?a=1", "?b=2&a=1&c=", "?x=%2F"]),
    headers=HEADERS,
    token=st.none() | st.just("session/token=="),
    host=st.sampled_from(["bedrock-runtime.us-east-1.amazonaws.com", "127.0.0.1:8080", "h.example:443"]),
)
def test_signatures_are_those_of_botocore(
    body: bytes, path: str, query: str, headers: dict[str, str], token: str | None, host: str
) -> None:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import ReadOnlyCredentials

    path = "/v1/" + path.replace("//", "/").replace("..", "").replace("./", "").strip("/.").replace("%", "%25")
    url = f"https://{host}{path}{query}"
    signer = AwsSigner(
        access_key="AKIA", secret_key=Secret(secret_of(0)), session_token=Secret(token) if token else None,
        region="us-east-1", clock=Clock(),
    )  # fmt: skip
    own = signer.headers("POST", url, headers, body)
    signed = {name: headers[name] for name in headers if name in own["authorization"]}
    signed["x-amz-content-sha256"] = own["x-amz-content-sha256"]
    asked = AWSRequest("POST", url, headers=signed, data=body)
    auth = SigV4Auth(ReadOnlyCredentials("AKIA", secret_of(0), token), "bedrock", "us-east-1")
    asked.context["timestamp"] = own["x-amz-date"]
    auth._modify_request_before_signing(asked)
    canonical = auth.canonical_request(asked)
    signature = auth.signature(auth.string_to_sign(asked, canonical), asked)
    assert own["authorization"].endswith(f"Signature={signature}")
