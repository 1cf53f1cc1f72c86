"""An answer that breaks off, and a server that is gone when it is asked again: the words that came are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prefork
from tests.e2e.terminal import Terminal, environment
from tests.faultserver.vanishing import Vanishing

PONDER = (sys.executable, "-m", "tui")
WORDS = [f"word{number} " for number in range(300)]


def configure(home: Path, port: int) -> None:
    folder = home / "ponder" / "config"
    folder.mkdir(parents=True)
    row = f'wire = "openai-chat"\nauth = "none"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
    (folder / "config.toml").write_text(f'model = "loop/model"\n[providers.loop]\n{row}', encoding="utf-8")


def ponder(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return prefork.run([*PONDER, *arguments], env=environment(home), stdin=subprocess.DEVNULL)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ends_chunks", [False, True])
def test_the_words_that_came_are_in_json_and_in_the_stored_session(tmp_path: Path, ends_chunks: bool) -> None:
    with Vanishing(WORDS, ends_chunks=ends_chunks) as server:
        configure(tmp_path, server.port)
        done = ponder(tmp_path, "-p", "Count", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert said["answer"] == "".join(WORDS)
    assert f"broke off after {server.sent:,} bytes" in said["error"]["message"]
    assert f"`127.0.0.1:{server.port}` refused the connection" in said["error"]["message"]
    shown = ponder(tmp_path, "sessions", "show", said["session"]).stdout.decode()
    assert "".join(WORDS).strip() in shown
    assert f"broke off after {server.sent:,} bytes" in shown


def test_the_words_that_came_stay_on_the_screen(tmp_path: Path) -> None:
    with Vanishing(WORDS[:40]) as server:
        configure(tmp_path, server.port)
        with Terminal([*PONDER], environment(tmp_path), size=(100, 40)) as terminal:
            terminal.wait_for("model")
            terminal.type("Count\r")
            terminal.wait_for("refused the connection")
            terminal.until(lambda: f"broke off after {server.sent:,} bytes" in terminal.text(), "the reason")
            terminal.wait_for("word39")
            assert "Discarded attempt" not in terminal.text()
