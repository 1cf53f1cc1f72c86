"""The first screen: prompts to click for who has not written any, and only the providers that can be used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from tests.ui.fake_chat import FakeChat
from tests.ui.fake_services import FakeServices
from tests.ui.stage import make_app, on_stage, screen_text, until
from tui.domain.listing import ProviderInfo
from tui.ui.app import PonderApp
from tui.ui.chat.empty_state import PROMPTS, EmptyState

NO_KEY = "no key: /key x"


def provider(name: str, *, ready: bool = False, detail: str = NO_KEY) -> ProviderInfo:
    return ProviderInfo(provider=name.lower(), title=name, ready=ready, detail=detail)


@asynccontextmanager
async def started(
    providers: Sequence[ProviderInfo] = (), history: Sequence[str] = ()
) -> AsyncIterator[tuple[PonderApp, Pilot[int]]]:
    services = FakeServices(chat=FakeChat(()), values={"ui.motion": False, "ui.sidebar": "hidden"})
    services.keys.rows = tuple(providers)
    services.drafts.history = list(history)
    app = make_app(services)
    async with app.run_test(size=(90, 30), notifications=True) as pilot:
        await until(pilot, lambda: "Talk to models that think" in screen_text(app))
        yield app, pilot


def row_of(app: PonderApp, words: str) -> int:
    return next(number for number, row in enumerate(screen_text(app).splitlines()) if words in row)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", range(3))
async def test_a_click_on_a_prompt_puts_it_into_the_composer(number: int) -> None:
    async with started() as (app, pilot):
        await pilot.press(*"mine")
        await pilot.click(offset=(12, row_of(app, PROMPTS[number])))
        await until(pilot, lambda: app.chat.composer.text == PROMPTS[number] and app.chat.composer.has_focus)
        await pilot.press("up")
        await until(pilot, lambda: app.chat.composer.text == "mine")


async def test_a_click_beside_the_prompts_does_nothing() -> None:
    async with started() as (app, pilot):
        await pilot.click(offset=(80, row_of(app, PROMPTS[0])))
        await pilot.click(offset=(12, row_of(app, "Talk to models")))
        await pilot.pause()
        assert app.chat.composer.text == ""


async def test_further_rows_of_a_prompt_begin_below_its_words_and_can_be_clicked() -> None:
    async with started() as (app, pilot):
        await pilot.resize_terminal(40, 30)
        begin, end = "Compare three ways to sort a", "list in a table, with code"
        assert PROMPTS[1] == f"{begin} {end}"
        await until(pilot, lambda: f"   › {begin}\n     {end}\n" in screen_text(app))
        await pilot.click(offset=(6, row_of(app, end)))
        await until(pilot, lambda: app.chat.composer.text == PROMPTS[1])


async def test_who_has_written_prompts_is_not_offered_any() -> None:
    async with started(history=["What is a monad?"]) as (app, _):
        assert not any(prompt in screen_text(app) for prompt in PROMPTS)


async def test_providers_without_a_key_are_one_line_together() -> None:
    rows = [
        provider("Anthropic", ready=True, detail="ANTHROPIC_API_KEY found"),
        provider("Ollama", ready=True, detail="3 models"),
        provider("Groq", detail="the key was refused"),
        *(provider(name) for name in ("OpenAI", "Google", "Mistral", "OpenRouter")),
    ]
    async with started(rows) as (app, _):
        shown = [row.strip() for row in screen_text(app).splitlines() if row.strip()[:1] in ("●", "○", "+")]
        assert shown == [
            "● Anthropic  ANTHROPIC_API_KEY found",
            "● Ollama     3 models",
            "○ Groq       the key was refused",
            "+ 4 providers: /key",
        ]


async def test_a_problem_with_a_file_is_told_without_the_marks_of_code() -> None:
    async with on_stage(size=(90, 30)) as (app, services, pilot):
        problems = (("`config.toml`, line 8: `providers.gateway` has no key `env`", "Did you mean `key_env`?"),)
        app.chat.query_one(EmptyState).show(services.keys.availability(), problems, "demo/demo")
        await until(pilot, lambda: "⚠ config.toml, line 8: providers.gateway has no key env" in screen_text(app))
        assert "Did you mean key_env?" in screen_text(app)
