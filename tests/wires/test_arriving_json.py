"""Arguments that arrive in pieces: complete or not, whether they are kept or only their nesting is."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.catalog.facts import Quirks
from tui.domain.messages import WireName
from tui.wires import json_text
from tui.wires.json_text import KEPT, ArrivingJson
from tui.wires.wire import Frame, wire_named

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ж"\\{}[]ab', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\}x', max_size=4), inner, max_size=3),
    max_leaves=8,
)


def arrived(text: str, cuts: list[int]) -> ArrivingJson:
    arriving = ArrivingJson()
    for start, end in pairwise([0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]):
        arriving.append(text[start:end])
    return arriving


@given(st.dictionaries(st.text('"\\}x', max_size=4), VALUES, max_size=4), st.lists(st.integers(0, 200)), st.booleans())
def test_an_object_is_complete_at_its_end_and_not_before(
    value: dict[str, object], cuts: list[int], ascii_only: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    with pytest.MonkeyPatch.context() as patch:
        for kept in (KEPT, 4, 1):
            patch.setattr(json_text, "KEPT", kept)
            assert arrived(text, cuts).is_object()
            assert not any(arrived(text[:end], cuts).is_object() for end in range(len(text)))


def test_long_arguments_are_judged_by_their_nesting() -> None:
    arguments = ArrivingJson()
    for piece in ['{"command": "', *(["съешь ещё "] * (KEPT // 4)), '\\"}']:
        arguments.append(piece)
    assert not arguments.is_object()
    arguments.append('"}')
    assert arguments.is_object()
    assert arguments.is_json()
    assert not arguments.is_blank


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_decoder_keeps_no_copy_of_long_arguments(wire: WireName) -> None:
    first, piece = {
        "openai-chat": (
            {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "shell", "arguments": '{"a": "'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": "ё" * 2_000}}]},
        ),
        "anthropic": (
            {"type": "tool_use", "id": "c", "name": "shell", "input": {}},
            {"type": "input_json_delta", "partial_json": "ё" * 2_000},
        ),
    }[wire]
    decoder = wire_named(wire).decoder(Quirks())
    decoder.feed(frame(wire, "content_block_start", "delta" if wire == "openai-chat" else "content_block", first))
    delta = frame(wire, "content_block_delta", "delta", piece)
    tracemalloc.start()
    try:
        for _ in range(2_000):
            assert decoder.feed(delta)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2_000_000, "of eight megabytes"


def frame(wire: WireName, event: str, key: str, value: object) -> Frame:
    body = {"type": event, "index": 0, key: value}
    return event, json.dumps({"choices": [body]} if wire == "openai-chat" else body).encode()
