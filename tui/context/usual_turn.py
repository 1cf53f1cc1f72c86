"""The usual size of a turn in a session, and what it would be at another thinking level."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.thinking import Asked, ThinkingLevel
from tui.domain.usage import Usage

TURNS = 10
"""The newest turns whose median is the usual length."""
FIRST_PROMPT, FIRST_ANSWER = 500, 700
"""Tokens assumed before the first answer, besides system prompt, tools and thinking."""
TYPICAL_THINKING = {
    ThinkingLevel.NONE: 0,
    ThinkingLevel.LOW: 1_000,
    ThinkingLevel.MED: 4_000,
    ThinkingLevel.HIGH: 12_000,
}
"""Tokens assumed for a level before it was used. Other levels of the session are compared in this ratio."""
SHARE_OF_BUDGET = 3
"""A model is assumed to use this part of a budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TurnSize:
    level: str
    input: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    answer: int
    thinking: int


def usual_turn(turns: Sequence[Turn], asked: Asked, label: str, next_input: int) -> Usage:
    """Return the medians of the last turns, with the thinking of a level (``label`` as answers record it).

    ``next_input`` is the input of the next request, for a session without an answer.
    """
    sizes = [size for turn in turns[-TURNS:] if (size := _size(turn)) is not None]
    if not sizes:
        thinking = _typical(asked)
        return Usage(input=next_input + FIRST_PROMPT, output=FIRST_ANSWER + thinking, thinking=thinking)
    thinking = _thinking(sizes, asked, label)
    return Usage(
        input=_middle([size.input for size in sizes]),
        cache_read=_middle([size.cache_read for size in sizes]),
        cache_write=_middle([size.cache_write for size in sizes]),
        cache_write_1h=_middle([size.cache_write_1h for size in sizes]),
        output=_middle([size.answer for size in sizes]) + thinking,
        thinking=thinking,
    )


def _size(turn: Turn) -> _TurnSize | None:
    answers = [message for message in turn.messages if message.role is Role.ASSISTANT and not message.superseded]
    used = [usage for message in answers if (usage := message.usage) is not None and usage.input and usage.output]
    if not used or len(used) < len(answers):
        return None
    thinking = sum(usage.thinking or 0 for usage in used)
    return _TurnSize(
        level=_level(answers),
        input=sum(usage.input or 0 for usage in used),
        cache_read=sum(usage.cache_read or 0 for usage in used),
        cache_write=sum(usage.cache_write or 0 for usage in used),
        cache_write_1h=sum(usage.cache_write_1h or 0 for usage in used),
        answer=max(0, sum(usage.output or 0 for usage in used) - thinking),
        thinking=thinking,
    )


def _level(answers: Sequence[Message]) -> str:
    origin = answers[-1].origin
    return origin.level if origin is not None else ""


def _thinking(sizes: Sequence[_TurnSize], asked: Asked, label: str) -> int:
    """Return the median of this level, otherwise that of the other levels, scaled."""
    same = [size.thinking for size in sizes if size.level == label]
    if same:
        return _middle(same)
    typical = _typical(asked)
    scaled = [
        size.thinking * typical / known
        for size in sizes
        if size.thinking and (known := _typical(_asked_by(size.level)))
    ]
    return _middle(scaled) if scaled else typical


def typical_thinking(level: str) -> int:
    """Return the tokens assumed for a level, named as answers record it, before it was used."""
    return _typical(_asked_by(level))


def _asked_by(level: str) -> Asked:
    if level in set(ThinkingLevel):
        return ThinkingLevel(level)
    digits = level.replace(",", "")
    return int(digits) if digits.isdecimal() and len(digits) < 9 else ThinkingLevel.MED


def _typical(asked: Asked) -> int:
    return TYPICAL_THINKING[asked] if isinstance(asked, ThinkingLevel) else asked // SHARE_OF_BUDGET


def _middle(counts: Sequence[float]) -> int:
    """Return the median. The standard library's module takes 10 ms to import."""
    ordered, half = sorted(counts), len(counts) // 2
    return round((ordered[half] + ordered[-half - 1]) / 2)
