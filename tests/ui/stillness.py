"""When a program on the test stage stands still: told by its event loop, not by how busy the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from time import process_time
from typing import Protocol, cast


class Queues(Protocol):
    """What asyncio keeps of a loop's work; it has no public way to look at it."""

    _ready: Sized
    _scheduled: list[asyncio.TimerHandle]


SOON_S = 0.02
"""A timer due so soon belongs to what is going on: the next frame, a call that was put off by a moment."""
ROUNDS = 3


async def stands_still(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Come back when nothing can run, was woken by a socket or thread, or is due in a moment.

    A program that never stands still is waited for until it has worked and slept for ``max_sleep``; what other
    processes take of the processor does not count, or a busy machine would cut short what only takes longer.
    """
    loop = asyncio.get_running_loop()
    queues = cast(Queues, loop)
    began = process_time()
    slept = 0.0
    quiet = 0
    while quiet < ROUNDS and process_time() - began + slept < max_sleep:
        await asyncio.sleep(0)
        due = [at.when() for at in queues._scheduled if not at.cancelled() and at.when() < loop.time() + SOON_S]
        if len(queues._ready):
            quiet = 0
        elif due:
            quiet = 0
            wait = max(0.0, min(due) - loop.time())
            slept += wait
            await asyncio.sleep(wait)
        else:
            quiet += 1
