"""A store in a folder of the test's own, and conversations to put into it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tui.domain.blocks import (
    Block,
    ImageBlock,
    OpaqueBlock,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.store.database import Database, StoreContext
from tui.store.journal import StoredJournal
from tui.store.leases import LeaseHolder, this_process
from tui.store.library import StoredLibrary
from tui.store.open_sessions import OpenSessions

CLAUDE = Origin(
    provider="anthropic", wire=WireName.ANTHROPIC, host="api.anthropic.com", model="claude-opus-5", level="high"
)
GPT = Origin(provider="openai", wire=WireName.OPENAI_RESPONSES, host="api.openai.com", model="gpt-5.6-sol")


@dataclass
class Time:
    """A clock that is set by hand and goes on by a second a look."""

    at: float = 1_800_000_000.0

    def __call__(self) -> float:
        self.at += 1.0
        return self.at


@dataclass
class Stage:
    """Everything of the store over one file."""

    database: Database
    time: Time = field(default_factory=Time)
    holder: LeaseHolder = field(default_factory=lambda: this_process("first"))
    conceal: Callable[[str], str] = str

    def __post_init__(self) -> None:
        numbers = itertools.count(1)
        around = StoreContext(
            holder=self.holder, now=self.time, new_id=lambda: f"new{next(numbers)}", conceal=self.conceal
        )
        self.journal = StoredJournal(self.database, self.holder, self.time)
        self.library = StoredLibrary(self.database, around)
        self.conversations = OpenSessions(self.database, around)

    async def keep(self, session: str, *turns: Turn) -> None:
        """Write turns as the engine does."""
        for turn in turns:
            await self.journal.turn_started(session, Turn(id=turn.id, messages=turn.messages[:1], open=True))
            for message in turn.messages[1:]:
                await self.journal.message_added(session, turn.id, message)
            await self.journal.turn_finished(session, turn)

    async def titles(self, query: str = "") -> list[str]:
        return [row.title for row in await self.library.sessions(query)]


def open_stage(folder: Path, **more: object) -> Stage:
    return Stage(Database(folder / "data" / "sessions.db"), **more)  # type: ignore[arg-type]


def prompt(name: str, *blocks: Block | str) -> Message:
    return Message(id=name, role=Role.USER, blocks=tuple(map(_block, blocks)))


def answer(name: str, *blocks: Block | str, origin: Origin = CLAUDE, cost: float | None = None) -> Message:
    return Message(
        id=name,
        role=Role.ASSISTANT,
        blocks=tuple(map(_block, blocks)),
        origin=origin,
        cost=cost,
        stop=Stop(Finish.STOP),
    )


def thought(text: str, signature: str | None = "EqQB==") -> ThinkingBlock:
    provider_state = None if signature is None else ProviderState(signature=signature)
    return ThinkingBlock(
        text=text, form=ThinkingForm.FULL if text else ThinkingForm.HIDDEN, provider_state=provider_state
    )


def a_turn(number: int | str, asked: str = "Why?", said: str = "Because.", **more: object) -> Turn:
    """A prompt and an answer with thinking."""
    return Turn(
        id=f"t{number}",
        messages=(
            prompt(f"p{number}", asked),
            answer(f"a{number}", thought(f"thought {number}"), said, **more),  # type: ignore[arg-type]
        ),
    )


def rich_turn(name: str = "rich") -> Turn:
    """Every kind of block, every field of a message."""
    call = ToolCallBlock(
        call_id="c1", name="read_file", arguments='{"path": "a', provider_state=ProviderState(id="fc_1"), partial=True
    )
    picture = ImageBlock(
        media_type="image/png", data="iVBORw0KGgo" * 900, name="plot.png", provider_state=ProviderState(signature="s")
    )
    result = ToolResultBlock(
        call_id="c1", name="read_file", content=(TextBlock(text="x" * 70_000), picture, TextBlock(text="")), failed=True
    )
    search = OpaqueBlock(label="web_search_call", raw='{"type": "web_search_call", "big": ' + "9" * 70_000 + "}")
    usage = Usage(input=2**70, cache_read=0, output=5, thinking=None, total=10, cost=0.125)
    first = Message(
        id=f"{name}-a",
        role=Role.ASSISTANT,
        blocks=(thought("", "EqQB"), TextBlock(text="half \ud83d", refusal=True, partial=True), call, search),
        origin=GPT,
        usage=usage,
        stop=Stop(Finish.TOOL_USE, "tool_calls", "detail"),
        answered_by="gpt-5.6-mini",
        interrupted="cancelled",
        superseded=True,
        seconds=1.5,
        cost=0.25,
    )
    return Turn(
        id=name,
        messages=(
            prompt(
                f"{name}-p", "a\0b \x1b[31m 字 🙂", picture, ImageBlock(media_type="image/gif", url="https://x/y.gif")
            ),
            first,
            Message(id=f"{name}-r", role=Role.TOOL, blocks=(result,)),
        ),
    )


def _block(found: Block | str) -> Block:
    return TextBlock(text=found) if isinstance(found, str) else found
