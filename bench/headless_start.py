"""How long ``ponder -p`` takes to its first byte on the demo model, next to importing the libraries it stands on.

Run: ``python -m bench.headless_start [ROUNDS]``. Rounds are interleaved; medians, least values and CPU time are
printed, and last one line of JSON. Bytecode is compiled before the clock starts, as in an installed program. The demo
needs no HTTP library; ``over-http`` asks a server on this machine, which answers at once, and does.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.providers.strangers import Claudelike, serving

ROUNDS = 21
WARM_UPS = 2
TARGET = 1.3

CONTENDERS = {
    "ours": ["-m", "tui", "-p", "hi", "-m", "demo/fast"],
    "over-http": ["-m", "tui", "-p", "hi", "-m", "mine/some"],
    "libraries": ["-c", "import httpx, pydantic"],
    # httpx brings its command line with it where click and rich are installed, which they need not be.
    "libraries-without-click": ["-c", "import sys; sys.modules['click'] = None; import httpx, pydantic"],
    "python": ["-c", "pass"],
}


@dataclass
class Times:
    """What one contender took, in milliseconds."""

    first_byte: list[float] = field(default_factory=list)
    """From starting the process to its first byte on stdout, or to its end where it has nothing to say."""
    cpu: list[float] = field(default_factory=list)
    """Of the whole process, the rest of the answer included."""

    def table(self) -> dict[str, float]:
        return {
            "median_ms": round(statistics.median(self.first_byte), 1),
            "least_ms": round(min(self.first_byte), 1),
            "cpu_ms": round(statistics.median(self.cpu), 1),
        }


def environment(folder: Path) -> dict[str, str]:
    """A user who never started it before, on a machine that keeps bytecode."""
    own = {name: str(folder / name.lower()) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **own, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "MINE": "key-of-mine-9876"}


def run_once(arguments: list[str], env: dict[str, str], times: Times) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        times.first_byte.append((time.perf_counter() - began) * 1e3)
        _, problems = process.communicate()
    if process.returncode:
        raise SystemExit(problems.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.cpu.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)


def ratio(ours: Times, theirs: Times) -> float:
    """The median over rounds: within one, both met the machine in the same mood."""
    return round(statistics.median(a / b for a, b in zip(ours.first_byte, theirs.first_byte, strict=True)), 2)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    measured = {name: Times() for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder, serving(Claudelike) as (url, _):
        env = environment(Path(folder))
        config = Path(env["XDG_CONFIG_HOME"]) / "ponder" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[providers.mine]\nwire = "anthropic"\nbase_url = "{url}"\nkey_env = ["MINE"]\n', "utf-8")
        for number in range(-WARM_UPS, rounds):
            for name, arguments in CONTENDERS.items():
                run_once(arguments, env, measured[name] if number >= 0 else Times())
    tables = {name: times.table() for name, times in measured.items()}
    for name, row in tables.items():
        print(f"{name:24} {row['median_ms']:7.1f} ms median {row['least_ms']:7.1f} least {row['cpu_ms']:7.1f} CPU")
    ratios = {
        "ratio": ratio(measured["ours"], measured["libraries"]),
        "ratio_without_click": ratio(measured["ours"], measured["libraries-without-click"]),
        "ratio_over_http": ratio(measured["over-http"], measured["libraries-without-click"]),
    }
    print(json.dumps({"bench": "headless_start", "rounds": rounds, "target": TARGET, **ratios, "contenders": tables}))


if __name__ == "__main__":
    main()
