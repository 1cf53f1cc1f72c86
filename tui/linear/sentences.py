"""Sentences for events; pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.blocks import ToolResultBlock
from tui.domain.citations import shown_address, shown_title
from tui.domain.cost import cost_of, paid_in
from tui.domain.errors import PonderError
from tui.domain.events import RetryScheduled
from tui.domain.format_numbers import count, duration, noun, tokens
from tui.domain.messages import CANCELLED, CRASHED, Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.stream import Finish
from tui.domain.thinking import ModelSpec, ThinkingPlan, model_title
from tui.domain.usage import Certainty, MeterReading, Usage
from tui.domain.web_search import Source, WebSearch, error_sentence

STOPS = {
    Finish.LENGTH: "The answer was cut at the output limit",
    Finish.FILTER: "The provider's filter stopped the answer",
    Finish.REFUSAL: "The model refused",
    Finish.CONTEXT_FULL: "The context window is full",
    Finish.MALFORMED_CALL: "The model made an invalid tool call",
    Finish.OTHER: "The answer ended in an unusual way",
}
SIGNS = {
    " · ": ", ",
    " — ": "; ",
    " → ": " to ",
    "→ ": "",
    "≈ ": "about ",
    "≈": "about ",
    "≥ ": "at least ",
    "≥": "at least ",
    "✗ ": "",
    "⚠ ": "",
    "“": '"',
    "”": '"',
    "Esc stops it": "Ctrl+c stops it",
    "ctrl+s, then u restores it": "/sessions restores it",
    "Escape keeps the answers": "Enter alone keeps the answers",
}
"""Signs in texts of the screen, and what is printed instead."""


def spoken(text: str) -> str:
    """A text of the program without signs that a screen reader does not speak."""
    for sign, word in SIGNS.items():
        text = text.replace(sign, word)
    return text


def bare(text: str) -> str:
    """The same without the marks of code."""
    return spoken(text).replace("`", "")


def ended(sentence: str) -> str:
    """The sentence with a full stop, so that another can follow."""
    return sentence if sentence.rstrip()[-1:] in tuple(".!?…:;") else f"{sentence.rstrip()}."


def with_advice(text: str, advice: str = "") -> str:
    """A message of the program with its advice, as sentences."""
    return bare(f"{ended(text)} {advice}".strip() if advice else text)


def error_text(error: PonderError) -> str:
    return f"Error: {with_advice(error.message, error.advice)}"


def model_name(spec: ModelSpec, plan: ThinkingPlan) -> str:
    """The model, and its level in force if it has levels."""
    name = f"{spec.provider}/{model_title(spec.model)}"
    return f"{name}, thinking {plan.level}" if plan.level else name


def thought_text(seconds: float | None, counted: int | None, *, is_estimated: bool, nature: str = "") -> str:
    """A line such as ``Thought 38 s, 12.4k tokens``."""
    facts = [duration(seconds)] if seconds is not None else []
    if counted is not None:
        facts.append(f"{'about ' if is_estimated else ''}{tokens(counted)} {noun(counted, 'token')}")
    if nature:
        facts.append(nature)
    return f"Thought {', '.join(facts)}." if facts else "Thought."


def retry_text(event: RetryScheduled) -> str:
    """Why and when a request is repeated."""
    wait = f"Waits {duration(event.wait_s)} before the next attempt"
    if event.needs_consent:
        return f"{ended(error_text(event.error))} The provider asks to wait {duration(event.wait_s)}."
    return f"{ended(error_text(event.error))} {wait}. /now skips the wait."


def stop_text(message: Message) -> str:
    """Why an answer ended early; "" if it did not."""
    if message.interrupted:
        if message.interrupted == CANCELLED:
            return "Stopped by you."
        why = "the program ended" if message.interrupted == CRASHED else one_line(message.interrupted, 200)
        return ended(f"The answer is incomplete: {why}")
    if message.stop is not None and message.stop.finish in STOPS:
        reason = message.stop.detail or (message.stop.raw if message.stop.finish is Finish.OTHER else "")
        detail = f": {one_line(reason, 200)}" if reason else ""
        return ended(f"{STOPS[message.stop.finish]}{detail}")
    return ""


def answers(turn: Turn) -> list[Message]:
    """The model's messages, without those that were repeated."""
    return [message for message in turn.messages if message.role is Role.ASSISTANT and not message.superseded]


def usage_text(turn: Turn) -> str:
    """What a turn took: time, tokens and cost, as far as known; "" if nothing is known."""
    said = answers(turn)
    usages = [message.usage for message in said if message.usage is not None]
    seconds = [message.seconds for message in said if message.seconds is not None]
    parts = [duration(sum(seconds))] if seconds else []
    if usages:
        parts += _usage_parts(usages)
    cost = cost_of(paid_in((turn,))).amount
    if cost:
        parts.append("cost unknown" if cost == "unknown" else cost)
    if any(message.answered_early for message in said):
        parts.append("answered early")
    return f"Took {', '.join(parts)}." if parts else ""


def _usage_parts(usages: Sequence[Usage]) -> list[str]:
    parts: list[str] = []
    inputs = [usage.input for usage in usages if usage.input is not None]
    outputs = [max(0, usage.output - (usage.thinking or 0)) for usage in usages if usage.output is not None]
    thought = [usage.thinking for usage in usages if usage.thinking is not None]
    if inputs:
        read = sum(usage.cache_read or 0 for usage in usages)
        written = sum(usage.cache_write or 0 for usage in usages)
        cache = [f"{tokens(number)} {word}" for number, word in ((read, "cached"), (written, "written")) if number]
        cached = f" ({', '.join(cache)})" if cache else ""
        parts.append(f"{tokens(sum(inputs))} {noun(sum(inputs), 'token')} in{cached}")
    if outputs:
        parts.append(f"{tokens(sum(outputs))} out")
    if sum(thought):
        parts.append(f"{tokens(sum(thought))} thinking")
    return parts


def context_text(reading: MeterReading) -> str:
    """How full the context window is."""
    about = "" if reading.certainty is Certainty.REPORTED else "about "
    if reading.limit is None:
        return f"Context: {about}{tokens(reading.effective)} {noun(reading.effective, 'token')}, window unknown."
    share = 100 * reading.effective / max(1, reading.limit)
    window = f"{tokens(reading.limit)} {noun(reading.limit, 'token')}"
    return f"Context: {about}{tokens(reading.effective)} of {window}, {share:.0f} percent."


MOST_SHOWN = 200
"""Characters of a tool's output that are printed at once."""
LONGEST_NAME = 80
"""Characters of a name that a model or server chose."""


def result_text(name: str, result: ToolResultBlock, seconds: float, text: str) -> str:
    """How a tool call ended."""
    name = one_line(name, LONGEST_NAME)
    if result.denied:
        return f"Tool {name}: denied, not run."
    if result.stopped:
        return f"Tool {name}: stopped after {duration(seconds)}."
    how = f"failed after {duration(seconds)}" if result.failed else f"done in {duration(seconds)}"
    lines = text.strip().split("\n")
    if not text.strip():
        return f"Tool {name}: {how}, no output."
    if len(lines) == 1 and len(lines[0]) <= MOST_SHOWN:
        return f"Tool {name}: {how}: {lines[0]}"
    return ended(f"Tool {name}: {how}, {spoken(result.note) or count(len(lines), 'line') + ' of output'}")


def search_text(search: WebSearch) -> str:
    """A web search of the provider: what is looked for, or how it ended; "" if nothing is known yet."""
    if search.error:
        return ended(f"Web search failed: {one_line(error_sentence(search.error), MOST_SHOWN)}")
    if search.results is not None:
        return f"Web search: {count(len(search.results), 'result')}."
    return f"Web search: {spoken(one_line(search.subject, MOST_SHOWN))}" if search.subject else ""


def source_texts(sources: Sequence[Source]) -> list[str]:
    """The cited pages, numbered as in the text."""
    rows = [(shown_title(page), shown_address(page)) for page in sources]
    named = [f"{title} ({address})" if title and address else title or address for title, address in rows]
    return ["Sources:", *(f"{number} {name}" for number, name in enumerate(named, 1))] if named else []
