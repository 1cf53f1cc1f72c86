"""The end of a Responses answer: why it came, and what the answer cost in our inclusive totals."""

from __future__ import annotations

from collections.abc import Collection

from tui.domain.stream import Finish, Stop
from tui.domain.usage import Usage
from tui.wires.openai_responses.items import CallItem, Item, MessageItem
from tui.wires.read import Json, number, text, whole

INCOMPLETE = {
    "max_output_tokens": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.FILTER,
}
ENDINGS = frozenset({"completed", "incomplete", "failed", "cancelled"})


def inclusive_usage(raw: Json) -> Usage:
    """Inclusive totals. Where more came from the cache than was sent, the server counts the two apart (xAI)."""
    sent, output = whole(raw, "input_tokens"), whole(raw, "output_tokens")
    cached = whole(raw, "input_tokens_details", "cached_tokens")
    total = whole(raw, "total_tokens")
    if sent is not None and cached is not None and cached > sent:
        sent += cached
        total = None
    if total is None and sent is not None and output is not None:
        total = sent + output
    return Usage(
        input=sent,
        cache_read=cached,
        cache_write=whole(raw, "input_tokens_details", "cache_write_tokens"),
        output=output,
        thinking=whole(raw, "output_tokens_details", "reasoning_tokens"),
        total=total,
        cost=number(raw, "cost"),
    )


def ending(response: Json, status: str, items: Collection[Item]) -> Stop:
    """Why it ended; a status that is no ending, in an event that is one, means it was completed."""
    status = status if status in ENDINGS else "completed"
    reason = text(response, "incomplete_details", "reason")
    if reason or status == "incomplete":
        return Stop(INCOMPLETE.get(reason, Finish.OTHER), reason or status)
    if status != "completed":
        return Stop(Finish.OTHER, status)
    if any(isinstance(item, CallItem) and item.runnable for item in items):
        return Stop(Finish.TOOL_USE, status)
    refused_to = any(isinstance(item, MessageItem) and item.refused for item in items)
    return Stop(Finish.REFUSAL if refused_to else Finish.STOP, status)
