"""What the meter costs: a 200k-token conversation opened cold, and one keystroke in it, beside a plain ``len`` pass.

    python -m bench.effective

Once for the functions alone, once through a session as the screen has it, with a turn running and without.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable

from tests.context.aims import CLAUDE, answer, call, result, results, thought, turn, user
from tests.context.living import Living, living
from tests.fakes.backend import HANG
from tui.catalog.catalog import packaged_catalog
from tui.catalog.model_spec import parse_spec
from tui.context.estimate import text_tokens
from tui.context.meter import Tally, reading_of, tally
from tui.domain.blocks import TextBlock
from tui.domain.events import RequestStarted
from tui.domain.messages import Turn
from tui.domain.stream import ResponseStarted
from tui.engine.open_turn import ConversationState
from tui.engine.planner import Planner
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter

TOKENS = 200_000
PROSE = "the model reads a file and then explains what def main(argv): return 0 it found, 3.14 times; 例えば naïve"
WORDS = PROSE.split()


def conversation(tokens: int = TOKENS) -> tuple[Turn, ...]:
    """Turns with thinking, tools and prose until there are that many tokens."""
    chance = random.Random(7)

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count)) + f"\n{chance.random()}"

    turns: list[Turn] = []
    size = 0
    while size < tokens:
        n = len(turns)
        texts = [words(40), words(250), words(400), words(300)]
        size += sum(text_tokens(text) for text in texts)
        turns.append(
            turn(
                f"t{n}",
                user(f"u{n}", texts[0]),
                answer(CLAUDE, f"a{n}", thought(CLAUDE, texts[1]), call(f"c{n}")),
                results(f"r{n}", result(f"c{n}", texts[2])),
                answer(CLAUDE, f"b{n}", texts[3]),
            )
        )
    text_tokens.cache_clear()
    return tuple(turns)


def opened(turns: tuple[Turn, ...]) -> Tally:
    """Select and count everything."""
    return tally(CLAUDE.select(*turns), turns, CLAUDE.facts)


def lengths(turns: tuple[Turn, ...]) -> int:
    """The plain pass: every text's length."""
    return sum(
        len(getattr(block, "text", "")) for each in turns for message in each.messages for block in message.blocks
    )


def milliseconds(work: Callable[[int], object], times: int) -> float:
    """Median CPU time of so many runs: other programs on the machine do not count."""
    taken = []
    for number in range(times):
        start = time.process_time()
        work(number)
        taken.append((time.process_time() - start) * 1_000)
    return statistics.median(taken)


async def in_a_session(turns: tuple[Turn, ...]) -> tuple[float, float, float]:
    """Milliseconds: opening a session cold, a keystroke in it, a keystroke while a turn runs."""
    roomy = EngineSettings(context_limit=1_000_000)

    def cold(_: int) -> None:
        text_tokens.cache_clear()
        planner = Planner(catalog, TokenMeter())
        spec = parse_spec("anthropic/claude-opus-5/high", catalog)
        conversation = ConversationState(
            session="s", target=planner.target(spec), spec=spec, settings=roomy, turns=turns
        )
        planner.resume(conversation.inputs())
        planner.meter(conversation.inputs())

    catalog = packaged_catalog()
    opening = milliseconds(cold, 5)
    async with living([[ResponseStarted("m", "r"), HANG]], turns=turns, settings=roomy) as s:
        idle = await keystrokes(s)
        await s.session.submit((TextBlock(text="go on"),))
        await s.until(RequestStarted)
        return opening, idle, await keystrokes(s)


async def keystrokes(s: Living) -> float:
    """Median CPU milliseconds of a keystroke through the session."""
    draft = " ".join(WORDS * 6)
    taken = []
    for number in range(200):
        start = time.process_time()
        await s.session.previewer.meter(draft[: 300 + number])
        taken.append((time.process_time() - start) * 1_000)
    return statistics.median(taken)


def main() -> None:
    """Print the figures."""
    turns = conversation()
    plain = milliseconds(lambda _: lengths(turns), 20)

    def cold(_: int) -> None:
        text_tokens.cache_clear()
        opened(turns)

    cold_ms = milliseconds(cold, 5)
    warm_ms = milliseconds(lambda _: opened(turns), 10)
    counted = opened(turns)
    draft = " ".join(WORDS * 6)
    key_ms = milliseconds(lambda n: reading_of(counted, CLAUDE.facts, draft=draft[: 300 + n]), 200)
    print(f"{counted.estimate:,} tokens in {len(turns)} turns; a plain len pass {plain:.3f} ms")
    print(f"opened cold     {cold_ms:8.3f} ms   {cold_ms / plain:8.1f} x len")
    print(f"selected again  {warm_ms:8.3f} ms   {warm_ms / plain:8.1f} x len")
    print(f"one keystroke   {key_ms:8.3f} ms   {key_ms / plain:8.2f} x len")
    opening, idle, busy = asyncio.run(in_a_session(turns))
    print(f"session opened  {opening:8.3f} ms   {opening / plain:8.1f} x len")
    print(f"… one keystroke {idle:8.3f} ms   {idle / plain:8.2f} x len")
    print(f"… while it runs {busy:8.3f} ms   {busy / plain:8.2f} x len")


if __name__ == "__main__":
    main()
