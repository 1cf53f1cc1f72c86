from __future__ import annotations

import contextlib
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.domain.errors import ErrorKind
from tui.wires.json_text import MAX_DEPTH, NotJSON, dumps, loads

pytestmark = pytest.mark.timeout(1800 if os.environ.get("PONDER_LONG") else 180)
REFUSED: dict[str, str | bytes] = {
    "nothing": "",
    "half an object": '{"a":',
    "two thousand deep": "[" * 2000 + "]" * 2000,
    "two thousand deep, in bytes": b'{"a":' * 2000 + b"1" + b"}" * 2000,
    "deep and never closed": "[" * 100_000,
    "a number of five thousand digits": "1" * 5000,
    "a negative one inside": '{"n": -' + "1" * 5000 + "}",
    "no number": '{"n": NaN}',
    "no end": "[Infinity, -Infinity]",
    "out of range": "1e999",
    "html": "<html>",
    "two values": "{} {}",
    "single quotes": "{'a': 1}",
}

TAKEN: dict[str, tuple[str | bytes, object]] = {
    "half a surrogate pair": ('"\\ud83d"', "\ud83d"),
    "a whole surrogate pair": ('"\\ud83e\\udde0"', "🧠"),
    "invalid utf-8": (b'{"a":"\xff"}', {"a": "\ufffd"}),
    "a byte order mark": (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
    "of duplicate keys the last": ('{"a":1,"a":2}', {"a": 2}),
    "of duplicate keys the last, the slow way": ('{"a":1,"a":"\\ud83d"}', {"a": "\ud83d"}),
    "a raw tab in a string": ('["a\tb"]', ["a\tb"]),
    "line separators in a string": ('["a\u2028b"]', ["a\u2028b"]),
    "as deep as it may be": ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
    "many brackets side by side": ("[" + "[],{}," * 5000 + "1]", None),
    "brackets in a string": ('["' + "[{" * 5000 + '\\""]', ["[{" * 5000 + '"']),
    "the largest 64-bit integer": ("18446744073709551615", 2**64 - 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_json_is_one_kind_of_error(case):
    with pytest.raises(NotJSON) as refused:
        loads(REFUSED[case])
    assert refused.value.kind is ErrorKind.BAD_FRAME
    assert len(refused.value.message) < 250


@pytest.mark.parametrize("case", TAKEN)
def test_odd_json_is_read(case):
    text, value = TAKEN[case]

    assert loads(text) == value if value is not None else loads(text) is not None


def test_a_lone_surrogate_is_written_as_a_replacement_character():
    assert dumps({"a": "x\ud83dy"}) == '{"a":"x\ufffdy"}'
    assert dumps(["\ud83e\udde0"]) == '["🧠"]'


def test_what_is_too_large_for_64_bits_is_written_whole():
    assert dumps([1 << 80]) == "[1208925819614629174706176]"


def test_what_is_too_deep_to_write_is_an_error_of_ours():
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]

    with pytest.raises(NotJSON):
        dumps(deep)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_was_written_is_read_back(value):
    assert loads(dumps(value)) == value
    assert loads(dumps(value).encode()) == value


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes_are_json_or_not_json(data):
    with contextlib.suppress(NotJSON):
        dumps(loads(data))
