"""MCP servers on a real terminal: the progress of a call, and a form that is filled in during another."""

from __future__ import annotations

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.servers import wait_for_server
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_odd_files import PONDER, READY

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")

FORMS = str(Path(__file__).parents[1] / "fakes" / "mcp_forms.py")
CTRL_Y = "\x19"
PAUSE_S = 0.4
"""The question is deaf at first, and to whoever types on and on."""


def _allowed(terminal: Terminal, shows: str) -> None:
    """Answer *once* until something is shown."""
    terminal.wait_for(" ASKS ")
    pressed = time.monotonic()

    def is_shown() -> bool:
        nonlocal pressed
        if " ASKS " in terminal.text() and time.monotonic() - pressed > PAUSE_S:
            pressed = time.monotonic()
            terminal.type(CTRL_Y)
        return shows in terminal.text()

    terminal.until(is_shown, shows)


@pytest.mark.long
def test_progress_is_shown_in_the_row_and_a_form_above_the_conversation(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        config = tmp_path / "ponder" / "config" / "config.toml"
        row = f"\n[mcp.servers.shop]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([FORMS])}\n"
        config.write_text(config.read_text() + row + f"folder = {json.dumps(str(tmp_path))}\nstart_timeout = 50\n")
        with Terminal(PONDER, environment(tmp_path), size=(110, 34)) as terminal:
            terminal.wait_for(READY)
            wait_for_server(terminal, "ready, 3 tools")
            terminal.type("order something\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.call("mcp_shop__waits")
            _allowed(terminal, "running · half way (1 of 2)")
            (tmp_path / "go-on").touch()
            terminal.until(lambda: model.asked.acquire(blocking=False), "the second request")
            terminal.until(lambda: "half way" not in terminal.text(), "the row of a call that has ended")
            model.call("mcp_shop__order")
            _allowed(terminal, "shop asks")
            terminal.type("Ada")
            terminal.wait_for("Name *  Ada")
            terminal.type("\t")
            terminal.wait_for("name@example.com · needed")
            terminal.type("ada@example.com")
            terminal.wait_for("Email *  ada@example.com")
            for _ in range(6):
                terminal.type("\x1b[B")
            pressed = time.monotonic()

            def is_sent() -> bool:
                nonlocal pressed
                if time.monotonic() - pressed > PAUSE_S:
                    pressed = time.monotonic()
                    terminal.type("\r")
                return model.asked.acquire(blocking=False)

            terminal.until(is_sent, "the third request")
            model.say("It is ordered.")
            model.finish()
            terminal.wait_for("It is ordered.")
        assert "accept {'name': 'Ada', 'email': 'ada@example.com', 'amount': 2" in json.dumps(model.bodies[-1])
