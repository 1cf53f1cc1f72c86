"""The last exchange is told in words: a line for each event, one for a run of pieces."""

from __future__ import annotations

from tui.app.format_events import format_events
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    Finish,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from tui.domain.usage import Usage


def test_pieces_are_one_line_and_what_was_not_said_is_left_out() -> None:
    heard: list[tuple[float, StreamEvent]] = [
        (0.3, ResponseStarted(model="m", response_id=None)),
        (0.4, BlockStarted(index=0, kind="thinking")),
        (0.5, ThinkingDelta(0, "The ")),
        (1.25, ThinkingDelta(0, "user")),
        (1.3, TextDelta(1, "Yes\n")),
        (1.4, BlockFinished(index=1)),
        (2.0, UsageReported(Usage(input=12, output=3))),
        (2.1, ResponseFinished(Stop(finish=Finish.STOP, raw="end_turn"))),
    ]

    assert format_events(heard) == (
        "       0.30 s  response started      model=m",
        "       0.40 s  block started         index=0  kind=thinking",
        "  0.50–1.25 s  thinking delta × 2    'The user'",
        "       1.30 s  text delta            'Yes\\n'",
        "       1.40 s  block finished        index=1",
        "       2.00 s  usage reported        input=12  output=3",
        "       2.10 s  response finished     finish=stop  raw=end_turn",
    )
