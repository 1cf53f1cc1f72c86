"""What ``ponder context`` prints: the same reading and verdicts as text for people and as one object for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from tui.context.bill import Bill, ModelBill
from tui.context.compress import is_due
from tui.context.meter import block_sizes
from tui.domain.compression import CompressionPreview
from tui.domain.cost import money
from tui.domain.counting import count, noun
from tui.domain.messages import Turn
from tui.domain.usage import MeterReading
from tui.engine.session import RequestPreview


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A conversation as the next request would have it."""

    session: str | None
    spec: str
    preview: RequestPreview
    turns: tuple[Turn, ...]
    bill: Bill


def as_object(weighed: Weighed) -> dict[str, object]:
    """Everything, with a verdict on every stored block."""
    request, reading, target = weighed.preview.request, weighed.preview.meter, weighed.preview.target
    return {
        "session": weighed.session,
        "model": weighed.spec,
        "wire": target.facts.wire.value,
        "thinking": request.plan.summary,
        "certainty": reading.certainty.value,
        "effective": reading.effective,
        "raw": reading.raw,
        "limit": reading.limit,
        "reserved": reading.reserved,
        "trigger": reading.trigger,
        "due": is_due(reading),
        "parts": {part.value: count for part, count in reading.parts.items()},
        "messages": len(request.outgoing.messages),
        "blocks": list(_blocks(weighed)),
        "warnings": [*request.plan.warnings, *request.outgoing.warnings],
        "compression": asdict(weighed.preview.compression) if weighed.preview.compression is not None else None,
        "cost": {
            "dollars": weighed.bill.dollars,
            "thinking_dollars": weighed.bill.thinking_dollars,
            "complete": weighed.bill.complete,
            "models": [{**asdict(row), "thinking_share": row.thinking_share} for row in weighed.bill.models],
        },
    }


def _blocks(weighed: Weighed) -> Iterator[dict[str, object]]:
    preview = weighed.preview
    facts, scale = preview.target.facts, preview.meter.scale
    sizes = block_sizes(preview.request.outgoing, weighed.turns, facts, scale=scale)
    places = {message.id: (turn.id, message) for turn in weighed.turns for message in turn.messages}
    for verdict in weighed.preview.request.outgoing.verdicts:
        turn, message = places[verdict.message_id]
        yield {
            "turn": turn,
            "message": verdict.message_id,
            "role": message.role.value,
            "block": verdict.block,
            "kind": verdict.kind,
            "sent": verdict.sent,
            "reason": verdict.reason.value,
            "tokens": sizes[verdict.message_id, verdict.block],
        }


def as_text(weighed: Weighed) -> str:
    """The same for reading."""
    request, reading = weighed.preview.request, weighed.preview.meter
    lines = [
        f"{weighed.spec} ({weighed.preview.target.facts.wire.value})",
        request.plan.summary,
        "",
        *_meter_lines(reading),
        "",
        *_verdict_lines(weighed),
        *(f"! {warning}" for warning in (*request.plan.warnings, *request.outgoing.warnings)),
        *_compression_lines(weighed.preview.compression),
        *_bill_lines(weighed.bill),
    ]
    return "\n".join(lines).rstrip()


def _meter_lines(reading: MeterReading) -> Iterator[str]:
    limit = "an unknown window" if reading.limit is None else f"{reading.limit:,}"
    sent = count(reading.effective, "token")
    yield f"{sent} of {limit} would be sent ({reading.certainty.value}); {reading.raw:,} raw"
    for part, tokens in reading.parts.items():
        if tokens:
            yield f"  {part.value:20}{tokens:>12,}"
    if reading.trigger is not None:
        state = "due now" if is_due(reading) else f"{reading.trigger - reading.effective:,} to go"
        yield f"  {'compression at':20}{reading.trigger:>12,}  {state}"


def _verdict_lines(weighed: Weighed) -> Iterator[str]:
    """What goes and what stays, by reason."""
    counts: Counter[tuple[bool, str, str]] = Counter()
    tokens: Counter[tuple[bool, str, str]] = Counter()
    for block in _blocks(weighed):
        key = (not block["sent"], str(block["kind"]), str(block["reason"]))
        counts[key] += 1
        size = block["tokens"]
        tokens[key] += size if isinstance(size, int) else 0
    for key in sorted(counts):
        stays, kind, reason = key
        word = "stays" if stays else "goes "
        yield f"{word} {counts[key]:>5} {kind.replace('_', ' '):12}{tokens[key]:>12,}  {reason}"


def _compression_lines(compression: CompressionPreview | None) -> Iterator[str]:
    if compression is not None:
        yield ""
        yield (
            f"/compress would fold {count(len(compression.turns), 'turn')} "
            f"({count(compression.folded_tokens, 'token')}) through {compression.writer}: "
            f"{compression.before:,} to about {compression.after:,}"
        )


def _bill_lines(bill: Bill) -> Iterator[str]:
    if bill.models:
        yield ""
        yield f"cost {bill.cost.amount}"
        for row in bill.models:
            yield from _model_lines(row)


def _model_lines(row: ModelBill) -> Iterator[str]:
    yield (
        f"  {row.name}{' for summaries' if row.for_summaries else ''}  "
        f"{_number(row.input)} in ({_number(row.cached)} cached), {_number(row.output)} out  "
        f"{row.cost.amount}"
    )
    of = "the cost" if row.is_share_of_dollars else "the output"
    share = "" if row.thinking_share is None else f"{row.thinking_share:.0%} of {of}  "
    least = "at least " if row.thinking_unknown and row.thinking else ""
    known = row.thinking if row.thinking or not row.thinking_unknown else None
    dollars = "unknown" if known is None or row.thinking_dollars is None else f"{least}{money(row.thinking_dollars)}"
    yield f"    thinking  {least}{_number(known)} {noun(known or 0, 'token')}  {share}{dollars}"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
