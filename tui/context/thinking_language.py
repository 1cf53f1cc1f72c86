"""Asks for a language of thinking without touching what a prompt cache holds.

The language of the conversation's first prompt is part of the system prompt and stays there. If the user changes it
later, the first prompt with another language says so, in every request from then on: the prefix of the request is
never written again.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.messages import Role, Turn
from tui.domain.printable import one_line

LONGEST = 60
ONLY_THINKING = "It does not decide the answer's language."


def prompt_language(turn: Turn) -> str:
    """The language that was wanted when the user sent the turn's prompt."""
    return next((message.language for message in turn.messages if message.role is Role.USER), "")


def system_language(turns: Sequence[Turn], wanted: str) -> str:
    """The language that the system prompt asks for; ``wanted`` is for a conversation that begins."""
    return prompt_language(turns[0]) if turns else wanted


def with_language(system: str, language: str) -> str:
    """A system prompt that asks for the language; unchanged without one."""
    if not language:
        return system
    asked = f"When you think before you answer, think in this language: {one_line(language, LONGEST)}. {ONLY_THINKING}"
    return f"{system}\n\n{asked}" if system.strip() else asked


def language_note(language: str) -> str:
    """What a prompt says if another language is wanted from there on; "" means that none is wanted any more."""
    if not language:
        return "[From now on, think in any language.]"
    return f"[From now on, think in this language: {one_line(language, LONGEST)}.]"
