"""Waiting for the user's answer: before a long retry and before a tool call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tui.domain.blocks import ToolCallBlock
from tui.domain.events import AppEvent, ApprovalAsked, ApprovalSettled
from tui.engine.ports import Clock

NOBODY_TO_ASK = "no: nobody can be asked in this run"


class RetryWait:
    """The wait before a retry: it can be skipped, and a long one needs the user's consent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._skipped = asyncio.Event()
        self._spoken = asyncio.Event()
        self._agreed = False

    def skip(self) -> None:
        """Continue now."""
        self._agreed = True
        self._skipped.set()
        self._spoken.set()

    def answer(self, *, agree: bool) -> None:
        """The user's answer about a long wait."""
        self._agreed = agree
        self._spoken.set()

    async def wait(self, seconds: float, *, needs_consent: bool) -> bool:
        """Wait; False if the user does not consent."""
        self._skipped.clear()
        self._spoken.clear()
        self._agreed = False
        until = self._clock.monotonic() + seconds
        if needs_consent:
            await self._spoken.wait()
            if not self._agreed:
                return False
        left = until - self._clock.monotonic()
        if left > 0 and not self._skipped.is_set():
            await self._sleep(left)
        return True

    async def _sleep(self, seconds: float) -> None:
        async with asyncio.TaskGroup() as tasks:
            sleeping = tasks.create_task(self._clock.sleep(seconds))
            skipping = tasks.create_task(self._skipped.wait())
            await asyncio.wait({sleeping, skipping}, return_when=asyncio.FIRST_COMPLETED)
            sleeping.cancel()
            skipping.cancel()


class PendingApprovals:
    """Asks the user about tool calls and waits for the answers."""

    def __init__(self, publish: Callable[[AppEvent], None], *, interactive: bool) -> None:
        self._publish = publish
        self._interactive = interactive
        self._open: dict[str, asyncio.Future[str]] = {}

    def answer(self, call_id: str, answer: str) -> bool:
        """The user's answer; False if the call no longer waits for one."""
        waiting = self._open.get(call_id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def settle(self, call_id: str) -> None:
        """Withdraw the question: the call became allowed while it waited."""
        self.answer(call_id, "once")

    async def ask(
        self, turn_id: str, call: ToolCallBlock, summary: str, detail: str, patterns: tuple[str, ...], note: str = ""
    ) -> str:
        """``once``, ``session``, a pattern, or ``no``; always ``no`` without a user."""
        if not self._interactive:
            return NOBODY_TO_ASK
        if call.call_id in self._open:
            return f"no: another call with the id `{call.call_id}` waits already"
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open[call.call_id] = waiting
        self._publish(ApprovalAsked(turn_id, call.call_id, call.name, summary, detail, patterns, note))
        try:
            answer = await waiting
        finally:
            del self._open[call.call_id]
        self._publish(ApprovalSettled(turn_id, call.call_id, allowed=is_yes(answer)))
        return answer


def is_yes(answer: str) -> bool:
    """Whether an answer to an approval allows the call."""
    return answer != "no" and not answer.startswith("no:")
