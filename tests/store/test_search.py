"""What was said is found, where it was said and by whom, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.stage import GPT, Stage, a_turn, answer, prompt, thought
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import UsageError
from tui.domain.messages import Message, Role, Turn
from tui.store import fulltext
from tui.store.search import Query, parse, snippet


@pytest.fixture
async def shelf(stage: Stage) -> Stage:
    """Three sessions: physics with tools, cooking in Chinese and Japanese, accents."""
    call = ToolCallBlock(call_id="c", name="grep", arguments='{"pattern": "scattering"}')
    result = ToolResultBlock(call_id="c", name="grep", content=(TextBlock(text="optics.txt: Tyndall effect"),))
    physics = Turn(
        id="t1",
        messages=(
            prompt("p1", "Why is the sky blue?"),
            answer("a1", thought("Rayleigh scattering, surely"), call),
            Message(id="r1", role=Role.TOOL, blocks=(result,)),
            answer("b1", "Short waves scatter more: Rayleigh."),
        ),
    )
    await stage.keep("physics", physics)
    await stage.keep("kitchen", a_turn(1, "麻婆豆腐怎么做？", "豆腐を切ってください。맛있게 드세요.", origin=GPT))
    await stage.keep("coffee", a_turn(1, "Où est le café?", 'Say "flat white" or C++; naïve.'))
    return stage


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("rayleigh", ["physics"]),
        ("RAYLEIGH sky", []),
        ("scatter", ["physics"]),
        ("scat", ["physics"]),
        ("scat more", []),
        ("tyndall", ["physics"]),
        ("in:thinking surely", ["physics"]),
        ("in:answers surely", []),
        ("in:prompts sky", ["physics"]),
        ("in:prompts rayleigh", []),
        ("in:tools optics.txt", ["physics"]),
        ("in:tools grep", ["physics"]),
        ("in:thinking in:answers rayleigh", ["physics"]),
        ('"short waves"', ["physics"]),
        ('"waves short"', []),
        ("cafe", ["coffee"]),
        ("café", ["coffee"]),
        ("NAIVE", ["coffee"]),
        ('"flat white"', ["coffee"]),
        ("C++", ["coffee"]),
        ("豆腐", ["kitchen"]),
        ("豆", ["kitchen"]),
        ("婆豆", ["kitchen"]),
        ("腐豆", []),
        ("切って", ["kitchen"]),
        ("맛있", ["kitchen"]),
        ("model:gpt 豆腐", ["kitchen"]),
        ("model:claude 豆腐", []),
        ("model:GPT-5", ["kitchen"]),
        ("before:2020 rayleigh", []),
        ("after:2027-01 rayleigh", ["physics"]),
        ("after:2027-01-01 before:2028 豆腐", ["kitchen"]),
        ("++", ["coffee"]),
        ("%", []),
        ('"', ["coffee", "kitchen", "physics"]),
    ],
)
async def test_a_search_finds(shelf: Stage, typed: str, found: list[str]) -> None:
    assert [row.id for row in await shelf.library.sessions(typed)] == found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("typed", ["AND", "NEAR(a b)", "a* OR b", "prompts : x", "^sky", "-sky", "(", "{a b}", "sky\0"])
async def test_words_of_the_index_are_only_words(shelf: Stage, typed: str) -> None:
    assert [row.id for row in await shelf.library.sessions(typed)] == (["physics"] if "sky" in typed else [])


async def test_half_of_a_character_is_searched_as_a_question_mark(shelf: Stage) -> None:
    assert await shelf.library.sessions("\ud83d") == await shelf.library.sessions("?")


async def test_the_title_is_searched_too_and_comes_first(shelf: Stage) -> None:
    await shelf.library.rename("kitchen", "Rayleigh’s cook-book")
    assert [row.id for row in await shelf.library.sessions("rayleigh")] == ["kitchen", "physics"]


async def test_a_find_shows_where(shelf: Stage) -> None:
    (row,) = await shelf.library.sessions("in:thinking scattering")
    assert (row.snippet, row.hit_message, row.hit_turn) == ("Rayleigh \x02scattering\x03, surely", "a1", "t1")
    (row,) = await shelf.library.sessions("婆豆腐")
    assert row.snippet == "麻\x02婆豆腐\x03怎么做？"


async def test_what_was_replaced_is_not_found_any_more(stage: Stage) -> None:
    await stage.keep("s", Turn(id="t", messages=(prompt("p"), answer("a", "the former words"))))
    await stage.keep("s", Turn(id="t", messages=(prompt("p"), answer("a", "other words"))))
    assert (await stage.titles("former"), len(await stage.library.sessions("other"))) == ([], 1)


async def test_the_better_find_comes_first(stage: Stage) -> None:
    await stage.keep("aside", a_turn(1, "a", "b " * 300 + "quasar"))
    await stage.keep("about", a_turn(1, "quasar or not", "The quasar."))
    await stage.keep("newer", a_turn(1, "c", "d " * 300 + "quasar"))
    assert next(row.id for row in await stage.library.sessions("quasar")) == "about"


def test_a_query_is_taken_apart() -> None:
    assert parse('fermi "great filter" in:thinking MODEL:opus after:2026-01-01 par') == Query(
        terms=("fermi", "great filter", "par"),
        last_is_open=True,
        columns=("thinking",),
        models=("opus",),
        after=1767225600.0,
    )


@pytest.mark.parametrize("typed", ["in:nowhere x", "after:yesterday", "before:2026-13-01"])
def test_a_filter_without_sense_is_told(typed: str) -> None:
    with pytest.raises(UsageError):
        parse(typed)


@pytest.mark.parametrize(
    ("text", "terms", "shown"),
    [
        ("nothing here", ["x"], ""),
        ("one Two three", ["two"], "one \x02Two\x03 three"),
        ("İstanbul straße", ["straße"], "İstanbul \x02straße\x03"),
        ("mark \x02here\x03 there", ["there"], "mark here \x02there\x03"),
        ("a " * 100 + "needle" + " b" * 100, ["needle"], "…" + "a " * 14 + "\x02needle\x03" + " b" * 43 + "…"),
    ],
)
def test_a_snippet_shows_the_words_around_a_hit(text: str, terms: list[str], shown: str) -> None:
    assert snippet([text], terms) == shown


@given(st.text(alphabet="ab 中文ก\0\ud800é", max_size=12))
def test_a_text_is_indexed_in_parts_as_it_would_be_at_once(text: str) -> None:
    at_once = fulltext.indexed_text(text).split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fulltext, "PART", 2)
        assert fulltext.indexed_text(text).split() == at_once


async def test_a_very_long_answer_in_any_script_is_found_and_forgotten_like_a_short_one(stage: Stage) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fulltext, "LONG", 4)
        patch.setattr(fulltext, "PART", 3)
        await stage.keep("long", a_turn(1, "Why is the sky blue?", "麻婆豆腐怎么做？ Café\0au lait"))
        for typed in ("豆腐", "cafe", "lait", "sky"):
            assert [row.id for row in await stage.library.sessions(typed)] == ["long"], typed
        await stage.keep("long", a_turn(1, "Why is the sky blue?", "Nothing of that."))
        assert not await stage.library.sessions("豆腐")
        assert [row.id for row in await stage.library.sessions("nothing")] == ["long"]
