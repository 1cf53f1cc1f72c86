"""The turn loop: ask, store the answer, run its tools, ask again, until there is nothing left to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui.domain.blocks import (
    FROM_SERVER,
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.errors import UsageError
from tui.domain.events import (
    MessageCompleted,
    Notice,
    Severity,
    ToolFinished,
    TurnStarted,
)
from tui.domain.format_numbers import count
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import Finish, Stop
from tui.engine.compression import HistoryCompression
from tui.engine.open_turn import OpenTurn
from tui.engine.ports import Journal
from tui.engine.step import Step
from tui.engine.tool_round import NOT_STARTED, CallHistory, ToolRound, failed

PAUSES_PER_TURN = 10
CUT_ROUNDS_IN_A_ROW = 2
"""A model whose calls are cut every time does not stop by itself."""

_UNTRUSTED_TOOLS = ("fetch_url", "mcp")
"""Tools whose results have unknown authors."""

_CUT = (Finish.LENGTH, Finish.CONTEXT_FULL)
_REFUSED = (Finish.FILTER, Finish.REFUSAL)

_SENTENCES = {
    Finish.LENGTH: ("The answer was cut by the output limit.", "Raise `generation.maxOutput`, or ask to continue."),
    Finish.CONTEXT_FULL: ("The answer was cut: the context window is full.", "/compress"),
    Finish.FILTER: ("The provider's filter stopped the answer.", ""),
    Finish.REFUSAL: ("The model refused to answer.", ""),
    Finish.OTHER: ("The answer ended in an unusual way and may be incomplete.", ""),
}
_NAMED = (*_REFUSED, Finish.OTHER)
"""Ends whose reason is worth reading in the provider's own word."""


class TurnLoop:
    """One turn, from its prompt to its end."""

    def __init__(self, turn: OpenTurn, compression: HistoryCompression) -> None:
        self.turn = turn
        self._compression = compression
        self._step: Step | None = None
        self._tools: ToolRound | None = None
        self._calls = CallHistory()
        self._pauses = 0
        self._cut_rounds = 0
        self._announced = False

    async def run(self) -> None:
        """Run the turn to its end; raises PonderError if it cannot continue."""
        turn = self.turn
        session, started = turn.conversation.session, turn.turn(open_=True)
        await turn.saver.save(lambda journal: journal.turn_started(session, started))
        turn.stored()
        self._announce()
        while True:
            await self._compression.compress_if_needed(turn.inputs(), turn.publish)
            self._step = Step(turn, self._compression)
            message = await self._step.answer()
            self._step, self._tools = None, self._tool_round(message)
            await turn.complete(message)
            turn.measure()
            if not await self._continues(message):
                return
            turn.round += 1
            turn.attempts = 0

    async def answer_now(self, note: tuple[Block, ...]) -> None:
        """End the thinking of the running request. Raises UsageError if there is none."""
        if self._step is not None:
            await self._step.answer_now(note)
        elif self._tools is not None:
            raise UsageError(
                "The model is not thinking: its tools are running.",
                advice="Text sent with tab goes in with their results. Esc stops them.",
            )
        else:
            raise UsageError("The model is not thinking: no request is running.")

    async def settle(self, reason: str, *, is_failure: bool = False) -> Turn:
        """End the turn in its current state: keep the partial answer and make the history valid.

        The prompt of a turn that failed without an answer is marked, so that later requests do not contain it.
        """
        turn = self.turn
        turn.live = False
        partial = self._step.partial(reason) if self._step is not None else None
        results: tuple[ToolResultBlock, ...] = ()
        ends: tuple[ToolFinished, ...] = ()
        restored = partial is not None and turn.replace(partial)
        if partial is not None:
            if not restored:
                turn.messages.append(partial)
            results = tuple(failed(call, NOT_STARTED) for call in _whole_calls(partial))
        elif self._tools is not None:
            results = self._tools.results()
            ends = self._tools.interrupted(results)
        if results:
            message_id = self._tools.message_id if self._tools is not None else turn.ports.new_id()
            turn.messages.append(Message(id=message_id, role=Role.TOOL, blocks=results))
        if is_failure and not any(
            message.role is Role.ASSISTANT and not message.superseded for message in turn.messages
        ):
            turn.messages[0] = replace(turn.messages[0], interrupted=reason)
        unpublished = turn.messages[turn.published_count :] if self._announced else turn.messages[1:]
        if restored and partial is not None and partial not in unpublished:
            unpublished = [partial, *unpublished]
        finished = turn.turn(open_=False)
        await self._close(finished, unpublished, ends)
        return finished

    async def _close(self, finished: Turn, unpublished: Sequence[Message], ends: Sequence[ToolFinished]) -> None:
        """Store and publish what the end of the turn adds, then store the turn."""
        turn, session = self.turn, self.turn.conversation.session

        async def keep(journal: Journal) -> None:
            for message in unpublished:
                await journal.message_added(session, turn.id, message)

        if unpublished:
            await turn.saver.save(keep)
        turn.live = True
        self._announce()
        for end in ends:
            turn.publish(end)
        for message in unpublished:
            turn.publish(MessageCompleted(turn.id, turn.round, message))
        turn.live = False
        # After the messages were published: followers then drop the pieces of a long answer before it is indexed.
        await turn.saver.save(lambda journal: journal.turn_finished(session, finished))

    def _announce(self) -> None:
        if self._announced or not self.turn.live:
            return
        self._announced = True
        self.turn.published_count = 1
        self.turn.publish(TurnStarted(Turn(id=self.turn.id, messages=(self.turn.messages[0],), open=True)))

    def _tool_round(self, message: Message) -> ToolRound | None:
        calls = _whole_calls(message)
        if not calls:
            return None
        return ToolRound(self.turn, calls, self._calls, self.turn.ports.new_id(), tainted=self._tainted(message))

    async def _continues(self, message: Message) -> bool:
        stop = message.stop or Stop(Finish.OTHER)
        if stop.finish is Finish.PAUSE:
            self._pauses += 1
            return self._pauses <= PAUSES_PER_TURN
        if self._tools is None or stop.finish in _REFUSED:
            self._report(stop)
            return False
        over_limit = self._calls.made >= self.turn.settings.calls_per_turn
        tools = self._tools
        results = await tools.run(cut=stop.finish in _CUT)
        self._tools = None
        await self.turn.add_results(tools.message_id, results)
        may_continue = self._may_continue(stop, over_limit=over_limit)
        if may_continue:
            await self._add_prompts_after_step()
        return may_continue

    async def _add_prompts_after_step(self) -> None:
        """Add what the user queued for after this step."""
        for blocks in self.turn.take_after_step():
            await self.turn.add_user_message(blocks)
        self.turn.after_step_stored()

    def _may_continue(self, stop: Stop, *, over_limit: bool) -> bool:
        self._cut_rounds = self._cut_rounds + 1 if stop.finish in _CUT else 0
        if self._cut_rounds >= CUT_ROUNDS_IN_A_ROW:
            self._report(stop)
            return False
        if self._calls.stuck:
            self._notice("The model makes the same call again and again: the turn was ended.")
            return False
        if over_limit:
            self._notice(f"{count(self.turn.settings.calls_per_turn, 'tool call')} in one turn: the turn was ended.")
            return False
        return True

    def _report(self, stop: Stop) -> None:
        if stop.finish not in _SENTENCES:
            return
        sentence, advice = _SENTENCES[stop.finish]
        reason = stop.detail or (stop.raw if stop.finish in _NAMED else None)
        self.turn.publish(Notice(Severity.WARNING, f"{sentence} Reason: {reason}" if reason else sentence, advice))

    def _notice(self, sentence: str) -> None:
        self.turn.publish(Notice(Severity.WARNING, sentence))

    def _tainted(self, message: Message) -> bool:
        """Whether the conversation has untrusted text, or this answer, which is not part of it yet."""
        turns = (*self.turn.conversation.turns, self.turn.turn(open_=True))
        return holds_untrusted_content(turns) or any(map(_is_from_the_web, message.blocks))


def _whole_calls(message: Message) -> tuple[ToolCallBlock, ...]:
    return tuple(block for block in message.blocks if isinstance(block, ToolCallBlock) and not block.partial)


def holds_untrusted_content(turns: Sequence[Turn]) -> bool:
    """Whether tools, searches, or prompts and resources of MCP servers brought untrusted text into these turns."""
    return any(
        _is_from_the_web(block) if message.role is Role.ASSISTANT else _is_untrusted(block)
        for turn in turns
        for message in turn.messages
        for block in message.blocks
    )


def _is_from_the_web(block: Block) -> bool:
    """Whether a part of an answer reports what a search of the provider found."""
    if isinstance(block, TextBlock):
        return bool(block.citations)
    return isinstance(block, OpaqueBlock) and block.search is not None


def _is_untrusted(block: Block) -> bool:
    if isinstance(block, TextBlock):
        return FROM_SERVER in block.text
    if isinstance(block, ImageBlock | DocumentBlock):
        return FROM_SERVER in (block.name or "")
    return isinstance(block, ToolResultBlock) and block.name.startswith(_UNTRUSTED_TOOLS)
