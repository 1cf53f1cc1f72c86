"""One answer being streamed: ours beside Textual's MarkdownStream.

    python -m bench.render [--kinds prose,code,table] [--rates 200,1000] [--seconds 4] [--lengths 0,20000]

Each measurement is a process of its own on a pty that is drained. ``cost``: CPU per painted update of seven tokens,
in an empty message and in a long one. ``rate``: real time on top of 8,000 tokens: the share of a core, how late a
10 ms timer comes, and how long a typed key takes to be painted; ``cpu_x`` compares the CPU for the same text, which
takes whoever cannot keep up longer, without the CPU for feeding, typing and watching, which ``feeding`` measures with
nothing shown. ``with_feeding_x`` is the ratio with it. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from bench.screens import percentile
from tests.e2e.terminal import Terminal, environment
from tui.bootstrap.screen import PAINTS_A_SECOND

CONTENDERS = ("markdown-stream", "ours")
FEEDING = "feeding"
LIMITS = {"cpu_x": 0.12, "lag_p99_ms": 8.0, "key_p99_ms": 35.0, "growth_x": 1.5}
KEYS = "αβγδεζηθικλμνξοπρστυφχψωабвгдежзийклмнопрстуфхцчшщъыьэюя"
"""Letters no benchmark text has; each is typed once, so seeing it means that press was painted."""
EVERY_S = 0.15


def staged(contender: str, wish: dict[str, object], module: str = "bench.screens") -> dict[str, float]:
    """Run one process; its figures, with the key times taken here."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", module, contender, str(result), json.dumps(wish)]
        # Ours as the program starts it, Textual's as Textual comes.
        more = {"TEXTUAL_FPS": PAINTS_A_SECOND} if contender == "ours" else {}
        with Terminal(
            command, environment(Path(folder), **more), size=(120, 40), parsed=False, started=True
        ) as terminal:
            keys = _watch(terminal, result.with_suffix(".go"), deadline=time.perf_counter() + 60)
            if not result.exists():
                said = terminal.raw[-2000:].decode("utf-8", "replace")
                raise SystemExit(f"{contender} ended without a result:\n{said}")
        figures: dict[str, float] = json.loads(result.read_text(encoding="utf-8"))
    if keys:
        figures["key_p50_ms"], figures["key_p99_ms"] = percentile(keys, 0.5) * 1000, percentile(keys, 0.99) * 1000
    return figures


def _watch(terminal: Terminal, go: Path, deadline: float) -> list[float]:
    """Drain the terminal until the process ends; type meanwhile, once it says so."""
    times: list[float] = []
    typed, pressed_at, seen = "", 0.0, 0
    while terminal.process.poll() is None and time.perf_counter() < deadline:
        terminal.pump(0.002)
        now = time.perf_counter()
        if typed and typed.encode() in terminal.raw[seen:]:
            times.append(now - pressed_at)
            typed = ""
        elif not typed and now - pressed_at > EVERY_S and go.exists():
            typed = KEYS[len(times) % len(KEYS)]
            seen, pressed_at = len(terminal.raw), now
            terminal.type(typed)
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="prose,code,table")
    parser.add_argument("--rates", default="200,1000")
    parser.add_argument("--lengths", default="0,20000")
    parser.add_argument("--seconds", type=float, default=4)
    wish = parser.parse_args()
    lengths = [int(word) for word in wish.lengths.split(",")]
    results: dict[str, dict[str, dict[str, float]]] = {}
    for kind in wish.kinds.split(","):
        for contender in CONTENDERS:
            row = results.setdefault(f"cost/{kind}", {}).setdefault(contender, {})
            for length in lengths:
                asked = {"mode": "cost", "kind": kind, "prefill": length, "more": 420}
                row[str(length)] = round(staged(contender, asked)["ms_per_update"], 2)
            row["growth_x"] = round(row[str(lengths[-1])] / row[str(lengths[0])], 2)
            print(f"cost {kind:6} {contender:16} {row}", flush=True)
        for rate in map(int, wish.rates.split(",")):
            both = results.setdefault(f"rate {rate}/{kind}", {})
            for contender in (FEEDING, *CONTENDERS):
                asked = {"mode": "rate", "kind": kind, "prefill": 8000, "more": int(rate * wish.seconds), "rate": rate}
                both[contender] = {key: round(value, 3) for key, value in staged(contender, asked).items()}
            spent = {name: row["cpu"] * row["took"] for name, row in both.items()}
            feeding = spent[FEEDING]
            both["ours"]["cpu_x"] = round((spent["ours"] - feeding) / (spent["markdown-stream"] - feeding), 3)
            both["ours"]["with_feeding_x"] = round(spent["ours"] / spent["markdown-stream"], 3)
            for contender, row in both.items():
                print(f"rate {rate:5} {kind:6} {contender:16} {row}", flush=True)
    for name, both in results.items():
        for key in LIMITS.keys() & both["ours"].keys():
            value, limit = both["ours"][key], LIMITS[key]
            print(f"{name:16} {key:10} {value:7.2f}  limit {limit}  {'ok' if value <= limit else 'TOO MUCH'}")
    print(json.dumps({"bench": "render", "results": results, "limits": LIMITS}))


if __name__ == "__main__":
    main()
