"""Starts work beside the event loop of the screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from textual.dom import DOMNode


def start_work(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], *, group: str = "default", exclusive: bool = False
) -> None:
    """Run the work as a worker of the node.

    It takes a function, not a coroutine: a worker may be cancelled before it begins, and a coroutine that never ran is
    a warning.
    """

    async def run() -> None:
        await work()

    # Textual takes such functions, but a type checker cannot tell which part of its union they match.
    node.run_worker(cast("Awaitable[None]", run), group=group, exclusive=exclusive)
