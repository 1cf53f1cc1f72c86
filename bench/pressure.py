"""A server at loopback speed, and the cost of one event: ``python -m bench.pressure [--megabytes 64]``.

The program on a pty, a letter every 100 ms while an answer floods in: how long each takes to be painted, how long after
esc the server sees the connection close, how much memory the program takes, at the end and for each byte that is kept.
``--megabytes`` lets one answer of each kind go on up to that size, in the letters of ``--script``. Then the CPU time of
one event, from the engine's channel to the screen's state, at 100 and at 20,000 tokens of answer. Last, a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from bench.screens import percentile
from tests.e2e.terminal import Terminal, environment
from tui.domain.events import RequestStarted, Streamed
from tui.domain.stream import BlockStarted, TextDelta
from tui.domain.thinking import ModelSpec, PlanState, ThinkingPlan
from tui.engine.session import Channel
from tui.engine.state import SessionState, SessionView

LIMITS = {"key_max_ms": 200, "esc_ms": 200, "event_ratio": 1.5, "peak_over_what_came": 4.0}
KINDS = ("text", "thinking", "tool arguments")
PIECES = (20, 2_000)
EVENTS = 2_000
LONGEST_S = 600
WORDS = {
    "latin": "lorem ipsum dolor sit amet, *consectetur* `elit` sed do eiusmod.\n\n",
    "cyrillic": "съешь же ещё этих мягких *французских* булок, `да` выпей чаю.\n\n",
    "chinese": "春眠不觉晓，处处闻啼鸟。*夜来风雨声*，花落`知`多少。\n\n",
}


def chunk(delta: Mapping[str, object]) -> bytes:
    """One event of the stream as a chunk of the response."""
    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    data = b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


class Flood:
    """Answers every prompt with words without end, as fast as the socket takes them."""

    def __init__(self, kind: str, piece: int, words: str = WORDS["latin"]) -> None:
        self.hung_up = threading.Event()
        self.closed_at = 0.0
        text = (words * (piece // len(words) + 2))[:piece]
        if kind == "tool arguments":
            called = {
                "index": 0,
                "id": "c1",
                "type": "function",
                "function": {"name": "shell", "arguments": '{"command": "'},
            }
            self._first = chunk({"tool_calls": [called]})
            written = json.dumps(text, ensure_ascii=False)[1:-1]
            delta: dict[str, object] = {"tool_calls": [{"index": 0, "function": {"arguments": written}}]}
        else:
            self._first = b""
            delta = {"content" if kind == "text" else "reasoning_content": text}
        self._batch = chunk(delta) * 200
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Take no more prompts."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        if not connection.recv(65_536).startswith(b"POST"):
            return
        try:
            connection.sendall(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                + self._first
            )
            deadline = time.monotonic() + LONGEST_S
            while time.monotonic() < deadline:
                connection.sendall(self._batch)
        except OSError:
            self.closed_at = time.perf_counter()
            self.hung_up.set()


def memory_mb(process: int) -> float:
    """What a process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    return int(found[1]) / 1024 if found else float("nan")


def peak_mb(process: int) -> float:
    """What a process held at most."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    return int(found[1]) / 1024 if found else float("nan")


def waited_ms(process: int) -> float:
    """How long a process's screen has waited for a processor that others used."""
    return int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[1]) / 1e6


def stored_mb(database: Path) -> float:
    """Bytes of words and arguments in the store."""
    with closing(sqlite3.connect(database)) as connection:
        return (
            float(
                connection.execute(
                    "SELECT sum(length(CAST(text AS BLOB)) + length(CAST(payload AS BLOB))) FROM block"
                ).fetchone()[0]
            )
            / 1e6
        )


def sizes(database: Path) -> float:
    """Megabytes of the database, which grows with the answer."""
    return database.stat().st_size / 1e6 if database.exists() else 0.0


def settled(database: Path) -> bool:
    """Whether the turn is stored as it ended."""
    with closing(sqlite3.connect(database)) as connection:
        open_turns: tuple[int] = connection.execute("SELECT count(*) FROM turn WHERE open").fetchone()
    return open_turns == (0,)


def _painted(terminal: Terminal, letter: bytes) -> bool:
    return letter in terminal.raw


def flooded(
    kind: str, piece: int, seconds: float, megabytes: float = float("inf"), words: str = WORDS["latin"]
) -> dict[str, float]:
    """Type while an answer floods in, until time or size is reached, then stop it."""
    server = Flood(kind, piece, words)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        config = home / "ponder" / "config"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(
            'model = "loop/model"\n[providers.loop]\nwire = "openai-chat"\nauth = "none"\n'
            f'base_url = "http://127.0.0.1:{server.port}/v1"\n',
            encoding="utf-8",
        )
        with Terminal([sys.executable, "-m", "tui"], environment(home), parsed=False, started=True) as terminal:
            terminal.until(lambda: b"send" in terminal.raw, "the screen")
            terminal.type("go\r")
            database = home / "ponder" / "data" / "sessions.db"
            before = memory_mb(terminal.process.pid)
            took: list[float] = []
            own: list[float] = []
            begun = time.perf_counter()
            while time.perf_counter() - begun < seconds and sizes(database) < megabytes:
                terminal.forget()
                letter, pressed = chr(0x4E00 + len(took) % 10_000), time.perf_counter()
                waited = waited_ms(terminal.process.pid)
                terminal.type(letter)
                terminal.until(partial(_painted, terminal, letter.encode()), letter)
                took.append(time.perf_counter() - pressed)
                own.append(took[-1] * 1000 - waited_ms(terminal.process.pid) + waited)
                if len(took) % 20 == 0:
                    terminal.type("\x15")  # a field that scrolls paints other rows as well
                while time.perf_counter() - pressed < 0.1:
                    terminal.pump(0.01)
            held = memory_mb(terminal.process.pid)
            came = sizes(database)  # an unfinished call is not kept
            pressed = time.perf_counter()
            terminal.type("\x1b")
            while not server.hung_up.is_set():
                terminal.pump(0.01)
                terminal.forget()
            while not settled(database):
                terminal.pump(0.1)
                terminal.forget()
            kept, peak = stored_mb(database), peak_mb(terminal.process.pid)
    return {
        "kept_mb": round(kept, 1),
        "peak_mb": round(peak, 1),
        "peak_over_what_came": round((peak - before) / max(kept, came), 1),
        "key_median_ms": round(percentile(took, 0.5) * 1000, 1),
        "key_max_ms": round(max(took) * 1000, 1),
        "key_max_without_waiting_ms": round(max(own), 1),
        "esc_ms": round((server.closed_at - pressed) * 1000, 1),
        "memory_mb": round(held, 1),
    }


def event_microseconds(tokens: int) -> float:
    """CPU time of one delta behind an answer of so many tokens."""
    plan = ThinkingPlan(asked=1, nominal=None, sent=None, state=PlanState.ON)
    channel = Channel(SessionView(session="s", seq=0, spec=ModelSpec(provider="p", model="m"), plan=plan))
    view, subscription = channel.attach()
    state = SessionState(view, keep_text=False)
    channel.publish(RequestStarted("t", 1, 1, view.spec, plan), Streamed("t", 1, 1, BlockStarted(0, "text")))
    channel.publish(*(Streamed("t", 1, 1, TextDelta(0, "word")) for _ in range(tokens)))
    subscription.drain()
    best = float("inf")
    for _ in range(5):
        used = time.process_time()
        for _ in range(EVENTS):
            channel.publish(Streamed("t", 1, 1, TextDelta(0, "word")))
            for stamped in subscription.drain():
                state.apply(stamped.event)
            assert state.now.seq == 0
        best = min(best, (time.process_time() - used) / EVENTS * 1e6)
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--megabytes", type=float, help="one long answer of each kind, instead of short ones")
    parser.add_argument("--script", choices=WORDS, default="latin")
    parser.add_argument("--kinds", default=",".join(KINDS))
    asked = parser.parse_args()
    seconds, megabytes, words = asked.seconds, asked.megabytes, WORDS[asked.script]
    rows: dict[str, dict[str, float]] = {}
    for kind in asked.kinds.split(","):
        for piece in PIECES if megabytes is None else PIECES[1:]:
            longest, most = (seconds, float("inf")) if megabytes is None else (LONGEST_S, megabytes)
            row = flooded(kind, piece, longest, most, words)
            rows[f"{kind} by {piece}"] = row
            print(f"{kind} by {piece:5}", row, flush=True)
    early, late = event_microseconds(100), event_microseconds(20_000)
    rows["event"] = {"us_at_100": round(early, 2), "us_at_20000": round(late, 2), "event_ratio": round(late / early, 2)}
    print("event", rows["event"])
    print(json.dumps({"bench": "pressure", "results": rows, "limits": LIMITS}))


if __name__ == "__main__":
    main()
