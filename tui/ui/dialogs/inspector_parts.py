"""The inspector's first page: what goes, what stays, why, and how many tokens it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.context.bill import Bill, ModelBill
from tui.context.meter import block_sizes
from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.compression import CompressionPreview
from tui.domain.cost import money
from tui.domain.counting import count, noun
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.request import Verdict
from tui.domain.usage import MeterReading
from tui.engine.preview import RequestPreview
from tui.ui.format_numbers import tokens
from tui.ui.markdown.runs import Line, Look, Run, width_of
from tui.ui.panels.meter_lines import certainty_words, part_counts
from tui.ui.panels.page import Lines

MOST_PROMPTS = 6
"""Turns named that would be folded."""
MOST_TURNS = 60
"""Turns listed block by block; of earlier ones only the number is said."""


def parts_page(preview: RequestPreview, turns: Sequence[Turn], bill: Bill) -> Lines:
    """The page for any width."""

    def lines(width: int) -> Sequence[Line]:
        return [
            *_plan(preview),
            [],
            *_meter(preview.meter, width),
            [],
            *_compression(preview.compression),
            *_bill(bill),
            *_turns(preview, turns, width),
        ]

    return lines


def _title(words: str) -> Line:
    return [Run(words, "heading", Look.BOLD)]


def _plan(preview: RequestPreview) -> Iterator[Line]:
    request = preview.request
    yield [
        Run(f"{preview.target.provider.id}/{request.model}", "text", Look.BOLD),
        Run(f"   {one_line(request.plan.summary, 100)}", "muted"),
    ]
    for warning in (*request.plan.warnings, *request.outgoing.warnings):
        yield [Run(f"! {one_line(warning, 200)}", "warning")]


def _meter(reading: MeterReading, width: int) -> Iterator[Line]:
    yield [
        Run(f"{tokens(reading.effective)} {noun(reading.effective, 'token')} sent", "heading", Look.BOLD),
        Run(f"   {certainty_words(reading)}; {tokens(reading.raw)} stored", "muted"),
    ]
    column = min(width, 40)
    counts = [(words, count) for words, count, _ in part_counts(reading) if count]
    if reading.trigger is not None:
        counts.append(("compress at", reading.trigger))
    for words, weight in counts:
        yield [Run(f"  {words}".ljust(column - 8), "muted"), Run(tokens(weight).rjust(8), "text")]


def _compression(would: CompressionPreview | None) -> Iterator[Line]:
    """What ``/compress`` would do now."""
    if would is None:
        return
    turns = count(len(would.turns), "turn")
    yield [
        Run(
            f"/compress would fold {turns}: {tokens(would.before)} → "
            f"≈{tokens(would.after)} {noun(would.after, 'token')}",
            "text",
            Look.BOLD,
        ),
        Run(f"   {one_line(would.writer, 60)} writes the summary", "muted"),
    ]
    for prompt in would.prompts[:MOST_PROMPTS]:
        yield [Run(f"  {one_line(prompt, 100)}", "muted")]
    if len(would.prompts) > MOST_PROMPTS:
        yield [Run(f"  … {len(would.prompts) - MOST_PROMPTS} more", "muted")]
    yield []


def _bill(bill: Bill) -> Iterator[Line]:
    """What was paid so far, by model, thinking on a line of its own."""
    if not bill.models:
        return
    yield [Run(f"cost {bill.cost.amount}", "text", Look.BOLD)]
    for row in bill.models:
        name = one_line(row.name, 60) + (" for summaries" if row.for_summaries else "")
        counts = f"in {_count(row.input)} ({_count(row.cached)} cached) · out {_count(row.output)}"
        yield [Run(f"  {name}   ", "text"), Run(f"{counts} · {row.cost.words}", "muted")]
        yield [Run(f"    thinking {_thinking(row)}", "muted")]
    yield []


def _count(count: int | None) -> str:
    return "unknown" if count is None else tokens(count)


def _thinking(row: ModelBill) -> str:
    if row.thinking_unknown and not row.thinking:
        return "unknown"
    least = "at least " if row.thinking_unknown else ""
    of = "the cost" if row.is_share_of_dollars else "the output"
    share = "" if row.thinking_share is None else f" · {row.thinking_share:.0%} of {of}"
    dollars = "cost unknown" if row.thinking_dollars is None else f"{least}{money(row.thinking_dollars)}"
    return f"{least}{_count(row.thinking)}{share} · {dollars}"


def _turns(preview: RequestPreview, turns: Sequence[Turn], width: int) -> Iterator[Line]:
    verdicts: dict[tuple[str, int], Verdict] = {
        (verdict.message_id, verdict.block): verdict for verdict in preview.request.outgoing.verdicts
    }
    shown = list(turns)[-MOST_TURNS:]
    facts, scale = preview.target.facts, preview.meter.scale
    sizes = block_sizes(preview.request.outgoing, shown, facts, scale=scale)
    if len(shown) < len(turns):
        yield [Run(f"Not listed: {count(len(turns) - len(shown), 'earlier turn')}.", "muted")]
    for number, turn in enumerate(shown, len(turns) - len(shown) + 1):
        yield _title(f"Turn {number}")
        for message in turn.messages:
            for index, block in enumerate(message.blocks):
                place = (message.id, index)
                yield _block(message, block, verdicts.get(place), sizes[place], width)


def round_trip(preview: RequestPreview, message_id: str) -> str:
    """Whether the thinking of one answer goes back with the next request, and if not why."""
    about = [verdict for verdict in preview.request.outgoing.verdicts if verdict.message_id == message_id]
    thinking = [verdict for verdict in about if verdict.kind == "thinking"]
    if not about:
        return "This answer stays behind: a summary stands for it."
    if not thinking:
        return "This answer has no thinking that could go back."
    stays = sorted({verdict.reason.value for verdict in thinking if not verdict.sent})
    if not stays:
        return "The thinking of this answer goes back with the next request."
    return f"The thinking of this answer stays behind: {', '.join(stays)}."


def _block(message: Message, block: Block, verdict: Verdict | None, size: int, width: int) -> Line:
    sent = verdict is not None and verdict.sent
    mark = Run("  ✓ goes  ", "success") if sent else Run("  ✗ stays ", "warning")
    count = f"≈{tokens(size)}".rjust(8)
    kind = _kind(message, block).ljust(22)
    reason = verdict.reason.value if verdict is not None else "left out: replaced by a summary"
    reason = "" if reason == "sent" else f"  {reason}"
    used = 10 + 8 + 2 + 22 + width_of(reason)
    words = one_line(_words(block), max(0, width - used)) if width - used > 8 else ""
    return [
        mark,
        Run(count + "  ", "text"),
        Run(kind, "text" if sent else "muted"),
        Run(words, "muted"),
        Run(reason, "accent" if sent else "warning"),
    ]


def _kind(message: Message, block: Block) -> str:
    """In the words of the meter: you, answer, thinking."""
    match block:
        case TextBlock() if message.role is Role.ASSISTANT:
            return "answer"
        case TextBlock() if message.role is Role.USER:
            return "you"
        case ThinkingBlock():
            return "thinking"
        case _:
            mine = "you, " if message.role is Role.USER else ""
            return mine + block.kind.replace("_", " ")


def _words(block: Block) -> str:
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return text or "(no text, sealed)"
        case ToolCallBlock(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case ToolResultBlock(name=name):
            return name
        case _:
            return block.kind
