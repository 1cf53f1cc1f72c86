"""Logins at clouds that are missing, slow or refused, and what becomes of their secrets."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.patience import PATIENCE_S
from tests.processes import is_running
from tests.providers.cloud_servers import LoginServer, aws_credentials, secret_of
from tests.providers.cloud_user import FULL, Cloud, at, cloud, static_login
from tests.providers.conftest import request, target
from tui.catalog.catalog import packaged_catalog, users_catalog
from tui.domain.errors import NO_LOGIN, ErrorKind, ProviderError
from tui.providers.clouds import login_hints, logins
from tui.providers.configured_secrets import learn_environment
from tui.providers.key_wait import KeyWait
from tui.providers.keys import Keys
from tui.providers.redaction import Redactor

__all__ = ["cloud"]

# What is missing


@pytest.mark.parametrize(
    ("model", "message", "advice"),
    [
        (
            "bedrock/claude-opus-5-5",
            "There is no login at AWS for Amazon Bedrock.",
            "Run `aws sso login --profile work`, or set `AWS_BEARER_TOKEN_BEDROCK`.",
        ),
        (
            "vertex/gemini-3.8-flash",
            "There is no login at Google Cloud for Google Vertex AI.",
            "Run `gcloud auth application-default login`.",
        ),
        (
            "azure/gpt-6.1-sol",
            "There is no login at Azure for Microsoft Azure (Foundry).",
            "Run `az login`, or set `AZURE_OPENAI_API_KEY`.",
        ),
    ],
)
async def test_a_missing_login_is_said_with_its_command(
    cloud: Cloud, tmp_path: Path, model: str, message: str, advice: str
) -> None:
    (tmp_path / "aws-config").write_text("[profile work]\nregion = eu-central-1\n")
    async with FaultServer([FULL]) as server:
        outcome = await cloud.ask(server, model, account={"profile": "work"} if "bedrock" in model else None)
        assert server.seen == []
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.code) == (ErrorKind.NO_KEY, NO_LOGIN)
    assert (outcome.error.message, outcome.error.advice) == (message, advice)


@pytest.mark.parametrize(
    ("model", "package", "extra"),
    [
        ("bedrock/claude-opus-5-5", "botocore.exceptions", "aws"),
        ("vertex/gemini-3.8-flash", "google.auth.exceptions", "google"),
        ("azure/gpt-6.1-sol", "azure.identity", "azure"),
    ],
)
async def test_a_missing_package_is_said_with_the_command_that_installs_it(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, model: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    async with FaultServer([FULL]) as server:
        outcome = await cloud.ask(server, model)
    assert outcome.error is not None
    assert "needs the package for logins at" in outcome.error.message
    assert outcome.error.advice.startswith(f"Install it: `pip install 'ponder-tui[{extra}]'`")


async def test_a_missing_region_is_said_with_its_variable(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    static_login(monkeypatch)
    catalog, _ = users_catalog(packaged_catalog(), {}, {}, file="config.toml")
    provider = catalog.provider("bedrock")
    facts = catalog.find("bedrock", "claude-opus-5-5")
    with pytest.raises(ProviderError) as caught:
        async for _ in cloud.backend().stream(target(provider, facts), request()):
            pass
    assert caught.value.message == "Amazon Bedrock needs to know the region."
    assert caught.value.advice == (
        'Set `AWS_REGION`, or `account = { region = "…" }` in `[providers.bedrock]` of `config.toml`.'
    )


# Waiting


async def test_a_login_that_does_not_end_is_given_up(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "LIMIT_S", 0.2)
    async with LoginServer({"/creds": [None]}) as metadata, FaultServer([FULL]) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/creds")
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})
    assert outcome.error is not None
    assert outcome.error.message == "The login at AWS for Amazon Bedrock did not end within 0 seconds."
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TIMEOUT, False)


async def test_cancelling_and_ending_do_not_wait_for_a_login(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoginServer({"/creds": [None]}) as metadata, FaultServer([FULL]) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/creds")
        turn = asyncio.create_task(cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"}))
        await until(lambda: len(metadata.seen) == 1)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        other = asyncio.create_task(cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"}))
        await until(lambda: sum(thread.name.startswith("asyncio_") for thread in threading.enumerate()) >= 1)
        while not other.done():
            cloud.keys.stop_commands()
            await asyncio.sleep(0)
        outcome = other.result()
    assert outcome.error is not None
    assert outcome.error.message == "The login was ended with the program."


def credential_process(tmp_path: Path, *, through_a_role: bool = False) -> Path:
    """Configures a program that does not end; returns the file in which it says its process id."""
    started = tmp_path / "started"
    program = tmp_path / "endless"
    program.write_text(
        f"#!/bin/sh\nread line\necho $$ > {started}.new; /bin/mv {started}.new {started}\nexec /bin/sleep 1000\n"
    )
    program.chmod(0o755)
    role = "role_arn = arn:aws:iam::1:role/a\nsource_profile = source\n[profile source]\n" if through_a_role else ""
    text = f"[profile work]\nregion = us-east-1\n{role}credential_process = {program}\n"
    (tmp_path / "aws-config").write_text(text)
    return started


@pytest.mark.parametrize("through_a_role", [False, True])
async def test_a_program_that_does_not_end_is_ended_and_named(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, through_a_role: bool
) -> None:
    started = credential_process(tmp_path, through_a_role=through_a_role)
    monkeypatch.setattr(logins, "LIMIT_S", 2.0)
    async with FaultServer([FULL]) as server:
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"profile": "work"})
        assert server.seen == []
    assert outcome.error is not None
    name = tmp_path / "endless"
    assert outcome.error.message == (
        f"The login at AWS for Amazon Bedrock did not end within 2 seconds; `{name}` was ended."
    )
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.TIMEOUT, False)
    assert outcome.error.advice.startswith("Run it by hand")
    await until(lambda: not is_running(int(started.read_text())))


class Begun(KeyWait):
    """Says when the waiting has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        with super().ended_by(end):
            self.begun.set()
            yield


async def test_giving_up_ends_the_program_unless_another_request_waits_for_it(cloud: Cloud, tmp_path: Path) -> None:
    started = credential_process(tmp_path)
    provider = at("http://127.0.0.1:1", "bedrock", {"profile": "work"}).provider("bedrock")
    waiting = [Begun(), Begun(), Begun()]
    asking = [asyncio.create_task(asyncio.to_thread(cloud.keys.require, provider, one)) for one in waiting[:2]]
    await until(lambda: started.exists() and all(one.begun.is_set() for one in waiting[:2]))
    pid = int(started.read_text())
    waiting[0].give_up()
    assert (is_running(pid), [one.done() for one in asking]) == (True, [False, False])
    waiting[1].give_up()
    with pytest.raises(ProviderError, match="The login was given up"):
        await asking[1]
    await until(lambda: not is_running(pid))
    started.unlink()
    third = asyncio.create_task(asyncio.to_thread(cloud.keys.require, provider, waiting[2]))
    await until(started.exists)
    cloud.keys.stop_commands()
    with pytest.raises(ProviderError, match="The login was ended with the program"):
        await third
    await until(lambda: not is_running(int(started.read_text())))
    await asyncio.wait(asking)


async def test_cancelling_a_request_ends_the_program(cloud: Cloud, tmp_path: Path) -> None:
    started = credential_process(tmp_path)
    async with FaultServer([FULL]) as server:
        turn = asyncio.create_task(cloud.ask(server, "bedrock/claude-opus-5-5", account={"profile": "work"}))
        await until(started.exists)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    await until(lambda: not is_running(int(started.read_text())))


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await asyncio.sleep(0)


# Secrets


async def test_every_secret_of_a_login_is_known_to_the_redactor(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    given = aws_credentials(8)
    echo: list[Step] = [
        {"status": 400, "json": {"message": f"no: {given['SecretAccessKey']} and {given['Token']} and AKIA"}}
    ]
    async with LoginServer({"/creds": [given]}) as metadata, FaultServer([echo]) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/creds")
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"region": "us-east-1"})
    assert outcome.error is not None
    assert outcome.error.message == "no: ***er-8 and ***in-8 and AKIA"


async def test_a_login_stands_for_its_account_whatever_its_token(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"/creds": [aws_credentials(1, minutes=2), aws_credentials(2, minutes=2), aws_credentials(3)]}
    async with LoginServer(answers) as metadata:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{metadata.url}/creds")
        told = []
        for region in ("us-east-1", "us-east-1", "eu-central-1"):
            provider = at("http://127.0.0.1:1", "bedrock", {"region": region}).provider("bedrock")
            await asyncio.to_thread(cloud.keys.require, provider)
            told.append(cloud.keys.account(provider.id, provider.base_url))
    assert told[0] == told[1] != told[2] != ""


async def test_an_ended_sso_login_is_said_with_the_command_that_renews_it(cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / "aws-config").write_text(
        "[sso-session work]\nsso_region = eu-central-1\nsso_start_url = https://work.awsapps.example/start\n"
        "[profile work]\nsso_session = work\nsso_account_id = 123456789012\nsso_role_name = models\n"
        "region = eu-central-1\n"
    )
    async with FaultServer([FULL]) as server:
        outcome = await cloud.ask(server, "bedrock/claude-opus-5-5", account={"profile": "work"})
        assert server.seen == []
    assert outcome.error is not None
    assert outcome.error.message.startswith("The login at AWS for Amazon Bedrock failed: ")
    assert outcome.error.advice.startswith("Run `aws sso login --profile work`")


def test_a_start_imports_no_package_of_a_cloud(tmp_path: Path) -> None:
    """Not even with all signs of a login: only a request to such a provider logs in."""
    code = (
        "import sys; from tui.cli.main import main; code = main(['-p', 'hi', '-m', 'demo/fast']); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'botocore', 'google', 'azure', 'msal', 'requests'}), file=sys.stderr); sys.exit(code)"
    )
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PONDER_HOME": str(tmp_path / "ponder"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "AWS_PROFILE": "work",
        "AWS_REGION": "us-east-1",
        "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "none.json"),
        "AZURE_CLIENT_ID": "me",
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (0, ["[]"])


@pytest.mark.parametrize(
    ("variables", "files", "expected"),
    [
        ({}, (), {}),
        ({"AWS_ACCESS_KEY_ID": "x"}, (), {"bedrock": "environment AWS_ACCESS_KEY_ID"}),
        ({"AWS_PROFILE": "work"}, (), {"bedrock": "profile work"}),
        ({}, (".aws/config",), {"bedrock": "~/.aws"}),
        ({}, (".config/gcloud/application_default_credentials.json",), {"vertex": "gcloud"}),
        ({"AZURE_CLIENT_ID": "x"}, (), {"azure": "environment AZURE_CLIENT_ID"}),
        ({}, (".azure/azureProfile.json",), {"azure": "az login"}),
    ],
)
def test_signs_of_a_login_are_found_without_reading_them(
    tmp_path: Path, variables: dict[str, str], files: tuple[str, ...], expected: dict[str, str]
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch(mode=0o000)
    environment = {"HOME": str(tmp_path), **variables}
    catalog, _ = users_catalog(packaged_catalog(), {}, environment, file="config.toml")
    keys = Keys(tmp_path / "credentials.toml", environ=environment, use_keyring=False)
    found = {name: keys.login_source(provider) for name, provider in catalog.providers().items()}
    assert {name: trace for name, trace in found.items() if trace} == expected


def test_a_login_whose_package_is_missing_is_shown_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_hints, "find_spec", lambda name: None)
    keys = Keys(tmp_path / "credentials.toml", environ={"AWS_ACCESS_KEY_ID": "x"}, use_keyring=False)
    shown = keys.login_source(packaged_catalog().provider("bedrock"))
    assert shown == "environment AWS_ACCESS_KEY_ID, not usable yet: pip install 'ponder-tui[aws]'"


def test_secrets_of_logins_in_the_environment_are_known_before_any_request() -> None:
    environment = {"AWS_SECRET_ACCESS_KEY": secret_of(9), "AZURE_CLIENT_SECRET": "the-secret-of-an-application"}
    redactor = Redactor()
    learn_environment(redactor, packaged_catalog().providers().values(), environment)
    told = redactor.clean(f"{secret_of(9)} {environment['AZURE_CLIENT_SECRET']}")
    assert told == "***er-9 ***tion"
