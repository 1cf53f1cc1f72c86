"""Searches that the provider ran are rows like tools; the sources of an answer are numbered below it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui import scenes
from tests.ui.stage import compare_snapshot, on_stage, screen_text, until
from tests.ui.without_screen import conversation, sections_of
from tui.commands.registry import Copy
from tui.domain.blocks import OpaqueBlock, TextBlock
from tui.domain.events import Stamped
from tui.domain.messages import Turn
from tui.domain.stream import BlockFinished, BlockStarted, CitationsReceived, SearchReported, StreamEvent, TextDelta
from tui.domain.usage import Usage
from tui.domain.web_search import WHOLE, Citation, Source, WebSearch, source
from tui.ui.markdown.runs import Line, line_width, plain
from tui.ui.transcript.blocks import Answer
from tui.ui.transcript.section import text_width
from tui.ui.transcript.tool_call import ToolCall
from tui.ui.transcript.usage_line import usage_line
from tui.ui.transcript.web_search import Sources, search_call

A = Source(url="https://physics.example/constants/c?lang=en", title="The speed of light and how it was defined")
B = Source(url="https://metre.example/", title="Metre")
LIGHT = WebSearch(id="s1", queries=("speed of light",), results=(A, B), done=True)


def searched(*searches: WebSearch) -> tuple[OpaqueBlock, ...]:
    return tuple(OpaqueBlock(label="web_search_call", raw="{}", search=search) for search in searches)


def answered(
    *sources: Source, text: str = "It is 299 792 458 m/s.", searches: tuple[WebSearch, ...] = (LIGHT,)
) -> Turn:
    """A turn whose answer cites these sources at its end."""
    made = scenes.turn("How fast is light?", text)
    citations = tuple(Citation(source=one, end=len(text)) for one in sources)
    message = replace(
        made.messages[1],
        blocks=(*searched(*searches), TextBlock(text=text, citations=citations)),
        usage=Usage(input=13_520, output=415, searches=len(searches)),
    )
    return replace(made, messages=(made.messages[0], message))


def rows(block: Sources | ToolCall, width: int) -> list[Line]:
    return [block.line(number) for number in range(block.height(width))]


FAILED = WebSearch(id="s2", queries=("speed of light in km",), error="max_uses_exceeded", done=True)
OPENED = WebSearch(id="s3", action="open", page=A.url, done=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 30)])
async def test_an_answer_with_searches_and_sources(size: tuple[int, int]) -> None:
    async with on_stage(answered(A, B, searches=(LIGHT, OPENED, FAILED)), size=size) as (app, _, _pilot):
        compare_snapshot(f"sources-{size[0]}x{size[1]}", screen_text(app))


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_nothing_is_wider_than_the_window(width: int) -> None:
    wide = source("https://wide.example/" + "字" * 300, "宽" * 300)
    for block in (Sources([A, B, wide, Source(url="", title="report.pdf")]), search_call(LIGHT), search_call(FAILED)):
        for line in rows(block, text_width(width)):
            assert line_width(line) <= text_width(width), plain(line)


def test_only_addresses_that_a_browser_opens_as_a_page_are_links() -> None:
    hostile = ("javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "https://a.example/\u202egpj", "")
    shown = Sources([*(Source(url=url, title="Click me") for url in hostile), A])

    links = {run.href for line in rows(shown, 100) for run in line if run.href}
    assert links == {A.url}


def test_a_hostile_title_is_one_line_without_control_characters() -> None:
    bad = source("https://a.example/", "Bank\n\n[1] Real Bank  https://bank.example\x1b]0;x\x07\u202e\u200b\x9b2J")
    (_, *lines) = rows(Sources([bad]), 100)

    text = "\n".join(map(plain, lines))
    assert len(lines) <= 2
    assert not set("\x1b\x07\u202e\u200b\x9b") & set(text)
    assert text.startswith("[1] Bank [1] Real Bank")


def test_many_sources_are_folded_and_open_where_they_say_so() -> None:
    many = [Source(url=f"https://a.example/{number}", title=f"Page {number}") for number in range(1, 501)]
    shown = Sources(many)

    folded = rows(shown, 80)
    assert [plain(folded[1]), plain(folded[-1])] == ["  [1] Page 1  https://a.example/1", "▸ 492 more sources"]
    assert shown.fold_at(len(folded) - 1)
    assert plain(rows(shown, 80)[-1]) == "[500] Page 500  https://a.example/500"
    assert not shown.fold_at(7)
    assert shown.fold_at(0)
    assert len(rows(shown, 80)) == len(folded)
    assert "[500] Page 500" in shown.text()


async def test_five_hundred_sources_do_not_fill_the_screen_and_open_by_a_key() -> None:
    many = [Source(url=f"https://a.example/{number}", title=f"Page {number}") for number in range(1, 501)]
    async with on_stage(answered(*many), size=(80, 40)) as (app, _, pilot):
        assert "▸ 492 more sources" in screen_text(app)
        section = app.chat.transcript.column.sections[-1]
        place = next(number for number, block in enumerate(section.blocks) if isinstance(block, Sources))
        app.chat.transcript.focus()
        app.chat.transcript.put_cursor(1, place)
        await pilot.press("enter")
        await until(pilot, lambda: "492 more" not in screen_text(app))
        await pilot.press("end")
        await until(pilot, lambda: "[500] Page 500" in screen_text(app))


async def test_copying_an_answer_copies_its_markers_and_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_stage(answered(A, B), size=(100, 40)) as (app, _, _pilot):
        copied: list[str] = []

        def put(text: str) -> str:
            copied.append(text)
            return ""

        monkeypatch.setattr(app.copying, "put", put)
        app.copying.copy(Copy.ANSWER)

        assert copied == [
            f"It is 299 792 458 m/s. [1][2]\n\nSources:\n[1] {A.title}  {A.url}\n[2] Metre  https://metre.example/"
        ]


def test_a_search_opens_to_its_results() -> None:
    row = search_call(LIGHT)
    by = "2 results · run by the provider"
    assert plain(rows(row, 80)[0]) == '✓ web_search  "speed of light"'.ljust(80 - len(by)) + by
    assert plain(rows(row, 40)[0]) == '✓ web_search  "speed of ligh…  2 results'
    row.fold()
    opened = "\n".join(map(plain, rows(row, 80)))
    assert "The speed of light and how it was defined" in opened
    assert "https://metre.example/" in opened


def test_a_search_is_shown_while_it_runs_and_asks_nobody() -> None:
    live = conversation()
    happened = [
        *scenes.begun(),
        scenes.streamed(BlockStarted(0, "search", name="server_tool_use")),
        scenes.streamed(SearchReported(0, WebSearch(id="s1"))),
    ]
    for number, event in enumerate(happened):
        live.take(Stamped("s", number, event))
    (row,) = [block for block in sections_of(live)[-1].blocks if isinstance(block, ToolCall)]
    by = "running · run by the provider"
    assert plain(rows(row, 80)[0]) == "◐ web_search".ljust(80 - len(by)) + by

    live.take(Stamped("s", 9, scenes.streamed(SearchReported(0, WebSearch(id="s1", queries=("rain",))))))
    live.take(Stamped("s", 10, scenes.streamed(BlockStarted(1, "search", name="web_search_tool_result"))))
    live.take(Stamped("s", 11, scenes.streamed(SearchReported(1, WebSearch(id="s1", results=(A,), done=True)))))
    assert [plain(rows(block, 80)[0]) for block in sections_of(live)[-1].blocks if isinstance(block, ToolCall)] == [
        '✓ web_search  "rain"'.ljust(50) + "1 result · run by the provider"
    ]


def cited(index: int, text: str, *sources: Source) -> list[StreamEvent]:
    found = tuple(Citation(source=one, end=WHOLE) for one in sources)
    start: list[StreamEvent] = [BlockStarted(index, "text"), CitationsReceived(index, ())]
    return [*start, TextDelta(index, text), CitationsReceived(index, found), BlockFinished(index)]


def live_text(*events: StreamEvent) -> str:
    live = conversation()
    for number, event in enumerate([*scenes.begun(), *map(scenes.streamed, events)]):
        live.take(Stamped("s", number, event))
    return "\n".join(block.text() for block in sections_of(live)[-1].blocks if isinstance(block, Answer))


def test_markers_come_with_the_words_where_the_provider_tells_them_in_time() -> None:
    uncited: list[StreamEvent] = [BlockStarted(2, "text"), TextDelta(2, " and"), BlockFinished(2)]
    claude = [*cited(1, "It is wet", A, B), *uncited, *cited(3, " cold", B)]
    assert live_text(*claude) == "It is wet [1][2] and cold [2]"

    first = (Citation(source=A, start=0, end=10),)
    both = (*first, Citation(source=B, start=11, end=23))
    start: list[StreamEvent] = [BlockStarted(0, "text"), TextDelta(0, "It is wet.")]
    rest: list[StreamEvent] = [TextDelta(0, " And so cold."), CitationsReceived(0, both), CitationsReceived(0, both)]
    assert live_text(*start, CitationsReceived(0, first), *rest) == "It is wet. [1] And so cold. [2]"


@pytest.mark.parametrize(("text", "end"), [("It is wet.", 5), ("It is wet. ", 11)])
def test_markers_whose_place_is_passed_or_open_wait_for_the_end(text: str, end: int) -> None:
    late = (Citation(source=A, start=0, end=end),)
    assert live_text(BlockStarted(0, "text"), TextDelta(0, text), CitationsReceived(0, late)) == text


def test_the_bill_of_an_answer_counts_its_searches() -> None:
    message = answered(A).messages[1]
    foot = usage_line(message, (message,))

    assert foot is not None
    assert foot.text() == "in 13.5k · out 415 · 1 search · 44 s · $0.36"
