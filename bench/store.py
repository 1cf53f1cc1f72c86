"""What the store costs: ``python -m bench.store [--messages 100000] [--folder DIR]``; the last line is JSON.

Searching and listing 100,000 messages, opening the last screen of a session of 10,000, appending beside a bare
``sqlite3`` insert and commit in the same mode (WAL, synchronous FULL, one row with the same words). ``--soak 10000``
writes turns instead and watches memory, handles, threads and the write-ahead log.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from tui.domain.blocks import ProviderState, TextBlock, ThinkingBlock
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.thinking import ThinkingForm
from tui.store.database import Database, StoreContext
from tui.store.journal import StoredJournal
from tui.store.leases import this_process
from tui.store.library import StoredLibrary
from tui.store.open_sessions import OpenSessions
from tui.store.sessions import NewSession, ensure, touch
from tui.store.turns import add_turn, close_turn, set_head

LONG_SESSION = 5_000
"""Turns of two messages each."""
SHORT_SESSION = 50
DICE = random.Random(5)
VOCABULARY = ["".join(DICE.choices("abcdefghijklmnopqrstuvwxyz", k=DICE.randint(3, 9))) for _ in range(20_000)]
CLAUDE = Origin(provider="anthropic", wire=WireName.ANTHROPIC, host="api.example", model="claude-opus-5")
SEARCHES = {
    "common": VOCABULARY[2],
    "medium": VOCABULARY[60],
    "rare": VOCABULARY[15_000],
    "two words": f"{VOCABULARY[60]} {VOCABULARY[120]}",
    "beginning": VOCABULARY[60][:3],
    "in thinking": f"in:thinking {VOCABULARY[60]}",
    "by model": f"model:opus {VOCABULARY[300]}",
    "by date": f"after:2026-01 {VOCABULARY[300]}",
    "phrase": f'"{VOCABULARY[1]} {VOCABULARY[2]}"',
}


def words(count: int) -> str:
    """Text with few common and many rare words."""
    return " ".join(VOCABULARY[min(19_999, int(DICE.paretovariate(0.6)))] for _ in range(count))


def a_turn(number: int) -> Turn:
    """A prompt and an answer with thinking."""
    prompt = Message(id=f"p{number}", role=Role.USER, blocks=(TextBlock(text=words(30)),))
    thinking = ThinkingBlock(text=words(60), form=ThinkingForm.FULL, provider_state=ProviderState(signature="x" * 200))
    blocks = (thinking, TextBlock(text=words(90)))
    return Turn(
        id=f"t{number}",
        messages=(prompt, Message(id=f"a{number}", role=Role.ASSISTANT, blocks=blocks, origin=CLAUDE, cost=0.01)),
    )


def fill(database: Database, messages: int) -> None:
    """One session of 10,000 messages, the rest in sessions of a hundred."""
    numbers = itertools.count()

    def one_session(name: str, turns: int) -> Callable[[sqlite3.Connection], None]:
        def write(connection: sqlite3.Connection) -> None:
            session = ensure(connection, NewSession(id=name, title=words(4)), 1.8e9)
            last = None
            for _ in range(turns):
                last = add_turn(connection, session, last, a_turn(next(numbers)), 1.8e9)
                close_turn(connection, session, last)
            set_head(connection, session, last, turns)
            touch(connection, session, 1.8e9)

        return write

    database.submit(one_session("long", LONG_SESSION)).result()
    for number in range((messages // 2 - LONG_SESSION) // SHORT_SESSION):
        database.submit(one_session(f"s{number}", SHORT_SESSION)).result()


async def median_ms(call: Callable[[], Awaitable[object]], rounds: int = 15) -> float:
    """The median of some rounds, in milliseconds."""
    spent = []
    for _ in range(rounds):
        start = time.perf_counter()
        await call()
        spent.append((time.perf_counter() - start) * 1e3)
    return round(statistics.median(spent), 2)


async def appending(folder: Path, rounds: int = 400) -> dict[str, float]:
    """An answer appended by the journal, and a row of the same words by bare sqlite3, taking turns."""
    database = Database(folder / "append.db")
    journal = StoredJournal(database, this_process("bench"), time.time)
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, session TEXT, role TEXT, text TEXT, thinking TEXT)")
    ours, theirs = [], []
    await journal.turn_started("s", Turn(id="t", messages=(), open=True))
    for number in range(rounds):
        _, answer = a_turn(number).messages
        thinking, text = answer.blocks
        assert isinstance(thinking, ThinkingBlock)
        assert isinstance(text, TextBlock)
        start = time.perf_counter()
        await journal.message_added("s", "t", answer)
        middle = time.perf_counter()
        bare.execute("BEGIN IMMEDIATE")
        row = ("s", "assistant", text.text, thinking.text)
        bare.execute("INSERT INTO message (session, role, text, thinking) VALUES (?, ?, ?, ?)", row)
        bare.execute("COMMIT")
        ours.append(middle - start)
        theirs.append(time.perf_counter() - middle)
    bare.close()
    database.close()
    return {
        "append_ms": round(statistics.median(ours) * 1e3, 3),
        "bare_ms": round(statistics.median(theirs) * 1e3, 3),
        "append_ratio": round(statistics.median(ours) / statistics.median(theirs), 2),
    }


def resident_kb() -> int:
    """Memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


async def soak(folder: Path, turns: int) -> dict[str, object]:
    """Turn after turn in one session, looked at now and then: what grows?"""
    database = Database(folder / "soak.db")
    names = itertools.count()
    around = StoreContext(holder=this_process("bench"), now=time.time, new_id=lambda: f"new{next(names)}")
    journal, library = StoredJournal(database, around.holder, time.time), StoredLibrary(database, around)
    wal = folder / "soak.db-wal"
    samples: list[tuple[int, int]] = []
    largest = 0
    start = None
    for number in range(turns):
        turn = a_turn(number)
        await journal.turn_started("s", Turn(id=turn.id, messages=turn.messages[:1], open=True))
        await journal.checkpoint("s", turn.id, turn.messages[1])
        await journal.message_added("s", turn.id, turn.messages[1])
        await journal.turn_finished("s", turn)
        largest = max(largest, wal.stat().st_size)
        if number % 100 == 99:
            await library.sessions(VOCABULARY[60])
            samples.append((number, resident_kb()))
            now = (len(list(Path("/proc/self/fd").iterdir())), threading.active_count())
            start = start or now
    late = [(turn, kb) for turn, kb in samples if turn >= min(1_000, turns // 2)]
    slope = statistics.linear_regression(*zip(*late, strict=True)).slope
    database.close()
    return {
        "bench": "store soak",
        "turns": turns,
        "largest_wal_mb": round(largest / 1e6, 2),
        "kb_per_turn": round(slope, 3),
        "handles_and_threads": [start, now],
    }


async def measure(folder: Path, messages: int) -> dict[str, object]:
    """All figures."""
    path = folder / "sessions.db"
    database = Database(path)
    start = time.perf_counter()
    await asyncio.to_thread(fill, database, messages)
    filled_s = time.perf_counter() - start
    wal = path.with_name("sessions.db-wal").stat().st_size
    database.close()

    start = time.perf_counter()
    database = Database(path)
    names = itertools.count()
    around = StoreContext(holder=this_process("bench"), now=time.time, new_id=lambda: f"new{next(names)}")
    library, conversations = StoredLibrary(database, around), OpenSessions(database, around)
    await library.sessions()
    first_list_ms = round((time.perf_counter() - start) * 1e3, 2)
    searches = {name: await median_ms(partial(library.sessions, typed)) for name, typed in SEARCHES.items()}
    figures: dict[str, object] = {
        "bench": "store",
        "sqlite": sqlite3.sqlite_version,
        "messages": messages,
        "database_mb": round(path.stat().st_size / 1e6, 1),
        "fill_s": round(filled_s, 1),
        "wal_mb_after_filling": round(wal / 1e6, 2),
        "open_and_list_ms": first_list_ms,
        "list_ms": await median_ms(library.sessions),
        "search_ms": searches,
        "search_median_ms": statistics.median(searches.values()),
        "whole_session_ms": await median_ms(lambda: conversations.load("long"), 3),
        "fork_ms": await median_ms(lambda: conversations.fork("long", "t1000"), 1),
    }
    database.close()
    return figures | await appending(folder)


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--messages", type=int, default=100_000)
    arguments.add_argument("--folder", type=Path)
    arguments.add_argument("--soak", type=int, metavar="TURNS", help="instead: what grows over so many turns")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        place = Path(folder)
        figures = soak(place, chosen.soak) if chosen.soak else measure(place, chosen.messages)
        print(json.dumps(asyncio.run(figures)))


if __name__ == "__main__":
    main()
