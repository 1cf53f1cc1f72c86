"""MCP servers end with the program, however it ends and however stubborn they are."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.servers import wait_for_server
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_odd_files import PONDER, READY
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed"),
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see other processes"),
]

PLAIN = Path(__file__).parents[1] / "fakes" / "plain_mcp_server.py"
STUBBORN = f"""
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
exec(open({str(PLAIN)!r}).read())
time.sleep(600)
"""
"""Does not end with its input, nor by signals that can be ignored."""


def _running_in(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == folder and " Z " not in (process / "stat").read_text():
                found.append((process / "cmdline").read_text())
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_stubborn_server_and_what_it_started_end_with_the_program(tmp_path: Path, number: signal.Signals) -> None:
    place = tmp_path / "place"
    place.mkdir()
    config = tmp_path / "ponder" / "config"
    config.mkdir(parents=True)
    elsewhere = f"setsid {sys.executable} -c 'import time; time.sleep(600)' &"
    command = json.dumps(["-c", f'{elsewhere} exec {sys.executable} -c "$PROGRAM"'])
    row = f"[mcp.servers.stubborn]\ncommand = 'sh'\nargs = {command}\nfolder = {json.dumps(str(place))}\n"
    row += f"env = {{ PROGRAM = {json.dumps(STUBBORN)} }}\nstart_timeout = 50\n"
    (config / "config.toml").write_text(row)
    with Terminal(PONDER, environment(tmp_path), size=(100, 30)) as terminal:
        terminal.wait_for(READY)
        terminal.until(lambda: len(_running_in(place)) == 2, "the server and its child")
        wait_for_server(terminal, "ready, 1 tool")
        terminal.signal(number)
        terminal.process.wait(PATIENCE_S)
        terminal.until(lambda: _running_in(place) == [], "the end of both")
