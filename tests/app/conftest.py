"""``ponder`` as the command line calls it, in a home of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.narrow import expect_some
from tests.patience import PATIENCE_S
from tests.ui.conftest import _on_a_stage  # noqa: F401  # a fixture
from tui.cli.main import main
from tui.providers import running_servers

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _time_for_local_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server on this machine is waited for: on a busy machine it needs more time than users are made to wait."""
    monkeypatch.setitem(expect_some(running_servers.running_servers.__kwdefaults__), "limit_s", PATIENCE_S)
    monkeypatch.setattr(running_servers, "DETAILS_S", PATIENCE_S)


@pytest.fixture
def ponder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
