"""The conversation a session holds, and the turn that is running in it: what the parts of the engine share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field, replace

from tui.context.meter import Arriving
from tui.domain.blocks import Block
from tui.domain.compression import CompressionView
from tui.domain.events import AppEvent, MessageCompleted, MeterChanged, ModelChanged, Notice, Severity
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ToolSchema
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.engine.approvals import PendingApprovals, RetryWait
from tui.engine.ports import Ask, Ports, Repairs, Target
from tui.engine.refused_parameters import ANSWERS_WITHOUT_THINKING, THINKING, Endpoint, RefusedParameters
from tui.engine.saving import Saver
from tui.engine.settings import EngineSettings


@dataclass(slots=True)
class ConversationState:
    """What a session is about, between turns."""

    session: str
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    turns: tuple[Turn, ...] = ()
    view: CompressionView | None = None
    tools: tuple[ToolSchema, ...] = ()
    remarks: set[str] = field(default_factory=set)
    """What the user was told about requests, by providers and by us: once is enough."""

    habits: RefusedParameters = field(default_factory=RefusedParameters)
    """What servers showed not to take."""
    _output_limits: dict[Endpoint, int] = field(default_factory=dict)

    def repairs(self, target: Target, spec: ModelSpec, settings: EngineSettings) -> Repairs:
        """What is left out from the start for a model."""
        names = self.habits.refused(*_asked_at(target, spec, settings))
        return Repairs(
            without=tuple(name for name in names if name not in (THINKING, ANSWERS_WITHOUT_THINKING)),
            without_thinking=THINKING in names,
            blank_thinking=ANSWERS_WITHOUT_THINKING in names,
            max_output=self._output_limits.get(_place(target)),
        )

    def learn(self, target: Target, spec: ModelSpec, settings: EngineSettings, names: tuple[str, ...]) -> None:
        """The server took a request only without these: left out from the start from now on."""
        self.habits.learn(*_asked_at(target, spec, settings), names)

    def learn_output_limit(self, target: Target, tokens: int) -> None:
        """The server refuses larger output limits for this model."""
        self._output_limits[_place(target)] = tokens

    plan: ThinkingPlan | None = None
    """The last one that was told."""

    def replanned(self, plan: ThinkingPlan) -> ModelChanged:
        """Thinking will be controlled like this from now on: what everybody is to be told."""
        self.plan = plan
        self.remarks.update(plan.warnings)
        return ModelChanged(self.spec, plan, " ".join((plan.summary, *plan.warnings)).strip())

    def ask(self, *, draft: str = "") -> Ask:
        """What the next request would be made from."""
        return Ask(
            session=self.session,
            turns=self.turns,
            target=self.target,
            spec=self.spec,
            settings=self.settings,
            tools=self.tools if self.settings.tools else (),
            view=self.view,
            draft=draft,
            repairs=self.repairs(self.target, self.spec, self.settings),
        )


def _asked_at(target: Target, spec: ModelSpec, settings: EngineSettings) -> tuple[Endpoint, str]:
    """Where a request goes, and what about it the user chose."""
    thinking = (spec.asked, settings.thinking, settings.effort, settings.thinking_tokens)
    wish = " ".join(map(str, (*thinking, settings.temperature, settings.top_p)))
    return _place(target), wish


def _place(target: Target) -> Endpoint:
    provider, facts = target.provider, target.facts
    return provider.id, provider.base_url_for(facts.wire), facts.id


@dataclass(slots=True)
class OpenTurn:
    """The running turn. Model and settings are those it began with."""

    id: str
    conversation: ConversationState
    ports: Ports
    saver: Saver
    tell: Callable[..., None]
    pace: Callable[[], Awaitable[None]]
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    gate: RetryWait
    approvals: PendingApprovals
    stored: Callable[[], None]
    """To be called when its beginning is in the journal."""
    messages: list[Message] = field(default_factory=list)
    round: int = 0
    attempts: int = 0
    """Attempts of this round so far, whatever became of them."""
    told: int = 0
    """How many of the messages everybody has heard of."""
    measured: Ask | None = None
    """What the meter was last read for, with an excerpt of the answer that is arriving; None after a new message."""
    answer: Callable[[], Message] | None = None
    """The answer that is arriving, as far as it came."""
    live: bool = True
    """False once its end was told: a part that dies slowly has no voice any more."""

    _path: tuple[tuple[Turn, ...], int, tuple[Turn, ...]] = ((), -1, ())

    def publish(self, *events: AppEvent) -> None:
        """Tell everybody, while the turn lives."""
        if self.live:
            self.tell(*events)

    def remark(self, sentence: str) -> None:
        """Something about the request that the user should know; once in a session."""
        if sentence not in self.conversation.remarks:
            self.conversation.remarks.add(sentence)
            self.publish(Notice(Severity.INFO, sentence))

    def turn(self, *, open_: bool) -> Turn:
        """The turn as it stands."""
        return Turn(id=self.id, messages=tuple(self.messages), open=open_)

    def tools(self) -> tuple[ToolSchema, ...]:
        """What the model may call."""
        offered = self.settings.tools and self.target.facts.tools
        return self.conversation.tools if offered else ()

    def ask(self, repairs: Repairs | None = None) -> Ask:
        """What the next request of this turn is made from; repaired as far as is known if nothing else is said."""
        conversation = self.conversation
        return replace(
            conversation.ask(),
            turns=self._turns(),
            target=self.target,
            spec=self.spec,
            settings=self.settings,
            tools=self.tools(),
            repairs=self.repairs() if repairs is None else repairs,
        )

    def repairs(self) -> Repairs:
        """What is left out of this turn's requests from the start."""
        return self.conversation.repairs(self.target, self.spec, self.settings)

    async def complete(self, message: Message) -> None:
        """A message stands: kept first, told after."""
        self.messages.append(message)
        self.measured = None
        session, turn_id = self.conversation.session, self.id
        await self.saver.save(lambda journal: journal.message_added(session, turn_id, message))
        if self.live:
            self.publish(MessageCompleted(turn_id, self.round, message))
            self.told += 1

    def replace(self, message: Message) -> bool:
        """Put a message in the place of the one with its id; False if there is none."""
        for place, other in enumerate(self.messages):
            if other.id == message.id:
                self.messages[place] = message
                return True
        return False

    async def add_results(self, message_id: str, blocks: tuple[Block, ...]) -> None:
        """Tool results stand."""
        await self.complete(Message(id=message_id, role=Role.TOOL, blocks=blocks))
        self.measure()

    def measure(self, excerpt: Message | None = None, arriving: Arriving | None = None) -> None:
        """Tell the meter's new reading, with the answer that is still coming."""
        ask = self.ask() if excerpt is None else replace(self._ask_with(excerpt), arriving=arriving)
        self.measured = ask
        self.publish(MeterChanged(self.ports.planner.meter(ask)))

    def ask_with_answer(self) -> Ask:
        """What the next request would be made from if the answer that is arriving ended here."""
        answer = self.answer() if self.answer is not None else None
        return self._ask_with(answer) if answer is not None and answer.blocks else self.ask()

    def _ask_with(self, message: Message) -> Ask:
        ask = self.ask()
        turn = replace(ask.turns[-1], messages=(*ask.turns[-1].messages, message))
        return replace(ask, turns=(*ask.turns[:-1], turn))

    def _turns(self) -> tuple[Turn, ...]:
        """All turns with this one; the same object until a message is added, so that nothing is counted again."""
        before, length, turns = self._path
        if before is not self.conversation.turns or length != len(self.messages):
            turns = (*self.conversation.turns, self.turn(open_=True))
            self._path = (self.conversation.turns, len(self.messages), turns)
        return turns
