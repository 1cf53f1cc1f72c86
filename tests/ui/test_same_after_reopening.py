"""The conversation drawn from events as they came is the conversation drawn from what is stored. Folded turns too."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.backend import HANG, Script, answer, call, finish, thought, words
from tests.fakes.clock import virtually
from tests.fakes.stage import Stage, stage
from tests.ui.without_screen import conversation, drawn, notices, open_or_close
from tui.domain.blocks import TextBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import CompressionFinished, RequestStarted, Stamped, TurnFailed, TurnFinished
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    CitationsReceived,
    Finish,
    ProviderRemark,
    ResponseStarted,
    SearchReported,
    StreamEvent,
    TextDelta,
)
from tui.domain.web_search import WHOLE, Citation, Source, WebSearch
from tui.engine.settings import EngineSettings
from tui.ui.transcript.build_sections import STOPPED

BROKEN = ProviderError(ErrorKind.TRUNCATED, "The stream broke.")
A, B = Source(url="https://a.test", title="A"), Source(url="https://b.test", title="B")


def searched(index: int, search: WebSearch) -> list[StreamEvent]:
    return [BlockStarted(index, "search", name="web_search"), SearchReported(index, search), BlockFinished(index)]


def cited(text: str, index: int, *sources: Source) -> list[StreamEvent]:
    """A part of a text, cut at its citations."""
    found = tuple(Citation(source=source, end=WHOLE) for source in sources)
    start: list[StreamEvent] = [BlockStarted(index, "text"), CitationsReceived(index, ())]
    return [*start, TextDelta(index, text), CitationsReceived(index, found), BlockFinished(index)]


SCRIPTS: dict[str, tuple[Script, ...]] = {
    "say": (answer("All is *well*, and this is why: it is."),),
    "think": ([ResponseStarted("m", "r1"), *thought("Let me see. It is so."), *words("It is so.", 1), *finish()],),
    "run": ([ResponseStarted("m", "r1"), *call("c1", "echo", '{"say": "a"}'), *finish(Finish.TOOL_USE)], answer("So.")),
    "call": (
        [ResponseStarted("m", "r1"), *call("c1", "list_dir", '{"path": "a"}'), *finish(Finish.TOOL_USE)],
        answer("There are two files."),
    ),
    "twice": (
        [
            ResponseStarted("m", "r1"),
            *thought("First this."),
            *words(" ", 1),
            *thought("Then *that*.", 2),
            *words("It is so.", 3),
            *finish(Finish.LENGTH),
        ],
    ),
    "remark": (
        [
            ResponseStarted("m", "r1"),
            ProviderRemark("deprecated", "This model goes away."),
            BlockStarted(0, "opaque", name="web_search_call"),
            BlockFinished(0),
            *words("It is so.", 1),
            *finish(),
        ],
    ),
    "search": (
        [
            ResponseStarted("m", "r1"),
            *words("I look it up.", 0),
            *searched(1, WebSearch(id="s1", queries=("rain",))),
            *searched(2, WebSearch(id="s1", results=(A, B), done=True)),
            *searched(3, WebSearch(id="s2", queries=("sun",), error="max_uses_exceeded", done=True)),
            *words("It is ", 4),
            *cited("**wet**", 5, A, B),
            *words(" today.\n\n- ", 6),
            *cited("And cold.", 7, B),
            *finish(),
        ],
    ),
    "ground": (
        [
            ResponseStarted("m", "r1"),
            *words("It rains. ", 0),
            *words("It pours.", 1),
            *searched(2, WebSearch(queries=("rain",), results=(A,), done=True)),
            CitationsReceived(0, (Citation(source=A, end=9, quoted="It rains."),), in_bytes=True),
            CitationsReceived(1, (Citation(source=A, end=9, quoted="It rains."),), in_bytes=True),
            *finish(),
        ],
    ),
    "hide": ([ResponseStarted("m", "r1"), *thought("", signature="s"), *words("It is so.", 1), *finish()],),
    "break": ([ResponseStarted("m", "r1"), *words("Half an ans"), BROKEN], answer("A whole answer.")),
    "fail": ([ProviderError(ErrorKind.AUTH, "No key.")],),
}
STEPS = st.lists(st.sampled_from([*SCRIPTS, "fold", "fold", "unfold", "back"]), max_size=9)


class Talk:
    """A session, and its conversation as it is drawn while things happen."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.live = conversation()
        self.live.load(stage.session.attach()[0])

    async def step(self, name: str) -> None:
        session, scripts = self.stage.session, self.stage.backend.scripts
        turns = session.attach()[0].turns
        if name == "fold":
            scripts[:] = [answer("They talked.")]
            await session.compress_now()
            await self.until(CompressionFinished)
        elif name == "unfold":
            await session.uncompress()
        elif name == "back":
            if turns:
                await session.fork(turns[len(turns) // 2].id)
        else:
            scripts[:] = [list(script) for script in SCRIPTS[name]]
            await session.submit((TextBlock(text=f"Please {name}."),))
            await self.until(TurnFinished, TurnFailed)
        self.take_in()

    async def until(self, *kinds: type) -> None:
        while not any(isinstance(stamped.event, kinds) for stamped in self.take_in()):
            await asyncio.sleep(0.001)

    def take_in(self) -> list[Stamped]:
        heard = self.stage.subscription.drain()
        for stamped in heard:
            self.live.take(stamped)
        return heard


async def both_ways(steps: list[str]) -> None:
    async with stage(settings=EngineSettings(keep_turns=1)) as s:
        talk = Talk(s)
        for name in steps:
            await talk.step(name)
            opened = conversation()
            opened.load(s.session.attach()[0])
            assert drawn(talk.live) == drawn(opened)
            for shown in (talk.live, opened):
                open_or_close(shown)
            assert drawn(talk.live) == drawn(opened)
            open_or_close(talk.live)


@settings(max_examples=25)
@given(steps=STEPS)
def test_whatever_happened_the_screen_is_the_same_after_reopening(steps: list[str]) -> None:
    virtually(both_ways(steps))


def test_searches_and_sources_are_the_same_after_reopening() -> None:
    virtually(both_ways(["search", "ground", "search"]))


def test_a_prompt_that_was_stopped_before_any_answer_says_so_also_after_reopening() -> None:
    async def both() -> None:
        async with stage(scripts=[[HANG]]) as s:
            talk = Talk(s)
            await s.session.submit((TextBlock(text="Why?"),))
            await talk.until(RequestStarted)
            await s.session.cancel()
            await talk.until(TurnFinished)
            opened = conversation()
            opened.load(s.session.attach()[0])
            assert notices(talk.live) == notices(opened) == [STOPPED]

    virtually(both())
