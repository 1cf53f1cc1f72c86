"""What an editor is told of a turn."""

from __future__ import annotations

import pytest

pytest.importorskip("acp")

from tui.acp.updates import Updates
from tui.domain.events import Streamed
from tui.domain.stream import ResponseStarted, StreamEvent, TextDelta


def told(*events: StreamEvent) -> str:
    updates = Updates()
    found = [update for event in events for update in updates.of(Streamed("t", 1, 1, event))]
    return "".join(getattr(update.content, "text", "") for update in found if hasattr(update, "content"))


def test_an_answer_that_the_server_begins_anew_is_a_paragraph_of_its_own() -> None:
    anew = ResponseStarted("m", "r", restarted=True)
    assert told(TextDelta(0, "The answer"), anew, TextDelta(1, "The reply")) == "The answer\n\nThe reply"
    assert told(TextDelta(0, "The answer"), anew, TextDelta(1, "The answer is 42")) == "The answer is 42"
