"""The public interface of one conversation, for screens, commands and headless runs.

All methods but ``attach`` and ``view`` are coroutines of the engine's loop (``EngineThread.call``); the session is
open while ``run`` runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui.bus import Bus, Subscription, merge, text_size
from tui.catalog.facts import Target
from tui.domain.blocks import Block, TextBlock
from tui.domain.compression import CompressionPreview, CompressionView, SummaryRun
from tui.domain.cost import Paid
from tui.domain.errors import UsageError
from tui.domain.events import (
    AppEvent,
    CompressionChanged,
    HistoryChanged,
    MeterChanged,
    Notice,
    SettingsChanged,
    Stamped,
    Streamed,
    TitleChanged,
)
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ChatRequest
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.domain.usage import MeterReading, Usage
from tui.engine.open_turn import ConversationState
from tui.engine.planner import Planner
from tui.engine.ports import Clock, Ports
from tui.engine.request_inputs import RequestInputs
from tui.engine.runner import Compress, Prompt, Queue, Runner
from tui.engine.saving import Saver
from tui.engine.settings import EngineSettings
from tui.engine.state import SessionState, SessionView

if TYPE_CHECKING:
    from tui.engine.side_turns import Answerers, SideTurn, SideTurns
    from tui.engine.user_command import UserCommands

DRAFT_ID = "draft"
"""Id of the turn and message for an unsent draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPreview:
    """The next request as it would be sent now."""

    target: Target
    request: ChatRequest
    meter: MeterReading
    compression: CompressionPreview | None = None
    """What ``/compress`` would compress and about how much would be left; None if nothing can be compressed."""


class Previewer:
    """Previews for one session. Its coroutines run in the engine's loop."""

    def __init__(self, planner: Planner, runner: Runner, publish: Callable[[AppEvent], None]) -> None:
        self._planner = planner
        self._runner = runner
        self._publish = publish

    def publish_meter(self) -> None:
        """Publish the meter after a change of model, settings, history or tools."""
        self._publish(MeterChanged(self._planner.meter(self._runner.inputs(""))))

    async def refresh_meter(self) -> None:
        """The same, for callers outside the engine's loop."""
        self.publish_meter()

    async def preview(self, draft: str) -> RequestPreview:
        """The next request and its size, with the draft counted by the meter only."""
        return self._preview_of(self._runner.inputs(draft, whole=True))

    async def meter(self, draft: str) -> MeterReading:
        """The meter reading with this draft; cheap enough for every keystroke."""
        return self._planner.meter(self._runner.inputs(draft))

    async def use_count(self, request: ChatRequest, tokens: int) -> None:
        """Use the provider's count of a previewed request, if that is still the next one."""
        inputs = self._runner.inputs("", whole=True)
        if self._planner.request(inputs) is request:
            self._planner.learn(inputs, Usage(input=tokens))
            self.publish_meter()

    async def preview_as_prompt(self, draft: str) -> RequestPreview:
        """Like ``preview``, but with the draft as the prompt, unless a turn runs before it."""
        inputs = self._runner.inputs("", whole=True)
        if draft.strip() and not self._runner.busy:
            language = inputs.settings.language
            prompt = Message(id=DRAFT_ID, role=Role.USER, blocks=(TextBlock(text=draft),), language=language)
            inputs = replace(inputs, turns=(*inputs.turns, Turn(id=DRAFT_ID, messages=(prompt,), open=True)))
        return self._preview_of(inputs)

    def _preview_of(self, inputs: RequestInputs) -> RequestPreview:
        return RequestPreview(
            target=inputs.target,
            request=self._planner.request(inputs),
            meter=self._planner.meter(inputs),
            compression=self._runner.compression.preview(inputs),
        )


MOST_WAITING = 64 * 1024
"""Characters that may wait for a follower before the stream is paused."""
LOOK_EVERY_S = 0.01
STUCK_AFTER_S = 1.0
"""Seconds after which a follower that takes nothing is no longer waited for: its terminal is not being read."""


class Channel:
    """Publishes one session's events. Any thread may attach; only the engine's thread publishes."""

    def __init__(self, start: SessionView) -> None:
        self._session = start.session
        self._seq = start.seq
        self._state = SessionState(start)
        self._bus: Bus[Stamped] = Bus(merge, text_size)
        self._lock = threading.Lock()
        self._attached = False
        """A follower has attached. Until then notices are kept in the snapshot."""
        self._stuck: WeakKeyDictionary[Subscription[Stamped], int] = WeakKeyDictionary()
        """Followers that are not waited for until they take something again."""
        self.watcher: Callable[[AppEvent, SessionView], None] | None = None
        """Called after each event that is not streamed, with the state after it but without the streamed text. Unlike a
        follower it takes nothing of the text, so it costs a session in the background nothing."""

    def publish(self, *events: AppEvent) -> None:
        """Give events to all followers."""
        seen: list[tuple[AppEvent, SessionView]] = []
        with self._lock:
            stamped = []
            for event in events:
                self._seq += 1
                self._state.apply(event)
                if isinstance(event, Notice) and not self._attached:
                    self._state.keep_notice(event)
                stamped.append(Stamped(self._session, self._seq, event))
                if self.watcher is not None and not isinstance(event, Streamed):
                    seen.append((event, self._state.now))
            self._bus.publish(*stamped)
        for event, view in seen:
            if self.watcher is not None:
                self.watcher(event, view)

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """A snapshot and a subscription to all later events."""
        with self._lock:
            self._attached = True
            return self._state.view(self._seq), self._bus.subscribe()

    def view(self) -> SessionView:
        """A snapshot."""
        with self._lock:
            return self._state.view(self._seq)

    def glance(self) -> SessionView:
        """A snapshot without the text of the answer that is arriving, in constant time."""
        with self._lock:
            return self._state.now

    async def keep_pace(self, clock: Clock) -> None:
        """Return once no follower is far behind, except those that stopped taking events.

        Otherwise a server that sends faster than the screen draws would fill the memory, and each frame would have more
        to draw than the one before it.
        """
        seen: dict[Subscription[Stamped], tuple[int, float]] = {}
        while late := self._late():
            now = clock.monotonic()
            for follower in late:
                taken_count, since = seen.get(follower, (-1, now))
                if follower.taken_count != taken_count:
                    seen[follower] = (follower.taken_count, now)
                elif now - since >= STUCK_AFTER_S:
                    self._stuck[follower] = taken_count
            await clock.sleep(LOOK_EVERY_S)

    def _late(self) -> list[Subscription[Stamped]]:
        return [
            follower
            for follower in self._bus.subscriptions()
            if follower.waiting > MOST_WAITING and self._stuck.get(follower) != follower.taken_count
        ]


END_WITHIN_S = 1.0
"""Seconds the running turn gets to be stored when the session closes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The initial state of a session, new or stored."""

    session: str
    spec: ModelSpec
    settings: EngineSettings
    turns: tuple[Turn, ...] = ()
    compression: CompressionView | None = None
    summaries: tuple[SummaryRun, ...] = ()
    """Costs of earlier summaries."""
    elsewhere: tuple[Paid, ...] = ()
    """Costs of other branches."""
    title: str = ""
    queue: tuple[tuple[Block, ...], ...] = ()
    """Prompts that were queued when the program ended: they wait until the user sends them."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Settings by the user's keys, for display."""
    notices: tuple[Notice, ...] = ()
    """Notices about opening the session."""


class Session:
    """One open conversation; runs while ``run`` runs."""

    def __init__(self, ports: Ports, opening: Opening) -> None:
        """Raises UnknownModel if the model cannot be found."""
        self._ports = ports
        self._conversation = ConversationState(
            session=opening.session,
            target=ports.planner.target(opening.spec),
            spec=opening.spec,
            settings=opening.settings,
            turns=opening.turns,
            compression=opening.compression,
            tools=ports.toolbox.schemas(),
            refused_parameters=ports.refused_parameters,
        )
        inputs = self._conversation.inputs()
        if opening.turns:
            ports.planner.resume(inputs)
        plan = ports.planner.plan(inputs)
        self._conversation.replanned(plan)
        self._channel = Channel(
            SessionView(
                session=opening.session,
                seq=0,
                spec=opening.spec,
                plan=plan,
                turns=opening.turns,
                meter=ports.planner.meter(inputs),
                settings=dict(opening.values),
                title=opening.title,
                queue=tuple(Prompt(blocks).label for blocks in opening.queue),
                queue_held=bool(opening.queue),
                compression=opening.compression,
                summaries=opening.summaries,
                elsewhere=opening.elsewhere,
                notices=opening.notices,
            )
        )
        self.announce: Callable[[Notice | TitleChanged], None] = self._channel.publish
        """Publish an event that belongs to no turn. From any thread."""
        self.view: Callable[[], SessionView] = self._channel.view
        """A snapshot. From any thread."""
        self.glance: Callable[[], SessionView] = self._channel.glance
        """A snapshot without the text of the answer that is arriving, in constant time. From any thread."""
        self._saver = Saver(ports.journal, ports.clock, self._channel.publish)
        self.queue = Queue(
            self._channel.publish,
            lambda: self._runner.start_queued(self._group()),
            queue_keeper(self._saver, opening.session),
            opening.queue,
        )
        """Prompts behind the running turn."""
        pace = partial(self._channel.keep_pace, ports.clock)
        self._runner = Runner(ports, self._conversation, self._saver, self._channel.publish, self.queue, pace)
        self.previewer = Previewer(ports.planner, self._runner, self._channel.publish)
        """Previews of the next request."""
        self._side_turns: SideTurns | None = None
        self._closing = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Run the session until ``close``. Cancelling it ends the running turn as the user would."""
        async with asyncio.TaskGroup() as around:
            # Turns end in the inner group, while the writer still runs and can store them, even if the writer fails.
            saving = around.create_task(self._saver.run())
            holding = around.create_task(self._saver.keep_lease(self._conversation.session))
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                try:
                    await self._closing.wait()
                finally:
                    await self._end(tasks)
            holding.cancel()
            saving.cancel()

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """A snapshot and a subscription to all later events. From any thread."""
        return self._channel.attach()

    def watch(self, watcher: Callable[[AppEvent, SessionView], None] | None) -> None:
        """Call this after each event that is not streamed, with the state after it; on the publishing thread."""
        self._channel.watcher = watcher

    async def submit(self, blocks: tuple[Block, ...], *, after_step: bool = False) -> None:
        """Send a prompt, or queue it while a turn runs. A held queue stays held.

        A queued prompt waits for the end of the turn. With ``after_step`` it is sent with the next tool results, if
        the turn has any.
        """
        if not blocks:
            raise UsageError("There is nothing to send.")
        self._runner.add(Prompt(blocks, after_step), self._group())

    async def answer_now(self, note: tuple[Block, ...] = ()) -> None:
        """End the thinking and have the answer now; ``note`` is sent with it. Raises UsageError if nothing thinks."""
        await self._runner.answer_now(note)

    async def cancel(self) -> None:
        """Cancel the running job and hold the queue; the answer so far is kept."""
        await self._runner.cancel(self._group())

    async def retry_now(self) -> None:
        """Do not wait before a retry; does nothing if none is awaited."""
        if self._runner.retry_wait.is_waiting:
            self._runner.retry_wait.skip()

    async def answer_long_wait(self, *, agree: bool) -> None:
        """The user's answer about a long wait before a retry."""
        self._runner.retry_wait.answer(agree=agree)

    async def answer_approval(self, call_id: str, answer: str) -> bool:
        """The user's answer about a tool call; False if the call no longer waits for one."""
        return self._runner.approvals.answer(call_id, answer)

    async def edit(self, turn_id: str, blocks: tuple[Block, ...]) -> None:
        """Replace a prompt; the turns after it stay stored as another branch."""
        await self._go_back(turn_id, keep=False)
        await self.submit(blocks)

    async def retry(self, turn_id: str, spec: ModelSpec | None = None) -> None:
        """Send the same prompt again, to another model or level if given."""
        turn = _turn_of(self._conversation.turns, turn_id)
        if spec is not None:
            await self.set_model(spec)
        await self.edit(turn_id, turn.user_blocks)

    async def fork(self, turn_id: str) -> None:
        """Continue from the end of this turn; the turns after it stay stored as another branch."""
        await self._go_back(turn_id, keep=True)

    async def set_model(
        self, spec: ModelSpec, settings: EngineSettings | None = None, changed: Mapping[str, object] | None = None
    ) -> ThinkingPlan:
        """Use another model or level from the next turn on. Raises UnknownModel before anything changes.

        Settings that belong to the model change in the same step: no follower sees one without the other.
        """
        conversation = self._conversation
        target = self._ports.planner.target(spec)
        conversation.spec = spec if spec.asked is not None else replace(spec, asked=conversation.spec.asked)
        conversation.target = target
        if settings is not None:
            conversation.settings = settings
        if changed:
            self._channel.publish(SettingsChanged(dict(changed)))
        plan = self._ports.planner.plan(conversation.inputs())
        self._channel.publish(conversation.replanned(plan))
        self.previewer.publish_meter()
        return plan

    async def assign(self, settings: EngineSettings, changed: Mapping[str, object]) -> ThinkingPlan:
        """Apply new settings from the next turn on; ``changed`` has the changed ones by the user's keys.

        The model is looked up again because its server may have reported its context window since.
        """
        conversation = self._conversation
        conversation.settings = settings
        conversation.target = self._ports.planner.target(conversation.spec)
        if changed:
            self._channel.publish(SettingsChanged(dict(changed)))
        plan = self._ports.planner.plan(conversation.inputs())
        if plan != conversation.plan:
            self._channel.publish(conversation.replanned(plan))
        self.previewer.publish_meter()
        return plan

    async def compress_now(self, instruction: str = "") -> None:
        """Compress finished turns; queued while a turn runs."""
        self._runner.add(Compress(instruction), self._group())

    async def uncompress(self) -> bool:
        """Undo the compression; False if the history was not compressed."""
        return await self._runner.compression.undo(self._channel.publish)

    @property
    def side_turns(self) -> SideTurns:
        """Questions beside the conversation."""
        if self._side_turns is None:
            from tui.engine.side_turns import SideTurns  # loaded with the first question

            runner, publish = self._runner, self._channel.publish
            self._side_turns = SideTurns(self._ports, self._conversation, self._saver, publish, runner)
        return self._side_turns

    @property
    def user_commands(self) -> UserCommands:
        """Shell commands of the user."""
        from tui.engine.user_command import UserCommands  # loaded with the first command

        return UserCommands(self._ports, self._conversation, self._runner.approvals)

    async def ask_aside(
        self, blocks: tuple[Block, ...], answerers: Answerers = (), *, apart: bool = False
    ) -> tuple[SideTurn, ...]:
        """Ask beside the conversation, or ``apart`` from it: the current model, or each of these at the same time."""
        self._runner.inputs("")  # so that the tools are those of the next request
        return await self.side_turns.ask(blocks, self._group(), answerers, apart=apart)

    async def choose_answer(self, turn_id: str, others: Sequence[str]) -> int:
        """Continue with one of several side answers; the others become branches. Returns their number."""
        branches = await self.side_turns.choose(turn_id, others)
        self.previewer.publish_meter()
        return branches

    async def preview(self, draft: str) -> RequestPreview:
        """The next request and its size, with the draft included."""
        return await self.previewer.preview(draft)

    async def close(self) -> None:
        """End the session; ``run`` returns when everything is stored."""
        self._closing.set()

    async def idle(self) -> None:
        """Wait until nothing runs. A held queue does not run."""
        await self._runner.idle()

    async def close_if_idle(self, claim: Callable[[], bool]) -> bool:
        """End the session unless something runs or waits to be stored, or the claim is refused; whether it ends."""
        side_answers = self._side_turns.running if self._side_turns is not None else 0
        if self._runner.busy or side_answers or self._channel.glance().not_saved is not None or not claim():
            return False
        self._closing.set()
        return True

    async def _end(self, tasks: asyncio.TaskGroup) -> None:
        self._closing.set()
        self.queue.leave()
        if self._side_turns is not None:
            await self._side_turns.close()
        await self._runner.cancel(tasks)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._runner.idle(), END_WITHIN_S)
        await self._saver.finish()

    def _group(self) -> asyncio.TaskGroup:
        if self._tasks is None or self._closing.is_set():
            raise UsageError("This session is closed.")
        return self._tasks

    async def _go_back(self, turn_id: str, *, keep: bool) -> None:
        self.queue.hold()
        await self.cancel()
        await self._runner.idle()
        conversation = self._conversation
        turn = _turn_of(conversation.turns, turn_id)
        end = conversation.turns.index(turn) + keep
        conversation.turns = conversation.turns[:end]
        turns, view = conversation.turns, conversation.compression
        fitting = view.fitting({kept.id for kept in turns}) if view is not None else None
        if fitting is not view:
            # The summary describes turns that are not on this path.
            conversation.compression = fitting
            await self._saver.save(lambda journal: journal.compressed(conversation.session, fitting))
        await self._saver.save(lambda journal: journal.history_replaced(conversation.session, turns))
        self._channel.publish(HistoryChanged(turns))
        if fitting is not view:
            self._channel.publish(CompressionChanged(fitting))
        self.previewer.publish_meter()


def queue_keeper(saver: Saver, session: str) -> Callable[[tuple[tuple[Block, ...], ...]], None]:
    """A function that stores the queued prompts."""

    def keep(prompts: tuple[tuple[Block, ...], ...]) -> None:
        saver.save_soon(lambda journal: journal.queued(session, prompts), replaces="queue")

    return keep


def _turn_of(turns: tuple[Turn, ...], turn_id: str) -> Turn:
    for turn in turns:
        if turn.id == turn_id:
            return turn
    raise UsageError("That turn is no longer part of this conversation.")
