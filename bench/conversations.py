"""Made-up conversations of any length, for benchmarks of the screen."""

from __future__ import annotations

from bench.words import code, prose
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.messages import Message, Role, Turn
from tui.domain.thinking import ThinkingForm


def conversation(messages: int) -> list[Turn]:
    """Questions and answers with thinking; every text is its own, as it is when read from a file."""
    words, thought, lines = prose(40_000), prose(30_000, 7), code(20_000)
    turns = []
    for number in range(messages // 2):
        at = number * 37 % 30_000
        example = f"```python\n{lines[at % 15_000 : at % 15_000 + 300]}\n```"
        turns.append(
            Turn(
                id=f"t{number}",
                messages=(
                    Message(id=f"question-{number}", role=Role.USER, blocks=(TextBlock(text=words[at : at + 120]),)),
                    Message(
                        id=f"answer-{number}",
                        role=Role.ASSISTANT,
                        blocks=(
                            ThinkingBlock(text=thought[at % 20_000 : at % 20_000 + 700], form=ThinkingForm.FULL),
                            TextBlock(text=f"**{number}** {words[at : at + 800]}\n\n{example}"),
                        ),
                    ),
                ),
            )
        )
    return turns
