"""Start: from exec to the first text of the first screen and to the echo of a typed key, beside a bare Textual app.

    python -m bench.start [--repeats 9] [--rest SECONDS]

Rounds are interleaved and medians shown; every start is a process of its own on a pty that answers as a terminal
does, with a home the first, uncounted, round has already used. The processor time of each is shown beside the time
that passed: it says more on a machine with other work. With ``--rest``, one more process is left alone for so long,
and how often its threads wake is counted. The last line is JSON.
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
LIMITS = {"first_text_x": 1.45, "echo_x": 1.6, "idle_mb": 53, "wakeups_a_second": 2}
TYPED = "zqx"
SETTLED_S = 1.0
"""When memory is read: the first screen stands and everything that was put off is done."""
BLINKS_S = 15
"""After this time without a key, the cursor stands still."""


def start(name: str, home: Path) -> dict[str, float]:
    """One start; seconds and MB."""
    command, marker = CONTENDERS[name]
    with Terminal(command, environment(home), size=(120, 40), started=True) as terminal:
        terminal.until(lambda: marker in terminal.raw, "the first text")
        measured = {"first_text": time.perf_counter() - terminal.started}
        measured["first_text_cpu"] = _processor_s(terminal.process.pid)
        if name == "ponder":
            terminal.type(TYPED)
            terminal.until(lambda: TYPED.encode() in terminal.raw, "the echo")
            measured["echo"] = time.perf_counter() - terminal.started
            measured["echo_cpu"] = _processor_s(terminal.process.pid)
        _leave_alone(terminal, SETTLED_S)
        measured["idle_mb"] = _resident_mb(terminal.process.pid)
        terminal.process.kill()
    return measured


def wakeups(home: Path, seconds: float) -> float:
    """How often a second the threads of a program at rest wake."""
    with Terminal(CONTENDERS["ponder"][0], environment(home), size=(120, 40), started=True) as terminal:
        terminal.until(lambda: b"ponder" in terminal.raw, "the first text")
        _leave_alone(terminal, BLINKS_S)
        before = _switches(terminal.process.pid)
        _leave_alone(terminal, seconds)
        count = _switches(terminal.process.pid) - before
        terminal.process.kill()
    return count / seconds


def _leave_alone(terminal: Terminal, seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        terminal.pump(0.1)


def _threads(pid: int, file: str) -> list[str]:
    return [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob(f"*/{file}")]


def _switches(pid: int) -> int:
    """How often the threads have waited for something."""
    return sum(
        int(found[1]) for text in _threads(pid, "status") if (found := re.search(r"\nvoluntary_\w+:\s+(\d+)", text))
    )


def _processor_s(pid: int) -> float:
    return sum(int(text.split()[0]) for text in _threads(pid, "schedstat")) / 1e9


def _resident_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--rest", type=float, default=0, metavar="SECONDS")
    given = parser.parse_args()
    repeats = given.repeats
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as home:
        for number in range(repeats + 1):
            for name in CONTENDERS:
                measured = start(name, Path(home))
                if number:
                    rows[name].append(measured)
        at_rest = {"wakeups_a_second": round(wakeups(Path(home), given.rest), 2)} if given.rest else {}
    medians = {
        name: {key: round(statistics.median(row[key] for row in found), 4) for key in found[0]}
        for name, found in rows.items()
    }
    floor = medians["bare"]["first_text"]
    ratios = {
        "first_text_x": round(medians["ponder"]["first_text"] / floor, 2),
        "echo_x": round(medians["ponder"]["echo"] / floor, 2),
        "idle_mb": round(medians["ponder"]["idle_mb"], 1),
        **at_rest,
    }
    floor_cpu = medians["bare"]["first_text_cpu"]
    cpu = {name: round(medians["ponder"][f"{name}_cpu"] / floor_cpu, 2) for name in ("first_text", "echo")}
    for name, row in medians.items():
        print(f"{name:8}", "  ".join(f"{key} {value:.3f}" for key, value in row.items()))
    for key, value in ratios.items():
        print(f"{key:14} {value:6.2f}  limit {LIMITS[key]}  {'ok' if value <= LIMITS[key] else 'TOO MUCH'}")
    print("processor time", "  ".join(f"{name} {value:.2f}x" for name, value in cpu.items()))
    said = {"bench": "start", "repeats": repeats, "medians": medians, "ratios": ratios, "cpu": cpu, "limits": LIMITS}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
