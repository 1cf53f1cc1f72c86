"""Prompts queued during a running turn, stored so that a crash does not lose them.

Not part of ``journal``, which every start loads: most sessions have no queue.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from tui.domain.blocks import Block
from tui.store.codec import Unreadable, block_from, block_object, dumps, loads
from tui.store.open_database import QUEUE_SINCE, version


def set_queue(connection: sqlite3.Connection, session: int, prompts: Sequence[Sequence[Block]]) -> None:
    """Replace the stored queue of a session."""
    if not prompts:
        connection.execute("DELETE FROM queued WHERE session = ?", (session,))
        return
    text = dumps([[block_object(block) for block in prompt] for prompt in prompts])
    connection.execute("INSERT OR REPLACE INTO queued (session, prompts) VALUES (?, ?)", (session, text))


def queue_of(connection: sqlite3.Connection, session: int) -> tuple[tuple[Block, ...], ...]:
    """The stored queue; () if it cannot be read."""
    if version(connection) < QUEUE_SINCE:
        return ()
    row = connection.execute("SELECT prompts FROM queued WHERE session = ?", (session,)).fetchone()
    try:
        found = loads(row[0]) if row is not None else []
    except Unreadable:
        return ()
    prompts = (
        tuple(block_from(block) for block in prompt if isinstance(block, dict))
        for prompt in (found if isinstance(found, list) else [])
        if isinstance(prompt, list)
    )
    return tuple(prompt for prompt in prompts if prompt)
