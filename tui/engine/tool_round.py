"""Runs the tool calls of one answer: checks them, runs a few at a time, returns results in the order of the calls."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import field, replace

from tui.domain.blocks import DENIED, STOPPED, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import ApprovalAsked, ToolFinished, ToolProgressed, ToolStarted
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.messages import Message, Role
from tui.domain.tool_run import ToolRun
from tui.engine.approvals import CallApproval, RunningCall, is_yes
from tui.engine.open_turn import OpenTurn

LOG = logging.getLogger(__name__)
CUT = "The arguments were truncated by the output limit. Not executed."
INTERRUPTED = f"{STOPPED}: this call may have run, in whole or in part."
NOT_STARTED = f"{STOPPED} before this call ran. Not executed."
CRASHED_IN_IT = "ponder ended while this call ran: it may have run, in whole or in part."
CRASHED_BEFORE_IT = "ponder ended before this call ran. Not executed."
SAME_CALL_ASKS = 3
SAME_CALL_STOPS = 5


@dataclass(slots=True)
class CallHistory:
    """Counts the calls of a turn for its limits."""

    made: int = 0
    last: tuple[str, str] | None = None
    in_a_row: int = 0
    stuck: bool = False
    """The same call was repeated too often: the turn ends after this round."""

    def count(self, call: ToolCallBlock) -> None:
        """Record a call."""
        self.made += 1
        key = (call.name, call.arguments)
        self.in_a_row = self.in_a_row + 1 if key == self.last else 1
        self.last = key


@dataclass(slots=True)
class ToolRound:
    """The calls of one answer."""

    turn: OpenTurn
    calls: tuple[ToolCallBlock, ...]
    history: CallHistory
    message_id: str
    """Id of the message with the results."""
    tainted: bool = False
    done: dict[int, ToolResultBlock] = field(default_factory=dict)
    begun: dict[int, RunningCall] = field(default_factory=dict)

    async def run(self, *, cut: bool) -> tuple[ToolResultBlock, ...]:
        """Run the calls and return all results. ``cut``: the answer hit the output limit, so nothing in it may run."""
        runnable: list[int] = []
        await self._keep()
        for position, call in enumerate(self.calls):
            refusal = CUT if cut else await self._refusal(call)
            if refusal is None:
                runnable.append(position)
            else:
                self.done[position] = failed(call, refusal)
        slots = asyncio.Semaphore(self.turn.settings.parallel_calls)
        async with asyncio.TaskGroup() as tasks:
            for position in runnable:
                tasks.create_task(self._run_one(position, slots))
        return self.results()

    def results(self) -> tuple[ToolResultBlock, ...]:
        """The results so far, and an explanation for each call without a result."""
        return tuple(self.done.get(position) or self._without_end(position) for position in range(len(self.calls)))

    def _without_end(self, position: int) -> ToolResultBlock:
        running = self.begun.get(position)
        explained = failed(self.calls[position], INTERRUPTED if self._may_have_run(position) else NOT_STARTED)
        return explained if running is None else replace(explained, seconds=self._seconds(running))

    def interrupted(self, results: tuple[ToolResultBlock, ...]) -> tuple[ToolFinished, ...]:
        """End events for calls that started and have no result of their own."""
        return tuple(
            ToolFinished(self.turn.id, results[position].call_id, results[position], results[position].seconds or 0.0)
            for position in self.begun
            if position not in self.done
        )

    async def _keep(self) -> None:
        """Store the outcome to report for each call if the program crashes: before a call may act, not after."""
        blocks = tuple(self.done.get(position) or self._if_it_ends(position) for position in range(len(self.calls)))
        turn = self.turn
        message = Message(id=self.message_id, role=Role.TOOL, blocks=blocks)
        session, turn_id = turn.conversation.session, turn.id
        await turn.saver.save(lambda journal: journal.checkpoint(session, turn_id, message))

    def _if_it_ends(self, position: int) -> ToolResultBlock:
        may_have_run = self._may_have_run(position)
        return failed(self.calls[position], CRASHED_IN_IT if may_have_run else CRASHED_BEFORE_IT)

    def _may_have_run(self, position: int) -> bool:
        return position in self.begun and self.begun[position].may_have_run

    def _seconds(self, running: RunningCall) -> float:
        return self.turn.ports.clock.monotonic() - running.began - running.waited_s

    async def _refusal(self, call: ToolCallBlock) -> str | None:
        """Why a call may not run; None if it may."""
        history, limit = self.history, self.turn.settings.calls_per_turn
        history.count(call)
        if history.made > limit:
            return f"The limit of {count(limit, 'tool call')} per turn is reached. Not executed."
        if history.in_a_row >= SAME_CALL_STOPS:
            history.stuck = True
            return f"The same call came {count(history.in_a_row, 'time')} in a row. Not executed; the turn ends here."
        names = [schema.name for schema in self.turn.tools()]
        if call.name not in names:
            return f"There is no tool `{call.name}`. Available: {', '.join(names) or 'none'}."
        problem = problem_with_arguments(call.arguments)
        if problem is None and history.in_a_row >= SAME_CALL_ASKS:
            return await self._ask_about_repetition(call)
        return problem

    async def _ask_about_repetition(self, call: ToolCallBlock) -> str | None:
        times = self.history.in_a_row
        summary = f"The same call for the {times}th time in a row".replace("3th", "3rd")
        asked = ApprovalAsked(self.turn.id, call.call_id, call.name, summary, call.arguments)
        answer = await self.turn.approvals.ask(asked)
        return None if is_yes(answer) else DENIED

    async def _run_one(self, position: int, slots: asyncio.Semaphore) -> None:
        call = self.calls[position]
        async with slots:
            turn, running = self.turn, RunningCall(self.turn.ports.clock.monotonic())
            self.begun[position] = running
            await self._keep()
            turn.publish(ToolStarted(turn.id, call.call_id, call.name, call.arguments))
            result = await self._result(call, running)
            seconds = self._seconds(running)
            self.done[position] = result = replace(result, seconds=seconds)
            turn.publish(ToolFinished(turn.id, call.call_id, result, seconds))

    async def _result(self, call: ToolCallBlock, running: RunningCall) -> ToolResultBlock:
        turn = self.turn
        limit_s = turn.settings.call_timeout_s or None
        try:
            async with asyncio.timeout(limit_s) as limit:
                approval = CallApproval(
                    turn_id=turn.id,
                    approvals=turn.approvals,
                    running=running,
                    now=turn.ports.clock.monotonic,
                    limit=limit,
                    limit_s=limit_s,
                    store=self._keep,
                )
                run = ToolRun(
                    ask=approval.ask,
                    settle=approval.settle,
                    progress=lambda text: turn.publish(ToolProgressed(turn.id, call.call_id, turn.ports.conceal(text))),
                    tainted=self.tainted,
                    session=turn.conversation.session,
                    limit_s=limit_s,
                    paused=approval.paused,
                    private=turn.ports.private,
                )
                called = replace(call, arguments=call.arguments.strip() or "{}")
                return self._without_keys(await turn.ports.toolbox.run(called, run))
        except TimeoutError:
            return failed(call, f"Timed out after {limit_s:g} s: this call may have run, in whole or in part.")
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # The turn was not cancelled: the exception comes from the tool itself.
            return failed(call, f"The tool failed: {type(error).__name__}.")
        except Exception as error:
            LOG.warning("the tool %s failed", call.name, exc_info=error)
            return failed(call, f"The tool failed: {type(error).__name__}.")

    def _without_keys(self, result: ToolResultBlock) -> ToolResultBlock:
        conceal = self.turn.ports.conceal
        content = tuple(
            replace(part, text=conceal(part.text)) if isinstance(part, TextBlock) else part for part in result.content
        )
        return replace(result, content=content, note=conceal(result.note), diff=conceal(result.diff))


def failed(call: ToolCallBlock, why: str) -> ToolResultBlock:
    """A failed result with the reason."""
    return ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text=why),), failed=True)


def problem_with_arguments(arguments: str) -> str | None:
    """What is wrong with the JSON arguments; None for an object or for empty text (no parameters)."""
    if not arguments.strip():
        return None
    try:
        parsed: object = json.loads(arguments, parse_constant=_refuse_constant)
    except RecursionError:
        return "The arguments are nested too deeply. Not executed."
    except ValueError as error:
        return f"The arguments are not valid JSON ({error.__class__.__name__}): they may be truncated. Not executed."
    if not isinstance(parsed, dict):
        return "The arguments must be a JSON object. Not executed."
    return None


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
