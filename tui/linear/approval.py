"""Asks whether a tool call may run, or a request may be paid for, after all of it was printed."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.blank_marks import marked
from tui.domain.diffs import is_diff
from tui.domain.events import ApprovalAsked
from tui.domain.format_numbers import count
from tui.domain.rule_words import rule_words, session_words
from tui.linear.questions import Choice

WITH_REASON = "no:"
"""The answer that asks for a reason."""


def call_lines(asked: ApprovalAsked, elsewhere: str = "") -> list[str]:
    """The question with everything that the call would do.

    The lines of the call are counted and indented, so that they cannot pass for ponder's.
    """
    where = f' in "{elsewhere}"' if elsewhere else ""
    lines = [f"Question{where}: {marked(asked.summary.replace(chr(10), ' '))}"]
    lines += [line for line in marked(asked.note).split("\n") if line]
    if asked.detail:
        rows = marked(asked.detail.rstrip("\n")).split("\n")
        what = "Changes" if is_diff(asked.detail) else "Text"
        lines += [f"{what} of the call, {count(len(rows), 'line')}:", *(f"  {row}" for row in rows)]
        lines.append("End of the call.")
    return lines


def answers(asked: ApprovalAsked) -> Sequence[Choice]:
    """The possible answers."""
    if asked.answers:
        return [Choice(answer, text) for answer, text in asked.answers]
    rules = [Choice(pattern, f"always allow {rule_words(pattern, asked)}") for pattern in asked.patterns]
    session = [Choice("session", session_words(asked).replace("Yes", "yes", 1))] if asked.session else []
    return [
        Choice("once", "yes, once"),
        *session,
        *rules,
        Choice("no", "no"),
        Choice(WITH_REASON, "no, and tell the model why"),
    ]
