"""``ponder context``: the parts of the meter, and which blocks of a conversation are sent or not, with the reason."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tui.app.current_session import CurrentSession, first_spec
from tui.app.ids import new_id
from tui.app.launch_options import LaunchOptions
from tui.app.program import Program
from tui.app.provider_availability import ProviderAvailability
from tui.app.session_storage import InMemorySessions, StoredSession
from tui.bootstrap.program import build_program
from tui.catalog.catalog import effective_quirks
from tui.catalog.model_spec import parse_spec
from tui.catalog.prices import cache_savings, current_rates, price_of
from tui.cli.main import add_set_option
from tui.cli.user_catalog import print_messages, print_problem
from tui.cli.wire.conversation_file import read_conversation
from tui.cli.wire.encode import RecordedOrigins
from tui.context.bill import Bill, ModelBill, bill_of
from tui.context.breakpoints import Breakpoints, breakpoints
from tui.context.compress import is_due
from tui.context.meter import block_sizes
from tui.domain.compression import CompressionPreview
from tui.domain.cost import money
from tui.domain.errors import PonderError, StoreError, UsageError
from tui.domain.format_numbers import count, noun
from tui.domain.messages import Origin, Turn
from tui.domain.printable import json_escaped, printable
from tui.domain.request import ToolSchema
from tui.domain.thinking import ModelSpec
from tui.domain.usage import MeterReading, Usage
from tui.engine.ports import NoTools
from tui.engine.session import RequestPreview
from tui.settings.layers import Layer
from tui.settings.user_files import may_exist
from tui.wires.json_text import dumps


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredConversation:
    """A conversation as the next request would contain it."""

    session: str | None
    spec: str
    preview: RequestPreview
    turns: tuple[Turn, ...]
    bill: Bill


def as_object(weighed: MeasuredConversation) -> dict[str, object]:
    """All figures, with a verdict on every stored block."""
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
        "cache": next(({"ttl": kept.ttl, "breakpoints": list(kept.places)} for kept in _kept(weighed)), None),
        "warnings": [*request.plan.warnings, *request.outgoing.warnings],
        "compression": asdict(weighed.preview.compression) if weighed.preview.compression is not None else None,
        "cost": {
            "dollars": weighed.bill.dollars,
            "thinking_dollars": weighed.bill.thinking_dollars,
            "complete": weighed.bill.complete,
            "models": [{**asdict(row), "thinking_share": row.thinking_share} for row in weighed.bill.models],
        },
    }


def _kept(weighed: MeasuredConversation) -> Iterator[Breakpoints]:
    preview, facts = weighed.preview, weighed.preview.target.facts
    quirks = effective_quirks(preview.target.provider, facts)
    kept = breakpoints(preview.request, facts.wire, quirks, len(weighed.turns))
    if kept is not None:
        yield kept


def _blocks(weighed: MeasuredConversation) -> Iterator[dict[str, object]]:
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


def as_text(weighed: MeasuredConversation) -> str:
    """The same report as text."""
    request, reading = weighed.preview.request, weighed.preview.meter
    lines = [
        f"{weighed.spec} ({weighed.preview.target.facts.wire.value})",
        request.plan.summary,
        *(kept.words for kept in _kept(weighed)),
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
            yield f"  {reading.label_of(part):20}{tokens:>12,}"
    if reading.trigger is not None:
        state = "due now" if is_due(reading) else f"{reading.trigger - reading.effective:,} left"
        yield f"  {'compression at':20}{reading.trigger:>12,}  {state}"


def _verdict_lines(weighed: MeasuredConversation) -> Iterator[str]:
    """What is sent and what is not, by reason."""
    counts: Counter[tuple[bool, str, str]] = Counter()
    tokens: Counter[tuple[bool, str, str]] = Counter()
    for block in _blocks(weighed):
        key = (not block["sent"], str(block["kind"]), str(block["reason"]))
        counts[key] += 1
        size = block["tokens"]
        tokens[key] += size if isinstance(size, int) else 0
    for key in sorted(counts):
        not_sent, kind, reason = key
        word, why = "not sent" if not_sent else "sent    ", reason.removeprefix("not sent: ")
        yield f"{word} {counts[key]:>5} {kind.replace('_', ' '):12}{tokens[key]:>12,}  {why}"


def _compression_lines(compression: CompressionPreview | None) -> Iterator[str]:
    if compression is not None:
        yield ""
        yield (
            f"/compress would compress {count(len(compression.turns), 'turn')} "
            f"({count(compression.compressed_tokens, 'token')}) through {compression.writer}: "
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
        f"{_number(row.input)} in ({_number(row.cached)} cached{_written(row)}), {_number(row.output)} out  "
        f"{row.cost.amount}"
    )
    of = "the cost" if row.is_share_of_dollars else "the output"
    share = "" if row.thinking_share is None else f"{row.thinking_share:.0%} of {of}  "
    least = "at least " if row.thinking_unknown and row.thinking else ""
    known = row.thinking if row.thinking or not row.thinking_unknown else None
    dollars = "unknown" if known is None or row.thinking_dollars is None else f"{least}{money(row.thinking_dollars)}"
    yield f"    thinking  {least}{_number(known)} {noun(known or 0, 'token')}  {share}{dollars}"
    if row.saved is not None:
        yield f"    saved by the cache  {money(row.saved)}"


def _written(row: ModelBill) -> str:
    return f", {row.written:,} written" if row.written else ""


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="ID", help="a saved session (default: an empty conversation)")
    which.add_argument("--file", type=Path, metavar="FILE", help="a conversation file, as for `ponder wire encode`")
    parser.add_argument("-m", "--model", metavar="NAME[/LEVEL]", help="the model to count for")
    parser.add_argument("--profile", metavar="NAME", help="use the settings of a profile")
    add_set_option(parser)
    parser.add_argument("--draft", default="", metavar="TEXT", help="an unsent prompt to include in the count")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object, which says for every stored block whether it is sent",
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0 with the report on stdout, 1 if the store failed, 2 with an error on stderr."""
    try:
        weighed = _measured(args)
    except PonderError as problem:
        print_problem(problem)
        return 1 if isinstance(problem, StoreError) else 2
    print(json_escaped(dumps(as_object(weighed))) if args.json else printable(as_text(weighed)))
    return 0


class _Schemas(NoTools):
    """The tools of a conversation file: counted, never run."""

    def __init__(self, schemas: tuple[ToolSchema, ...]) -> None:
        self._schemas = schemas

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Their definitions."""
        return self._schemas


def _measured(args: argparse.Namespace) -> MeasuredConversation:
    program = build_program(
        os.environ, LaunchOptions(model=args.model, profile=args.profile, assignments=tuple(args.assignments))
    )
    for problem in program.problems:
        print_problem(problem)
    stored = _stored(args, program)
    if stored is not None and args.model:
        stored = replace(stored, spec=parse_spec(args.model, program.catalog))
    availability = ProviderAvailability(program)
    availability.look_for_keys(stored=False)
    # Opened without a journal: nothing is written.
    current = CurrentSession(program, InMemorySessions(), interactive=False)
    if program.layers.value("cache.ttl") == "auto":  # the request that the screen would send
        program.in_force.layers = program.layers.with_value(Layer.COMMAND_LINE, "cache.ttl", "1h")
    spec = first_spec(program, availability.ready())
    if program.local_models.is_unknown(spec):
        program.local_models.learn(spec.model)
    current.start(spec, stored)
    session = current.session
    preview = asyncio.run(session.preview(args.draft))
    view = session.view()

    def output_rate(origin: Origin) -> float | None:
        return current_rates(program.catalog.find(origin.provider, origin.model), time.time()).get("output")

    def savings(origin: Origin, usage: Usage) -> float | None:
        price = price_of(program.catalog.find(origin.provider, origin.model))
        return None if price is None else cache_savings(usage, price, datetime.fromtimestamp(time.time(), UTC))

    return MeasuredConversation(
        session=stored.id if args.session and stored is not None else None,
        spec=str(current.spec),
        preview=preview,
        turns=view.turns,
        bill=bill_of(view.paid, output_rate, savings),
    )


def _stored(args: argparse.Namespace, program: Program) -> StoredSession | None:
    if args.file is not None:
        return _from_file(args.file, program)
    return _from_store(args.session, program) if args.session is not None else None


def _from_file(path: Path, program: Program) -> StoredSession:
    """The conversation in a file; its system text and tools replace the user's."""
    stamps = RecordedOrigins(program.catalog, None)
    conversation = read_conversation(path, stamps.of)
    program.planner.catalog = stamps.catalog
    program.session_toolbox = _Schemas(conversation.tools)
    if conversation.system:
        layers = program.layers.with_value(Layer.COMMAND_LINE, "generation.system", conversation.system)
        program.in_force.layers = layers
    turns = tuple(_priced(turn, program) for turn in conversation.turns)
    return StoredSession(id=path.name, title="", spec=None, turns=turns)


def _priced(turn: Turn, program: Program) -> Turn:
    """Answers in a file have no stored cost, so today's prices are used."""
    messages = tuple(
        replace(message, cost=program.planner.cost(program.planner.target(_spec_of(message.origin)), message.usage))
        if message.origin is not None and message.usage is not None and message.cost is None
        else message
        for message in turn.messages
    )
    return replace(turn, messages=messages)


def _spec_of(origin: Origin) -> ModelSpec:
    return ModelSpec(provider=origin.provider, model=origin.model)


def _from_store(name: str, program: Program) -> StoredSession:
    """A stored session, opened read-only; its own settings are in the session layer."""
    from tui.app.sqlite_sessions import stored_from
    from tui.store.database import LOCKED, Database, StoreContext
    from tui.store.leases import this_process
    from tui.store.library import StoredLibrary
    from tui.store.open_sessions import LoadedSession, OpenSessions

    if not may_exist(program.paths.database):
        raise UsageError(f"There is no session `{name}`.", advice="Nothing was stored yet.")
    database = Database(program.paths.database)
    database.when_locked = lambda: print_messages(f"ponder: {LOCKED}")
    around = StoreContext(holder=this_process(new_id()), now=time.time, new_id=new_id)

    async def look() -> LoadedSession:
        session = await StoredLibrary(database, around).resolve(name)
        return await OpenSessions(database, around).load_without_lease(session)

    try:
        loaded = asyncio.run(look())
    finally:
        database.close()
    return stored_from(loaded)
