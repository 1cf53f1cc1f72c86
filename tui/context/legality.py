"""Makes a history valid for a wire: no incomplete or orphan parts, calls paired with results, valid ends and order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from tui.context.selection_draft import DraftItem, SelectionDraft, VerdictLog
from tui.context.thinking_back import SelectionRepair, SendRules, same_origin
from tui.context.wire_rules import takes_blank_thinking
from tui.domain.blocks import Block, ImageBlock, OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.lazy_regex import lazy_regex
from tui.domain.messages import Role
from tui.domain.printable import scrubbed
from tui.domain.request import Reason
from tui.domain.stream import Finish
from tui.domain.thinking import ThinkingForm
from tui.wires.json_text import NotJSON, dumps, loads

LEGAL_NAME = lazy_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""A tool name that every server accepts."""
FOREIGN = lazy_regex(r"[^A-Za-z0-9_-]")
LONGEST_NAME = 64
UNREADABLE = "unreadable_arguments"
"""Key for arguments that are not a JSON object."""


def legal_name(name: str) -> str:
    """Return a name that every server accepts, unchanged if possible.

    Models call nonexistent tools by names that are not valid (``functions.list_dir``), and servers refuse a history
    with such a name.
    """
    if LEGAL_NAME.fullmatch(name):
        return name
    spelled = FOREIGN.sub("_", name)
    return (spelled if LEGAL_NAME.match(spelled) else f"_{spelled}")[:LONGEST_NAME]


def legal_arguments(arguments: str) -> str:
    """Return arguments that every server can parse as a JSON object, unchanged if possible."""
    if not arguments.strip():
        return "{}"
    try:
        parsed = loads(arguments)
    except NotJSON:
        return dumps({UNREADABLE: _readable(arguments)})
    if not isinstance(parsed, dict):
        return dumps({UNREADABLE: arguments})
    return _readable(arguments) if _escapes_surrogates(arguments) or not _encodable(arguments) else arguments


def _readable(text: str) -> str:
    """Replace lone surrogates, plain or escaped, in a text that may be JSON."""
    plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        parsed = loads(plain)
    except NotJSON:
        return plain
    return dumps(_without_surrogates(parsed))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {str(_without_surrogates(key)): _without_surrogates(item) for key, item in value.items()}
    return value


def _escapes_surrogates(text: str) -> bool:
    return "\\ud" in text or "\\uD" in text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def uniquely_named(drafts: Sequence[SelectionDraft]) -> None:
    """Rename repeated call ids, in the call and in its result, which is in the next message."""
    used: set[str] = set()
    for position, draft in enumerate(drafts):
        if draft.role is not Role.ASSISTANT:
            continue
        names = [_fresh(call.call_id or "call", used) for call in draft.calls()]
        if not names:
            continue
        _rename(draft, names)
        _rename(drafts[position + 1], names)


def _fresh(wanted: str, used: set[str]) -> str:
    name, count = wanted, 1
    while name in used:
        count += 1
        name = f"{wanted}_{count}"
    used.add(name)
    return name


def _rename(draft: SelectionDraft, names: Sequence[str]) -> None:
    at_hand = iter(names)
    for item in draft.items:
        if isinstance(item.block, ToolCallBlock | ToolResultBlock):
            name = next(at_hand)
            if name != item.block.call_id:
                item.block = replace(item.block, call_id=name)


_FLATTENED_LOOP = "The thinking of this tool loop cannot be sent, so its calls and results are sent as plain text."


def flatten(drafts: Sequence[SelectionDraft], verdict_log: VerdictLog) -> list[SelectionDraft]:
    """Convert every call and result to plain text."""
    for draft in drafts:
        if not (draft.calls() or draft.results()):
            continue
        draft.items = [flat for item in draft.items for flat in _flat(item, verdict_log)]
        if draft.role is Role.TOOL:
            draft.role = Role.USER
    return list(drafts)


def _flat(item: DraftItem, verdict_log: VerdictLog) -> list[DraftItem]:
    block = item.block
    if isinstance(block, ToolCallBlock):
        verdict_log.revise(item, Reason.FLATTENED, sent=True)
        return [DraftItem(TextBlock(text=f"[called {block.name} with {block.arguments}]"), item.key)]
    if isinstance(block, ToolResultBlock):
        verdict_log.revise(item, Reason.FLATTENED, sent=True)
        return _flat_result(block, item.key)
    return [item]


def _flat_result(result: ToolResultBlock, key: int | None) -> list[DraftItem]:
    text = "\n".join(part.text for part in result.content if isinstance(part, TextBlock))
    state = "failed" if result.failed else "returned"
    items = [DraftItem(TextBlock(text=f"[{result.name or 'the tool'} {state}: {text}]"), key)]
    items.extend(DraftItem(part) for part in result.content if isinstance(part, ImageBlock))
    return items


def flatten_loops_without_thinking(
    drafts: Sequence[SelectionDraft], send_rules: SendRules, verdict_log: VerdictLog
) -> list[SelectionDraft]:
    """Convert a final tool loop that does not start with thinking to plain text: the server would refuse it.

    A loop that was sent as text stays text, because the next request must begin as this one did to read the cache.
    That are the loops whose next answer was asked for with the present model and level, and those of the running
    turn, where a text of the user between two steps begins another loop.
    """
    loops = _loops(drafts)
    for position, loop in enumerate(loops):
        final = position + 1 == len(loops)
        was_final = final or loop[0].in_open_loop or _same_target_and_level(loops[position + 1][0], send_rules)
        if was_final and _lacks_thinking(loop, send_rules):
            verdict_log.warn(_FLATTENED_LOOP)
            flatten(loop, verdict_log)
    return list(drafts)


def _lacks_thinking(loop: Sequence[SelectionDraft], send_rules: SendRules) -> bool:
    callers = [draft for draft in loop if draft.calls()]
    if not callers or _never_thinks(callers, send_rules):
        return False
    first = next(draft for draft in loop if draft.role is Role.ASSISTANT)
    lost = any(draft.lost_thinking and not draft.items[0].is_thinking for draft in callers)
    return lost or not first.items[0].is_thinking


def _same_target_and_level(draft: SelectionDraft, send_rules: SendRules) -> bool:
    made = draft.origin
    return made is not None and same_origin(made, send_rules.target) and made.level == send_rules.plan.level


def _loops(drafts: Sequence[SelectionDraft]) -> list[list[SelectionDraft]]:
    """Return the runs of answers and results between the user's messages."""
    runs = groupby(drafts, lambda draft: draft.role is Role.USER)
    return [list(run) for of_user, run in runs if not of_user]


CONTINUES = "(conversation continues)"
GO_ON = "(continue)"
NOTED = "."
BLANK_THOUGHT = ThinkingBlock(text=" ", form=ThinkingForm.HIDDEN, wire_field="reasoning_content")
MAY_HAVE_RUN = "Interrupted: this call may have run, its result is not known."


def make_legal(
    drafts: Sequence[SelectionDraft], send_rules: SendRules, verdict_log: VerdictLog
) -> list[SelectionDraft]:
    """Return the history in a form the wire accepts. The order of text is unchanged."""
    for draft in drafts:
        draft.items = list(_sendable_items(draft, send_rules, verdict_log))
    if send_rules.quirks.thinking_back == "content_chunks":
        _one_thinking_per_answer(drafts, verdict_log)
    answered = _paired([draft for draft in drafts if draft.items], verdict_log)
    uniquely_named(answered)
    if send_rules.wire.flatten_without_tools and not send_rules.has_tools:
        answered = flatten(answered, verdict_log)
    elif _wants_thinking_first(send_rules):
        answered = flatten_loops_without_thinking(answered, send_rules, verdict_log)
    if send_rules.nudge:
        answered.append(_filler(Role.USER, send_rules.nudge))
    return _with_required_ends(answered, send_rules)


def _sendable_items(draft: SelectionDraft, send_rules: SendRules, verdict_log: VerdictLog) -> Iterable[DraftItem]:
    """Return the items of a message that can be sent; none if only thinking would remain."""
    items = _without_broken(draft, verdict_log)
    items = _without_blanks(items, send_rules, verdict_log)
    if not send_rules.wire.trailing_thinking:
        while items and items[-1].is_thinking:
            verdict_log.revise(items.pop(), Reason.INTERRUPTED)
    if all(item.is_thinking for item in items):
        for item in items:
            verdict_log.revise(item, Reason.EMPTY)
        return []
    return _calls_at_the_end(items) if send_rules.wire.calls_last else items


def _calls_at_the_end(items: list[DraftItem]) -> list[DraftItem]:
    """Move the items after the last calls before them. Nothing else is moved."""
    calls = [position for position, item in enumerate(items) if isinstance(item.block, ToolCallBlock)]
    if not calls or calls[-1] == len(items) - 1:
        return items
    start = end = calls[-1]
    while start and isinstance(items[start - 1].block, ToolCallBlock):
        start -= 1
    return [*items[:start], *items[end + 1 :], *items[start : end + 1]]


def _one_thinking_per_answer(drafts: Sequence[SelectionDraft], verdict_log: VerdictLog) -> None:
    """Remove thinking from an answer after another: the two become one message, with thinking only at its start."""
    before = None
    for draft in drafts:
        if before is Role.ASSISTANT and draft.role is Role.ASSISTANT:
            for item in draft.items:
                if item.is_thinking:
                    verdict_log.revise(item, Reason.IGNORED_BY_PROVIDER)
            draft.items = [item for item in draft.items if not item.is_thinking]
        before = draft.role if draft.items else before


def _without_broken(draft: SelectionDraft, verdict_log: VerdictLog) -> list[DraftItem]:
    sound = []
    for item in draft.items:
        if isinstance(item.block, ToolCallBlock):
            if item.block.partial or not item.block.name:
                verdict_log.revise(item, Reason.BROKEN_CALL)
                draft.lost_call = True
                continue
            called = item.block
            item.block = replace(called, name=legal_name(called.name), arguments=legal_arguments(called.arguments))
        elif isinstance(item.block, ThinkingBlock) and (text := scrubbed(item.block.text)) != item.block.text:
            item.block = replace(item.block, text=text)
        sound.append(item)
    return sound


def _without_blanks(items: Sequence[DraftItem], send_rules: SendRules, verdict_log: VerdictLog) -> list[DraftItem]:
    kept: list[DraftItem] = []
    for item in items:
        if isinstance(item.block, TextBlock) and not _has_content(item.block, send_rules):
            verdict_log.revise(item, Reason.EMPTY)
        else:
            kept.append(item)
    return kept


def _has_content(block: TextBlock, send_rules: SendRules) -> bool:
    if block.text:
        return send_rules.wire.blank_text or bool(block.text.strip())
    return (
        send_rules.wire.signed_empty_text and block.provider_state is not None and bool(block.provider_state.signature)
    )


def _paired(drafts: Sequence[SelectionDraft], verdict_log: VerdictLog) -> list[SelectionDraft]:
    """Put the results directly after their calls, in call order, and remove results without a call."""
    paired: list[SelectionDraft] = []
    for position, draft in enumerate(drafts):
        _drop_orphans(draft, verdict_log)
        if draft.items:
            paired.append(draft)
        calls = draft.calls()
        if calls:
            paired.append(_answers(draft, calls, _before_next_answer(drafts, position + 1)))
    return paired


def _before_next_answer(drafts: Sequence[SelectionDraft], position: int) -> list[SelectionDraft]:
    end = position
    while end < len(drafts) and drafts[end].role is not Role.ASSISTANT:
        end += 1
    return list(drafts[position:end])


def _answers(
    draft: SelectionDraft, calls: Sequence[ToolCallBlock], followers: Sequence[SelectionDraft]
) -> SelectionDraft:
    """Return a message with the results of these calls, taken from the messages before the next answer."""
    at_hand: defaultdict[str, deque[DraftItem]] = defaultdict(deque)
    for follower in followers:
        for item in follower.items:
            if isinstance(item.block, ToolResultBlock):
                at_hand[item.block.call_id].append(item)
    items = []
    for call in calls:
        found = at_hand[call.call_id]
        items.append(_named_as_called(found.popleft(), call) if found else DraftItem(_unknown_result(call)))
    taken = {id(item) for item in items}
    for follower in followers:
        follower.items = [item for item in follower.items if id(item) not in taken]
    source = next((follower.source for follower in followers if follower.role is Role.TOOL), None)
    return SelectionDraft(Role.TOOL, items, source=source, in_open_loop=draft.in_open_loop)


def _named_as_called(item: DraftItem, call: ToolCallBlock) -> DraftItem:
    if isinstance(item.block, ToolResultBlock) and item.block.name != call.name:
        item.block = replace(item.block, name=call.name)
    return item


def _unknown_result(call: ToolCallBlock) -> ToolResultBlock:
    return ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text=MAY_HAVE_RUN),), failed=True)


def is_unknown_result(block: Block) -> bool:
    """Whether a block stands for the result of a call that has none."""
    return isinstance(block, ToolResultBlock) and block.failed and block.content == (TextBlock(text=MAY_HAVE_RUN),)


def _drop_orphans(draft: SelectionDraft, verdict_log: VerdictLog) -> None:
    """Remove the remaining results, which have no call. Other text in a tool message becomes the user's."""
    for item in draft.items:
        if isinstance(item.block, ToolResultBlock):
            verdict_log.revise(item, Reason.ORPHAN)
            verdict_log.warn(f"A result of `{item.block.name or 'a tool'}` has no matching call and is not sent.")
    draft.items = [item for item in draft.items if not isinstance(item.block, ToolResultBlock)]
    if draft.role is Role.TOOL:
        draft.role = Role.USER


def _with_required_ends(drafts: Sequence[SelectionDraft], send_rules: SendRules) -> list[SelectionDraft]:
    """Add filler messages where the wire requires a message and the history has none."""
    ended: list[SelectionDraft] = []
    starts_with_user = send_rules.wire.starts_with_user or send_rules.quirks.merge_same_role
    if not drafts or (starts_with_user and drafts[0].role is not Role.USER):
        ended.append(_filler(Role.USER, CONTINUES))
    for draft in drafts:
        if send_rules.quirks.assistant_after_tool and draft.role is Role.USER and ended and ended[-1].role is Role.TOOL:
            ended.append(_filler(Role.ASSISTANT, NOTED))
        if _was_continued(ended, draft.role, send_rules):
            ended.append(_filler(Role.USER, GO_ON))
        ended.append(draft)
    if not _may_end_request(ended, send_rules):
        ended.append(_filler(Role.USER, GO_ON))
    _mark_running_loop(ended)
    if send_rules.quirks.merge_same_role:
        _join_neighbours(ended, send_rules)
    if SelectionRepair.BLANK_THINKING in send_rules.repair and takes_blank_thinking(send_rules.wire, send_rules.quirks):
        _blank_thinking(ended)
    return ended


def _was_continued(ended: Sequence[SelectionDraft], following: Role, send_rules: SendRules) -> bool:
    """Whether a request ended here with a filler message. The next request must begin as that one did."""
    if not ended or not send_rules.wire.pauses or _may_end_request(ended, send_rules):
        return False
    # A prompt follows if the paused answer was to be continued and the provider failed.
    return following is Role.ASSISTANT or (following is Role.USER and _paused(ended[-1]))


def _blank_thinking(drafts: Sequence[SelectionDraft]) -> None:
    for draft in drafts:
        thinks = any(item.is_thinking for item in draft.items)
        if draft.role is Role.ASSISTANT and not draft.joined and not thinks:
            draft.items.insert(0, DraftItem(BLANK_THOUGHT))


def _join_neighbours(drafts: Sequence[SelectionDraft], send_rules: SendRules) -> None:
    """Mark each message that is sent as one with the message before it.

    Chat templates of open models raise an error unless user and assistant alternate. Two prompts in a row are common:
    a turn that was stopped may have no answer, and a summary of compressed turns is a message of the user.
    """
    for before, draft in pairwise(drafts):
        if before.role is not draft.role:
            continue
        if draft.role is Role.USER:
            draft.joined = True
        elif draft.role is Role.ASSISTANT and send_rules.wire.joins_answers:
            draft.joined = not (before.calls() or _returns_signed_details(draft, send_rules))


def _returns_signed_details(draft: SelectionDraft, send_rules: SendRules) -> bool:
    """Whether thinking is sent as ``reasoning_details``. Entries of two answers cannot share one list."""
    return send_rules.quirks.thinking_back in ("reasoning_details", "as_received") and any(
        isinstance(item.block, ThinkingBlock) and item.block.provider_state is not None for item in draft.items
    )


def _mark_running_loop(drafts: Sequence[SelectionDraft]) -> None:
    """Mark the messages after the last user message as an open loop, because servers treat them as one."""
    for draft in reversed(drafts):
        if draft.role is Role.USER:
            break
        draft.in_open_loop = True


def _filler(role: Role, text: str) -> SelectionDraft:
    return SelectionDraft(role, [DraftItem(TextBlock(text=text))])


def _wants_thinking_first(send_rules: SendRules) -> bool:
    """Whether an unfinished answer must begin with thinking, which applies with a budget."""
    return send_rules.wire.budget_leads_calls and isinstance(send_rules.plan.sent, int) and send_rules.plan.thinks


def _never_thinks(callers: Sequence[SelectionDraft], send_rules: SendRules) -> bool:
    """Whether a compatible server called tools without thinking although it was enabled. It then requires none back."""
    return (
        send_rules.quirks.empty_signatures
        and SelectionRepair.DROP_THINKING not in send_rules.repair
        and all(
            draft.source is not None
            and same_origin(draft.origin, send_rules.target)
            and not any(isinstance(block, ThinkingBlock) for block in draft.source.blocks)
            for draft in callers
        )
    )


def _may_end_request(drafts: Sequence[SelectionDraft], send_rules: SendRules) -> bool:
    """Whether a request may end with this message."""
    if drafts[-1].role is not Role.ASSISTANT or send_rules.wire.prefill:
        return True
    return send_rules.wire.pauses and _paused(drafts[-1]) and _may_continue_answer(drafts, send_rules)


def _may_continue_answer(drafts: Sequence[SelectionDraft], send_rules: SendRules) -> bool:
    last_prompt = max((position for position, draft in enumerate(drafts) if draft.role is Role.USER), default=-1)
    return not _wants_thinking_first(send_rules) or drafts[last_prompt + 1].items[0].is_thinking


def _paused(draft: SelectionDraft) -> bool:
    """Whether the provider asked for its own unfinished message as the last one."""
    source = draft.source
    paused = source is not None and source.stop is not None and source.stop.finish is Finish.PAUSE
    return paused and any(isinstance(item.block, OpaqueBlock) for item in draft.items)
