"""Thousands of keys at once, as from a paste that is not announced: ``python -m bench.keys [--keys 20000]``.

The program on a pty gets so many keys of one kind as fast as it reads, then a letter; measured are the seconds until
that letter is painted, of the clock and of processor time. The last line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.terminal import Terminal, environment

LIMITS = {"cpu_s": 2.0}
LAST = "Ж"
DRAFT = "\x1b[200~" + "word " * 200 + "\x1b[201~"
KINDS = {
    "letters": "".join(f"word {number}, " for number in range(3_000)),
    "escapes": "\x1b",
    "left": "\x1b[D",
    "up": "\x1b[A",
    "backspace": "\x7f",
    "mouse": "".join(f"\x1b[<35;{5 + number % 70};{5 + number % 20}M" for number in range(1_400)),
}
"""What is repeated. One move of the mouse counts as one key."""
LONGEST_S = 120


def processor_s(process: int) -> float:
    """The processor time of all threads so far."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text(encoding="ascii").split()[0]) for thread in threads) / 1e9


def written(kind: str, keys: int) -> bytes:
    """So many keys, and the last letter."""
    piece = KINDS[kind]
    each = {"letters": len(piece), "mouse": 1_400}.get(kind, 1)
    text = piece * (keys // each + 1)
    if kind == "letters":
        text = text[:keys]
    return (text + LAST).encode()


def drained(kind: str, keys: int) -> dict[str, float]:
    """Seconds until everything is handled."""
    with (
        tempfile.TemporaryDirectory() as home,
        Terminal([sys.executable, "-m", "tui"], environment(Path(home)), parsed=False, started=True) as terminal,
    ):
        terminal.until(lambda: b"send" in terminal.raw, "the screen")
        terminal.type(DRAFT if kind in ("left", "backspace") else "")
        until = time.perf_counter() + 1.5
        while time.perf_counter() < until:
            terminal.pump(0.05)
        terminal.forget()
        data = written(kind, keys)
        os.set_blocking(terminal.master, False)
        used, begun = processor_s(terminal.process.pid), time.perf_counter()
        while time.perf_counter() - begun < LONGEST_S and (data or LAST.encode() not in terminal.raw):
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(terminal.master, data[:1_024]) :] if data else data
            terminal.pump(0.002)
            terminal.raw = terminal.raw[-100_000:]
        took, used = time.perf_counter() - begun, processor_s(terminal.process.pid) - used
    return {"s": round(took, 2), "cpu_s": round(used, 2)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    asked = parser.parse_args()
    rows: dict[str, dict[str, float]] = {}
    for kind in asked.kinds.split(","):
        rows[kind] = drained(kind, asked.keys)
        print(f"{kind:10}", rows[kind], flush=True)
    print(json.dumps({"bench": "keys", "keys": asked.keys, "results": rows, "limits": LIMITS}))


if __name__ == "__main__":
    main()
