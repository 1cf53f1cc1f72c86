"""What the screen holds after hundreds of turns: ``python -m bench.screen_soak [--turns 700] [--every 100]``.

The program on a pty with the built-in demo, one prompt after the other without a pause; its memory beside the text of
the session as it is exported. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.pressure import memory_mb
from tests.e2e.terminal import Terminal, environment

PONDER = [sys.executable, "-m", "tui", "-m", "demo/fast"]
LIMITS = {"growth_kb_per_turn": 40.0}
WARM = 100
"""Turns after which every cache of the screen has been filled."""
PATIENCE_S = 60.0


def soak(home: Path, turns: int, every: int, seconds: float) -> list[dict[str, float]]:
    """Ask until all is asked or time is up; what was held meanwhile."""
    rows: list[dict[str, float]] = []
    begun = time.monotonic()
    with Terminal(PONDER, environment(home), size=(120, 40), started=True) as terminal:
        terminal.wait_for("enter send")
        for turn in range(1, turns + 1):
            terminal.type(f"tell me about number {turn}\r")
            terminal.wait_for(f"{turn:,} turn", PATIENCE_S)
            if turn % every == 0 or turn == WARM:
                took = round(time.monotonic() - begun, 1)
                rows.append({"turn": turn, "memory_mb": round(memory_mb(terminal.process.pid), 1), "seconds": took})
                print(rows[-1], flush=True)
                # The harness would search all it has ever read.
                terminal.raw, terminal._answered = terminal.raw[-4096:], 0
            if time.monotonic() - begun > seconds:
                break
        terminal.type("\x11")  # ctrl+q
        terminal.exit_code()
    return rows


def text_mb(home: Path) -> float:
    """How much was said, as JSON tells it."""
    command = [*PONDER[:3], "sessions", "export", "tell me about number 1", "--format", "json"]
    exported = subprocess.run(command, env=environment(home), capture_output=True, check=True, timeout=120)
    return len(exported.stdout) / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=700)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1_800, help="end after so long, whatever is left")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = soak(Path(folder), chosen.turns, chosen.every, chosen.seconds)
        text = text_mb(Path(folder))
    warm = next((row for row in rows if row["turn"] >= WARM), rows[0])
    later = max(1, rows[-1]["turn"] - warm["turn"])
    grown = rows[-1]["memory_mb"] - warm["memory_mb"]
    result = {
        "text_mb": round(text, 2),
        "text_kb_per_turn": round(text * 1000 / rows[-1]["turn"], 2),
        "grown_mb": round(grown, 1),
        "growth_kb_per_turn": round(grown * 1024 / later, 1),
    }
    print(json.dumps({"bench": "screen_soak", "rows": rows, "result": result, "limits": LIMITS}))


if __name__ == "__main__":
    main()
