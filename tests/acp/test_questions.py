"""Questions to the user of an editor: which answers count."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("acp")
from acp import schema, text_block
from acp.interfaces import Client

from tests.patience import PATIENCE_S
from tui.acp.editor_session import EditorSession
from tui.app.services import AppServices
from tui.domain.errors import PonderError
from tui.domain.events import AppEvent, ApprovalAsked, ApprovalSettled, TurnFailed
from tui.domain.messages import Turn
from tui.domain.thinking import ModelSpec, PlanState, ThinkingPlan
from tui.engine.session import Channel
from tui.engine.state import SessionView


class Chat:
    """The services of a session whose events the test publishes."""

    session_id = "s"

    def __init__(self) -> None:
        plan = ThinkingPlan(asked=1, nominal=None, sent=None, state=PlanState.ON)
        spec = ModelSpec(provider="p", model="m")
        channel = Channel(SessionView(session="s", seq=0, spec=spec, plan=plan))
        self.attach, self.publish = channel.attach, channel.publish
        self.answers: list[tuple[str, str]] = []
        self.submitted = asyncio.Event()
        self.chat = self.drafts = self

    def refuse_documents(self, blocks: object) -> None:
        pass

    async def submit(self, blocks: object) -> None:
        self.submitted.set()

    async def answer_approval(self, call_id: str, answer: str) -> None:
        self.answers.append((call_id, answer))


class User:
    """Sees questions, and answers them in any order."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[str]] = []
        self.withdrawn = 0

    async def request_permission(
        self, session_id: str, call: Any, options: list[schema.PermissionOption]
    ) -> schema.RequestPermissionResponse:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.asked.append(answer)
        try:
            chosen = await answer
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0)


async def test_an_answer_to_a_settled_question_is_none_to_a_later_one_with_the_same_id() -> None:
    """The model chooses the ids. What is allowed for the session settles what waits, and the editor still shows it."""
    chat, user = Chat(), User()
    session = EditorSession(cast("AppServices", chat), Path("/"), cast("Callable[[], Awaitable[None]]", None))
    prompt = asyncio.ensure_future(session.prompt([text_block("go")], cast("Client", user)))
    await asyncio.wait_for(chat.submitted.wait(), PATIENCE_S)
    events: list[AppEvent] = [_asked("ls"), ApprovalSettled("t", "c1", allowed=True), _asked("rm -r .")]
    chat.publish(events[0])
    await _until(lambda: len(user.asked) == 1)
    chat.publish(*events[1:])
    await _until(lambda: len(user.asked) == 2)
    assert user.withdrawn == 1
    user.asked[1].set_result("no")
    await _until(lambda: chat.answers == [("c1", "no")])
    chat.publish(TurnFailed(cast("Turn", None), PonderError("over")))
    with pytest.raises(PonderError, match="over"):
        await asyncio.wait_for(prompt, PATIENCE_S)
    assert chat.answers == [("c1", "no")]


def _asked(summary: str) -> ApprovalAsked:
    return ApprovalAsked("t", "c1", "shell", summary, summary, ("shell(ls)",), "")
