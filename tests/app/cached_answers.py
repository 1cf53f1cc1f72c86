"""Answers of a Messages server that report a use of the prompt cache, and a clock that only moves when told to."""

from __future__ import annotations

from tests.faultserver.player import Step
from tui.app.program import SystemClock

NOW = 1_795_000_000.0


class SetClock(SystemClock):
    """Shows the time it is set to."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def answer(text: str, *, read: int = 0, written: int = 0, new: int = 100, out: int = 50) -> list[Step]:
    """One answer; what is written is kept for an hour."""
    usage = {
        "input_tokens": new,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": written},
        "output_tokens": 1,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [],
        "usage": usage,
    }
    return [
        {
            "sse": [
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": out}},
                {"type": "message_stop"},
            ]
        }
    ]
