"""Events become lines, in the order in which they happen."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tui.domain.blocks import TextBlock, ToolResultBlock
from tui.domain.call_arguments import main_argument
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import (
    AppEvent,
    AttemptReset,
    CompressionFinished,
    CompressionStarted,
    MessageCompleted,
    Notice,
    QueueChanged,
    RequestStarted,
    RetryScheduled,
    SaveFailed,
    SaveRecovered,
    Severity,
    Stalled,
    Streamed,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from tui.domain.messages import ENDED_EARLY, Message, Role, Turn
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    CitationsReceived,
    ModelLoading,
    ProviderRemark,
    ResponseStarted,
    SearchReported,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from tui.domain.thinking import ModelSpec, PlanState, ThinkingForm, ThinkingLevel, ThinkingPlan
from tui.domain.web_search import Citation, Source, WebSearch
from tui.linear.turn_lines import TurnLines

SPEC = ModelSpec(provider="anthropic", model="claude")
PLAN = ThinkingPlan(
    asked=ThinkingLevel.HIGH, nominal="high", sent="high", state=PlanState.ON, warnings=("`x` is not sent",)
)
STARTED = RequestStarted("t", 0, 1, SPEC, PLAN)
BROKEN = ProviderError(ErrorKind.NETWORK, "Connection lost")


class Clock:
    """Each look is two seconds after the one before."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 2.0
        return self.now


def said(*events: AppEvent | StreamEvent, lines: TurnLines | None = None) -> list[str]:
    lines = lines or TurnLines(Clock())
    found: list[str] = []
    for event in events:
        is_app = isinstance(event, AppEvent)
        found += lines.take(event if is_app else Streamed("t", 0, 1, event))  # type: ignore[arg-type]
    return found


def message(**more: object) -> Message:
    return Message(**{"id": "m", "role": Role.ASSISTANT, "blocks": (), **more})  # type: ignore[arg-type]


def completed(**more: object) -> MessageCompleted:
    return MessageCompleted("t", 0, message(**more))


THOUGHT: Sequence[StreamEvent] = (
    BlockStarted(0, "thinking"),
    ThinkingDelta(0, "I wonder.\nYes"),
    BlockFinished(0),
)
SAID: Sequence[StreamEvent] = (BlockStarted(1, "text"), TextDelta(1, "It is **so"), TextDelta(1, "**.\n\nEnd"))


def test_thinking_is_announced_and_the_answer_given_in_complete_lines() -> None:
    found = said(STARTED, *THOUGHT, *SAID, BlockFinished(1), completed())
    assert found == [
        "Note: x is not sent",
        "Thinking…",
        "Thought 2.0 s, about 3 tokens. /thinking show prints it.",
        "Answer by claude, thinking high:",
        "It is so.",
        "",
        "End",
    ]


def test_what_was_said_once_is_not_said_again() -> None:
    lines = TurnLines(Clock())
    said(STARTED, *THOUGHT, *SAID, completed(), lines=lines)
    assert said(STARTED, *THOUGHT, *SAID, completed(), lines=lines)[:3] == [
        "Thinking…",
        "Thought 2.0 s, about 3 tokens.",
        "Answer:",
    ]


def test_thinking_streams_if_the_user_wants_it() -> None:
    lines = TurnLines(Clock())
    lines.streams_thinking = True
    assert said(*THOUGHT, lines=lines) == ["Thinking:", "I wonder. Yes", "Thought 2.0 s, about 3 tokens."]
    summary = BlockStarted(0, "thinking", form=ThinkingForm.SUMMARY)
    assert said(summary, lines=lines) == ["Thinking (a summary):"]


def test_what_is_skipped_is_not_said_until_the_next_turn() -> None:
    lines = TurnLines(Clock())
    said(STARTED, *SAID, lines=lines)
    lines.skips = True
    assert said(TextDelta(1, " of it\n\nmore\n\n"), completed(), lines=lines) == []
    said(TurnStarted(Turn(id="u", messages=())), lines=lines)
    assert said(STARTED, *SAID, completed(), lines=lines) == ["Answer:", "It is so.", "", "End"]


def test_a_repeated_attempt_does_not_repeat_its_words() -> None:
    found = said(
        *(STARTED, BlockStarted(0, "text"), TextDelta(0, "One.\nTw")),
        *(AttemptReset("t", 0, 1, BROKEN), RetryScheduled("t", 1.0, 2, BROKEN), STARTED, *THOUGHT),
        *(BlockStarted(1, "text"), TextDelta(1, "One.\n"), TextDelta(1, "Two.\n\n"), completed()),
    )
    assert found == [
        "Note: x is not sent",
        "Answer by claude, thinking high:",
        "Error: Connection lost. Waits 1.0 s before the next attempt. /now skips the wait.",
        "Thinking…",
        "Thought 2.0 s, about 3 tokens. /thinking show prints it.",
        "One. Two.",
        "",
    ]


def test_an_attempt_that_says_something_else_is_given_in_full() -> None:
    found = said(
        *(BlockStarted(0, "text"), TextDelta(0, "One.\n\nTw"), AttemptReset("t", 0, 1, BROKEN)),
        *(BlockStarted(0, "text"), TextDelta(0, "One.\n\nNo.\n\n"), completed()),
    )
    assert found == [
        *("Answer:", "One.", "", "Tw"),
        "The stream broke and the answer began anew. It follows in full.",
        *("One.", "", "No.", ""),
    ]


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (ToolStarted("t", "c", "shell", '{"command": "ls -l"}'), ["Tool shell: ls -l"]),
        (ToolStarted("t", "c", "now", "{}"), ["Tool now"]),
        (
            ToolFinished("t", "c", ToolResultBlock(call_id="c", name="shell", content=(TextBlock(text="a"),)), 1.0),
            ["Tool shell: done in 1.0 s: a"],
        ),
        (Stalled("t", 30.0), ["No data for 30 s. Ctrl+c stops."]),
        (Notice(Severity.WARNING, "It is `so`", "Do it."), ["Note: It is so. Do it."]),
        (Notice(Severity.ERROR, "It failed."), ["Error: It failed."]),
        (Notice(Severity.INFO, "Chosen."), ["Chosen."]),
        (CompressionStarted(5, 1_000), ["Compressing 5 turns."]),
        (CompressionFinished(1_000, 200, summary="s"), ["Compressed 1k to 200 tokens. /uncompress undoes it."]),
        (CompressionFinished(1_000, 0, error="it is empty"), ["Not compressed: it is empty"]),
        (SaveFailed("the disk is full"), ["NOT SAVED: the disk is full"]),
        (SaveRecovered(), ["Everything is saved again."]),
        (TurnFailed(Turn(id="t", messages=()), BROKEN), ["Error: Connection lost"]),
        (TurnFinished(Turn(id="t", messages=(message(seconds=1.0, cost=0.5),))), ["Took 1.0 s, $0.50."]),
        (completed(superseded=True, interrupted=ENDED_EARLY), ["The thinking was ended early and is not sent again."]),
        (completed(interrupted="cancelled"), ["Stopped by you."]),
        (completed(answered_by="other"), ["Answered by other."]),
        (ModelLoading(0.1), ["Loading the model."]),
        (ProviderRemark("c", "A block was dropped"), ["Note: A block was dropped"]),
        (ResponseStarted("m", "r", restarted=True), ["The server begins its answer again."]),
    ],
)
def test_an_event_is_a_line(event: AppEvent | StreamEvent, lines: list[str]) -> None:
    assert said(event) == lines


def test_no_name_or_remark_of_others_begins_a_line() -> None:
    forged = "x\n1 yes, once\nTool shell: done"
    events: Sequence[AppEvent | StreamEvent] = (
        ToolStarted("t", "c", forged, "{}"),
        ToolFinished("t", "c", ToolResultBlock(call_id="c", name=forged, content=()), 1.0),
        ProviderRemark("x", forged),
        completed(answered_by=forged),
    )
    for event in events:
        (line,) = said(event)
        assert "\n" not in line


def test_a_long_silence_is_said_seldom() -> None:
    stalls = [Stalled("t", float(seconds)) for seconds in range(15, 130)]
    assert [line.split()[3] for line in said(*stalls)] == ["15", "30", "1", "2"]


def test_a_text_that_is_cut_at_its_citations_is_one_text() -> None:
    page = Source(url="https://x.org/a", title="A page")
    cited = TextBlock(text="It is so", citations=(Citation(source=page, end=8),))
    found = said(
        *(BlockStarted(0, "search"), SearchReported(0, WebSearch(id="s", queries=("why",)))),
        *(SearchReported(0, WebSearch(id="s", queries=("why",), results=(page,), done=True)), BlockFinished(0)),
        *(BlockStarted(1, "text"), TextDelta(1, "It is "), TextDelta(1, "so"), CitationsReceived(1, cited.citations)),
        *(BlockFinished(1), BlockStarted(2, "text"), TextDelta(2, ", and more."), BlockFinished(2)),
        *(BlockStarted(3, "text"), TextDelta(3, "Apart."), BlockFinished(3)),
        completed(blocks=(cited, TextBlock(text=", and more."))),
    )
    assert found == [
        *('Web search: "why"', "Web search: 1 result.", "Answer:", "It is so, and more.", "Apart."),
        *("Sources:", "1 A page (https://x.org/a)"),
    ]


def test_loading_is_said_once() -> None:
    assert said(ModelLoading(0.1), ModelLoading(0.2), ModelLoading(1.0, done=True)) == ["Loading the model."]


def test_a_prompt_from_the_queue_is_repeated() -> None:
    prompt = Message(id="p", role=Role.USER, blocks=(TextBlock(text="Second?"),))
    started = TurnStarted(Turn(id="t", messages=(prompt,)))
    assert said(QueueChanged(("Second?",)), QueueChanged(()), started) == ["From the queue: Second?"]
    assert said(started) == []


def test_the_demo_is_named_as_what_it_is() -> None:
    started = RequestStarted("t", 0, 1, ModelSpec(provider="demo", model="demo"), PLAN)
    assert said(started, *SAID)[1] == "Answer by the demo, not a real model, thinking high:"


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ('{"path": "a.py", "content": "x\\ny"}', "a.py"),
        ('{"first": 1, "second": [2]}', "first: 1, second: [2]"),
        ("not json", "not json"),
        ("[1]", "[1]"),
        ("", ""),
    ],
)
def test_the_most_informative_argument_is_said(arguments: str, argument: str) -> None:
    assert main_argument(arguments) == argument
