"""The meter of an answer that is arriving: as if it had been counted whole, and nothing is counted twice."""

from __future__ import annotations

import asyncio

import pytest

from tests.context.living import living
from tests.fakes.backend import HANG, Pause, Script, finish
from tests.fakes.clock import virtually
from tui.context import estimate
from tui.context.estimate import PART, TextCounter, text_features, uncached_text_tokens
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.events import MeterChanged, RequestStarted
from tui.domain.stream import BlockFinished, BlockStarted, ResponseStarted, TextDelta, ThinkingDelta
from tui.engine.settings import EngineSettings

WORDS = "The answer goes on, number {}: café, 1,024 items and `some_code()`.\n"
ROOMY = EngineSettings(context_limit=10_000_000)


def prose(count: int) -> list[str]:
    return [WORDS.format(number) for number in range(count)]


@pytest.mark.parametrize("step", [1, 7, 1_000, 10 * PART])
def test_a_growing_text_is_counted_as_the_whole_is(step: int) -> None:
    text = "".join(prose(2_000 if step > 10 else 60))
    counter = TextCounter("claude")
    for start in range(0, len(text), step):
        counter.add(text[start : start + step])
        if start % 5 == 0 and step > 10:
            counter.tokens()
    assert counter.tokens() == pytest.approx(uncached_text_tokens(text, "claude"), rel=0.001)
    assert TextCounter().tokens() == 0


def test_a_text_without_a_blank_is_counted_too() -> None:
    text = "x" * (3 * PART)
    assert uncached_text_tokens(text) == pytest.approx(3 * uncached_text_tokens("x" * PART), rel=0.001)


def test_every_part_of_a_growing_text_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def watched(text: str) -> list[float]:
        looked_at.append(len(text))
        return text_features(text)

    monkeypatch.setattr(estimate, "text_features", watched)
    counter, text = TextCounter(), "".join(prose(20_000))
    for start in range(0, len(text), 1_000):
        counter.add(text[start : start + 1_000])
        counter.tokens()
    assert sum(looked_at) < 1.2 * len(text)
    assert max(looked_at) <= PART


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_the_meter_of_half_an_answer_is_that_of_the_stored_half(kind: str) -> None:
    delta = TextDelta if kind == "text" else ThinkingDelta
    pieces = [delta(0, text) for text in prose(600)]
    script = [
        ResponseStarted("claude-opus-5", "r"),
        BlockStarted(0, kind),  # type: ignore[arg-type]  # both are kinds
        *pieces,
        Pause(5),
        HANG,
    ]

    async def check() -> tuple[int, int, int]:
        async with living([script], settings=ROOMY) as s:
            await s.session.submit((TextBlock(text="go on"),))
            await s.until(RequestStarted)
            before = (await s.meter()).effective
            _, subscription = s.session.attach()
            await asyncio.sleep(4)
            readings = [
                stamped.event.reading.effective
                for stamped in subscription.drain()
                if isinstance(stamped.event, MeterChanged)
            ]
            arriving = readings[-1]
            seen = (await s.session.preview("")).meter.effective
            return before, arriving, seen

    before, arriving, seen = virtually(check())
    # Thinking that has no signature yet would not be sent back.
    assert (arriving > before + 5_000) is (kind == "text")
    assert arriving == pytest.approx(seen, rel=0.01)


def test_what_is_previewed_while_an_answer_arrives_holds_all_of_it() -> None:
    script: Script = [
        ResponseStarted("claude-opus-5", "r"),
        BlockStarted(0, "text"),
        *(TextDelta(0, text) for text in prose(100)),
        BlockFinished(0),
        HANG,
    ]

    async def check() -> str:
        async with living([script], settings=ROOMY) as s:
            await s.session.submit((TextBlock(text="go on"),))
            await s.until(RequestStarted)
            await asyncio.sleep(3)
            request = (await s.session.preview("")).request
            await s.session.cancel()
            return "".join(
                block.text
                for message in request.outgoing.messages
                for block in message.blocks
                if isinstance(block, TextBlock | ThinkingBlock)
            )

    assert "".join(prose(100)) in virtually(check())


@pytest.mark.long
def test_a_long_answer_is_not_counted_again_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = prose(40_000)
    size = sum(map(len, pieces))
    script: Script = [
        ResponseStarted("claude-opus-5", "r1"),
        BlockStarted(0, "text"),
        *(TextDelta(0, "".join(pieces[start : start + 100])) for start in range(0, len(pieces), 100)),
        BlockFinished(0),
        *finish(usage=None),
    ]
    looked_at: list[int] = []

    def watched(text: str) -> list[float]:
        looked_at.append(len(text))
        return text_features(text)

    monkeypatch.setattr(estimate, "text_features", watched)

    async def talk() -> int:
        async with living([script], settings=ROOMY) as s:
            await s.say()
            return s.shown().raw

    shown = virtually(talk())
    assert size <= sum(looked_at) < 1.3 * size
    assert shown > size / 10
