"""R10: generated words in every widget that shows foreign ones. None ends the program, none is obeyed.

Pieces of markup, markdown, escape sequences and odd characters are put together at random. What shows one text gets
each string by itself; lists get each as a row; pages of text get a hundred at once, each in a line.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.foreign import ESCAPES, MARKUP, obeyed
from tests.ui.stage import on_stage, screen_text, until
from tests.ui.test_foreign_everywhere import hostile_call
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import (
    ApprovalAsked,
    ApprovalSettled,
    HistoryChanged,
    Notice,
    QueueChanged,
    SaveFailed,
    SaveRecovered,
    Severity,
    TitleChanged,
    TurnFailed,
)
from tui.domain.listing import ExchangeInfo, ServerInfo, ToolInfo
from tui.domain.messages import Turn
from tui.domain.thinking import ModelSpec
from tui.ui.app import PonderApp

PIECES = (
    *(*MARKUP, *ESCAPES.values()),
    *("[", "]", "[/", "[[", "]]", "\\[", "\\", "[bold ", "[/bold]", "[@click=", "[on ", "#", "$", "[$", "[#ff"),
    *(
        "**",
        "*",
        "_",
        "`",
        "```",
        "```py\n",
        "~~",
        "> ",
        "- ",
        "1. ",
        "| a | b |\n|---|---|\n|",
        "$$",
        "\\(",
        "\\frac{",
    ),
    *("[^1]", "[^1]: ", "](http://x", "](//x)", "<b>", "</", "<details>", "<summary>", "&amp;", "&#x1b;", "&#0;"),
    *("\n", "\n\n", "\t", "\r", " ", "  \n", "\x1b", "\x00", "\ud800", "\udfff", "\u2028", "\u202e", "\ufffe"),
    *("漢字", "👩‍👩‍👧", "e\u0301\u0301", "🏴", "\u200d", "\ufe0f", "שלום", "ｱ", "\U0010ffff"),
    *("a", "word", "0", "{", "}", "%s", "{0}", "{x!r}", "[red on", "<!--"),
)
MARK = "§"
"""Begins each string, so that it can be seen that a place shows them."""
BATCH = 100
Place = Callable[[PonderApp, FakeServices, "Pilot[int]", Sequence[str]], Awaitable[None]]


def generated(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [MARK + "".join(draw.choices(PIECES, k=draw.randint(1, 8))) for _ in range(count)]


async def _lines(app: PonderApp, services: FakeServices, pilot: Pilot[int], words: Sequence[str]) -> None:
    """What stands beside the conversation, and its notices and errors."""
    for word in words:
        services.chat.publish(
            TitleChanged(word),
            QueueChanged((word, word)),
            SaveFailed(word),
            Notice(Severity.WARNING, word, word),
            *scenes.begun(word),
            TurnFailed(Turn(id="live", messages=()), ProviderError(ErrorKind.OTHER, word, advice=word)),
        )
        app.ui_services.say(word, Severity.ERROR, word)
        await pilot.pause()
        assert MARK in screen_text(app)
    services.chat.publish(QueueChanged(()), SaveRecovered(), HistoryChanged(()))


async def _arriving(app: PonderApp, services: FakeServices, pilot: Pilot[int], words: Sequence[str]) -> None:
    for number, word in enumerate(words):
        name = f"live{number}"
        half = len(word) // 2
        services.chat.publish(*scenes.begun(word, "live"), *scenes.thinking(word[:half], word[half:]))
        services.chat.publish(*scenes.words(word[:half], word[half:]))
        await pilot.pause()
        services.chat.publish(*scenes.ended(word, word, word))
        services.chat.publish(HistoryChanged((replace(hostile_call(word), id=name),)))
        await pilot.pause()
        assert MARK in screen_text(app)


async def _questions(app: PonderApp, services: FakeServices, pilot: Pilot[int], words: Sequence[str]) -> None:
    services.chat.publish(*scenes.begun("Do it"))
    for number, word in enumerate(words):
        call = f"c{number}"
        arguments = json.dumps({"command": word})
        services.chat.publish(ApprovalAsked("live", call, word, word, f"{word}\n{arguments}", (word,)))
        await until(pilot, lambda: " ASKS " in screen_text(app))
        assert MARK in screen_text(app)
        services.chat.publish(ApprovalSettled("live", call, allowed=False))
        await pilot.pause()


async def _lists(app: PonderApp, services: FakeServices, pilot: Pilot[int], words: Sequence[str]) -> None:
    row, model, key = services.library.rows[0], services.models.rows[0], services.keys.rows[0]
    services.library.rows = [
        replace(row, id=f"s{number}", title=word, model=word, snippet=f"{word}\x02{word}\x03")
        for number, word in enumerate(words)
    ]
    services.models.rows = tuple(
        replace(
            model,
            spec=ModelSpec(provider=f"x{number}", model=word),
            provider=word,
            reason=word,
            available=False,
            note=word,
        )
        for number, word in enumerate(words)
    )
    services.keys.rows = tuple(replace(key, title=word, detail=word) for word in words)
    services.tools.rows = [
        ToolInfo(name=word, source=word, enabled=True, policy=word, tokens=1, description=word) for word in words
    ]
    services.tools.servers = lambda: [ServerInfo(name=word, state=word, tools=1) for word in words]  # type: ignore[method-assign]
    services.settings.profiles = lambda: [(word, word) for word in words]  # type: ignore[method-assign]
    app.chat.composer.past.__init__(list(words))  # type: ignore[misc]  # of this run
    for line in ("/sessions", "/tools", "/mcp", "/profile list", "/key"):
        await app.ui_services.run_line(line)
        await _through(app, pilot, len(words))
    for key_name in ("ctrl+t", "ctrl+r"):
        await pilot.press(key_name)
        await _through(app, pilot, len(words))


async def _through(app: PonderApp, pilot: Pilot[int], rows: int) -> None:
    await until(pilot, lambda: MARK in screen_text(app))
    for _ in range(rows // 12 + 1):
        await pilot.press("pagedown")
        assert obeyed(screen_text(app)) == []
    await pilot.press("escape")
    await pilot.pause()


async def _pages(app: PonderApp, services: FakeServices, pilot: Pilot[int], words: Sequence[str]) -> None:
    text = "\n".join(words)

    async def preview(session: str) -> str:
        return text

    services.library.preview = preview  # type: ignore[method-assign]
    services.settings.show_profile = lambda name: text  # type: ignore[method-assign]
    services.status = lambda: text  # type: ignore[method-assign]
    services.keys.key_hint = lambda provider: text  # type: ignore[method-assign]
    services.chat.exchange = ExchangeInfo(
        request={"url": text, "headers": dict.fromkeys(words, text[:200]), "body": {word: word for word in words}},
        events=tuple(words),
    )
    for line in ("/sessions", "/profile show x", "/status", "/key openai", f"/no{words[0]}", "/context"):
        await app.ui_services.run_line(line)
        await _through(app, pilot, 48)
    app.chat.composer.post_message(Paste(text))
    await until(pilot, lambda: bool(app.chat.composer.text))
    app.chat.composer.clear()


PLACES: dict[str, Place] = {
    "lines beside the conversation": _lines,
    "arriving and stored answers": _arriving,
    "questions": _questions,
    "lists": _lists,
    "pages": _pages,
}


async def shown(place: str, words: Sequence[str]) -> None:
    for at in range(0, len(words), BATCH):
        async with on_stage(size=(120, 40)) as (app, services, pilot):
            await PLACES[place](app, services, pilot, words[at : at + BATCH])
            assert obeyed(screen_text(app)) == []
            assert (app.is_running, app.stopped_by) == (True, None), words[at : at + BATCH]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.long
async def test_generated_words_end_nothing_and_are_not_obeyed(place: str) -> None:
    await shown(place, generated(12, 7))


@pytest.mark.minutes
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("place", PLACES)
async def test_r10_ten_thousand_generated_strings_end_nothing_and_are_not_obeyed(place: str) -> None:
    await shown(place, generated(10_000, 10))
