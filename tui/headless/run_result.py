"""The result of a headless run: the result object and the exit code for scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from tui.domain.assemble import whole_text
from tui.domain.blocks import OpaqueBlock, TextBlock, ThinkingBlock
from tui.domain.citations import SourceNumbers, searches_of, sources_of
from tui.domain.compression import SummaryRun
from tui.domain.cost import cost_of, paid_in
from tui.domain.errors import (
    BudgetReached,
    ConfigError,
    ErrorKind,
    PonderError,
    ProviderError,
    SchemaMismatch,
    UnknownModel,
    UsageError,
)
from tui.domain.events import TurnFailed, TurnFinished
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import Finish
from tui.domain.usage import Usage
from tui.domain.web_search import Source, WebSearch

if TYPE_CHECKING:
    from tui.headless.checked_answer import CheckedAnswer


PARAGRAPH = "\n\n"
"""Separates the text of two messages, and what is said before and after a search."""


class ExitCode(IntEnum):
    """Exit codes."""

    ANSWER = 0
    FAILURE = 1
    USAGE = 2
    NO_KEY = 3
    NO_WHOLE_ANSWER = 4
    """Refused, filtered, cut, empty, not what ``--schema`` wants, or not sent because of a spending limit."""
    CANCELLED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The end of a turn."""

    exit: ExitCode
    turn: Turn | None = None
    error: PonderError | None = None
    cancelled: bool = False
    checked: CheckedAnswer | None = None
    """The complete answer of a run with ``--schema``."""


def run_result_of(end: TurnFinished | TurnFailed, *, saved: bool = True) -> RunResult:
    """The result of a finished turn. A complete answer that could not be saved is a failure, too."""
    if isinstance(end, TurnFailed):
        return RunResult(exit=exit_of(end.error), turn=end.turn, error=end.error)
    if end.cancelled:
        return RunResult(exit=ExitCode.CANCELLED, turn=end.turn, cancelled=True)
    last = next((message for message in reversed(answers(end.turn))), None)
    whole = (
        last is not None and last.stop is not None and last.stop.finish is Finish.STOP and bool(text_of(last).strip())
    )
    if not whole:
        return RunResult(exit=ExitCode.NO_WHOLE_ANSWER, turn=end.turn)
    return RunResult(exit=ExitCode.ANSWER if saved else ExitCode.FAILURE, turn=end.turn)


def with_checked_answer(result: RunResult, schema: Mapping[str, object]) -> RunResult:
    """Check a complete answer: one that does not fit is an error."""
    if result.turn is None or result.exit not in (ExitCode.ANSWER, ExitCode.FAILURE) or result.error is not None:
        return result
    from tui.headless.checked_answer import checked_answer

    checked = checked_answer(text_of(answers(result.turn)[-1]), schema)
    if not checked.problem:
        return replace(result, checked=checked)
    error = SchemaMismatch(checked.problem)
    return replace(result, checked=checked, error=error, exit=exit_of(error))


def exit_of(error: PonderError) -> ExitCode:
    """The exit code for an error."""
    match error:
        case UsageError() | UnknownModel() | ConfigError():
            return ExitCode.USAGE
        case ProviderError(kind=ErrorKind.NO_KEY):
            return ExitCode.NO_KEY
        case BudgetReached() | SchemaMismatch():
            return ExitCode.NO_WHOLE_ANSWER
        case ProviderError(kind=ErrorKind.CONTENT_FILTER | ErrorKind.EMPTY):
            return ExitCode.NO_WHOLE_ANSWER
        case _:
            return ExitCode.FAILURE


def answers(turn: Turn) -> list[Message]:
    """The model's messages, without superseded ones."""
    return [message for message in turn.messages if message.role is Role.ASSISTANT and not message.superseded]


def text_of(message: Message) -> str:
    """The text of a message. What is said before and after a search are paragraphs of their own."""
    text, searched = "", False
    for block in message.blocks:
        if isinstance(block, TextBlock) and block.text:
            text += f"{PARAGRAPH}{block.text}" if text and searched else block.text
            searched = False
        elif isinstance(block, OpaqueBlock):
            searched = searched or block.search is not None
    return text


def received(result: RunResult) -> str:
    """The text that has arrived, of all messages."""
    return PARAGRAPH.join(text for message in answers(result.turn) if (text := text_of(message))) if result.turn else ""


def cited_sources(result: RunResult) -> tuple[Source, ...]:
    """The sources that the answer cites, in the order of their numbers, of all messages."""
    numbers = SourceNumbers()
    for message in answers(result.turn) if result.turn else ():
        sources_of(message.blocks, numbers)
    return numbers.sources


def result_object(
    result: RunResult, *, session: str, summaries: Sequence[SummaryRun] = (), warnings: Sequence[str] = ()
) -> dict[str, object]:
    """The object of ``--json``, and the last line of ``--jsonl``."""
    messages = answers(result.turn) if result.turn else []
    last = messages[-1] if messages else None
    cost = cost_of(paid_in((result.turn,)) if result.turn else ())
    data = {} if result.checked is None else {"data": None if result.checked.problem else result.checked.value}
    return {
        **data,
        "answer": received(result),
        "thinking": "\n\n".join(
            block.text
            for message in messages
            for block in message.blocks
            if isinstance(block, ThinkingBlock) and block.text
        ),
        "sources": [{"title": page.title, "url": page.url} for page in cited_sources(result)],
        "searches": [
            search_object(search) for search in searches_of(block for message in messages for block in message.blocks)
        ],
        "model": _model(last),
        "usage": usage_object(_added([message.usage for message in messages])),
        "cost": None if cost.unknown else cost.dollars,
        "summaries": [run_object(run) for run in summaries],
        "warnings": [whole_text([warning]) for warning in warnings],
        "finish": "cancelled" if result.cancelled else last.stop.finish.value if last and last.stop else None,
        "answered_early": any(message.answered_early for message in messages),
        "seconds": round(sum(message.seconds or 0.0 for message in messages), 3),
        "session": session,
        "turn": result.turn.id if result.turn else None,
        "error": None if result.error is None else error_object(result.error),
    }


def search_object(search: WebSearch) -> dict[str, object]:
    """A web search that the provider ran; null for results that are unknown."""
    pages = search.results
    return {
        "action": search.action,
        "queries": list(search.queries),
        "page": search.page or None,
        "results": None if pages is None else [{"title": page.title, "url": page.url} for page in pages],
        "error": search.error or None,
    }


def run_object(run: SummaryRun) -> dict[str, object]:
    """The cost of compressing turns; not included in any answer's usage or cost."""
    model = f"{run.origin.provider}/{run.origin.model}"
    usage = usage_object(run.usage)
    return {"model": model, "usage": usage, "cost": run.cost, "failure": run.failure or None}


def error_object(error: PonderError) -> dict[str, object]:
    """An error as a JSON object."""
    described: dict[str, object] = {
        "kind": "usage" if exit_of(error) is ExitCode.USAGE else "other",
        "message": whole_text([error.message]),
        "advice": whole_text([error.advice]),
    }
    if isinstance(error, ProviderError):
        described |= {"kind": error.kind.value, "status": error.status, "retryable": error.retryable}
        described |= {"retry_after_s": error.retry_after_s, "request_id": error.request_id}
    if isinstance(error, SchemaMismatch):
        described |= {"kind": "schema"}
    if isinstance(error, BudgetReached):
        described |= {"kind": "budget", "scope": error.scope, "limit": error.limit}
        described |= {"spent": error.spent, "may_cost": error.may_cost}
    return described


def usage_object(usage: Usage | None) -> dict[str, object] | None:
    """Totals, including cached and thinking tokens; null is unknown."""
    return None if usage is None else asdict(usage)


def _model(message: Message | None) -> str | None:
    if message is None or message.origin is None:
        return None
    return message.answered_by or message.origin.model


def _added(readings: list[Usage | None]) -> Usage | None:
    known = [reading for reading in readings if reading is not None]
    if not known or len(known) < len(readings):
        return None
    if len(known) == 1:
        return known[0]
    sums: dict[str, float | int | None] = {}
    for entry in fields(Usage):
        counts = [getattr(reading, entry.name) for reading in known]
        if entry.name == "searches" and any(counts):
            counts = [number or 0 for number in counts]  # an answer without searches does not report any
        sums[entry.name] = None if None in counts else sum(counts)
    return Usage(**sums)  # type: ignore[arg-type]  # the fields' own types, added
