"""Repairs tool calls for servers: valid names, arguments that are a JSON object, unique ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui.context.selection_draft import DraftItem, SelectionDraft, VerdictLog
from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.lazy_regex import lazy_regex
from tui.domain.messages import Role
from tui.domain.request import Reason
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
    for place, draft in enumerate(drafts):
        if draft.role is not Role.ASSISTANT:
            continue
        names = [_fresh(call.call_id or "call", used) for call in draft.calls()]
        if not names:
            continue
        _rename(draft, names)
        _rename(drafts[place + 1], names)


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


_FLATTENED_LOOP = "This tool loop's thinking cannot go back, so its calls and results go as plain text."


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
    words = "\n".join(part.text for part in result.content if isinstance(part, TextBlock))
    state = "failed" if result.failed else "returned"
    items = [DraftItem(TextBlock(text=f"[{result.name or 'the tool'} {state}: {words}]"), key)]
    items.extend(DraftItem(part) for part in result.content if isinstance(part, ImageBlock))
    return items


def flatten_unled_loop(drafts: Sequence[SelectionDraft], verdict_log: VerdictLog) -> list[SelectionDraft]:
    """Convert a final tool loop that does not start with thinking to plain text: the server would refuse it."""
    start = loop_start(drafts)
    loop = drafts[start:]
    first = next((draft for draft in loop if draft.role is Role.ASSISTANT), None)
    callers = [draft for draft in loop if draft.calls()]
    unled = any(draft.lost_thinking and not draft.items[0].is_thinking for draft in callers)
    if callers and first is not None and (unled or not first.items[0].is_thinking):
        verdict_log.warn(_FLATTENED_LOOP)
        flatten(loop, verdict_log)
    return list(drafts)


def loop_start(drafts: Sequence[SelectionDraft]) -> int:
    """Return the index of the last run of calls and results. User messages after the last result do not end it."""
    place = len(drafts)
    while place and drafts[place - 1].role is Role.USER:
        place -= 1
    while place and drafts[place - 1].role is not Role.USER:
        place -= 1
    return place
