"""``ponder`` as the command line calls it, in a home of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ui.conftest import _slow_fingers, _still_when_nothing_runs, _styles_parsed_once  # noqa: F401  # fixtures
from tui.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ponder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
