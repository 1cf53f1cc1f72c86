"""Sources of an answer: where their numbers go in its text, and what is listed below it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.domain.blocks import Block, OpaqueBlock, ProviderState, TextBlock, ThinkingBlock
from tui.domain.citations import (
    FARTHEST,
    SourceNumbers,
    marked_text,
    searches_of,
    source_lines,
    sources_of,
    text_groups,
    text_with_sources,
    with_markers,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.web_address import safe_address
from tui.domain.web_search import MOST_SOURCES, WHOLE, Citation, Source, WebSearch, placed, source

A, B = Source(url="https://a.test", title="A"), Source(url="https://b.test", title="B")


def cited(text: str, words: str, *sources: Source) -> tuple[Citation, ...]:
    start = text.index(words)
    return tuple(Citation(source=one, start=start, end=start + len(words)) for one in sources)


def marked(text: str, words: str, *sources: Source) -> str:
    return marked_text(text, cited(text, words, *sources), SourceNumbers())


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("It rains. Go.", "It rains.", "It rains. [1] Go."),
        ("It rains.\n\nGo.", "It rains.\n\n", "It rains. [1]\n\nGo."),
        ("**It rains** today", "It rains", "**It rains** [1] today"),
        ("so `x` is", "`x", "so `x` [1] is"),
        ("| a | b |\n| c | d |", "| a | b |", "| a | b [1] |\n| c | d |"),
        ("rain(1) is", "rain", "rain [1] (1) is"),
        ("rain: much", "rain", "rain [1] : much"),
        ("a\n```\ncode here\n```\nb", "code", "a\n```\ncode here\n```\nb"),
        ("see [[1]](https://a.test) now", " [[1]](https://a.test)", "see [1] now"),
        ("it ([a.test](https://a.test)). On", "([a.test](https://a.test))", "it ([a.test](https://a.test)) [1]. On"),
    ],
)
def test_a_marker_stands_behind_the_words_without_changing_what_they_mean(text: str, words: str, expected: str) -> None:
    assert marked(text, words, A) == expected


def test_sources_are_numbered_in_the_order_of_the_text_and_only_once() -> None:
    text = "Rain. Sun. Snow."
    citations = (*cited(text, "Snow.", A), *cited(text, "Rain.", B, A, B), *cited(text, "Sun.", A))
    numbers = SourceNumbers()

    assert marked_text(text, citations, numbers) == "Rain. [1][2] Sun. [2] Snow. [2]"
    assert numbers.sources == (B, A)


def test_many_sources_of_one_place_are_a_range() -> None:
    many = [Source(url=f"https://a.test/{number}") for number in range(500)]
    text = "All agree. Some do."
    citations = (*cited(text, "All agree.", *many), *cited(text, "Some do.", many[2], *many[6:11], *many[20:24]))

    assert marked_text(text, citations, SourceNumbers()) == "All agree. [1–500] Some do. [3][7–11][21][22][23][24]"


def test_a_source_without_a_place_is_listed_and_not_marked() -> None:
    blocks = [TextBlock(text="It rains [1].", citations=(Citation(source=A), Citation(source=B)))]

    assert text_with_sources(blocks) == "It rains [1].\n\nSources:\n[1] A  https://a.test\n[2] B  https://b.test"


def test_parts_that_a_provider_cut_at_its_citations_are_one_text_again() -> None:
    blocks: list[Block] = [
        TextBlock(text="It is "),
        TextBlock(text="299 792 458 m/s", citations=(Citation(source=A, end=15),)),
        TextBlock(text=" by definition."),
        ThinkingBlock(text="hm", form=ThinkingForm.FULL),
        TextBlock(text="Done."),
        TextBlock(text="Really."),
    ]

    assert [[part.text for part in group] for group in text_groups(blocks)] == [
        ["It is ", "299 792 458 m/s", " by definition."],
        ["Done."],
        ["Really."],
    ]
    assert with_markers(blocks, SourceNumbers())[0] == TextBlock(text="It is 299 792 458 m/s [1] by definition.")
    assert len(with_markers(blocks, SourceNumbers())) == 4


def test_messages_of_their_own_are_not_joined() -> None:
    blocks = [
        TextBlock(text="Let me see.", provider_state=ProviderState(id="msg_1")),
        TextBlock(text="It rains.", provider_state=ProviderState(id="msg_2"), citations=(Citation(source=A, end=9),)),
    ]

    assert [block.text for block in with_markers(blocks, SourceNumbers()) if isinstance(block, TextBlock)] == [
        "Let me see.",
        "It rains. [1]",
    ]


def test_an_answer_without_sources_is_left_as_it_is() -> None:
    blocks = [TextBlock(text="a"), TextBlock(text="b")]

    assert with_markers(blocks, SourceNumbers()) == blocks
    assert text_with_sources(blocks) == "a\n\nb"
    assert sources_of(blocks) == ()


def test_places_that_count_bytes_become_characters() -> None:
    text = "Zürich 🙂 rains."
    start, end = len("Zürich 🙂 ".encode()), len(text.encode())

    assert placed(text, [Citation(source=A, start=start, end=end)], in_bytes=True) == (
        Citation(source=A, start=9, end=15),
    )


def test_the_quoted_words_decide_where_the_place_is_wrong_and_are_looked_for() -> None:
    text = "One. Two. Three."
    found = [
        Citation(source=A, start=0, end=3, quoted="Two."),
        Citation(source=B, start=0, end=9, quoted="Never said."),
        Citation(source=B, end=WHOLE),
    ]

    assert placed(text, found) == (Citation(source=A, start=5, end=9), Citation(source=B, start=0, end=16))


def test_a_call_and_its_result_are_one_search() -> None:
    blocks: list[Block] = [
        OpaqueBlock(label="server_tool_use", raw="{}", search=WebSearch(id="s", queries=("rain",))),
        TextBlock(text="x"),
        OpaqueBlock(label="web_search_tool_result", raw="{}", search=WebSearch(id="s", results=(A,), done=True)),
        OpaqueBlock(label="odd", raw="{}"),
        OpaqueBlock(label="x", raw="{}", search=WebSearch(queries=("a",), done=True)),
        OpaqueBlock(label="x", raw="{}", search=WebSearch(queries=("b",), done=True)),
    ]

    assert searches_of(blocks) == [
        WebSearch(id="s", queries=("rain",), results=(A,), done=True),
        WebSearch(queries=("a",), done=True),
        WebSearch(queries=("b",), done=True),
    ]


@pytest.mark.parametrize(
    ("search", "subject"),
    [
        (WebSearch(queries=("rain", "sun")), '"rain" · "sun"'),
        (WebSearch(action="open", page="https://a.test"), "open https://a.test"),
        (WebSearch(action="find", page="https://a.test", queries=("c =",)), 'find "c =" in https://a.test'),
        (WebSearch(), ""),
    ],
)
def test_a_search_says_what_it_is_about(search: WebSearch, subject: str) -> None:
    assert search.subject == subject


def test_titles_of_pages_cannot_move_the_cursor_hide_or_break_a_line() -> None:
    hostile = source(
        "https://a.test/\u202egpj.exe", "Good\n\n[2] Fake  https://bank.test\x1b[2J\u202e\u200b" + "x" * 9_000
    )

    (line,) = source_lines([hostile])

    assert "\n" not in line
    assert line.isprintable()
    assert not set("\x1b\u202e\u200b") & set(line)
    assert safe_address(hostile.url) is None


@given(
    text=st.text(alphabet="ab .\n|*[](`🙂ü", max_size=60),
    spans=st.lists(st.tuples(st.integers(-3, 70), st.integers(-3, 70), st.sampled_from([A, B])), max_size=6),
    in_bytes=st.booleans(),
)
def test_markers_only_add_to_a_text_wherever_a_provider_says_they_go(
    text: str, spans: list[tuple[int, int, Source]], in_bytes: bool
) -> None:
    found = placed(text, [Citation(source=one, start=start, end=end) for start, end, one in spans], in_bytes=in_bytes)
    shown = marked_text(text, found, SourceNumbers())

    kept = iter(shown)
    assert all(character in kept for character in text)


def test_no_more_sources_are_kept_than_anybody_could_read() -> None:
    many = [Citation(source=Source(url=f"https://a.test/{number}"), end=WHOLE) for number in range(2 * MOST_SOURCES)]

    assert len(placed("x", many)) == MOST_SOURCES


@pytest.mark.parametrize(("text", "end"), [("a" + " " * 900 + "b", 901), ("a" + "*" * 900 + "b", 1)])
def test_a_marker_is_looked_for_near_its_words(text: str, end: int) -> None:
    """A server may name a thousand places behind a million blanks."""
    told = marked_text(text, [Citation(source=A, start=0, end=end)], SourceNumbers())
    assert abs(told.index("[1]") - end) <= FARTHEST + 1


def test_citations_in_and_between_code_blocks_are_told_apart() -> None:
    text = "a\n```\nb\n```\nc\n```\nd\n```\ne"
    cited = [Citation(source=A, start=text.index(word), end=text.index(word) + 1) for word in "abcde"]
    assert marked_text(text, cited, SourceNumbers()) == "a [1]\n```\nb\n```\nc [1]\n```\nd\n```\ne [1]"
