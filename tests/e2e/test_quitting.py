"""Quitting on a real terminal while several sessions run: asked once, and what has arrived is kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_living import PONDER, READY

CTRL_N, CTRL_Q, ESCAPE = b"\x0e", b"\x11", b"\x1b"


def stored_texts(home: Path) -> list[str]:
    """What models said, in the order in which it was stored."""
    query = (
        "SELECT block.text FROM block JOIN message ON message.seq = block.place / 1048576"
        " WHERE message.role = 'assistant' AND block.kind = 'text' ORDER BY place"
    )
    connection = sqlite3.connect(home / "ponder" / "data" / "sessions.db")
    try:
        return [text for (text,) in connection.execute(query)]
    finally:
        connection.close()


@pytest.mark.long
def test_running_turns_are_asked_about_once_and_kept_as_far_as_they_came(tmp_path: Path) -> None:
    with Loopback() as first, Loopback() as second:
        first.configure(tmp_path)
        config = tmp_path / "ponder" / "config" / "config.toml"
        other = (
            f'[providers.other]\nwire = "openai-chat"\nauth = "none"\nbase_url = "http://127.0.0.1:{second.port}/v1"\n'
        )
        config.write_text(config.read_text() + other)
        with Terminal(PONDER, environment(tmp_path), size=(80, 24)) as terminal:
            terminal.wait_for(READY)
            terminal.type("alpha question\r")
            terminal.until(lambda: first.asked.acquire(blocking=False), "a request")
            first.say("alpha has come this far")
            terminal.wait_for("alpha has come this far")
            terminal.type(CTRL_N)
            terminal.wait_for("1 running elsewhere")
            terminal.wait_for("Talk to models that think")
            terminal.type("/model other/model\r")
            terminal.wait_for("other/model")
            terminal.type("beta question\r")
            terminal.until(lambda: second.asked.acquire(blocking=False), "a request of the other model")
            second.say("beta is shorter")
            terminal.wait_for("beta is shorter")
            terminal.type(CTRL_Q)
            terminal.wait_for("2 sessions still run")
            assert "alpha question  running" in terminal.text()
            assert "beta question  running · on the screen" in terminal.text()
            terminal.type(ESCAPE)
            terminal.until(lambda: "still run" not in terminal.text(), "the end of the question")
            second.say(", and it went on")
            terminal.wait_for("and it went on")
            terminal.type(CTRL_Q)
            terminal.wait_for("2 sessions still run")
            terminal.type("\r")
            assert terminal.exit_code() == 0
            assert terminal.is_clean
    assert stored_texts(tmp_path) == ["alpha has come this far", "beta is shorter, and it went on"]
