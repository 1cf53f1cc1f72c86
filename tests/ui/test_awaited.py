"""While the user waits, the conversation says for what, in the provider's words, and how to end it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import RequestStarted, RetryScheduled, Stalled, TurnFailed
from tui.domain.messages import Turn
from tui.domain.stream import ModelLoading, PromptRead
from tui.ui.app import PonderApp
from tui.ui.markdown.runs import plain
from tui.ui.transcript.waiting_lines import RetryLine

LIMITED = ProviderError(ErrorKind.RATE_LIMIT, "try again in 20 s", status=429)


def conversation(app: PonderApp) -> str:
    """What the rows above the composer say, without the sidebar, as one line."""
    rows = [row.partition("│")[0] for row in screen_text(app).splitlines()]
    return " ".join(" ".join(rows[: app.chat.transcript.size.height + 1]).split())


def retry(error: ProviderError = LIMITED, wait_s: float = 20.0, **more: bool) -> RetryScheduled:
    return RetryScheduled("live", wait_s, 2, error, attempts=5, provider="OpenAI", **more)


async def wait_for(pilot: Pilot[int], app: PonderApp, words: str) -> None:
    await until(pilot, lambda: words in conversation(app))


def asked(services: FakeServices, what: str) -> list[object]:
    return [argument for name, argument in services.chat.asked if name == what]


async def test_a_clock_runs_below_the_prompt_until_there_are_words() -> None:
    async with on_stage(size=(90, 24), values={"ui.motion": True, "ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"))
        await wait_for(pilot, app, "waiting 0.")
        await wait_for(pilot, app, "waiting 1.")
        services.chat.publish(*scenes.thinking("Let me see."))
        await until(pilot, lambda: "waiting" not in conversation(app) and "Let me see." in conversation(app))


async def test_the_clock_says_how_much_of_the_prompt_was_read() -> None:
    async with on_stage(size=(90, 24), values={"ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), scenes.streamed(PromptRead(0.34)))
        await wait_for(pilot, app, "· reading the prompt 34%")
        assert "reading the prompt … 34%" in screen_text(app)
        services.chat.publish(scenes.streamed(PromptRead(1.0)))
        await until(pilot, lambda: "reading the prompt" not in screen_text(app) and "waiting" in conversation(app))


async def test_the_clock_says_when_a_model_is_loaded_first_and_how_to_stop_after_a_while() -> None:
    async with on_stage(size=(90, 24), values={"ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), scenes.streamed(ModelLoading(0.4)))
        await wait_for(pilot, app, "· loading the model 40%")
        services.chat.publish(scenes.streamed(ModelLoading(1.0, done=True)), Stalled("live", 10.0))
        await wait_for(pilot, app, "· waiting · esc stops")
        services.chat.publish(*scenes.words("Because."))
        await until(pilot, lambda: "waiting" not in conversation(app) and "Because." in conversation(app))
        services.chat.publish(Stalled("live", 10.0))
        await wait_for(pilot, app, "· waiting · esc stops")
        services.chat.publish(*scenes.ended("Because."))
        await until(pilot, lambda: "waiting" not in conversation(app))


async def test_a_retry_is_told_in_the_words_of_the_provider_with_the_attempts_and_the_keys() -> None:
    async with on_stage(size=(120, 24), values={"ui.motion": True, "ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        told = '⚠ Rate limited by OpenAI: "try again in 20 s" · attempt 2 of 5 · {} s · n now · esc stop'
        await wait_for(pilot, app, told.format(20))
        assert "claude-opus-5 · high" not in conversation(app).partition("\n")[2]  # below the title bar
        await wait_for(pilot, app, told.format(19))
        services.chat.publish(RequestStarted("live", 1, 2, scenes.OPUS, scenes.PLAN))
        await until(pilot, lambda: "Rate limited" not in conversation(app) and "waiting" in conversation(app))


async def test_further_rows_of_a_failure_begin_below_its_words_and_not_below_its_mark() -> None:
    async with on_stage(size=(60, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        await wait_for(pilot, app, "esc stop")
        rows = screen_text(app).splitlines()
        first = next(number for number, row in enumerate(rows) if "⚠ Rate limited" in row)
        assert rows[first + 1].strip()
        assert len(rows[first + 1]) - len(rows[first + 1].lstrip()) == rows[first].index("Rate limited")


@pytest.mark.parametrize("width", range(30, 90, 5))
def test_no_row_of_a_retry_ends_with_the_dot_before_what_follows(width: int) -> None:
    line = RetryLine(retry(), 0.0, lambda: "n", still=False)
    drawn = [plain(line.section.line(number)[0]).rstrip() for number in range(line.section.height(width))]
    rows = [row for row in drawn if row]
    assert "esc" in rows[-1]
    assert [row for row in rows if row.endswith("·")] == []


async def test_a_retry_names_the_key_that_works_beside_a_draft_too_and_only_once() -> None:
    async with on_stage(size=(120, 24), values={"ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        await wait_for(pilot, app, "attempt 2 of 5 · n now · esc stop")
        assert screen_text(app).count("now") == 1
        await pilot.press("x")
        await wait_for(pilot, app, "attempt 2 of 5 · ctrl+l now · esc stop")
        await pilot.press("backspace")
        await wait_for(pilot, app, "attempt 2 of 5 · n now · esc stop")
        await pilot.press("n")
        await until(pilot, lambda: asked(services, "retry_now") == [None])


async def test_a_retry_that_is_given_up_leaves_only_the_error() -> None:
    async with on_stage(size=(90, 24), values={"ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        await wait_for(pilot, app, "attempt 2 of 5 · n now")
        services.chat.publish(TurnFailed(Turn(id="live", messages=()), LIMITED))
        await wait_for(pilot, app, "✗ try again in 20 s")
        assert "attempt 2 of 5" not in conversation(app)


WORDS = {
    ErrorKind.OVERLOADED: 'OpenAI is overloaded: "busy"',
    ErrorKind.SERVER: 'Server error at OpenAI: "busy"',
    ErrorKind.NETWORK: "⚠ busy · attempt",
    ErrorKind.TRUNCATED: "⚠ busy · attempt",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", WORDS, ids=lambda kind: kind.value)
async def test_only_words_of_a_provider_are_quoted_as_such(kind: ErrorKind) -> None:
    async with on_stage(size=(90, 24), values={"ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry(ProviderError(kind, "busy")))
        await wait_for(pilot, app, WORDS[kind])


@pytest.mark.parametrize("place", ["composer", "transcript"])
async def test_n_sends_a_retry_now(place: str) -> None:
    async with on_stage(size=(90, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        await until(pilot, lambda: app.chat.composer.retry is not None)
        if place == "transcript":
            app.chat.transcript.focus()
        await pilot.press("n")
        await until(pilot, lambda: asked(services, "retry_now") == [None])
        assert app.chat.composer.text == ""


async def test_n_is_a_letter_in_a_draft_and_at_the_beginning_of_a_word() -> None:
    async with on_stage(size=(90, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        await until(pilot, lambda: app.chat.composer.retry is not None)
        await type_in(pilot, "no")
        await until(pilot, lambda: app.chat.composer.text == "no")
        await type_in(pilot, "n")
        await until(pilot, lambda: app.chat.composer.text == "non")
        assert app.chat.composer._held is None
        assert asked(services, "retry_now") == []


async def test_escape_after_n_stops_and_sends_nothing() -> None:
    async with on_stage(size=(90, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        await until(pilot, lambda: app.chat.composer.retry is not None)
        await pilot.press("n", "escape")
        await until(pilot, lambda: asked(services, "cancel") == [None])
        assert app.chat.composer._held is None
        assert asked(services, "retry_now") == []


async def test_the_words_of_the_line_can_be_clicked() -> None:
    async with on_stage(size=(120, 24), values={"ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry())
        await wait_for(pilot, app, "n now")
        rows = screen_text(app).splitlines()
        row = next(number for number, text in enumerate(rows) if "Rate limited" in text)
        await pilot.click(offset=(rows[row].index("n\u00a0now") + 2, row))
        await until(pilot, lambda: asked(services, "retry_now") == [None])
        await pilot.click(offset=(rows[row].index("esc\u00a0stop") + 2, row))
        await until(pilot, lambda: asked(services, "cancel") == [None])


async def test_a_link_of_an_answer_runs_no_command() -> None:
    said = "[stop](retry:stop) and [other](branch:next)"
    async with on_stage(scenes.turn("Why?", said), size=(90, 24), values={"ui.sidebar": "off"}) as (
        app,
        services,
        p,
    ):
        for word in ("stop", "other"):
            rows = screen_text(app).splitlines()
            row = next(number for number, text in enumerate(rows) if "stop" in text and "other" in text)
            await p.click(offset=(rows[row].index(word) + 1, row))
            await p.pause()
        assert not services.chat.asked


async def test_a_long_wait_asks_and_enter_accepts_it() -> None:
    async with on_stage(size=(120, 24), values={"ui.motion": True, "ui.sidebar": "off"}) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Why?"), retry(wait_s=200.0, needs_consent=True))
        await wait_for(pilot, app, "attempt 2 of 5 · asks to wait 3 m 20 s: enter waits · n now · esc stop")
        await pilot.press("enter")
        await wait_for(pilot, app, "attempt 2 of 5 · 3 m ")
        assert asked(services, "agree") == [None]
