"""After a search of the provider the conversation holds words from the web, as after a page that was fetched."""

from __future__ import annotations

import pytest

from tests.fakes.backend import Script, answer, call, finish, words
from tests.fakes.stage import stage
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    CitationsReceived,
    Finish,
    ResponseStarted,
    SearchReported,
    StreamEvent,
)
from tui.domain.web_search import WHOLE, Citation, Source, WebSearch
from tui.engine.settings import EngineSettings

PAGE = Source(url="https://a.test")
SEARCH: list[StreamEvent] = [
    BlockStarted(0, "search", name="web_search_call"),
    SearchReported(0, WebSearch(queries=("rain",), done=True)),
    BlockFinished(0),
]
CITED: list[StreamEvent] = [*words("It rains."), CitationsReceived(0, (Citation(source=PAGE, end=WHOLE),))]
ECHO = call("c1", "echo", "{}", 1)


def called(*before: StreamEvent) -> Script:
    return [ResponseStarted("m", "r"), *before, *ECHO, *finish(Finish.TOOL_USE)]


@pytest.mark.parametrize(
    ("scripts", "tainted"),
    [
        ([called(*words("I look."))], [False]),
        ([called(*SEARCH)], [True]),
        ([called(*CITED)], [True]),
        ([called(*words("I look.")), called(*SEARCH)], [False, True]),
    ],
)
async def test_calls_after_a_search_are_made_with_untrusted_content(scripts: list[Script], tainted: list[bool]) -> None:
    async with stage([*scripts, answer("Done.")], settings=EngineSettings()) as s:
        await s.say("Go.")

        assert s.toolbox.tainted == tainted


async def test_a_search_of_an_earlier_turn_counts() -> None:
    searched: Script = [ResponseStarted("m", "r"), *SEARCH, *words("It rains.", 1), *finish()]
    async with stage([searched, called(*words("I look.")), answer("Done.")], settings=EngineSettings()) as s:
        await s.say("Search.")
        await s.say("Go.")

        assert s.toolbox.tainted == [True]
