"""Bus to screen: one batch a frame, in order, nothing applied twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.bus.bus import Subscription
from tui.domain.events import AppEvent, Stamped

FRAME_S = 1 / 30
"""Frames are not drawn faster than this."""
MOST_A_FRAME = 32 * 1024
"""Characters taken in for one frame: more would keep a key waiting."""


async def follow(
    subscription: Subscription[Stamped],
    after: int,
    take: Callable[[Stamped], None],
    drawn: Callable[[Sequence[AppEvent]], None],
) -> None:
    """Take in what is newer than ``after``, then let it be drawn; ends when the subscription is closed."""
    async for batch in subscription.batches(FRAME_S, at_most=MOST_A_FRAME):
        fresh = [stamped for stamped in batch if stamped.seq > after]
        for stamped in fresh:
            take(stamped)
        if fresh:
            drawn([stamped.event for stamped in fresh])
