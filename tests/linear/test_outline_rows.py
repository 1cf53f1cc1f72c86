"""The outline of a turn for ``ponder --linear``."""

from __future__ import annotations

from tui.domain.blocks import TextBlock
from tui.domain.messages import Message, Role, Turn
from tui.linear.reading_views import outline_rows


def titles(answer: str) -> list[str]:
    message = Message(id="m", role=Role.ASSISTANT, blocks=(TextBlock(text=answer),))
    return [row.text.removeprefix("heading: ") for row in outline_rows(Turn(id="t", messages=(message,)), 0)[1:]]


def test_closing_marks_are_no_part_of_a_heading() -> None:
    assert titles("# One ##\n\ntext # no\n\n##  Two\t#  \n\n### C#x") == ["One", "Two", "C#x"]


def test_a_line_of_marks_is_read_at_once() -> None:
    """It took minutes: the pattern looked for closing marks at each of them."""
    assert len(titles("# " * 150_000 + "x")) == 1
