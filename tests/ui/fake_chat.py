"""A fake ChatService: tests publish its events, and it records the calls of the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.ui import scenes
from tui.app.chat import ChatService
from tui.bus import Bus, Subscription, merge
from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import Target
from tui.context.bill import Bill, bill_of
from tui.domain.blocks import Block, ThinkingBlock
from tui.domain.compression import CompressionPreview
from tui.domain.errors import UsageError
from tui.domain.events import AppEvent, ApprovalSettled, HistoryChanged, Stamped
from tui.domain.listing import ExchangeInfo
from tui.domain.messages import Role, Turn
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage, Reason, ToolSchema, Verdict
from tui.domain.usage import MeterReading
from tui.engine.session import RequestPreview
from tui.engine.state import SessionState, SessionView

BODY: dict[str, object] = {
    "model": "claude-opus-5",
    "max_tokens": 32_000,
    "stream": True,
    "thinking": {"type": "adaptive"},
    "system": [{"type": "text", "text": "You are terse."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "How would you estimate it?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "With the Drake equation."}]},
    ],
}


class FakeChat(ChatService):
    def __init__(self, turns: Sequence[Turn] = (), *, meter: MeterReading | None = scenes.METER) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.weighed: list[str] = []
        self.bus: Bus[Stamped] = Bus(merge)
        self.seq = 0
        self.state = SessionState(
            SessionView(
                session="s1",
                seq=0,
                spec=scenes.OPUS,
                plan=scenes.PLAN,
                turns=tuple(turns),
                meter=meter,
                title="Explain the Fermi paradox" if turns else "",
            )
        )
        self.exchange: ExchangeInfo | None = None

    def publish(self, *events: AppEvent) -> None:
        """Publish an event as the engine would."""
        for event in events:
            self.seq += 1
            self.state.apply(event)
            self.bus.publish(Stamped("s1", self.seq, event))

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        return self.state.view(self.seq), self.bus.subscribe()

    def view(self) -> SessionView:
        return self.state.view(self.seq)

    @property
    def session_id(self) -> str:
        return "s1"

    async def submit(self, blocks: tuple[Block, ...], *, after_step: bool = False) -> None:
        self.asked.append(("steer" if after_step else "submit", blocks))

    async def answer_now(self, note: tuple[Block, ...]) -> None:
        if self.view().open_turn is None:
            raise UsageError("Nothing is running.")
        self.asked.append(("answer_now", note))

    async def move_last_queued(self) -> None:
        self.asked.append(("move_last_queued", None))

    async def cancel(self) -> None:
        self.asked.append(("cancel", None))

    async def resume_queue(self) -> None:
        self.asked.append(("resume", None))

    async def take_last_queued(self, prompt: str = "") -> tuple[Block, ...]:
        self.asked.append(("take_last_queued", prompt or None))
        return ()

    async def end_wait(self, *, now: bool) -> None:
        self.asked.append(("retry_now" if now else "agree", None))

    async def answer_approval(self, call_id: str, answer: str, session: str = "") -> bool:
        self.asked.append(("approval", (call_id, answer)))
        self.publish(ApprovalSettled("live", call_id, not answer.startswith("no")))
        return True

    async def retry(self, turn_id: str, name: str = "") -> None:
        self.asked.append(("retry", (turn_id, name)))

    async def edit(self, turn_id: str, blocks: tuple[Block, ...]) -> None:
        self.asked.append(("edit", (turn_id, blocks)))

    async def switch_branch(self, turn_id: str, step: int) -> str:
        self.asked.append(("switch_branch", (turn_id, step)))
        return "Branch 2 of 2."

    async def fork(self, turn_id: str) -> str:
        self.asked.append(("fork", turn_id))
        return "s9"

    async def replay(self, turn_id: str, name: str) -> str:
        self.asked.append(("replay", (turn_id, name)))
        return "s2"

    async def compress(self, instruction: str) -> None:
        self.asked.append(("compress", instruction))

    async def uncompress(self) -> bool:
        return False

    async def compression_preview(self) -> CompressionPreview | None:
        return None

    async def preview(self, draft: str) -> RequestPreview:
        catalog = packaged_catalog()
        view = self.state.view(self.seq)
        outgoing = Outgoing(messages=tuple(_outgoing(view.turns)), verdicts=tuple(_verdicts(view.turns)))
        request = ChatRequest(
            model="claude-opus-5",
            outgoing=outgoing,
            plan=view.plan,
            system="You are terse.",
            tools=(ToolSchema(name="grep", description="Search files.", parameters={"type": "object"}),),
        )
        target = Target(
            provider=catalog.provider("anthropic"),
            facts=catalog.find("anthropic", "claude-opus-5"),
            origin=scenes.ORIGIN,
        )
        return RequestPreview(target=target, request=request, meter=await self.meter_with_draft(draft))

    def bill(self) -> Bill:
        view = self.state.view(self.seq)
        return bill_of(view.paid)

    async def wire_preview(self, draft: str) -> Mapping[str, object]:
        return {
            "method": "POST",
            "url": "https://api.anthropic.com/v1/messages",
            "headers": {"x-api-key": "sk-…masked", "content-type": "application/json"},
            "body": BODY,
        }

    def last_exchange(self) -> ExchangeInfo | None:
        return self.exchange

    async def count_exactly(self) -> int | None:
        return 61_950

    @property
    def has_session(self) -> bool:
        return True

    async def meter_with_draft(self, draft: str) -> MeterReading:
        self.weighed.append(draft)
        meter = self.state.view(self.seq).meter or scenes.METER
        return replace(meter, effective=meter.effective + len(draft) // 4)

    async def new_session(self, *, private: bool = False) -> None:
        self.asked.append(("new", None))
        self.publish(HistoryChanged(()))

    async def open_session(self, session: str, turn_id: str = "") -> None:
        self.asked.append(("open", session))


def _verdicts(turns: Sequence[Turn]) -> list[Verdict]:
    return [
        Verdict(
            message_id=message.id,
            block=index,
            kind=block.kind,
            sent=not isinstance(block, ThinkingBlock),
            reason=Reason.POLICY if isinstance(block, ThinkingBlock) else Reason.SENT,
        )
        for turn in turns
        for message in turn.messages
        for index, block in enumerate(message.blocks)
    ]


def _outgoing(turns: Sequence[Turn]) -> list[OutgoingMessage]:
    return [
        OutgoingMessage(role=message.role, blocks=message.blocks, source_id=message.id)
        for turn in turns
        for message in turn.messages
        if message.role is not Role.TOOL
    ]
