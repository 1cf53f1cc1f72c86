"""How long the program takes to end after one SIGTERM, at many moments: ``python -m bench.ending``.

The last line is JSON. Target: two seconds at any moment; where the terminal reads nothing, the end is forced.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.pressure import Flood
from tests.e2e.terminal import Terminal, environment

PONDER = [sys.executable, "-m", "tui"]
LIMITS = {"ended_max_ms": 2_000}
READY = "enter send"
STARTING_S = tuple(step / 20 for step in range(1, 21))


def ended_after(begin: Callable[[Terminal], None], home: Path, *, is_read: bool = True) -> float:
    """Milliseconds from the signal to the end."""
    with Terminal(PONDER, environment(home), size=(100, 30), started=True) as terminal:
        begin(terminal)
        signalled = time.perf_counter()
        terminal.signal(signal.SIGTERM)
        if is_read:
            terminal.exit_code()
        else:
            terminal.process.wait(30)
        return round((time.perf_counter() - signalled) * 1000, 1)


def starting(seconds: float) -> Callable[[Terminal], None]:
    """So long after the program was started."""

    def begin(terminal: Terminal) -> None:
        while time.perf_counter() - terminal.started < seconds:
            terminal.pump(0.002)

    return begin


def idle(terminal: Terminal) -> None:
    """The screen stands."""
    terminal.wait_for(READY)


def sheet(terminal: Terminal) -> None:
    """The settings are open."""
    terminal.wait_for(READY)
    terminal.type("/settings\r")
    terminal.wait_for("find a setting")


def flood(terminal: Terminal) -> None:
    """An answer comes as fast as it can."""
    terminal.wait_for(READY)
    terminal.type("go\r")
    terminal.wait_for("lorem ipsum")


def unread_flood(terminal: Terminal) -> None:
    """The same, and the terminal has stopped reading."""
    flood(terminal)
    for number in range(400):
        terminal.resize(60 + number % 40, 20 + number % 10)
    time.sleep(0.5)


def main() -> None:
    """Measure and print."""
    rows: dict[str, float] = {}
    server = Flood("text", 2_000)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        config = home / "ponder" / "config"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(
            'model = "loop/model"\n[providers.loop]\nwire = "openai-chat"\nauth = "none"\n'
            f'base_url = "http://127.0.0.1:{server.port}/v1"\n',
            encoding="utf-8",
        )
        rows["starting, worst"] = max(ended_after(starting(seconds), home) for seconds in STARTING_S)
        for begin in (idle, sheet, flood):
            rows[begin.__name__] = ended_after(begin, home)
        rows["flood, unread"] = ended_after(unread_flood, home, is_read=False)
    for name, took in rows.items():
        print(f"{name:16} {took:8.1f} ms")
    worst = max(rows.values())
    print(json.dumps({"bench": "ending", "results": rows, "ended_max_ms": worst, "limits": LIMITS}))


if __name__ == "__main__":
    main()
