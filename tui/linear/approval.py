"""Asks whether a tool call may run, or a request may be paid for, after all of it was printed."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.blank_marks import marked
from tui.domain.diffs import is_diff
from tui.domain.events import ApprovalAsked
from tui.domain.format_numbers import count
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
    rules = [Choice(pattern, f"always for {rule_text(pattern, asked)}") for pattern in asked.patterns]
    return [
        Choice("once", "yes, once"),
        Choice("session", "yes, for this session"),
        *rules,
        Choice("no", "no"),
        Choice(WITH_REASON, "no, and tell the model why"),
    ]


def rule_text(pattern: str, asked: ApprovalAsked) -> str:
    """The rule; without the command, which was printed above."""
    exact = f"{asked.tool}(={asked.detail})"
    if pattern.startswith(exact):
        return f"exactly this command ({pattern.removeprefix(exact).strip()})"
    return marked(pattern.replace("\n", "␊"))
