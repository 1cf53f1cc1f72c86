"""A long session as an HTML page: ``python -m bench.export [--megabytes 110]``; the last line is JSON.

``ponder sessions export --format html`` in a process of its own, over a session of 2,000 turns: of the text two fifths
are answers, two fifths thinking, one fifth prompts. Seconds (wall and CPU) and the process's largest memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.words import tokens
from tests.e2e.terminal import environment
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.messages import Message, Role, Turn
from tui.domain.thinking import ThinkingForm
from tui.store.database import Database
from tui.store.journal import StoredJournal
from tui.store.leases import this_process

TURNS = 2_000
LIMITS = {"seconds": 15.0, "memory_mb": 200.0}


async def fill(path: Path, megabytes: int) -> None:
    """Store the session."""
    words = "".join(tokens("prose", 4_000))
    size = megabytes * 1_000_000 // TURNS // 5
    text = (words * (2 * size // len(words) + 1))[: 2 * size]
    database = Database(path)
    journal = StoredJournal(database, this_process("bench"), time.time)
    for number in range(TURNS):
        prompt = Message(id=f"u{number}", role=Role.USER, blocks=(TextBlock(text=text[:size]),))
        thought = ThinkingBlock(text=text, form=ThinkingForm.FULL)
        answer = Message(id=f"a{number}", role=Role.ASSISTANT, blocks=(thought, TextBlock(text=text)))
        turn = Turn(id=f"t{number}", messages=(prompt, answer))
        await journal.turn_started("long", turn)
        await journal.turn_finished("long", turn)
    database.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=110)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data = home / "ponder" / "data"
        data.mkdir(parents=True)
        asyncio.run(fill(data / "sessions.db", megabytes))
        page = home / "page.html"
        command = [sys.executable, "-m", "tui", "sessions", "export", "long", "--format", "html"]
        command += ["--parts", "thinking", "--output", str(page)]
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment(home), check=True, timeout=300)
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        row = {
            "megabytes": megabytes,
            "page_mb": round(page.stat().st_size / 1e6, 1),
            "seconds": round(took, 2),
            "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
            "memory_mb": round(after.ru_maxrss / 1024, 1),
        }
    for name, limit in LIMITS.items():
        print(f"{name:10} {row[name]:8.1f}  limit {limit}  {'ok' if row[name] <= limit else 'TOO MUCH'}")
    print(json.dumps({"bench": "export", "results": row, "limits": LIMITS, "cores": os.cpu_count()}))


if __name__ == "__main__":
    main()
