"""Asks the user for approval of tool calls and waits for the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from tui.domain.blocks import ToolCallBlock
from tui.domain.events import AppEvent, ApprovalAsked, ApprovalSettled
from tui.domain.fast_dataclass import dataclass
from tui.domain.tool_run import NO_USER


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

    async def ask(self, asked: ApprovalAsked) -> str:
        """``once``, ``session``, a pattern, or ``no``; always ``no`` without a user."""
        if not self._interactive:
            return NO_USER
        if asked.call_id in self._open:
            return f"no: another call with the id `{asked.call_id}` waits already"
        return await self._ask(asked)

    async def ask_about_request(self, asked: ApprovalAsked) -> str:
        """The answer to a question that is not about a call of the model; always ``no`` without a user."""
        if not self._interactive:
            return NO_USER
        try:
            return await self._ask(asked)
        except asyncio.CancelledError:
            # The end of a turn withdraws its questions, but a compression can run without a turn.
            self._publish(ApprovalSettled(asked.turn_id, asked.call_id, allowed=False))
            raise

    async def _ask(self, asked: ApprovalAsked) -> str:
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open[asked.call_id] = waiting
        self._publish(asked)
        try:
            answer = await waiting
        finally:
            del self._open[asked.call_id]
        self._publish(ApprovalSettled(asked.turn_id, asked.call_id, allowed=is_yes(answer)))
        return answer


def is_yes(answer: str) -> bool:
    """Whether an answer to an approval allows the call."""
    return answer != "no" and not answer.startswith("no:")


@dataclass(slots=True)
class RunningCall:
    """A running call."""

    began: float
    waited_s: float = 0.0
    """Seconds spent waiting for the user's answer."""
    agreed: bool = False
    may_have_run: bool = True
    """False while its first approval is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApproval:
    """Asks for approval of one call; the time limit of the call is paused meanwhile."""

    turn_id: str
    approvals: PendingApprovals
    running: RunningCall
    now: Callable[[], float]
    limit: asyncio.Timeout
    limit_s: float | None
    store: Callable[[], Awaitable[None]]
    """Store whether the call may have run."""

    async def ask(
        self,
        call: ToolCallBlock,
        summary: str,
        detail: str,
        patterns: tuple[str, ...],
        note: str = "",
        session: str = "",
    ) -> str:
        """``once``, ``session``, one of ``patterns``, or ``no`` (optionally ``no: reason``).

        ``detail`` is the model's text, ``note`` is ponder's comment on it.
        """
        self.limit.reschedule(None)
        running = self.running
        running.may_have_run = running.agreed
        await self.store()
        since = self.now()
        asked = ApprovalAsked(self.turn_id, call.call_id, call.name, summary, detail, patterns, note, session=session)
        answer = await self.approvals.ask(asked)
        running.waited_s += self.now() - since
        running.agreed, running.may_have_run = running.agreed or is_yes(answer), True
        if is_yes(answer):
            await self.store()
        if self.limit_s is not None:
            self.limit.reschedule(asyncio.get_running_loop().time() + self.limit_s)
        return answer

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the time limit while the call waits for the user."""
        self.limit.reschedule(None)
        since = self.now()
        try:
            yield
        finally:
            self.running.waited_s += self.now() - since
            if self.limit_s is not None:
                with suppress(RuntimeError):  # the call has ended
                    self.limit.reschedule(asyncio.get_running_loop().time() + self.limit_s)

    def settle(self, call: ToolCallBlock) -> None:
        """Withdraw the question about a call that has become allowed."""
        self.approvals.settle(call.call_id)
