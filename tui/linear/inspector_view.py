"""The next request in sentences, and on demand its JSON, the last exchange and the differences."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.app.request_text import as_indented_json, as_text
from tui.context.bill import Bill
from tui.domain.blocks import Block, TextBlock, ThinkingBlock
from tui.domain.cost import money
from tui.domain.format_numbers import count, duration, noun, tokens
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.usage import MeterReading
from tui.engine.session import RequestPreview
from tui.linear.questions import Choice
from tui.linear.sentences import bare, context_text, ended, spoken

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

MOST_EVENTS = 3_000
NOT_SENT = "not sent: "
PAGES = (
    Choice("blocks", "each part of the history: sent or not, and why"),
    Choice("request", "the request as JSON"),
    Choice("last", "the last exchange"),
    Choice("diff", "what differs from the last request"),
)


async def inspect(app: LinearApp) -> None:
    """Describe the next request; numbers print its parts."""
    chat, draft = app.services.chat, app.draft.kept
    preview = await chat.preview(draft)
    app.out.say(preview_lines(preview, chat.bill()))
    first = len(PAGES)
    while (page := await app.questions.choose([], PAGES, first=first)) is not None:
        first = 0
        match page:
            case "blocks":
                app.out.say(block_lines(preview, app.conversation.view().turns))
            case "request":
                app.out.say(as_indented_json(await chat.wire_preview(draft)).split("\n"))
            case "last":
                app.out.say(_exchange(app))
            case _:
                app.out.say(await _difference(app, draft))


def preview_lines(preview: RequestPreview, bill: Bill) -> list[str]:
    """Model, plan, warnings, size and cost."""
    request = preview.request
    lines = [f"Next request: {preview.target.provider.id}/{request.model}. {ended(spoken(request.plan.summary))}"]
    lines += [f"Note: {bare(warning)}" for warning in (*request.plan.warnings, *request.outgoing.warnings)]
    lines += [context_text(preview.meter), *part_lines(preview.meter)]
    would = preview.compression
    if would is not None:
        after = f"about {tokens(would.after)} {noun(would.after, 'token')}"
        lines.append(f"/compress would compress {count(len(would.turns), 'turn')}: {tokens(would.before)} to {after}.")
    return [*lines, *bill_lines(bill)]


def part_lines(reading: MeterReading) -> list[str]:
    """The parts of the meter that are not empty."""
    parts = [f"{reading.label_of(part)} {tokens(number)}" for part, number in reading.parts.items() if number]
    lines = [f"Parts: {', '.join(parts)}."] if parts else []
    if reading.trigger is not None:
        lines.append(f"The history is compressed at {tokens(reading.trigger)}.")
    return lines


def bill_lines(bill: Bill) -> list[str]:
    """The cost so far by model."""
    lines = [f"Cost so far: {bill.cost.amount}."] if bill.models else []
    for row in bill.models:
        purpose = " for summaries" if row.for_summaries else ""
        thought = "unknown" if row.thinking is None else tokens(row.thinking)
        facts = [f"in {_count(row.input)}", f"{_count(row.cached)} of them cached", f"out {_count(row.output)}"]
        facts += [f"thinking {thought}", row.cost.words]
        facts += [f"saved by the cache {money(row.saved)}"] if row.saved is not None else []
        lines.append(f"{one_line(row.name, 60)}{purpose}: {', '.join(filter(None, facts))}.")
    return lines


def _count(number: int | None) -> str:
    return "unknown" if number is None else tokens(number)


def block_lines(preview: RequestPreview, turns: Sequence[Turn]) -> list[str]:
    """Every block of the history: whether it is sent, and why not."""
    return list(_block_lines(preview, turns)) or ["There is no history yet."]


def _block_lines(preview: RequestPreview, turns: Sequence[Turn]) -> Iterator[str]:
    verdicts = {(verdict.message_id, verdict.block): verdict for verdict in preview.request.outgoing.verdicts}
    for number, turn in enumerate(turns, 1):
        yield f"Turn {number}:"
        for message in turn.messages:
            for index, block in enumerate(message.blocks):
                verdict = verdicts.get((message.id, index))
                sent = verdict is not None and verdict.sent
                reason = "replaced by a summary" if verdict is None else verdict.reason.value.removeprefix(NOT_SENT)
                state = "sent" if sent else f"not sent, {reason}"
                yield f"{_kind(message, block)}, {state}: {one_line(as_text(block), 100)}"


def _kind(message: Message, block: Block) -> str:
    match block:
        case TextBlock():
            return "answer" if message.role is Role.ASSISTANT else "you"
        case ThinkingBlock():
            return "thinking"
        case _:
            return block.kind.replace("_", " ")


def _exchange(app: LinearApp) -> list[str]:
    last = app.services.chat.last_exchange()
    if last is None:
        return ["Nothing was sent yet."]
    took = f"Answered in {duration(last.seconds)}." if last.seconds is not None else "No answer yet."
    return [*as_indented_json(last.request).split("\n"), took, *last.events[:MOST_EVENTS]]


async def _difference(app: LinearApp, draft: str) -> list[str]:
    last = app.services.chat.last_exchange()
    if last is None:
        return ["Nothing was sent yet."]
    now = await app.services.chat.wire_preview(draft)
    before, after = (as_indented_json(request.get("body")).split("\n") for request in (last.request, now))
    found = list(difflib.unified_diff(before, after, "last", "next", lineterm="", n=2))
    return [row[:400] for row in found] or ["The next request is the same as the last."]
