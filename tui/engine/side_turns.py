"""Questions beside the conversation: answered with its history, published on channels of their own.

A side request begins with the bytes of the conversation's next request, so that a provider's prompt cache is hit. That
is why the tools are in it, and why ``tool_choice`` is not: Anthropic keeps another cache for each value of it, and some
local servers leave the tools out for ``none``. The calls are refused instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from tui.bus import Subscription
from tui.domain.blocks import Block, ToolCallBlock, ToolResultBlock
from tui.domain.compression import SummaryRun
from tui.domain.cost import paid_in, without_blocks
from tui.domain.errors import BudgetReached, PonderError, UsageError
from tui.domain.events import AppEvent, HistoryChanged, SideAnswersPaid, Stamped, TurnFailed, TurnFinished
from tui.domain.messages import CANCELLED, Message, Role, Turn
from tui.domain.request import ToolSchema
from tui.domain.thinking import ModelSpec
from tui.domain.tool_run import ToolRun
from tui.engine.compression import HistoryCompression
from tui.engine.open_turn import ConversationState, OpenTurn
from tui.engine.ports import Journal, Ports
from tui.engine.request_inputs import Repairs
from tui.engine.runner import Runner
from tui.engine.saving import Saver, Writing
from tui.engine.session import Channel
from tui.engine.settings import EngineSettings
from tui.engine.state import SessionView
from tui.engine.timers import RetryWait
from tui.engine.tool_round import failed
from tui.engine.turn import TurnLoop

LOG = logging.getLogger(__name__)

Answerers = Sequence[tuple[ModelSpec, EngineSettings]]
"""Models that a question is sent to, each with its settings."""

REFUSED_CALLS = 2
"""Refused calls after which the turn ends at the next call."""
DIRECTLY = "Answer this question directly. Do not call tools: every call is refused here."
"""Sent after the question if the request contains tools; not stored."""
REFUSED = "Tools are not available for this question. Answer without them."


class _RefusedTools:
    """A toolbox that offers the session's tools and runs none."""

    def __init__(self, tools: tuple[ToolSchema, ...]) -> None:
        self._tools = tools

    def schemas(self) -> tuple[ToolSchema, ...]:
        return self._tools

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        return failed(call, REFUSED)


class _NotStored(Saver):
    """Stores nothing: a side answer is stored when it is kept."""

    async def save(self, writing: Writing) -> None:
        """Has no effect."""

    def save_soon(self, writing: Writing, *, replaces: str) -> asyncio.Event:
        """Has no effect."""
        done = asyncio.Event()
        done.set()
        return done


class _NoCompression(HistoryCompression):
    """A side request never changes the conversation's compression."""

    async def compress_if_needed(self, *_: object) -> bool:
        return False

    async def handle_overflow(self, *_: object) -> bool:
        return False


class _SideTurn(OpenTurn):
    """The open turn of a side question."""

    joint: JointPermit | None = None

    def repairs(self) -> Repairs:
        known = self.conversation.repairs(self.target, self.spec, self.settings)
        # Thinking that is signed together with all that came before would not be valid after another message.
        return known if self.target.facts.bound or not self.tools() else replace(known, nudge=DIRECTLY)

    def measure(self, *_: object) -> None:
        """Has no effect: the meter shows the conversation."""

    async def permit(self, request_id: str, worst_cost: Callable[[], float | None]) -> None:
        joint, self.joint = self.joint, None
        if joint is None:
            await super().permit(request_id, worst_cost)
            return
        await joint.granted()
        dollars = worst_cost()
        try:
            if dollars is None:
                await super().permit(request_id, worst_cost)
            else:
                await self.budget.reserve(request_id, self.id, self.target, dollars)
        finally:
            joint.leave(self.id)


class JointPermit:
    """One permission for requests that are sent at the same time, so that the user is asked once about all."""

    def __init__(
        self, permit: Callable[[], Awaitable[None]], release: Callable[[], None], turns: Sequence[str]
    ) -> None:
        """``permit`` reserves the most they cost together; ``release`` ends that when each has reserved its part."""
        self._permit = permit
        self._release = release
        self._waiting = set(turns)
        self._lock = asyncio.Lock()
        self._granted = False
        self._refusal: BudgetReached | None = None

    async def granted(self) -> None:
        """Return when the requests may be sent; raises BudgetReached."""
        async with self._lock:
            if self._refusal is not None:
                raise self._refusal
            if self._granted:
                return
            try:
                await self._permit()
            except BudgetReached as refusal:
                self._refusal = refusal
                raise
            self._granted = True

    def leave(self, turn: str) -> None:
        """A turn has reserved its part, or has ended before."""
        if turn in self._waiting:
            self._waiting.discard(turn)
            if not self._waiting:
                self._release()


class SideTurn:
    """One question to one model. ``attach`` may be called from any thread."""

    def __init__(
        self, turn: _SideTurn, channel: Channel, compression: HistoryCompression, before: tuple[Turn, ...]
    ) -> None:
        self.id = turn.id
        self.session = turn.conversation.session
        self.spec = turn.spec
        self.before = before
        """The finished turns that the question is asked after."""
        self.finished: Turn | None = None
        self.is_kept = False
        self.keeps = False
        """It is to be kept when it ends."""
        self.open = turn
        self._channel = channel
        self._loop = TurnLoop(turn, compression)
        self.task: asyncio.Task[None] | None = None

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """A snapshot of this turn alone, and a subscription to its later events."""
        return self._channel.attach()

    async def ended(self) -> None:
        """Wait until the answer has arrived or failed, and is paid."""
        if self.task is not None:
            await asyncio.wait({self.task})

    async def run(self) -> Turn:
        """Answer the question; failures and cancelling end the turn."""
        failure: PonderError | None = None
        cancelled = False
        try:
            await self._loop.run()
        except asyncio.CancelledError:
            cancelled, self.open.live = True, False
        except PonderError as error:
            failure = error
        except Exception as error:
            LOG.exception("an internal error ended a side turn")
            failure = PonderError(f"An internal error ended the answer ({type(error).__name__}).")
        reason = CANCELLED if cancelled else failure.message if failure is not None else "ended"
        turn = self.finished = await self._loop.settle(reason, is_failure=failure is not None)
        self._channel.publish(TurnFailed(turn, failure) if failure else TurnFinished(turn, cancelled=cancelled))
        return turn


class SideTurns:
    """The side questions of one session. Its coroutines run in the engine's loop."""

    def __init__(
        self,
        ports: Ports,
        conversation: ConversationState,
        saver: Saver,
        publish: Callable[..., None],
        runner: Runner,
    ) -> None:
        self._runner = runner
        self._ports = ports
        self._conversation = conversation
        self._saver = saver
        self._publish = publish
        self._open: dict[str, SideTurn] = {}
        self.running = 0
        """Answers that arrive; one that is to be kept continues when its sheet is closed."""

    async def ask(
        self,
        blocks: tuple[Block, ...],
        tasks: asyncio.TaskGroup,
        answerers: Answerers = (),
        *,
        apart: bool = False,
    ) -> tuple[SideTurn, ...]:
        """Send a question after the finished turns to these models, or to the current one. Raises UnknownModel.

        ``apart`` sends the question alone, as if it was the first of another conversation.
        """
        if not blocks:
            raise UsageError("There is nothing to ask.")
        conversation = self._conversation
        asked = answerers or ((conversation.spec, conversation.settings),)
        sides = tuple(self._side(blocks, spec, settings, apart=apart) for spec, settings in asked)
        if len(sides) > 1:
            self._permit_together(sides)
        for side in sides:
            self._open[side.id] = side
            side.task = tasks.create_task(self._run(side))
        return sides

    def open_ids(self) -> tuple[str, ...]:
        """The answers that were not dropped, kept or chosen yet."""
        return tuple(self._open)

    async def cancel(self, turn_id: str) -> None:
        """Stop an answer and wait for its end; what arrived stays until it is dropped."""
        side = self._open.get(turn_id)
        if side is not None and side.task is not None and not side.task.done():
            side.task.cancel()
            await asyncio.wait({side.task})

    async def drop(self, turn_ids: Sequence[str]) -> None:
        """Stop these answers and forget them, unless they are to be kept. Their cost stays counted."""
        for turn_id in turn_ids:
            await self.cancel(turn_id)
            self._open.pop(turn_id, None)

    async def keep(self, turn_id: str) -> bool:
        """Keep an answer as a branch; False if it still arrives and is kept when it ends."""
        side = self._found(turn_id)
        side.keeps = True
        if side.finished is None:
            return False
        await self._keep_or_begin(side)
        return True

    async def leave(self, turn_ids: Sequence[str]) -> int:
        """Stop these answers and keep those that have begun as branches; returns their number."""
        sides = [side for side in self._open.values() if side.id in turn_ids]
        for side in sides:
            await self.cancel(side.id)
            await self._keep_or_begin(side)
            del self._open[side.id]
        return sum(side.is_kept for side in sides)

    async def choose(self, turn_id: str, others: Sequence[str]) -> int:
        """Continue the conversation with this answer. The others become branches beside it, in the order asked.

        Returns the number of those branches; an answer that has not begun is forgotten.
        """
        chosen = self._found(turn_id)
        if chosen.finished is None or not is_answered(chosen.finished):
            raise UsageError("This model has not answered.", advice="Choose an answer, or wait for this one.")
        if self._runner.busy or self._conversation.turns != chosen.before:
            raise UsageError(
                "The conversation has continued meanwhile.", advice="Escape keeps the answers as branches."
            )
        sides = [side for side in self._open.values() if side is chosen or side.id in others]
        for side in sides:
            await self.cancel(side.id)
            await self._keep(side)
            del self._open[side.id]
        await self._continue_with(chosen.before, chosen.finished)
        return sum(side.is_kept for side in sides) - 1

    async def _continue_with(self, before: tuple[Turn, ...], turn: Turn) -> None:
        """Make a stored answer the last turn of the conversation."""
        turns = self._conversation.turns = (*before, turn)
        session = self._conversation.session
        await self._saver.save(lambda journal: journal.history_replaced(session, turns))
        names = frozenset(message.id for message in paid_in((turn,)))
        self._publish(SideAnswersPaid((), names), HistoryChanged(turns))

    async def close(self) -> None:
        """Stop all answers."""
        for turn_id in tuple(self._open):
            await self.cancel(turn_id)

    def _found(self, turn_id: str) -> SideTurn:
        side = self._open.get(turn_id)
        if side is None:
            raise UsageError("This answer no longer exists.")
        return side

    def _side(self, blocks: tuple[Block, ...], spec: ModelSpec, settings: EngineSettings, *, apart: bool) -> SideTurn:
        here = self._conversation
        if apart:  # with an id of its own: the meter and the prompt cache know requests by that of their session
            here = replace(here, session=self._ports.new_id(), turns=(), compression=None, tools=())
            settings = replace(settings, system="", project="", web_search=False)
        ports = replace(self._ports, toolbox=_RefusedTools(here.tools))
        conversation = replace(
            here,
            spec=spec,
            target=ports.planner.target(spec),
            settings=replace(settings, compress=False, calls_per_turn=REFUSED_CALLS),
            remarks=set(here.remarks),
        )
        plan = ports.planner.plan(conversation.inputs())
        channel = Channel(SessionView(session=conversation.session, seq=0, spec=spec, plan=plan))
        saver = _NotStored(ports.journal, ports.clock, _ignore)
        turn = _SideTurn(
            id=ports.new_id(),
            conversation=conversation,
            ports=ports,
            saver=saver,
            on_events=channel.publish,
            pace=partial(channel.keep_pace, ports.clock),
            target=conversation.target,
            spec=conversation.spec,
            settings=conversation.settings,
            retry_wait=RetryWait(ports.clock),
            approvals=self._runner.approvals,
            budget=self._runner.budget,
            stored=_ignore,
            messages=[
                Message(id=ports.new_id(), role=Role.USER, blocks=blocks, language=conversation.settings.language)
            ],
        )
        compression = _NoCompression(ports, saver, conversation, _ignore, self._runner.budget)
        return SideTurn(turn, channel, compression, here.turns)

    def _permit_together(self, sides: Sequence[SideTurn]) -> None:
        name, first, budget = self._ports.new_id(), sides[0].open, self._runner.budget

        def worst_cost() -> float | None:
            planner, total = self._ports.planner, 0.0
            for side in sides:
                inputs = side.open.inputs()
                total += planner.worst_cost(inputs, planner.request(inputs)) or 0.0
            return total

        joint = JointPermit(
            lambda: budget.permit(name, name, first.target, first.settings, worst_cost, requests=len(sides)),
            lambda: budget.settle(name, lambda: 0.0),
            [side.id for side in sides],
        )
        for side in sides:
            side.open.joint = joint

    async def _run(self, side: SideTurn) -> None:
        self.running += 1
        try:
            await self._answer(side)
        finally:
            self.running -= 1

    async def _answer(self, side: SideTurn) -> None:
        joint = side.open.joint
        turn = await side.run()
        if joint is not None:
            joint.leave(side.id)
        paid = (SummaryRun.of(message, turn.id, aside=True) for message in paid_in((turn,)))
        runs = tuple(run for run in paid if run is not None)
        session = self._conversation.session
        for run in runs:
            self._saver.save_soon(partial(_store_run, session=session, run=run), replaces=f"summary {run.id}")
        if runs:
            self._publish(SideAnswersPaid(runs))
        if side.keeps:
            await self._keep_or_begin(side)

    async def _keep(self, side: SideTurn) -> None:
        """Store the turn as a branch; its cost now belongs to that branch."""
        turn = side.finished
        if side.is_kept or turn is None or not is_answered(turn):
            return
        side.is_kept = True
        session, after = self._conversation.session, side.before[-1].id if side.before else None
        await self._saver.save(lambda journal: journal.turn_kept(session, turn, after))
        paid = tuple(without_blocks(message) for message in paid_in((turn,)))
        self._publish(SideAnswersPaid(paid, frozenset(message.id for message in paid)))

    async def _keep_or_begin(self, side: SideTurn) -> None:
        """Keep an answer; the first of a new session is its first turn, because there is nothing to branch from."""
        await self._keep(side)
        new = not self._conversation.turns and not self._runner.busy
        if new and side.is_kept and side.finished is not None:
            await self._continue_with((), side.finished)


def is_answered(turn: Turn) -> bool:
    """Whether a model has said anything in this turn."""
    return any(
        message.role is Role.ASSISTANT and message.blocks and not message.superseded for message in turn.messages
    )


async def _store_run(journal: Journal, *, session: str, run: SummaryRun) -> None:
    await journal.summary_run(session, run)


def _ignore(*_: AppEvent) -> None:
    """Has no effect: what belongs to no answer is not shown."""
