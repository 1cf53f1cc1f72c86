"""One conversation of an editor: prompts, questions about tool calls, and the choice of model and thinking."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from acp import RequestError, schema
from acp.interfaces import Client
from pydantic import ValidationError

from tui.acp.prompt_blocks import ContentBlock, prompt_blocks
from tui.acp.updates import TOOL_KINDS, Update, Updates, replayed
from tui.app.services import AppServices
from tui.bus import Subscription
from tui.catalog.model_spec import require_asked
from tui.domain.blocks import Block
from tui.domain.errors import PonderError, UsageError
from tui.domain.events import ApprovalAsked, ApprovalSettled, Stamped, TurnFailed, TurnFinished
from tui.domain.fenced import fenced
from tui.domain.messages import Role, Turn
from tui.domain.printable import one_line, printable
from tui.domain.rule_words import rule_words, session_words
from tui.domain.stream import Finish

FRAME_S = 0.03
MODEL, THINKING = "model", "thinking"
MOST_MODELS = 300
REFUSED = frozenset({Finish.REFUSAL, Finish.FILTER})


class EditorSession:
    """Follows one session for the editor. Only one prompt runs at a time, as the protocol says."""

    def __init__(self, services: AppServices, folder: Path, end: Callable[[], Awaitable[None]]) -> None:
        self.id = services.chat.session_id
        self._services = services
        self.folder = folder
        self._end = end
        self._running = False
        self._cancelled = asyncio.Event()

    async def prompt(self, content: Sequence[ContentBlock], client: Client) -> schema.PromptResponse:
        """Send a prompt and report what happens until the turn has ended."""
        if self._running:
            raise UsageError("A prompt is running in this session.")
        self._running = True
        self._cancelled.clear()
        try:
            blocks = await asyncio.to_thread(prompt_blocks, content)
            self._services.drafts.refuse_documents(blocks)
            ended = await self._sent(blocks, client)
        finally:
            self._running = False
        if isinstance(ended, TurnFailed):
            raise ended.error
        return schema.PromptResponse(stop_reason="cancelled" if ended is None else _stop_reason(ended))

    async def _sent(self, blocks: tuple[Block, ...], client: Client) -> TurnFinished | TurnFailed | None:
        """Send the prompt and follow its turn; None if it was cancelled before it was sent."""
        if self._cancelled.is_set():
            return None
        _, subscription = self._services.chat.attach()
        try:
            await self._services.chat.submit(blocks)
            if self._cancelled.is_set():  # meanwhile, when there was no turn to stop
                await self._services.chat.cancel()
            return await self._followed(subscription, client)
        finally:
            subscription.close()

    async def cancel(self) -> None:
        """Stop the running turn, or the prompt that is about to become one."""
        self._cancelled.set()
        if self._running:
            await self._services.chat.cancel()

    async def choose(self, option: str, value: str) -> None:
        """Choose a model or a level."""
        if option == MODEL:
            await self._services.models.set_model(value)
        elif option == THINKING:
            await self._services.models.set_level(require_asked(value))
        else:
            raise UsageError(f"There is no option `{one_line(option, 40)}`.")

    def options(self) -> list[schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean]:
        """The choice of model and thinking level."""
        view = self._services.chat.view()
        current = f"{view.spec.provider}/{view.spec.model}"
        models = [f"{row.spec.provider}/{row.spec.model}" for row in self._services.models.models() if row.available]
        names = list(dict.fromkeys((current, *models)))[:MOST_MODELS]
        levels = self._services.models.levels()
        chosen = next((str(row.asked) for row in levels if row.current), str(view.spec.asked))
        rows = {str(row.asked): (row.label, row.native) for row in levels}
        rows.setdefault(chosen, (chosen, ""))
        return [
            schema.SessionConfigOptionSelect(
                type="select",
                id=MODEL,
                name="Model",
                category="model",
                current_value=current,
                options=[schema.SessionConfigSelectOption(value=name, name=name) for name in names],
            ),
            schema.SessionConfigOptionSelect(
                type="select",
                id=THINKING,
                name="Thinking",
                category="thought_level",
                current_value=chosen,
                options=[
                    schema.SessionConfigSelectOption(value=value, name=label, description=native or None)
                    for value, (label, native) in rows.items()
                ],
            ),
        ]

    def history(self) -> list[Update]:
        """The conversation so far."""
        return list(replayed(self._services.chat.view().turns))

    async def close(self) -> None:
        """End the session; a running turn is stopped and what arrived is kept."""
        await self._end()

    async def _followed(self, subscription: Subscription[Stamped], client: Client) -> TurnFinished | TurnFailed:
        updates = Updates()
        open_questions: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as questions:
            async for batch in subscription.batches(FRAME_S):
                for stamped in batch:
                    match stamped.event:
                        case TurnFinished() | TurnFailed() as ended:
                            for question in open_questions.values():
                                question.cancel()
                            return ended
                        case ApprovalAsked() as asked:
                            open_questions[asked.call_id] = questions.create_task(self._ask(asked, client))
                        case ApprovalSettled() as settled:
                            # By a rule, perhaps: a late answer must not be one to a later call with the same id.
                            if settled.call_id in open_questions:
                                open_questions.pop(settled.call_id).cancel()
                        case event:
                            for update in updates.of(event):
                                await client.session_update(self.id, update)
        raise PonderError("The session has ended.")

    async def _ask(self, asked: ApprovalAsked, client: Client) -> None:
        """Ask the user of the editor. No answer is a no, and neither is one that cannot be understood a yes."""
        call = schema.ToolCallUpdate(
            tool_call_id=asked.call_id,
            title=one_line(asked.summary, 200),
            kind=TOOL_KINDS.get(asked.tool, "other"),
            status="pending",
            content=[
                schema.ContentToolCallContent(
                    type="content", content=schema.TextContentBlock(type="text", text=_question(asked))
                )
            ],
        )
        options = permission_options(asked)
        answer = "no"
        with contextlib.suppress(RequestError, ValidationError, ConnectionError):
            reply = await client.request_permission(self.id, call, options)
            if isinstance(reply.outcome, schema.AllowedOutcome) and reply.outcome.option_id in _ids(options):
                answer = reply.outcome.option_id
        await self._services.chat.answer_approval(asked.call_id, answer)


def _question(asked: ApprovalAsked) -> str:
    """What the editor shows above the answers, as markdown that hides nothing of what the model wrote."""
    detail = printable(asked.detail)
    if not asked.answers:
        detail = fenced(detail, "diff" if TOOL_KINDS.get(asked.tool) == "edit" else "")
    return "\n\n".join(filter(None, (*printable(asked.note).splitlines(), detail)))


def permission_options(asked: ApprovalAsked) -> list[schema.PermissionOption]:
    """The answers that the user can give."""
    if asked.answers:
        return [
            schema.PermissionOption(
                option_id=answer, name=printable(text), kind="reject_once" if answer == "no" else "allow_once"
            )
            for answer, text in asked.answers
        ]
    rules = [(rule, printable(rule_words(rule, asked))) for rule in asked.patterns]
    always = [
        schema.PermissionOption(option_id=rule, name=f"Always allow {allowed}", kind="allow_always")
        for rule, allowed in rules
    ]
    words = printable(session_words(asked))
    session = [schema.PermissionOption(option_id="session", name=words, kind="allow_always")] if asked.session else []
    return [
        schema.PermissionOption(option_id="once", name="Yes, once", kind="allow_once"),
        *session,
        *always,
        schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
    ]


def _ids(options: Sequence[schema.PermissionOption]) -> set[str]:
    return {option.option_id for option in options}


def _stop_reason(ended: TurnFinished) -> schema.StopReason:
    if ended.cancelled:
        return "cancelled"
    last = _last_finish(ended.turn)
    if last in REFUSED:
        return "refusal"
    return "max_tokens" if last in (Finish.LENGTH, Finish.CONTEXT_FULL) else "end_turn"


def _last_finish(turn: Turn) -> Finish | None:
    answers = [message for message in turn.messages if message.role is Role.ASSISTANT and not message.superseded]
    return answers[-1].stop.finish if answers and answers[-1].stop is not None else None
