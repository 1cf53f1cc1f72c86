"""Usage, wherever it stands, as inclusive totals."""

from __future__ import annotations

import pytest

from tests.wires.chat.script import DONE, assembled, chunk, events_of, frame
from tui.domain.usage import Usage

PLAIN = {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}


def usage_of(*frames: tuple[str, bytes]) -> Usage | None:
    return assembled(events_of([chunk({"content": "x"}), *frames, DONE])).usage


def read(usage: object) -> Usage | None:
    return usage_of(chunk({}, "stop"), frame({"choices": [], "usage": usage}))


@pytest.mark.parametrize(
    "last",
    [
        frame({"choices": [], "usage": PLAIN}),
        frame({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": PLAIN}]}),
        frame({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": PLAIN}}),
        frame({"choices": [{"index": 0, "delta": {"content": "y"}, "usage": PLAIN}]}),
    ],
)
def test_usage_is_found_in_its_known_places(last):
    assert usage_of(last) == Usage(input=10, output=7, total=17)


def test_the_last_usage_that_says_something_counts():
    first = chunk({}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
    assert usage_of(first, chunk({}, usage=PLAIN), chunk({}, usage=None)) == Usage(input=10, output=7, total=17)


@pytest.mark.parametrize(
    ("more", "cache_read", "cache_write"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}}, 4, 2),
        ({"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}, 4, None),
        ({"cached_tokens": 4}, 4, None),
        ({"prompt_tokens_details": None, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1}, 4, 1),
        ({"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 4}, 4, None),
    ],
)
def test_cached_tokens_are_part_of_the_input(more, cache_read, cache_write):
    assert read({**PLAIN, **more}) == Usage(
        input=10, output=7, total=17, cache_read=cache_read, cache_write=cache_write
    )


def test_more_cached_than_sent_means_cached_is_counted_beside():
    assert read({**PLAIN, "cached_tokens": 30}) == Usage(input=40, output=7, total=47, cache_read=30)


def test_thinking_is_part_of_the_output():
    assert read({**PLAIN, "completion_tokens_details": {"reasoning_tokens": 5}}) == Usage(
        input=10, output=7, total=17, thinking=5
    )


def test_thinking_beside_the_completion_is_added_where_the_total_says_so():
    usage = {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 22}
    assert read({**usage, "completion_tokens_details": {"reasoning_tokens": 5}}) == Usage(
        input=10, output=12, total=22, thinking=5
    )


def test_more_thinking_than_completion_is_added():
    assert read({**PLAIN, "reasoning_tokens": 9}) == Usage(input=10, output=16, total=26, thinking=9)


def test_a_cost_is_kept():
    assert read({**PLAIN, "cost": 0.25}) == Usage(input=10, output=7, total=17, cost=0.25)
    assert read({**PLAIN, "cost": {"total_cost": 0.5}}) == Usage(input=10, output=7, total=17, cost=0.5)


def test_what_is_not_said_is_not_known():
    assert read({"prompt_tokens": 10, "completion_tokens": -1, "total_tokens": "x"}) == Usage(input=10)
    assert usage_of(chunk({}, "stop")) is None
