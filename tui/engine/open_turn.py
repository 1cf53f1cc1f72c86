"""The state of a conversation and of its running turn, shared by the parts of the engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field, replace

from tui.catalog.facts import Target
from tui.context.meter import ArrivingAnswer
from tui.domain.blocks import Block
from tui.domain.compression import CompressionView
from tui.domain.events import AppEvent, MessageCompleted, MeterChanged, ModelChanged, Notice, Severity
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ToolSchema
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.engine.approvals import PendingApprovals
from tui.engine.budget import Budget
from tui.engine.ports import Ports
from tui.engine.refused_parameters import ANSWERS_WITHOUT_THINKING, THINKING, Endpoint, RefusedParameters
from tui.engine.request_inputs import Repairs, RequestInputs
from tui.engine.saving import Saver
from tui.engine.settings import EngineSettings
from tui.engine.timers import RetryWait


@dataclass(slots=True)
class ConversationState:
    """The state of a session between turns."""

    session: str
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    turns: tuple[Turn, ...] = ()
    compression: CompressionView | None = None
    tools: tuple[ToolSchema, ...] = ()
    remarks: set[str] = field(default_factory=set)
    """Warnings already shown to the user: each is shown once per session."""

    refused_parameters: RefusedParameters = field(default_factory=RefusedParameters)
    """Parameters that servers refused."""
    _output_limits: dict[Endpoint, int] = field(default_factory=dict)

    def repairs(self, target: Target, spec: ModelSpec, settings: EngineSettings) -> Repairs:
        """Parameters to omit for a model from the first request on."""
        names = self.refused_parameters.refused(*_asked_at(target, spec, settings))
        return Repairs(
            without=tuple(name for name in names if name not in (THINKING, ANSWERS_WITHOUT_THINKING)),
            without_thinking=THINKING in names,
            blank_thinking=ANSWERS_WITHOUT_THINKING in names,
            max_output=self._output_limits.get(_endpoint(target)),
        )

    def learn(self, target: Target, spec: ModelSpec, settings: EngineSettings, names: tuple[str, ...]) -> None:
        """Record parameters without which the server accepted a request; they are omitted from now on."""
        self.refused_parameters.learn(*_asked_at(target, spec, settings), names)

    def learn_output_limit(self, target: Target, tokens: int) -> None:
        """Record that the server refuses larger output limits for this model."""
        self._output_limits[_endpoint(target)] = tokens

    plan: ThinkingPlan | None = None
    """The last plan that was published."""

    def replanned(self, plan: ThinkingPlan) -> ModelChanged:
        """Record a new thinking plan and return the event to publish."""
        self.plan = plan
        self.remarks.update(plan.warnings)
        return ModelChanged(self.spec, plan, " ".join((plan.summary, *plan.warnings)).strip())

    def inputs(self, *, draft: str = "") -> RequestInputs:
        """The input of the next request."""
        return RequestInputs(
            session=self.session,
            turns=self.turns,
            target=self.target,
            spec=self.spec,
            settings=self.settings,
            tools=self.tools if self.settings.tools else (),
            compression=self.compression,
            draft=draft,
            repairs=self.repairs(self.target, self.spec, self.settings),
        )


def _asked_at(target: Target, spec: ModelSpec, settings: EngineSettings) -> tuple[Endpoint, str]:
    """The target of a request and the user's settings for it."""
    thinking = (spec.asked, settings.thinking, settings.effort, settings.thinking_tokens)
    request_settings = " ".join(map(str, (*thinking, settings.temperature, settings.top_p)))
    return _endpoint(target), request_settings


def _endpoint(target: Target) -> Endpoint:
    provider, facts = target.provider, target.facts
    return provider.id, provider.base_url_for(facts.wire), facts.id


def _nothing() -> None:
    pass


@dataclass(slots=True)
class OpenTurn:
    """The running turn. Its model does not change while it runs; its level only if the user asks to answer now."""

    id: str
    conversation: ConversationState
    ports: Ports
    saver: Saver
    on_events: Callable[..., None]
    pace: Callable[[], Awaitable[None]]
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    retry_wait: RetryWait
    approvals: PendingApprovals
    budget: Budget
    stored: Callable[[], None]
    """Record that the start of the turn is in the journal."""
    take_after_step: Callable[[], tuple[tuple[Block, ...], ...]] = tuple
    """Take the queued prompts that go in after this step."""
    after_step_stored: Callable[[], None] = _nothing
    """Record that they are in the journal."""
    messages: list[Message] = field(default_factory=list)
    round: int = 0
    attempts: int = 0
    """Attempts in this round so far, failed ones included."""
    published_count: int = 0
    """How many of the messages have been published."""
    measured: RequestInputs | None = None
    """The last input of the meter, with an excerpt of the arriving answer; None after a new message."""
    answer: Callable[[], Message] | None = None
    """The arriving answer so far."""
    live: bool = True
    """False once the end of the turn is published: a task that is slow to stop must publish nothing more."""

    _path: tuple[tuple[Turn, ...], int, tuple[Turn, ...]] = ((), -1, ())

    def publish(self, *events: AppEvent) -> None:
        """Publish events while the turn is live."""
        if self.live:
            self.on_events(*events)

    def remark(self, sentence: str) -> None:
        """Publish a warning about the request, once per session."""
        if sentence not in self.conversation.remarks:
            self.conversation.remarks.add(sentence)
            self.publish(Notice(Severity.INFO, sentence))

    def turn(self, *, open_: bool) -> Turn:
        """The turn in its current state."""
        return Turn(id=self.id, messages=tuple(self.messages), open=open_)

    def tools(self) -> tuple[ToolSchema, ...]:
        """The tools the model may call."""
        offered = self.settings.tools and self.target.facts.tools
        return self.conversation.tools if offered else ()

    def inputs(self, repairs: Repairs | None = None) -> RequestInputs:
        """The input of this turn's next request. Without ``repairs``, the known repairs for the model apply."""
        conversation = self.conversation
        return replace(
            conversation.inputs(),
            turns=self._turns(),
            target=self.target,
            spec=self.spec,
            settings=self.settings,
            tools=self.tools(),
            repairs=self.repairs() if repairs is None else repairs,
        )

    def repairs(self) -> Repairs:
        """The known repairs for this turn's requests."""
        return self.conversation.repairs(self.target, self.spec, self.settings)

    async def complete(self, message: Message) -> None:
        """Add a complete message: store it first, then publish it."""
        self.messages.append(message)
        self.measured = None
        session, turn_id = self.conversation.session, self.id
        await self.saver.save(lambda journal: journal.message_added(session, turn_id, message))
        if self.live:
            self.publish(MessageCompleted(turn_id, self.round, message))
            self.published_count += 1

    async def permit(self, request_id: str, worst_cost: Callable[[], float | None]) -> None:
        """Return when a request of this turn may be sent; raises BudgetReached."""
        await self.budget.permit(request_id, self.id, self.target, self.settings, worst_cost)

    def replace(self, message: Message) -> bool:
        """Replace the message with the same id; False if there is none."""
        for position, other in enumerate(self.messages):
            if other.id == message.id:
                self.messages[position] = message
                return True
        return False

    async def add_results(self, message_id: str, blocks: tuple[Block, ...]) -> None:
        """Add tool results."""
        await self.complete(Message(id=message_id, role=Role.TOOL, blocks=blocks))
        self.measure()

    async def add_user_message(self, blocks: tuple[Block, ...]) -> None:
        """Add what the user says in the middle of the turn."""
        await self.complete(Message(id=self.ports.new_id(), role=Role.USER, blocks=blocks))
        self.measure()

    def measure(self, excerpt: Message | None = None, arriving: ArrivingAnswer | None = None) -> None:
        """Publish a new meter reading that includes the arriving answer."""
        inputs = self.inputs() if excerpt is None else replace(self._inputs_with(excerpt), arriving=arriving)
        self.measured = inputs
        self.publish(MeterChanged(self.ports.planner.meter(inputs)))

    def inputs_with_answer(self) -> RequestInputs:
        """The input of the next request if the arriving answer ended now."""
        answer = self.answer() if self.answer is not None else None
        return self._inputs_with(answer) if answer is not None and answer.blocks else self.inputs()

    def _inputs_with(self, message: Message) -> RequestInputs:
        inputs = self.inputs()
        turn = replace(inputs.turns[-1], messages=(*inputs.turns[-1].messages, message))
        return replace(inputs, turns=(*inputs.turns[:-1], turn))

    def _turns(self) -> tuple[Turn, ...]:
        """All turns including this one. The same object until a message is added, so that nothing is counted twice."""
        before, length, turns = self._path
        if before is not self.conversation.turns or length != len(self.messages):
            turns = (*self.conversation.turns, self.turn(open_=True))
            self._path = (self.conversation.turns, len(self.messages), turns)
        return turns
