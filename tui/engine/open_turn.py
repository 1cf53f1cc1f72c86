"""The conversation a session holds, and the turn that is running in it: what the parts of the engine share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tui.context.view import CompressionView
from tui.domain.blocks import Block
from tui.domain.events import AppEvent, MessageCompleted, MeterChanged
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ToolSchema
from tui.domain.thinking import ModelSpec
from tui.engine.gate import ApprovalDesk, RetryGate
from tui.engine.ports import Ask, Ports, Repairs, Target
from tui.engine.saving import Saver
from tui.engine.settings import EngineSettings


@dataclass(slots=True)
class Conversation:
    """What a session is about, between turns."""

    session: str
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    turns: tuple[Turn, ...] = ()
    view: CompressionView | None = None
    tools: tuple[ToolSchema, ...] = ()
    remarks: set[str] = field(default_factory=set)
    """What providers remarked and the user was told: once is enough."""

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
        )


@dataclass(slots=True)
class OpenTurn:
    """The running turn. Model and settings are those it began with."""

    id: str
    conversation: Conversation
    ports: Ports
    saver: Saver
    tell: Callable[[AppEvent], None]
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    gate: RetryGate
    approvals: ApprovalDesk
    messages: list[Message] = field(default_factory=list)
    round: int = 0
    attempts: int = 0
    """Attempts of this round so far, whatever became of them."""
    told: int = 0
    """How many of the messages everybody has heard of."""
    live: bool = True
    """False once its end was told: a part that dies slowly has no voice any more."""

    def publish(self, event: AppEvent) -> None:
        """Tell everybody, while the turn lives."""
        if self.live:
            self.tell(event)

    def turn(self, *, open_: bool) -> Turn:
        """The turn as it stands."""
        return Turn(id=self.id, messages=tuple(self.messages), open=open_)

    def tools(self) -> tuple[ToolSchema, ...]:
        """What the model may call."""
        offered = self.settings.tools and self.target.facts.tools
        return self.conversation.tools if offered else ()

    def ask(self, repairs: Repairs) -> Ask:
        """What the next request of this turn is made from."""
        turn = self.turn(open_=True)
        conversation = self.conversation
        return replace(
            conversation.ask(),
            turns=(*conversation.turns, turn),
            target=self.target,
            spec=self.spec,
            settings=self.settings,
            tools=self.tools(),
            repairs=repairs,
        )

    async def complete(self, message: Message) -> None:
        """A message stands: kept first, told after."""
        self.messages.append(message)
        session, turn_id = self.conversation.session, self.id
        await self.saver.save(lambda journal: journal.message_added(session, turn_id, message))
        if self.live:
            self.publish(MessageCompleted(turn_id, self.round, message))
            self.told += 1

    async def add_results(self, blocks: tuple[Block, ...]) -> None:
        """Tool results stand."""
        await self.complete(Message(id=self.ports.new_id(), role=Role.TOOL, blocks=blocks))

    def measure(self, streaming: Message | None = None) -> None:
        """Tell the meter's new reading, with the answer that is still coming."""
        ask = self.ask(Repairs())
        if streaming is not None:
            turn = replace(ask.turns[-1], messages=(*ask.turns[-1].messages, streaming))
            ask = replace(ask, turns=(*ask.turns[:-1], turn))
        self.publish(MeterChanged(self.ports.planner.meter(ask)))
