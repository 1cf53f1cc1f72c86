"""Start: from exec to the first text of the first screen and to the echo of a typed key, beside a bare Textual app.

    python -m bench.start [--repeats 9]

Rounds are interleaved and medians shown; every start is a process of its own on a pty that answers as a terminal
does, with a home the first, uncounted, round has already used. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.terminal import Terminal, environment

BARE = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    def compose(self):
        yield Static("MARKER hello world, this is the floor")
Hello().run()
"""
CONTENDERS = {"bare": ([sys.executable, "-c", BARE], b"MARKER"), "ponder": ([sys.executable, "-m", "tui"], b"ponder")}
LIMITS = {"first_text_x": 1.8, "echo_x": 2.2, "idle_mb": 70}
TYPED = "zqx"
SETTLED_S = 1.0
"""When memory is read: the first screen stands and everything that was put off is done."""


def start(name: str, home: Path) -> dict[str, float]:
    """One start; seconds and MB."""
    command, marker = CONTENDERS[name]
    with Terminal(command, environment(home), size=(120, 40), started=True) as terminal:
        terminal.until(lambda: marker in terminal.raw, "the first text")
        measured = {"first_text": time.perf_counter() - terminal.started}
        if name == "ponder":
            terminal.type(TYPED)
            terminal.until(lambda: TYPED.encode() in terminal.raw, "the echo")
            measured["echo"] = time.perf_counter() - terminal.started
        idle_from = time.perf_counter() + SETTLED_S
        while time.perf_counter() < idle_from:
            terminal.pump(0.1)
        measured["idle_mb"] = _resident_mb(terminal.process.pid)
        terminal.process.kill()
    return measured


def _resident_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as home:
        for number in range(repeats + 1):
            for name in CONTENDERS:
                measured = start(name, Path(home))
                if number:
                    rows[name].append(measured)
    medians = {
        name: {key: round(statistics.median(row[key] for row in found), 4) for key in found[0]}
        for name, found in rows.items()
    }
    floor = medians["bare"]["first_text"]
    ratios = {
        "first_text_x": round(medians["ponder"]["first_text"] / floor, 2),
        "echo_x": round(medians["ponder"]["echo"] / floor, 2),
        "idle_mb": round(medians["ponder"]["idle_mb"], 1),
    }
    for name, row in medians.items():
        print(f"{name:8}", "  ".join(f"{key} {value:.3f}" for key, value in row.items()))
    for key, value in ratios.items():
        print(f"{key:14} {value:6.2f}  limit {LIMITS[key]}  {'ok' if value <= LIMITS[key] else 'TOO MUCH'}")
    print(json.dumps({"bench": "start", "repeats": repeats, "medians": medians, "ratios": ratios, "limits": LIMITS}))


if __name__ == "__main__":
    main()
