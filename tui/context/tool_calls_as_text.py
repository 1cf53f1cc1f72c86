"""Tool calls and results as plain words, for requests in which they cannot stand as what they are."""

from __future__ import annotations

from collections.abc import Sequence

from tui.context.selection_draft import DraftItem, SelectionDraft, VerdictLog
from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Role
from tui.domain.request import Reason

_FLATTENED_LOOP = "This tool loop's thinking cannot go back, so its calls and results go as plain text."


def flatten(drafts: Sequence[SelectionDraft], ledger: VerdictLog) -> list[SelectionDraft]:
    """Every call and result told in words."""
    for draft in drafts:
        if not (draft.calls() or draft.results()):
            continue
        draft.items = [flat for item in draft.items for flat in _flat(item, ledger)]
        if draft.role is Role.TOOL:
            draft.role = Role.USER
    return list(drafts)


def _flat(item: DraftItem, ledger: VerdictLog) -> list[DraftItem]:
    block = item.block
    if isinstance(block, ToolCallBlock):
        ledger.revise(item, Reason.FLATTENED, sent=True)
        return [DraftItem(TextBlock(text=f"[called {block.name} with {block.arguments}]"), item.key)]
    if isinstance(block, ToolResultBlock):
        ledger.revise(item, Reason.FLATTENED, sent=True)
        return _flat_result(block, item.key)
    return [item]


def _flat_result(result: ToolResultBlock, key: int | None) -> list[DraftItem]:
    words = "\n".join(part.text for part in result.content if isinstance(part, TextBlock))
    state = "failed" if result.failed else "returned"
    items = [DraftItem(TextBlock(text=f"[{result.name or 'the tool'} {state}: {words}]"), key)]
    items.extend(DraftItem(part) for part in result.content if isinstance(part, ImageBlock))
    return items


def flatten_unled_loop(drafts: Sequence[SelectionDraft], ledger: VerdictLog) -> list[SelectionDraft]:
    """A tool loop at the end that does not start with thinking, told in words: the server would refuse it."""
    start = loop_start(drafts)
    loop = drafts[start:]
    first = next((draft for draft in loop if draft.role is Role.ASSISTANT), None)
    callers = [draft for draft in loop if draft.calls()]
    unled = any(draft.lost_thinking and not draft.items[0].is_thinking for draft in callers)
    if callers and first is not None and (unled or not first.items[0].is_thinking):
        ledger.warn(_FLATTENED_LOOP)
        flatten(loop, ledger)
    return list(drafts)


def loop_start(drafts: Sequence[SelectionDraft]) -> int:
    """Where the last run of calls and results begins; words of the user after the last result do not end it."""
    place = len(drafts)
    while place and drafts[place - 1].role is Role.USER:
        place -= 1
    while place and drafts[place - 1].role is not Role.USER:
        place -= 1
    return place
