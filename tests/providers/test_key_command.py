"""A key that a command prints: when the command runs, what it may do, and what is said when it fails."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.processes import is_running
from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import ProviderFacts
from tui.catalog.provider_rows import user_provider
from tui.domain.errors import ConfigError, ErrorKind, ProviderError
from tui.providers import key_command
from tui.providers.key_programs import Programs
from tui.providers.key_wait import in_thread
from tui.providers.keys import FoundKey, KeyLocation, Keys

KEY = "key-from-the-vault-4711"
PYTHON = sys.executable


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "credentials.toml", environ={}, use_keyring=False)


def _asking(*words: str) -> Callable[[Keys], FoundKey | None]:
    provider = replace(packaged_catalog().provider("anthropic"), key_command=words)
    return lambda keys: keys.require(provider)


def test_only_a_request_runs_the_command_and_it_runs_once(keys: Keys, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command = ("sh", "-c", f"echo x >> {shlex.quote(str(ran))}; printf '%s\\nsecond line\\n' {KEY}")
    provider = replace(packaged_catalog().provider("anthropic"), key_command=command)
    assert (keys.find(provider), keys.source(provider), ran.exists()) == (None, "key_command", False)
    before = keys.account(provider.id, provider.base_url)
    with ThreadPoolExecutor(4) as four:
        found = [answer.result() for answer in [four.submit(keys.require, provider) for _ in range(4)]]
    assert {key and (key.secret.reveal(), key.location) for key in found} == {(KEY, KeyLocation.COMMAND)}
    assert ran.read_text() == "x\n"
    assert keys.account(provider.id, provider.base_url) == before != ""
    assert KEY not in keys.redactor.clean(f"it was {KEY}")


def test_a_refused_key_is_fetched_again(keys: Keys, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    provider = replace(packaged_catalog().provider("anthropic"), key_command=("cat", str(vault)))
    seen = []
    for text in ("key-of-yesterday", "key-of-today"):
        vault.write_text(text)
        found = keys.reread(provider)
        seen.append(found and found.secret.reveal())
    assert seen == ["key-of-yesterday", "key-of-today"]


def test_the_environment_comes_first_and_a_saved_key_is_not_used(tmp_path: Path) -> None:
    provider = replace(packaged_catalog().provider("anthropic"), key_command=("echo", KEY))
    credentials = tmp_path / "credentials.toml"
    Keys(credentials, environ={}, use_keyring=False).save(replace(provider, key_command=()), "a-saved-key")
    by_variable = Keys(credentials, environ={"ANTHROPIC_API_KEY": "a-key-of-the-shell"}, use_keyring=False)
    by_command = Keys(credentials, environ={}, use_keyring=False)
    found = [keys.require(provider) for keys in (by_variable, by_command)]
    assert [key and key.secret.reveal() for key in found] == ["a-key-of-the-shell", KEY]
    with pytest.raises(ConfigError, match="comes from `key_command`"):
        by_command.save(provider, "another-key")


def test_the_command_has_no_terminal_and_no_input(keys: Keys) -> None:
    script = (
        "import os, sys\n"
        "assert sys.stdin.read() == ''\n"
        "try: os.open('/dev/tty', os.O_RDWR)\n"
        "except OSError: print('key-without-terminal')\n"
    )
    found = _asking(PYTHON, "-c", script)(keys)
    assert found is not None
    assert found.secret.reveal() == "key-without-terminal"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("/nowhere/op", "read"), "`/nowhere/op read`, cannot be started: No such file or directory."),
        (("sh", "-c", "echo vault is locked >&2; exit 3"), "failed with exit code 3: vault is locked."),
        (("sh", "-c", "kill -9 $$"), "failed with signal 9."),
        (("true",), "`true`, printed no key."),
        (("printf", "\\nsecond"), "printed no key."),
        (("printf", "a key\\n"), "printed no valid key. The key is invalid: character U+0020 (space) at position 2"),
    ],
)
def test_what_fails_is_said_with_the_command_and_its_reason(keys: Keys, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ProviderError) as caught:
        _asking(*words)(keys)
    assert caught.value.kind is ErrorKind.NO_KEY
    assert said in caught.value.message


def test_what_was_printed_counts_when_the_command_ends_and_its_child_ends_with_it(keys: Keys, tmp_path: Path) -> None:
    child = tmp_path / "child"
    script = f"sleep 1000 & echo $! > {shlex.quote(str(child))}; echo {KEY}"
    before = time.monotonic()
    found = _asking("sh", "-c", script)(keys)
    assert (found and found.secret.reveal(), time.monotonic() - before < key_command.LIMIT_S) == (KEY, True)
    pid = int(child.read_text())
    deadline = time.monotonic() + PATIENCE_S
    while is_running(pid):
        assert time.monotonic() < deadline


def test_a_program_of_a_login_that_leaves_a_child_has_its_exit_code_and_output() -> None:
    printed = Programs().run(("sh", "-c", "sleep 1000 & echo {}; echo why >&2; exit 3"), PATIENCE_S)
    assert (printed.output, printed.errors, printed.code) == (b"{}\n", b"why\n", 3)


def test_a_command_that_takes_too_long_is_ended_with_its_children(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_command, "LIMIT_S", 0.2)
    with pytest.raises(ProviderError, match=r"did not end within 0 seconds"):
        _asking("sh", "-c", "sleep 1000 & sleep 1000")(keys)


def _endless(started: Path) -> ProviderFacts:
    """A provider whose command says its process id and that of its child, and does not end."""
    script = f"sleep 1000 & echo $$ $! > {shlex.quote(str(started))}.new; mv {shlex.quote(str(started))}.new "
    command = ("sh", "-c", f"{script}{shlex.quote(str(started))}; wait")
    return replace(packaged_catalog().provider("anthropic"), key_command=command)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0)


async def test_giving_up_ends_the_command_with_its_children_and_the_next_request_runs_it_again(
    keys: Keys, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    asking = asyncio.create_task(in_thread(keys.require, _endless(started)))
    await _until(started.exists)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    pids = [int(pid) for pid in started.read_text().split()]
    assert len(pids) == 2
    await _until(lambda: not any(map(is_running, pids)))
    provider = replace(packaged_catalog().provider("anthropic"), key_command=("echo", KEY))
    found = await in_thread(Keys(tmp_path / "credentials.toml", environ={}, use_keyring=False).require, provider)
    assert found is not None
    started.unlink()
    again = asyncio.create_task(in_thread(keys.require, _endless(started)))
    await _until(started.exists)
    again.cancel()
    await asyncio.wait([again])


async def test_giving_up_does_not_end_the_command_of_another_request(keys: Keys, tmp_path: Path) -> None:
    started, go_on = tmp_path / "started", tmp_path / "go on"
    os.mkfifo(go_on)
    words = f"touch {shlex.quote(str(started))}; cat {shlex.quote(str(go_on))} > /dev/null; echo {KEY}"
    provider = replace(packaged_catalog().provider("anthropic"), key_command=("sh", "-c", words))
    first = asyncio.create_task(in_thread(keys.require, provider))
    await _until(started.exists)
    second = asyncio.create_task(in_thread(keys.require, provider))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    await asyncio.to_thread(go_on.write_text, "")
    found = await first
    assert (found and found.secret.reveal(), second.cancelled()) == (KEY, True)


def test_a_program_that_starts_after_its_request_was_given_up_is_ended() -> None:
    with_child = Programs().run(("sh", "-c", "sleep 1000"), PATIENCE_S, lambda: True)
    assert with_child.code == -signal.SIGKILL


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_command_that_prints_without_end_is_ended(keys: Keys, stream: str) -> None:
    endless = f"import sys\nwhile True: sys.{stream}.write('x' * 1000)"
    with pytest.raises(ProviderError, match="printed more than 64 KB"):
        _asking(PYTHON, "-c", endless)(keys)


def test_the_end_of_the_program_ends_the_command(keys: Keys, tmp_path: Path) -> None:
    started = tmp_path / "started"
    caught: list[ProviderError] = []

    def ask() -> None:
        try:
            _asking("sh", "-c", f"touch {shlex.quote(str(started))}; sleep 1000 & wait")(keys)
        except ProviderError as error:
            caught.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    deadline = time.monotonic() + PATIENCE_S
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    keys.stop_commands()
    asking.join(PATIENCE_S)
    assert [error.message.partition(", failed")[2] for error in caught] == [" with signal 9."]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("op read 'op://Private/Anthropic key/credential'", ("op", "read", "op://Private/Anthropic key/credential")),
        (["pass", "show", "a b"], ("pass", "show", "a b")),
    ],
)
def test_a_command_is_a_string_or_its_words(value: object, words: tuple[str, ...]) -> None:
    assert user_provider("anthropic", {"key_command": value}, "config.toml").key_command == words


@pytest.mark.parametrize("value", ["", [], "   ", "op 'read", 3, [3]])
def test_what_is_no_command_is_told(value: object) -> None:
    with pytest.raises(ConfigError, match=r"`providers.anthropic.key_command` cannot be"):
        user_provider("anthropic", {"key_command": value}, "config.toml")


def test_what_a_failing_command_says_is_clean_of_the_other_keys_in_the_environment(tmp_path: Path) -> None:
    other = "key-of-another-provider-0815"
    keys = Keys(tmp_path / "credentials.toml", environ={"ELSEWHERE_API_KEY": other}, use_keyring=False)
    with pytest.raises(ProviderError) as caught:
        _asking("sh", "-c", f"echo 'using {other}' >&2; exit 1")(keys)
    assert other in caught.value.message
    keys.redactor.clean_error(caught.value)
    assert "using ***0815" in caught.value.message
