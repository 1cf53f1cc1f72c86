"""The inspector's first page: what goes, what stays, why, and how many tokens it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.context.estimate import block_tokens
from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.request import Verdict
from tui.domain.usage import MeterReading
from tui.engine.outlook import Preview
from tui.ui.markdown.runs import Line, Look, Run, width_of
from tui.ui.transcript.figures import tokens
from tui.ui.widgets.meter_lines import certainty_words
from tui.ui.widgets.page import Lines

MOST_TURNS = 60
"""Turns listed block by block; of earlier ones only the number is said."""


def parts_page(preview: Preview, turns: Sequence[Turn]) -> Lines:
    """The page for any width."""

    def lines(width: int) -> Sequence[Line]:
        return [
            *_plan(preview),
            [],
            *_meter(preview.meter, width),
            [],
            *_turns(preview, turns, width),
        ]

    return lines


def _title(words: str) -> Line:
    return [Run(words, "heading", Look.BOLD)]


def _plan(preview: Preview) -> Iterator[Line]:
    request = preview.request
    yield [
        Run(f"{preview.target.provider.id}/{request.model}", "text", Look.BOLD),
        Run(f"   {one_line(request.plan.summary, 100)}", "muted"),
    ]
    for warning in (*request.plan.warnings, *request.outgoing.warnings):
        yield [Run(f"! {one_line(warning, 200)}", "warning")]


def _meter(reading: MeterReading, width: int) -> Iterator[Line]:
    yield [
        Run(f"{tokens(reading.effective)} tokens sent", "heading", Look.BOLD),
        Run(f"   {certainty_words(reading)}; {tokens(reading.raw)} stored", "muted"),
    ]
    column = min(width, 40)
    for part, count in reading.parts.items():
        if count:
            yield [Run(f"  {part.value}".ljust(column - 8), "muted"), Run(tokens(count).rjust(8), "text")]
    if reading.trigger is not None:
        yield [Run("  compress at".ljust(column - 8), "muted"), Run(tokens(reading.trigger).rjust(8), "text")]


def _turns(preview: Preview, turns: Sequence[Turn], width: int) -> Iterator[Line]:
    verdicts: dict[tuple[str, int], Verdict] = {
        (verdict.message_id, verdict.block): verdict for verdict in preview.request.outgoing.verdicts
    }
    shown = list(turns)[-MOST_TURNS:]
    if len(shown) < len(turns):
        yield [Run(f"{len(turns) - len(shown)} earlier turns are not listed.", "muted")]
    for number, turn in enumerate(shown, len(turns) - len(shown) + 1):
        yield _title(f"Turn {number}")
        for message in turn.messages:
            for index, block in enumerate(message.blocks):
                yield _block(message, block, verdicts.get((message.id, index)), width)


def round_trip(preview: Preview, message_id: str) -> str:
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


def _block(message: Message, block: Block, verdict: Verdict | None, width: int) -> Line:
    sent = verdict is not None and verdict.sent
    mark = Run("  ✓ goes  ", "success") if sent else Run("  ✗ stays ", "warning")
    count = f"≈{tokens(block_tokens(block))}".rjust(8)
    role = "" if message.role is Role.TOOL else f"{message.role.value} "
    kind = f"{role}{block.kind.replace('_', ' ')}".ljust(22)
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
