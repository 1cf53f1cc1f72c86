"""One turn as one run of steps: a head above the first answer, a rail beside calls and thoughts, one bill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tui.domain.blocks import ToolCallBlock
from tui.domain.cost import paid_in
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import ENDED_EARLY, Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.thinking import labelled_name
from tui.ui.markdown.runs import Line, Look, Run
from tui.ui.transcript.blocks import Caption, Renderable
from tui.ui.transcript.thinking import Thinking
from tui.ui.transcript.tool_call import ToolCall


def head_line(provider: str, model: str, level: str) -> Line:
    """The model, and the level in force if it has levels."""
    name = labelled_name(provider, model)
    return [Run(one_line(f"{name} · {level}" if level else name, 80), "muted", Look.BOLD)]


def head_of(message: Message) -> Line:
    """The model and level that answered; a warning if another model was requested."""
    origin = message.origin
    if origin is None:
        return [Run("answer", "muted")]
    label = head_line(origin.provider, origin.model, origin.level)
    if message.answered_by is not None:
        label += [Run(" · ", "muted"), Run(f"answered by {one_line(message.answered_by, 60)}", "warning")]
    return label


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStep:
    """What the look of an answer takes from the other messages of its turn."""

    head: tuple[Run, ...] = ()
    """The model and level, unless the answer above has the same."""
    after_calls: bool = False
    """Earlier answers of the turn called tools."""
    is_continued: bool = False
    """The next section continues the run."""
    bill: tuple[Message, ...] = ()
    """All answers of the turn, if this is the last one."""

    def blocks(self, steps: Sequence[Renderable]) -> list[Renderable]:
        """The blocks of an answer with its head, and with its steps on the rail."""
        put_on_rail(steps, after_calls=self.after_calls)
        return [*([Caption(*self.head)] if self.head else []), *steps]


class TurnSoFar:
    """The answers of a turn up to now."""

    def __init__(self, messages: Sequence[Message] = (), *, bare: bool = False) -> None:
        """``bare``: the model is named elsewhere, so only a change of it needs a head."""
        self._head: Line = []
        self._bare = bare
        self._called = False
        for message in messages:
            self.add(message)

    def next(self, head: Line) -> AnswerStep:
        """The step of an answer with this head."""
        if self._bare and not self._head:
            self._head = head
        return AnswerStep(head=() if head == self._head else tuple(head), after_calls=self._called)

    def next_of(self, message: Message) -> AnswerStep:
        """The step of a complete answer. A discarded attempt is one line without a head."""
        step = self.next(head_of(message))
        return replace(step, head=()) if is_discarded(message) else step

    def add(self, message: Message) -> None:
        """Add a complete message."""
        if message.role is Role.ASSISTANT and not is_discarded(message):
            self._head = head_of(message)
            self._called = self._called or any(isinstance(block, ToolCallBlock) for block in message.blocks)


def is_discarded(message: Message) -> bool:
    """Whether the message is shown as one line."""
    return message.superseded and message.interrupted != ENDED_EARLY


def steps_of(turn: Turn, *, bare: bool = False) -> Iterator[tuple[Message, AnswerStep]]:
    """The messages of a turn, each with its place among the others. ``bare``: without its first head and its bill."""
    so_far = TurnSoFar(bare=bare)
    steps: list[AnswerStep] = []
    for message in turn.messages:
        steps.append(so_far.next_of(message) if message.role is Role.ASSISTANT else AnswerStep())
        so_far.add(message)
    shown = [number for number, message in enumerate(turn.messages) if message.role is not Role.TOOL]
    for number, after in pairwise(shown):
        both = turn.messages[number], turn.messages[after]
        if all(message.role is Role.ASSISTANT for message in both) and not steps[after].head:
            steps[number] = replace(steps[number], is_continued=True)
    whole = [not message.superseded and message.role is Role.ASSISTANT for message in turn.messages]
    answers = [number for number, is_answer in enumerate(whole) if is_answer]
    last = answers[-1] if answers else None
    if last is not None and not turn.open and not bare:
        steps[last] = replace(steps[last], bill=tuple(paid_in((turn,))))
    yield from zip(turn.messages, steps, strict=True)


def put_on_rail(blocks: Sequence[Renderable], *, after_calls: bool) -> None:
    """Draw calls, what the model says before them, and its thoughts between them as steps of one run.

    ``after_calls``: earlier answers of the turn called tools.
    """
    last = max((number for number, block in enumerate(blocks) if isinstance(block, ToolCall)), default=-1)
    runs = after_calls
    for number, block in enumerate(blocks):
        runs = runs or isinstance(block, ToolCall)
        block.on_rail = runs if isinstance(block, ToolCall | Thinking | Caption) else number < last
        block.space = 0 if block.on_rail else type(block).space
        if isinstance(block, Thinking):
            block.be_brief(now=block.on_rail)
