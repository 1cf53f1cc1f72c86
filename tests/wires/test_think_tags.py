"""Thinking between tags, whatever the cuts."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.wires.openai_chat.message import LONGEST_LEAD, TAGS, ThinkTags

pytestmark = pytest.mark.timeout(1800 if os.environ.get("PONDER_LONG") else 180)


def split(*pieces: str, mode: str = "auto") -> tuple[str, str]:
    """(thinking, text) of an answer that came in these pieces."""
    tags = ThinkTags(mode)
    found = [part for piece in pieces for part in tags.feed(piece)] + tags.finish()
    thinking, text = ("".join(part.text for part in found if part.thinking is wanted) for wanted in (True, False))
    return thinking, text


@pytest.mark.parametrize(("opener", "closer"), TAGS.items())
def test_an_answer_that_opens_with_a_tag_is_split(opener, closer):
    assert split(f"\n {opener}hm{closer}\n\nYes.") == ("hm", "\n\nYes.")


@pytest.mark.parametrize("mode", ["auto", "always", "forced_open", "never"])
@given(data=st.data())
def test_cuts_make_no_difference(mode, data):
    alphabet = [*TAGS, *TAGS.values(), "```", "<", "</", "think", ">", "a", " ", "\n", "[", "◁"]
    text = "".join(data.draw(st.lists(st.sampled_from(alphabet), max_size=12)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert split(*pieces, mode=mode) == split(text, mode=mode)


def test_every_character_alone_gives_the_same():
    text = "<think>first</think>then <think> stays"
    assert split(*text) == ("first", "then <think> stays")


def test_auto_leaves_a_tag_later_in_the_answer_alone():
    assert split("Use `<think>` so.") == ("", "Use `<think>` so.")


def test_never_leaves_all_tags_alone():
    assert split("<think>a</think>b", mode="never") == ("", "<think>a</think>b")


def test_always_splits_later_blocks_too():
    assert split("a<think>b</think>c<think>d</think>e", mode="always") == ("bd", "ace")


def test_always_leaves_code_fences_alone():
    text = "```\n<think>x</think>\n```\n"
    assert split(text + "<think>b</think>", mode="always") == ("b", text)


def test_an_unclosed_tag_is_thinking_to_the_end():
    assert split("<think>so far </thi") == ("so far </thi", "")


def test_forced_open_takes_all_before_the_closing_tag_as_thinking():
    assert split("it is", " so</th", "ink>Yes", mode="forced_open") == ("it is so", "Yes")


def test_forced_open_does_not_mind_an_opening_tag():
    assert split("<think>a</think>b", mode="forced_open") == ("a", "b")


def test_forced_open_without_a_closing_tag_is_all_thinking():
    assert split("only thoughts", mode="forced_open") == ("only thoughts", "")


def test_auto_does_not_take_a_closing_tag_without_opener_for_one():
    assert split("a</think>b") == ("", "a</think>b")


def test_blanks_without_end_are_not_held_back_for_ever():
    tags = ThinkTags("auto")
    assert sum(len(part.text) for _ in range(LONGEST_LEAD + 1) for part in tags.feed(" ")) == LONGEST_LEAD + 1


def test_blanks_before_an_answer_without_tags_are_kept():
    assert split("\n\n", "Yes") == ("", "\n\nYes")


def test_half_a_tag_at_the_end_is_text():
    assert split("<thi") == ("", "<thi")


@pytest.mark.long
def test_many_tags_cost_no_more_than_their_number():
    assert split("<think>a</think>b" * 200_000, mode="always") == ("a" * 200_000, "b" * 200_000)
