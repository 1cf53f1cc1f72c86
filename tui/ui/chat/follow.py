"""Copies bus events to the screen: one batch per frame, in order, each applied once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.bus import Subscription
from tui.domain.events import AppEvent, Stamped

FRAME_S = 1 / 30
"""Least time between two frames."""
MOST_A_FRAME = 32 * 1024
"""Most characters applied per frame: more would delay a key press."""


async def follow(
    subscription: Subscription[Stamped],
    after: int,
    take: Callable[[Stamped], None],
    on_batch: Callable[[Sequence[AppEvent]], None],
) -> None:
    """Apply events after ``after`` and then draw; returns when the subscription is closed."""
    async for batch in subscription.batches(FRAME_S, at_most=MOST_A_FRAME):
        fresh = [stamped for stamped in batch if stamped.seq > after]
        for stamped in fresh:
            take(stamped)
        if fresh:
            on_batch([stamped.event for stamped in fresh])
