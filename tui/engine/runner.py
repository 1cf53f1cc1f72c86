"""Runs the turns and compressions of a session one at a time, cancels them, and holds the queue behind them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock
from tui.domain.errors import PonderError, UsageError
from tui.domain.events import AppEvent, MeterChanged, Notice, QueueChanged, Severity, TurnFailed, TurnFinished
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.messages import CANCELLED, Message, Role
from tui.engine.approvals import PendingApprovals
from tui.engine.budget import Budget
from tui.engine.compression import HistoryCompression
from tui.engine.open_turn import ConversationState, OpenTurn
from tui.engine.ports import Ports
from tui.engine.request_inputs import RequestInputs
from tui.engine.saving import Saver
from tui.engine.timers import RetryWait

if TYPE_CHECKING:
    from tui.engine.turn import TurnLoop

LOG = logging.getLogger(__name__)
CANCEL_WITHIN_S = 0.08
"""Seconds a cancelled turn may take to end before its end is published without it."""
FAILURES_IN_A_ROW = 3
"""Failed turns at one provider after which another is suggested."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt from the user."""

    blocks: tuple[Block, ...]
    after_step: bool = False
    """It goes in with the next tool results of the running turn, or after the turn if there are none."""

    @property
    def label(self) -> str:
        """One line for the queue."""
        text = " ".join(block.text for block in self.blocks if isinstance(block, TextBlock))
        kinds = ((ImageBlock, "image"), (DocumentBlock, "document"))
        for kind, noun in kinds:
            if number := sum(isinstance(block, kind) for block in self.blocks):
                text = f"{text} [{count(number, noun)}]".strip()
        return text


@dataclass(frozen=True, slots=True)
class Compress:
    """A request from the user to compress the history."""

    instruction: str
    after_step: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """One line for the queue."""
        return f"/compress {self.instruction}".strip()

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The command as the user would type it again."""
        return (TextBlock(text=self.label),)


Job = Prompt | Compress


class Queue:
    """Jobs behind the running one. A held queue waits until the user sends it or takes it back."""

    def __init__(
        self,
        publish: Callable[[AppEvent], None],
        start: Callable[[], None],
        keep: Callable[[tuple[tuple[Block, ...], ...]], None],
        stored: tuple[tuple[Block, ...], ...] = (),
    ) -> None:
        """``start`` is called when jobs may run again, ``keep`` when the stored prompts change."""
        self._publish = publish
        self._start = start
        self._keep = keep
        self._stored = stored
        self._jobs: deque[Job] = deque(map(Prompt, stored))
        self._starting: tuple[Prompt, ...] = ()
        """These were taken but are not stored in a turn yet: a crash must not lose them."""
        self._held = bool(stored)
        self._published = self._changed()

    def add(self, job: Job) -> None:
        """Append a job."""
        self._jobs.append(job)
        self.publish_changes()

    def next(self) -> Job | None:
        """Remove and return the first job; None if the queue is empty or held."""
        if not self._jobs or self._held:
            return None
        job = self._jobs.popleft()
        self._starting = (job,) if isinstance(job, Prompt) else ()
        self._leave_step()
        return job

    def next_after_step(self) -> tuple[tuple[Block, ...], ...]:
        """Remove and return the prompts that go in after this step."""
        prompts = tuple(job for job in self._jobs if isinstance(job, Prompt) and job.after_step)
        if prompts:
            self._jobs = deque(job for job in self._jobs if not job.after_step)
            self._starting = prompts
            self.publish_changes()
        return tuple(job.blocks for job in prompts)

    def started(self) -> None:
        """Record that the jobs taken last are stored in a turn."""
        self._starting = ()
        self._store()

    def hold(self) -> None:
        """Hold the queue until ``resume``."""
        self._held = bool(self._jobs)
        self._leave_step()
        self.publish_changes()

    def _leave_step(self) -> None:
        """Let all prompts wait for their own turn: the turn whose step they waited for is over."""
        self._jobs = deque(replace(job, after_step=False) if isinstance(job, Prompt) else job for job in self._jobs)

    async def move_last(self) -> None:
        """Move the last prompt from the end of the turn to after this step, or back."""
        if self._jobs and not self._held and isinstance(last := self._jobs[-1], Prompt):
            self._jobs[-1] = replace(last, after_step=not last.after_step)
            self.publish_changes()

    def leave(self) -> None:
        """Stop handing out jobs. Stored prompts stay stored and are back when the session is opened again."""
        self._jobs.clear()
        self._held = False
        self._keep = lambda prompts: None
        self.publish_changes()

    def publish_changes(self) -> None:
        """Publish and store the queue if it changed."""
        self._store()
        queue = self._changed()
        if queue != self._published:
            self._published = queue
            self._publish(queue)

    def _changed(self) -> QueueChanged:
        after_step = tuple(job.after_step for job in self._jobs)
        labels = tuple(job.label for job in self._jobs)
        return QueueChanged(labels, self._held, after_step if any(after_step) else ())

    def _store(self) -> None:
        jobs = (*self._starting, *self._jobs)
        prompts = tuple(job.blocks for job in jobs if isinstance(job, Prompt))
        if prompts != self._stored:
            self._stored = prompts
            self._keep(prompts)

    async def resume(self) -> None:
        """Run the jobs of a held queue."""
        self._held = False
        self._start()
        self.publish_changes()

    async def take_last_queued(self, label: str = "") -> tuple[Block, ...]:
        """Remove the last job, or the last with this label, and return the user's blocks; () if there is none."""
        found = [place for place, job in enumerate(self._jobs) if not label or job.label == label]
        if not found:
            return ()
        job = self._jobs[found[-1]]
        del self._jobs[found[-1]]
        self._held = self._held and bool(self._jobs)
        self.publish_changes()
        return job.blocks


@dataclass(slots=True)
class _Running:
    """The running job."""

    turn: TurnLoop | None
    task: asyncio.Task[None] | None = None
    ending: bool = False


class Runner:
    """Runs jobs in the order they were added."""

    def __init__(
        self,
        ports: Ports,
        conversation: ConversationState,
        saver: Saver,
        publish: Callable[[AppEvent], None],
        queue: Queue,
        pace: Callable[[], Awaitable[None]],
    ) -> None:
        self.retry_wait = RetryWait(ports.clock)
        self.approvals = PendingApprovals(publish, interactive=ports.interactive)
        self.budget = Budget(
            conversation.session, ports.open_ledger, self.approvals.ask_about_request, run_limit=ports.max_cost
        )
        self.compression = HistoryCompression(ports, saver, conversation, publish, self.budget)
        self._ports = ports
        self._conversation = conversation
        self._saver = saver
        self._publish = publish
        self._queue = queue
        self._pace = pace
        self._running: _Running | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._failures: tuple[str, int] = ("", 0)

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self._running is not None

    def inputs(self, draft: str, *, whole: bool = False) -> RequestInputs:
        """The input of the next request, including the running turn and the answer so far.

        That answer is an excerpt, which is enough for counting, unless ``whole`` is set.
        """
        running = self._running
        if running is None or running.turn is None:
            self._refresh_tools()
            return self._conversation.inputs(draft=draft)
        turn = running.turn.turn
        inputs = turn.inputs_with_answer() if whole else turn.measured or turn.inputs()
        return replace(inputs, draft=draft)

    def add(self, job: Job, tasks: asyncio.TaskGroup) -> None:
        """Start a job, or queue it behind the running one. A held queue stays held."""
        if self._running is None:
            self._start(job, tasks)
        else:
            self._queue.add(job)

    def start_queued(self, tasks: asyncio.TaskGroup) -> None:
        """Start the first queued job if nothing runs."""
        if self._running is None:
            self._start_next(tasks)

    async def cancel(self, tasks: asyncio.TaskGroup) -> None:
        """Cancel the running job, keep what arrived, hold the queue. Does not wait for tasks that are slow to stop."""
        running = self._running
        if running is None or running.ending or running.task is None:
            return
        self._queue.hold()
        running.ending = True
        if running.turn is not None:
            running.turn.turn.live = False
        running.task.cancel()
        ending = tasks.create_task(self._end_cancelled(running, running.task, tasks))
        await asyncio.wait({ending}, timeout=CANCEL_WITHIN_S)

    async def answer_now(self, note: tuple[Block, ...]) -> None:
        """End the thinking of the running turn. Raises UsageError if there is none."""
        running = self._running
        if running is None or running.ending:
            raise UsageError("Nothing is running.")
        if running.turn is None:
            raise UsageError("The history is being compressed: there is no thinking to end.", advice="Esc stops it.")
        await running.turn.answer_now(note)

    async def idle(self) -> None:
        """Wait until nothing runs."""
        await self._idle.wait()

    def _start_next(self, tasks: asyncio.TaskGroup) -> None:
        job = self._queue.next()
        if job is None:
            self._running = None
            self._idle.set()
        else:
            self._start(job, tasks)

    def _start(self, job: Job, tasks: asyncio.TaskGroup) -> None:
        self._idle.clear()
        match job:
            case Prompt(blocks):
                running = _Running(self._turn_loop(blocks))
            case Compress():
                running = _Running(None)
        self._running = running
        self._queue.publish_changes()
        running.task = tasks.create_task(self._run(running, job, tasks))

    def _refresh_tools(self) -> None:
        """Refresh the tools, which can change at any time. An equal tuple stays the same object for the caches."""
        tools = self._ports.toolbox.schemas()
        if tools != self._conversation.tools:
            self._conversation.tools = tools

    def _turn_loop(self, blocks: tuple[Block, ...]) -> TurnLoop:
        conversation, ports = self._conversation, self._ports
        self._refresh_tools()
        turn = OpenTurn(
            id=ports.new_id(),
            conversation=conversation,
            ports=ports,
            saver=self._saver,
            on_events=self._publish,
            pace=self._pace,
            target=conversation.target,
            spec=conversation.spec,
            settings=conversation.settings,
            retry_wait=self.retry_wait,
            approvals=self.approvals,
            budget=self.budget,
            stored=self._queue.started,
            take_after_step=self._queue.next_after_step,
            after_step_stored=self._queue.started,
            messages=[
                Message(id=ports.new_id(), role=Role.USER, blocks=blocks, language=conversation.settings.language)
            ],
        )
        from tui.engine.turn import TurnLoop  # the first screen does without the modules of a turn

        return TurnLoop(turn, self.compression)

    async def _run(self, running: _Running, job: Job, tasks: asyncio.TaskGroup) -> None:
        failure: PonderError | None = None
        try:
            if running.turn is not None:
                await running.turn.run()
            elif isinstance(job, Compress):
                await self.compression.compress_now(self._conversation.inputs(), job.instruction, self._publish)
        except PonderError as error:
            failure = error
        except Exception as error:
            LOG.exception("an internal error ended a turn")
            failure = PonderError(
                f"An internal error ended the turn ({_name(error)}).", advice="Please report it; /retry may help."
            )
        if running.ending:
            return
        running.ending = True
        await self._end(running, failure, tasks, cancelled=False)

    async def _end_cancelled(self, running: _Running, task: asyncio.Task[None], tasks: asyncio.TaskGroup) -> None:
        await asyncio.wait({task}, timeout=CANCEL_WITHIN_S / 2)
        await self._end(running, None, tasks, cancelled=True)

    async def _end(
        self, running: _Running, failure: PonderError | None, tasks: asyncio.TaskGroup, *, cancelled: bool
    ) -> None:
        if running.turn is not None:
            reason = CANCELLED if cancelled else failure.message if failure else "ended"
            turn = await running.turn.settle(reason, is_failure=failure is not None)
            self._conversation.turns = (*self._conversation.turns, turn)
            over = TurnFailed(turn, failure) if failure else TurnFinished(turn, cancelled=cancelled)
            if cancelled:
                self._publish(over)  # First, because counting what was stopped may take long.
            # A finished turn counts differently from a running one: its thinking may be removed now.
            self._publish(MeterChanged(self._ports.planner.meter(self._conversation.inputs())))
            if not cancelled:
                self._publish(over)
            self._count_failure(failure, cancelled=cancelled)
        elif failure is not None:
            self._publish(Notice(Severity.ERROR, failure.message, failure.advice))
        if failure is not None:
            # Queued prompts were meant to follow an answer.
            self._queue.hold()
        self._start_next(tasks)

    def _count_failure(self, failure: PonderError | None, *, cancelled: bool) -> None:
        provider = self._conversation.target.provider
        if failure is None:
            self._failures = self._failures if cancelled else ("", 0)
            return
        name, failures = self._failures
        failures = failures + 1 if name == provider.id else 1
        self._failures = (provider.id, failures)
        if failures >= FAILURES_IN_A_ROW:
            self._publish(
                Notice(
                    Severity.WARNING,
                    f"{count(failures, 'turn')} in a row failed at {provider.title}.",
                    "Choose another with /model; ponder does not switch models automatically.",
                )
            )


def _name(error: Exception) -> str:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
