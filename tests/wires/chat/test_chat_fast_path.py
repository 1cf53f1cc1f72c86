"""The short way through the decoder says what the thorough way says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SHARED_CORPUS
from tests.wires.chat.script import DONE, chunk
from tui.catalog.facts import Quirks
from tui.domain.stream import StreamEvent
from tui.wires.framing.sse import SseFramer
from tui.wires.openai_chat.decode import ChatDecoder
from tui.wires.wire import Frame

STREAMS = sorted(SHARED_CORPUS.glob("openai-chat/**/response.sse"))


class ThoroughDecoder(ChatDecoder):
    """The decoder without its short way."""

    def _next_piece(self, delta: object) -> StreamEvent | None:
        return None


def events_of(decoder: ChatDecoder, frames: list[Frame]) -> list[StreamEvent]:
    return [*(event for frame in frames for event in decoder.feed(frame)), *decoder.finish()]


def test_both_ways_agree_on_every_recording(shared_corpus):
    assert len(STREAMS) > 200
    for stream in STREAMS:
        frames = SseFramer().feed(stream.read_bytes())
        assert events_of(ChatDecoder(Quirks()), frames) == events_of(ThoroughDecoder(Quirks()), frames), stream


PIECES = st.sampled_from([None, "", "a", "b ", "<think>"])
DETAILS = st.sampled_from(
    [
        None,
        [],
        [{"type": "reasoning.text", "text": "t", "index": 0}],
        [{"type": "reasoning.text", "signature": "s", "index": 0}],
        [{"type": "reasoning.encrypted", "data": "d"}],
    ]
)
CALLS = st.sampled_from(
    [
        None,
        [],
        [{"index": 0, "id": "x", "function": {"name": "f", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"a":'}}],
        [{"index": 0, "id": "x", "function": {"name": "f", "arguments": "1}"}}],
        [{"index": 0, "id": "y", "function": {"name": "f", "arguments": "{}"}}],
        [{"index": 0, "function": {"arguments": " "}, "extra_content": {"k": 1}}],
    ]
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": PIECES,
        "role": st.just("assistant"),
        "reasoning_content": PIECES,
        "reasoning": PIECES,
        "refusal": st.sampled_from([None, "no"]),
        "reasoning_details": DETAILS,
        "tool_calls": CALLS,
    },
)


@pytest.mark.parametrize("quirks", [Quirks(), Quirks(think_tags="always", details_in=False)])
@given(deltas=st.lists(DELTAS, max_size=12))
def test_both_ways_agree_on_any_deltas(quirks, deltas):
    frames = [*map(chunk, deltas), chunk({}, "stop"), DONE]
    assert events_of(ChatDecoder(quirks), frames) == events_of(ThoroughDecoder(quirks), frames)
