"""Selects what is sent of a conversation, with a reason for every stored block.

Encoder, meter and inspector all use this selection. Stored messages do not change. The stages in order: compressed,
failed and superseded parts, strip policy and echo rule, provider state (``thinking_back``), the input types the model
accepts, and the wire's rules for a history (``legality``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui.catalog.facts import ModelFacts, Quirks
from tui.context.legality import make_legal
from tui.context.selection_draft import DraftItem, SelectionDraft, VerdictLog
from tui.context.thinking_back import SelectionRepair, SendRules, ThinkingJudge, TurnPosition, same_origin
from tui.context.thinking_language import language_note, prompt_language
from tui.context.wire_rules import RULES
from tui.domain.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.compression import CompressionView
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import ENDED_EARLY, Message, Origin, Role, Turn
from tui.domain.printable import scrubbed
from tui.domain.request import Outgoing, OutgoingMessage, Reason
from tui.domain.thinking import ReasoningRules, ThinkingPlan
from tui.wires.json_text import NotJSON, loads, text

IMAGE_OMITTED = "[image omitted]"
DOCUMENT_OMITTED = "[document {name} omitted: this model takes no PDF]"
INTERRUPTED_MARK = " [interrupted]"


def has_open_loop(turn: Turn) -> bool:
    """Return whether the tool loop of a conversation's last turn is unfinished."""
    if turn.open:
        return True
    last = next((message for message in reversed(turn.messages) if not message.superseded), None)
    if last is None:
        return False
    if last.role is Role.ASSISTANT:
        return any(isinstance(block, ToolCallBlock) and not block.partial for block in last.blocks)
    return last.role is Role.TOOL


def _has_answer(turn: Turn) -> bool:
    return any(message.role is Role.ASSISTANT and not message.superseded for message in turn.messages)


def has_failed(turn: Turn) -> bool:
    """Return whether the turn failed without an answer, so that its prompt is not part of the history."""
    failed = any(message.role is Role.USER and message.interrupted for message in turn.messages)
    return failed and not turn.open and not _has_answer(turn)


def select(  # noqa: PLR0913 - independent facts about the next request, keyword-only but the first
    turns: Sequence[Turn],
    *,
    rules: ReasoningRules,
    target: Origin,
    facts: ModelFacts,
    quirks: Quirks,
    plan: ThinkingPlan,
    has_tools: bool,
    compression: CompressionView | None = None,
    repair: frozenset[SelectionRepair] | None = None,
    nudge: str = "",
    language: str = "",
) -> Outgoing:
    """Return the messages to send, and why each block is sent or not. Runs in linear time.

    ``language`` is the language of thinking that the system prompt asks for.
    """
    view = compression or CompressionView()
    send_rules = SendRules(
        rules=rules,
        target=target,
        facts=facts,
        quirks=quirks,
        plan=plan,
        wire=RULES[target.wire],
        has_tools=has_tools and facts.tools,
        changed_for=view.changed_for,
        repair=repair or frozenset(),
        nudge=nudge,
    )
    verdict_log = VerdictLog()
    drafts = _Selection(send_rules, verdict_log, view, language).drafts(turns)
    legal = make_legal(drafts, send_rules, verdict_log) if turns else []
    return Outgoing(
        messages=tuple(_finished(draft) for draft in legal),
        verdicts=tuple(verdict_log.verdicts),
        warnings=tuple(verdict_log.warnings),
    )


def _finished(draft: SelectionDraft) -> OutgoingMessage:
    return OutgoingMessage(
        role=draft.role,
        blocks=tuple(item.block for item in draft.items),
        origin=None if draft.lost_call else draft.origin,
        source_id=draft.source.id if draft.source else None,
        in_open_loop=draft.in_open_loop,
        joined=draft.joined,
    )


@dataclass(frozen=True, slots=True)
class _Selection:
    """The stages that process one block at a time."""

    send_rules: SendRules
    verdict_log: VerdictLog
    view: CompressionView
    language: str

    def drafts(self, turns: Sequence[Turn]) -> list[SelectionDraft]:
        """Return the messages to send."""
        drafts: list[SelectionDraft] = []
        positions = self._positions(turns)
        summary_sent, language = False, self.language
        for turn in turns:
            if turn.id in self.view.compressed_turns:
                self._not_sent(turn.messages, Reason.COMPRESSED)
                if not summary_sent:
                    drafts.append(
                        SelectionDraft(Role.USER, [DraftItem(TextBlock(text=scrubbed(self.view.as_message())))])
                    )
                    summary_sent = True
                continue
            if has_failed(turn):
                self._not_sent(turn.messages, Reason.FAILED)
                continue
            selected = self._turn(turn, positions[turn.id])
            if selected and (wanted := prompt_language(turn)) != language:
                selected[0].items.append(DraftItem(TextBlock(text=scrubbed(language_note(wanted)))))
                language = wanted
            drafts.extend(selected)
        return drafts

    def _positions(self, turns: Sequence[Turn]) -> dict[str, TurnPosition]:
        """Return the position of each turn. An unanswered prompt is not the last finished turn."""
        positions = {turn.id: TurnPosition.OLDER for turn in turns}
        if turns and has_open_loop(turns[-1]):
            positions[turns[-1].id] = TurnPosition.OPEN_LOOP
        answered = (turn.id for turn in reversed(turns) if _has_answer(turn))
        last = next((turn_id for turn_id in answered if positions[turn_id] is TurnPosition.OLDER), None)
        if last is not None:
            positions[last] = TurnPosition.LAST_FINISHED
        return positions

    def _turn(self, turn: Turn, position: TurnPosition) -> list[SelectionDraft]:
        live = [message for message in turn.messages if not message.superseded]
        used_tools = any(isinstance(block, ToolCallBlock) for message in live for block in message.blocks)
        lost = frozenset[str]() if position is TurnPosition.OPEN_LOOP else _unanswered_searches(live)
        drafts = []
        for message in turn.messages:
            if message.superseded:
                ended = message.interrupted == ENDED_EARLY
                self._not_sent((message,), Reason.ENDED_EARLY if ended else Reason.SUPERSEDED)
            else:
                drafts.append(self._message(message, position, lost, turn_id=turn.id, turn_used_tools=used_tools))
        return drafts

    def _not_sent(self, messages: Sequence[Message], reason: Reason) -> None:
        for message in messages:
            for index in range(len(message.blocks)):
                self.verdict_log.note(message, index, reason, sent=False)

    def _message(
        self, message: Message, position: TurnPosition, lost: frozenset[str], *, turn_id: str, turn_used_tools: bool
    ) -> SelectionDraft:
        draft = SelectionDraft(message.role, [], source=message, in_open_loop=position is TurnPosition.OPEN_LOOP)
        judge = ThinkingJudge(self.send_rules, self.verdict_log)
        at_home = (
            same_origin(message.origin, self.send_rules.target)
            and SelectionRepair.DROP_THINKING not in self.send_rules.repair
        )
        for index, stored in enumerate(message.blocks):
            block: Block | None
            if isinstance(stored, ThinkingBlock):
                block, reason = judge.judge(stored, message, position, turn_id=turn_id, turn_used_tools=turn_used_tools)
                draft.lost_thinking = draft.lost_thinking or not isinstance(block, ThinkingBlock)
            elif isinstance(stored, OpaqueBlock) and stored.search is not None and stored.search.id in lost:
                block, reason = None, Reason.INTERRUPTED
            else:
                bare = self.send_rules.wire.ids_need_thinking and draft.lost_thinking
                valid = at_home and not _cites_lost_search(stored, message)
                block, reason = self._other(stored, message, at_home=valid, bare_of_ids=bare)
            key = self.verdict_log.note(message, index, reason, sent=block is not None)
            if block is not None:
                draft.items.append(DraftItem(block, key))
        return draft

    def _other(
        self, stored: Block, message: Message, *, at_home: bool, bare_of_ids: bool
    ) -> tuple[Block | None, Reason]:
        """Return the block to send, or None, and the reason, for any block but thinking."""
        match stored:
            case TextBlock() | ToolCallBlock():
                return _without_invalid_state(stored, at_home=at_home, bare_of_ids=bare_of_ids), Reason.SENT
            case ImageBlock():
                return self._image(stored, message, at_home=at_home)
            case DocumentBlock():
                return self._document(stored)
            case ToolResultBlock():
                return self._result(stored, message), Reason.SENT
            case _:
                if message.interrupted:
                    return None, Reason.INTERRUPTED  # probably a server tool call without its result
                return self._opaque(stored, at_home=at_home, bare_of_ids=bare_of_ids)

    def _opaque(self, stored: Block, *, at_home: bool, bare_of_ids: bool) -> tuple[Block | None, Reason]:
        if isinstance(stored, OpaqueBlock) and stored.unread:
            return None, Reason.UNREAD  # it is not in any provider's format
        if not (at_home and self.send_rules.wire.opaque):
            return None, Reason.FOREIGN
        if isinstance(stored, OpaqueBlock) and not _taken_back(stored, self.send_rules.wire.opaque_refused):
            return None, Reason.UNSUPPORTED_INPUT
        # The raw item contains an id that is only valid with its thinking item, which is not sent.
        if bare_of_ids and isinstance(stored, OpaqueBlock):
            return None, Reason.POLICY
        return stored, Reason.SENT

    def _takes(self, image: ImageBlock) -> bool:
        there = image.data or (image.url and self.send_rules.wire.image_urls)
        return (
            bool(there)
            and "image" in self.send_rules.facts.inputs
            and SelectionRepair.DROP_IMAGES not in self.send_rules.repair
        )

    def _image(self, image: ImageBlock, message: Message, *, at_home: bool) -> tuple[Block, Reason]:
        if self._takes(image) and (message.role is Role.USER or self.send_rules.wire.assistant_images):
            return image if at_home or image.provider_state is None else replace(
                image, provider_state=None
            ), Reason.SENT
        return TextBlock(text=IMAGE_OMITTED), Reason.UNSUPPORTED_INPUT

    def _document(self, document: DocumentBlock) -> tuple[Block, Reason]:
        if "pdf" in self.send_rules.facts.inputs and self.send_rules.wire.documents:
            return document, Reason.SENT
        return TextBlock(text=DOCUMENT_OMITTED.format(name=document.name)), Reason.UNSUPPORTED_INPUT

    def _result(self, result: ToolResultBlock, message: Message) -> ToolResultBlock:
        short = self.view.shortened.get((message.id, result.call_id))
        if short is not None:
            return replace(result, content=(TextBlock(text=scrubbed(short)),))
        wire = self.send_rules.wire
        images = (wire.result_images or self.send_rules.quirks.tool_images) and (
            not result.failed or wire.failed_result_images
        )
        content: list[TextBlock | ImageBlock] = []
        for part in result.content:
            if isinstance(part, TextBlock):
                if part.text:
                    content.append(TextBlock(text=scrubbed(part.text)))
            elif images and self._takes(part):
                content.append(part)
            else:
                content.append(TextBlock(text=IMAGE_OMITTED))
        return replace(result, content=tuple(content))


def _unanswered_searches(messages: Sequence[Message]) -> frozenset[str]:
    """The searches whose result never came, because the turn ended while the provider had paused it."""
    called: set[str] = set()
    answered: set[str] = set()
    for message in messages:
        for block in message.blocks:
            if isinstance(block, OpaqueBlock) and block.search is not None and not message.interrupted:
                (answered if block.search.done else called).add(block.search.id)
    return frozenset(called - answered)


def _cites_lost_search(block: Block, message: Message) -> bool:
    """Whether the state of a text refers to searches that are not sent, because the answer was interrupted."""
    return bool(message.interrupted) and isinstance(block, TextBlock) and bool(block.citations)


def _taken_back(item: OpaqueBlock, refused: frozenset[str]) -> bool:
    if not refused or item.label in refused:
        return not refused
    try:
        return text(loads(item.raw), "name") not in refused
    except NotJSON:
        return True


def _without_invalid_state(
    block: TextBlock | ToolCallBlock, *, at_home: bool, bare_of_ids: bool
) -> TextBlock | ToolCallBlock:
    """Return the block with the provider state that are still valid. Partial text is marked as interrupted."""
    provider_state = block.provider_state if at_home and not block.partial else None
    if provider_state is not None and bare_of_ids:
        provider_state = replace(provider_state, id=None)
    if isinstance(block, ToolCallBlock):
        return replace(block, provider_state=provider_state)
    text = scrubbed(block.text)
    if block.partial and text and not text.isspace():
        text += INTERRUPTED_MARK
    return replace(block, text=text, provider_state=provider_state, partial=False)
