"""The canary sings: a key that is planted is found, wherever it is planted."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from tests.key_canary import CANARY, OF_EVERY_TEST, OWN_KEY, files_with_keys, hear, taken
from tui.tools.builtin.processes import Command, run_to_end
from tui.tools.builtin.shell import child_environment


@pytest.mark.parametrize("name", ["ponder.log", "sessions.db", "sessions.db-wal", "export.md", "crash/report.txt"])
def test_a_key_in_a_file_is_found(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    coded = base64.b64encode(OWN_KEY.encode())
    for content in (b"\0\xff" + CANARY.encode() + b"\0", b"said: " + coded):
        path.write_bytes(content)
        assert files_with_keys(tmp_path) == [path]
    path.unlink()


def test_the_file_that_is_made_for_keys_may_hold_them(tmp_path: Path) -> None:
    (tmp_path / "credentials.toml").write_text(f'mine = "{CANARY}"')
    assert files_with_keys(tmp_path) == []


def test_a_key_that_is_printed_or_logged_is_heard(capsys: pytest.CaptureFixture[str]) -> None:
    hear(f"sent {CANARY}", "the log")
    print(CANARY)
    capsys.readouterr()
    assert taken() == ["a key in the log", "a key in what was printed"]


async def _run(environment: dict[str, str], folder: Path) -> None:
    await run_to_end(Command(argv=("true",), folder=folder, environment=environment, timeout_s=10.0), None)


@pytest.mark.parametrize("planted", [{"HARMLESS": f"x{CANARY}"}, {"OPENAI_API_KEY": "any"}])
async def test_a_child_of_a_tool_that_sees_a_key_is_caught(planted: dict[str, str], tmp_path: Path) -> None:
    await _run(planted, tmp_path)
    assert [leak.partition(" ")[0] for leak in taken()] == list(planted)


async def test_the_shell_tool_hands_on_no_key_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    assert os.environ[OF_EVERY_TEST] == CANARY
    await _run(child_environment(os.environ), tmp_path)
    assert taken() == []
