"""A process of its own that writes turns and says ``ACK`` for what it was told is kept; to be killed at any moment.

``python -m tests.store.writer FOLDER SESSION TURNS [before-commit:N | after-commit:N]``: the last word kills it at its
N-th commit, right before or right after.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from pathlib import Path

from tests.store.stage import Stage, answer, open_stage, prompt, thought
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.compression import CompressionView
from tui.domain.messages import Message, Role, Turn


def the_turn(session: str, number: int) -> Turn:
    """Always the same for the same number: a prompt, a tool round, an answer."""
    name = f"{session}-{number}"
    call = ToolCallBlock(call_id=f"c{name}", name="shell", arguments='{"cmd": "ls"}')
    result = ToolResultBlock(call_id=f"c{name}", name="shell", content=(TextBlock(text=f"{name} " * 50),))
    return Turn(
        id=name,
        messages=(
            prompt(f"{name}-p", f"question {name}"),
            answer(f"{name}-a", thought(f"thinking {name} " * 40, f"sig{name}"), call),
            Message(id=f"{name}-r", role=Role.TOOL, blocks=(result,)),
            answer(f"{name}-b", f"answer {name} " * 40),
        ),
    )


def the_view(session: str, number: int) -> CompressionView:
    """The compression after a turn."""
    return CompressionView(summary=f"summary {number}", compressed_turns=frozenset({f"{session}-{number}"}))


def say(*words: object) -> None:
    """One line, at once, by one system call."""
    os.write(1, (" ".join(map(str, ("ACK", *words))) + "\n").encode())


async def write(stage: Stage, session: str, turns: int) -> None:
    """Turns with checkpoints; every fifth is followed by a compression."""
    journal = stage.journal
    for number in range(turns):
        turn = the_turn(session, number)
        asked, thinking, *rest = turn.messages
        await journal.turn_started(session, Turn(id=turn.id, messages=(asked,), open=True))
        say("message", asked.id)
        partial = answer(thinking.id, thought("thinking", None))
        await journal.checkpoint(session, turn.id, partial)
        say("checkpoint", thinking.id)
        for message in (thinking, *rest):
            await journal.message_added(session, turn.id, message)
            say("message", message.id)
        await journal.turn_finished(session, turn)
        say("turn", turn.id)
        if number % 5 == 4:
            await journal.compressed(session, the_view(session, number))
            say("view", number)


def kill_at_commit(stage: Stage, when: str, countdown: int) -> None:
    """Right before the N-th COMMIT is run, or before the first statement after it."""
    left = countdown

    def traced(statement: str) -> None:
        nonlocal left
        if left == 0 or (left == 1 and when == "before-commit" and statement == "COMMIT"):
            os.kill(os.getpid(), signal.SIGKILL)
        left -= statement == "COMMIT"

    def arm(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(traced)

    stage.database.submit(arm).result()


def main() -> None:
    """Write until done or dead."""
    folder, session, turns, *kill = sys.argv[1:]
    stage = open_stage(Path(folder))
    if kill:
        when, _, count = kill[0].partition(":")
        kill_at_commit(stage, when, int(count))
    asyncio.run(write(stage, session, int(turns)))
    stage.database.close()
    say("done")


if __name__ == "__main__":
    main()
