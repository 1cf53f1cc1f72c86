"""JSON for scripts: one object at the end, or one line per event and the same object last."""

from __future__ import annotations

import json
from typing import TextIO

from tui.domain.assemble import whole_text
from tui.domain.blocks import TextBlock
from tui.domain.compression import SummaryRun
from tui.domain.events import (
    AppEvent,
    AttemptReset,
    CompressionFinished,
    MessageCompleted,
    MeterChanged,
    Notice,
    RequestStarted,
    RetryScheduled,
    SaveFailed,
    Stalled,
    Streamed,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from tui.domain.printable import json_escaped
from tui.domain.stream import (
    ModelLoading,
    PromptRead,
    ResponseStarted,
    SearchReported,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
)
from tui.headless.run_result import (
    RunResult,
    error_object,
    result_object,
    run_object,
    search_object,
    text_of,
    usage_object,
)
from tui.headless.text import SurrogateJoiner

Line = dict[str, object]

_DELTA_TYPES = {TextDelta: "text", ThinkingDelta: "thinking", ToolArgsDelta: "tool_arguments"}


class ResultCollector:
    """Collects what the result object needs from earlier events: costs of summaries, and warnings."""

    def __init__(self) -> None:
        self.summaries: list[SummaryRun] = []
        self.warnings: list[str] = []

    def take(self, event: AppEvent) -> None:
        """Collect from one event."""
        match event:
            case CompressionFinished(runs=runs):
                self.summaries.extend(runs)
            case RequestStarted(plan=plan):
                self._warn(*plan.warnings)
            case Notice(_, text, advice):
                self._warn(f"{text} {advice}".strip())
            case _:
                pass

    def _warn(self, *sentences: str) -> None:
        self.warnings += [sentence for sentence in sentences if sentence not in self.warnings]


class JsonWriter:
    """Writes one object at the end."""

    def __init__(self, out: TextIO, *, session: str, hide_thinking: bool = False) -> None:
        self._out = out
        self._session = session
        self._hide_thinking = hide_thinking
        self._remembered = ResultCollector()

    def take(self, event: AppEvent) -> None:
        """Collect from one event; nothing is written before the end."""
        self._remembered.take(event)

    def end(self, result: RunResult) -> None:
        """Write the object."""
        noted = self._remembered
        written = result_object(result, session=self._session, summaries=noted.summaries, warnings=noted.warnings)
        _write(self._out, {**written, "thinking": ""} if self._hide_thinking else written)
        self.flush()

    def flush(self) -> None:
        self._out.flush()


class JsonLinesWriter:
    """Writes one line per event as it arrives."""

    def __init__(self, out: TextIO, *, session: str, hide_thinking: bool = False) -> None:
        self._out = out
        self._session = session
        self._hide_thinking = hide_thinking
        self._joiners: dict[tuple[int, int, int], SurrogateJoiner] = {}
        self._remembered = ResultCollector()

    def take(self, event: AppEvent) -> None:
        """Write the event's line, if it has one."""
        self._remembered.take(event)
        line = self._streamed(event) if isinstance(event, Streamed) else _line(event)
        if line is not None:
            _write(self._out, line)

    def end(self, result: RunResult) -> None:
        """Write the result as the last line."""
        noted = self._remembered
        written = result_object(result, session=self._session, summaries=noted.summaries, warnings=noted.warnings)
        _write(self._out, {"type": "result", **written, **({"thinking": ""} if self._hide_thinking else {})})
        self.flush()

    def flush(self) -> None:
        self._out.flush()

    def _streamed(self, streamed: Streamed) -> Line | None:
        place: Line = {"round": streamed.round, "attempt": streamed.attempt}
        match streamed.event:
            case ModelLoading(share) | PromptRead(share) as progress:
                return {"type": "loading" if isinstance(progress, ModelLoading) else "reading", "share": share}
            case SearchReported(index, search):
                return {"type": "search", **place, "block": index, **search_object(search), "done": search.done}
            case ResponseStarted(restarted=True):
                return {"type": "reset", **place, "error": None}
            case TextDelta() | ThinkingDelta() | ToolArgsDelta() as delta:
                return self._delta(streamed, delta)
            case _:
                return None

    def _delta(self, streamed: Streamed, delta: TextDelta | ThinkingDelta | ToolArgsDelta) -> Line | None:
        if self._hide_thinking and isinstance(delta, ThinkingDelta):
            return None
        joiner = self._joiners.setdefault((streamed.round, streamed.attempt, delta.index), SurrogateJoiner())
        text = joiner.take(delta.text)
        if not text:
            return None
        position: Line = {"round": streamed.round, "attempt": streamed.attempt, "block": delta.index}
        return {"type": _DELTA_TYPES[type(delta)], **position, "text": text}


def _line(event: AppEvent) -> Line | None:
    match event:
        case TurnStarted(turn):
            return {"type": "turn", "turn": turn.id}
        case RequestStarted(_, round_, attempt, spec, plan):
            position: Line = {"round": round_, "attempt": attempt}
            return {
                "type": "request",
                **position,
                "model": str(spec),
                "plan": plan.summary,
                "warnings": [*plan.warnings],
            }
        case AttemptReset(_, round_, attempt, error):
            return {"type": "reset", "round": round_, "attempt": attempt, "error": error_object(error)}
        case RetryScheduled(_, wait_s, attempt, error, needs_consent):
            wait: Line = {"wait_s": round(wait_s, 3), "attempt": attempt, "needs_consent": needs_consent}
            return {"type": "retry", **wait, "error": error_object(error)}
        case MessageCompleted(_, round_, message):
            head: Line = {"round": round_, "role": message.role.value, "superseded": message.superseded}
            finish = message.stop.finish.value if message.stop else None
            return {
                "type": "message",
                **head,
                "text": text_of(message),
                "finish": finish,
                "usage": usage_object(message.usage),
                "answered_early": message.answered_early,
            }
        case _:
            return _aside(event)


def _aside(event: AppEvent) -> Line | None:
    line: Line | None
    match event:
        case ToolStarted(_, call_id, name, arguments):
            line = {"type": "tool_started", "id": call_id, "name": name, "arguments": arguments}
        case ToolFinished(_, call_id, result, seconds):
            text = "".join(part.text for part in result.content if isinstance(part, TextBlock))
            end: Line = {"failed": result.failed, "seconds": round(seconds, 3), "text": text}
            line = {"type": "tool_finished", "id": call_id, "name": result.name, **end}
        case Stalled(_, seconds):
            line = {"type": "stalled", "seconds": seconds}
        case Notice(severity, text, advice):
            line = {"type": "notice", "severity": severity.value, "text": text, "advice": advice}
        case MeterChanged(reading):
            line = {
                "type": "meter",
                "effective": reading.effective,
                "limit": reading.limit,
                "certainty": reading.certainty.value,
            }
        case CompressionFinished(before, after, _, error, runs):
            line = {"type": "compression", "before": before, "after": after, "error": error or None}
            line["summaries"] = [run_object(run) for run in runs]
        case SaveFailed(message):
            line = {"type": "not_saved", "text": message}
        case _:
            line = None
    return line


def _write(out: TextIO, line: Line) -> None:
    # Half a surrogate pair cannot be written as UTF-8; any left is replaced here.
    out.write(json_escaped(whole_text([json.dumps(line, ensure_ascii=False)])) + "\n")
