"""The memory of a very long answer, in multiples of its text, in the real program on a pty."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment

LATIN = "lorem ipsum dolor sit amet, *consectetur* `elit` sed do eiusmod.\n\n" * 1_500
RUSSIAN = "Съешь же ещё этих *мягких* французских `булок`.\n\n" * 1_100
WARM, PIECES = 40, 160


def memory(process: int, name: str) -> int:
    found = re.search(name + r":\s+(\d+)", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) * 1024


def ended_turns(database: Path) -> int:
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'turn'").fetchone():
            return 0
        return int(connection.execute("SELECT count(*) FROM turn WHERE NOT open").fetchone()[0])


def read_until(terminal: Terminal, holds: Callable[[], bool], what: str) -> None:
    def forgets_and_holds() -> bool:
        terminal.forget()
        return holds()

    terminal.until(forgets_and_holds, what, 300)


@pytest.mark.minutes
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak cannot be reset")
@pytest.mark.parametrize(
    ("way", "piece", "most"), [("whole", LATIN, 3.5), ("stopped", LATIN, 3.5), ("whole", RUSSIAN, 4.6)],
    ids=["whole", "stopped", "two bytes a letter"],
)  # fmt: skip
def test_a_very_long_answer_takes_a_few_times_its_text(tmp_path: Path, way: str, piece: str, most: float) -> None:
    size = len(piece.encode())
    database = tmp_path / "ponder" / "data" / "sessions.db"
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal([sys.executable, "-m", "tui"], environment(tmp_path), parsed=False, started=True) as terminal:
            terminal.until(lambda: b"send" in terminal.raw, "the screen")

            def answered(pieces: int, turns: int, *, stop: bool) -> None:
                model.say(*[piece] * pieces)
                if not stop:
                    model.finish()
                terminal.type("go\r")
                if stop:
                    wanted = 0.9 * (WARM + pieces) * size
                    read_until(terminal, lambda: database.stat().st_size > wanted, "the answer")
                    terminal.type("\x1b")
                read_until(terminal, lambda: ended_turns(database) >= turns, "the end")
                if stop:
                    model.finish()

            answered(WARM, 1, stop=False)
            process = terminal.process.pid
            Path(f"/proc/{process}/clear_refs").write_text("5", encoding="ascii")
            before = memory(process, "VmRSS")
            answered(PIECES, 2, stop=way == "stopped")
            peak = memory(process, "VmHWM") - before
    with closing(sqlite3.connect(database)) as connection:
        stored = connection.execute("SELECT sum(length(CAST(text AS BLOB))) FROM block").fetchone()[0]
    kept = stored - WARM * size
    assert kept > 0.7 * PIECES * size
    assert peak < most * kept, peak / kept
