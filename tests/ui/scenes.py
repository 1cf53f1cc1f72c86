"""Conversations for the screen: turns as they are stored, and streams as they arrive."""

from __future__ import annotations

from tui.domain.blocks import ProviderState, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import (
    AppEvent,
    MessageCompleted,
    RequestStarted,
    Streamed,
    TurnFinished,
    TurnStarted,
)
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.stream import BlockStarted, Finish, Stop, StreamEvent, TextDelta, ThinkingDelta
from tui.domain.thinking import ModelSpec, PlanState, ThinkingForm, ThinkingLevel, ThinkingPlan
from tui.domain.usage import Certainty, MeterReading, Part, Usage

OPUS = ModelSpec(provider="anthropic", model="claude-opus-5", asked=ThinkingLevel.HIGH)
PLAN = ThinkingPlan(
    asked=ThinkingLevel.HIGH,
    nominal="high",
    sent="high",
    state=PlanState.ON,
    fields={"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    summary="Thinking: high (adaptive, effort high)",
)
ORIGIN = Origin(
    provider="anthropic", wire=WireName.ANTHROPIC, host="api.anthropic.com", model="claude-opus-5", level="high"
)

METER = MeterReading(
    effective=62_400,
    raw=74_800,
    limit=200_000,
    reserved=32_000,
    trigger=142_800,
    certainty=Certainty.ESTIMATED,
    parts={
        Part.SYSTEM: 1_100,
        Part.TOOLS: 2_000,
        Part.USER: 1_000,
        Part.ANSWERS: 22_000,
        Part.THINKING_SENT: 36_300,
        Part.THINKING_STRIPPED: 12_400,
        Part.RESERVED: 32_000,
    },
)

ANSWER = """The Drake equation gives a frame for the estimate: **N = R\\* · f_p · n_e · f_l · f_i · f_c · L**.

1. **Rate of star formation** is well known, about 1.5 a year.
2. **Planets** are common: `f_p` is close to 1.
3. Everything behind that is a guess, and the guesses *multiply*.

```python
def civilisations(rate: float, *shares: float, lifetime: float) -> float:
    \"\"\"How many there are now.\"\"\"
    n = rate * lifetime
    for share in shares:
        n *= share
    return n
```

| factor | low | high |
|---|---:|---:|
| f_l | 0.001 | 1 |
| f_i | 0.001 | 1 |
| L | 100 | 1e9 |

See [the original](https://example.org/drake) for where the numbers come from.
"""
THOUGHT = """The user wants an estimate, so I should give the frame first and say which factors are known.

Star formation is about 1.5 solar masses a year. Planets are nearly everywhere. The biological factors are unknown
over many orders of magnitude, so a single number would be dishonest.

I could mention the Fermi paradox and the result of Sandberg, Drexler and Ord: with honest uncertainties the chance
that we are alone in the galaxy is large.

Then a small function, and a table of the ranges."""


def user(text: str, number: int = 1) -> Message:
    return Message(id=f"u{number}", role=Role.USER, blocks=(TextBlock(text=text),))


def answer(text: str, number: int = 1, thought: str = "", cost: float | None = 0.36) -> Message:
    thinking = (
        ThinkingBlock(
            text=thought,
            form=ThinkingForm.FULL,
            seconds=38.0,
            tokens=12_400,
            provider_state=ProviderState(signature="s"),
        ),
    )
    return Message(
        id=f"a{number}",
        role=Role.ASSISTANT,
        blocks=(*(thinking if thought else ()), TextBlock(text=text)),
        origin=ORIGIN,
        usage=Usage(input=8_200, cache_read=6_100, output=14_300, thinking=12_400 if thought else None, total=22_500),
        stop=Stop(Finish.STOP, "end_turn"),
        seconds=44.0,
        cost=cost,
    )


def turn(question: str, said: str, number: int = 1, thought: str = "") -> Turn:
    return Turn(id=f"t{number}", messages=(user(question, number), answer(said, number, thought)))


def tool_turn(number: int = 2) -> Turn:
    call = ToolCallBlock(call_id="c1", name="grep", arguments='{"pattern": "class Drake", "path": "src"}')
    edit = ToolCallBlock(call_id="c2", name="edit_file", arguments='{"path": "src/drake.py"}')
    found = ToolResultBlock(
        call_id="c1", name="grep", content=(TextBlock(text="src/drake.py:4:class Drake:"),), seconds=0.1, note="1 hit"
    )
    diff = "--- a/src/drake.py\n+++ b/src/drake.py\n@@ -1,2 +1,2 @@\n-L = 1000\n+L = 10_000\n"
    changed = ToolResultBlock(
        call_id="c2",
        name="edit_file",
        content=(TextBlock(text="Wrote `src/drake.py`: 2 lines, 20 bytes."),),
        seconds=0.01,
        note="+1 −1",
        diff=diff,
    )
    first = Message(
        id=f"a{number}",
        role=Role.ASSISTANT,
        blocks=(ThinkingBlock(text="Look first.", form=ThinkingForm.SUMMARY, seconds=2.0, tokens=40), call, edit),
        origin=ORIGIN,
        stop=Stop(Finish.TOOL_USE),
    )
    results = Message(id=f"r{number}", role=Role.TOOL, blocks=(found, changed))
    last = answer("With **L = 10,000** the product becomes about ten.", number + 50)
    return Turn(id=f"t{number}", messages=(user("And with L = 10,000 years?", number), first, results, last))


CONVERSATION = (turn("How would you estimate the number of civilisations?", ANSWER, 1, THOUGHT), tool_turn(2))


def streamed(event: StreamEvent, turn_id: str = "live", round_: int = 1, attempt: int = 1) -> Streamed:
    return Streamed(turn_id, round_, attempt, event)


def begun(question: str = "Why?", turn_id: str = "live") -> list[AppEvent]:
    message = Message(id=f"u-{turn_id}", role=Role.USER, blocks=(TextBlock(text=question),))
    return [
        TurnStarted(Turn(id=turn_id, messages=(message,), open=True)),
        RequestStarted(turn_id, 1, 1, OPUS, PLAN),
    ]


def thinking(*pieces: str, index: int = 0) -> list[AppEvent]:
    return [
        streamed(BlockStarted(index, "thinking", form=ThinkingForm.FULL)),
        *(streamed(ThinkingDelta(index, piece)) for piece in pieces),
    ]


def words(*pieces: str, index: int = 1) -> list[Streamed]:
    return [streamed(BlockStarted(index, "text")), *(streamed(TextDelta(index, piece)) for piece in pieces)]


def ended(said: str, thought: str = "", question: str = "Why?", turn_id: str = "live") -> list[AppEvent]:
    done = answer(said, 99, thought)
    asked = Message(id=f"u-{turn_id}", role=Role.USER, blocks=(TextBlock(text=question),))
    return [MessageCompleted(turn_id, 1, done), TurnFinished(Turn(id=turn_id, messages=(asked, done)))]
