"""Any bytes into any wire: our errors only, in time that grows with the bytes and memory that is bounded."""

from __future__ import annotations

import contextlib
import os
import random
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus_cases import WIRES, own_cases
from tests.wires.cuts import at_random
from tui.catalog.facts import Quirks
from tui.domain.errors import ProviderError
from tui.wires.framing.body import BodyReader
from tui.wires.framing.json_frames import JsonArrayFramer, NdjsonFramer
from tui.wires.framing.sse import SseFramer
from tui.wires.json_text import dumps
from tui.wires.wire import ErrorResponse, wire_named

pytestmark = pytest.mark.timeout(1800 if os.environ.get("PONDER_LONG") else 180)
OWN = {wire: [case.body for case in own_cases() if case.wire == wire] for wire in WIRES}
TORTURE = [
    b"null", b"[]", b"{}", b'""', b"0", b"-", b"[[[[", b'{"a":', b"\x00", b"\xff", b"\\", b"NaN", b"1e999", b"9" * 999,
    b'"\\ud800"', b'{"type":', b'"index":-1', b'"index":"a"', b'"index":1e30', b":null", b":[]", b":{}", b":7", b':"x"',
    b":true", b"\n\n", b"\r", b"data: ", b"event: error\n", b"[" * 600,
]  # fmt: skip
FRAMERS: dict[str, Callable[[], SseFramer | NdjsonFramer | JsonArrayFramer]] = {
    "sse": SseFramer,
    "ndjson": NdjsonFramer,
    "json_array": JsonArrayFramer,
}


def survives(wire_name: str, chunks: list[bytes], quirks: Quirks) -> None:
    wire = wire_named(wire_name)
    reader = BodyReader(wire, wire.decoder(quirks))
    with contextlib.suppress(ProviderError):
        for chunk in chunks:
            reader.feed(chunk)
        reader.finish()


def mutated(body: bytes, choice: random.Random) -> bytes:
    """A body with a few pieces torn out, doubled, moved, or replaced by something nasty."""
    for _ in range(choice.randint(1, 4)):
        start, end = sorted(choice.choices(range(len(body) + 1), k=2))
        end = min(end, start + choice.choice([1, 4, 40, 400]))
        piece = choice.choice([b"", body[start:end] * 2, choice.choice(TORTURE), choice.randbytes(4)])
        body = body[:start] + piece + body[end:]
    return body


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.binary(max_size=400))
def test_random_bytes_raise_nothing_of_another_class(wire, data):
    survives(wire, [data], Quirks())
    survives(wire, [b"data: " + data + b"\n\n", data], Quirks())
    survives(wire, [b"{" + data, b"}\n", data], Quirks())


@pytest.mark.one_in(5)
@pytest.mark.parametrize("tags", ["auto", "always", "forced_open", "never"])
@pytest.mark.parametrize("wire", WIRES)
@given(seed=st.integers(0, 2**32))
def test_damaged_streams_raise_nothing_of_another_class(wire, tags, seed):
    choice = random.Random(seed)
    body = mutated(choice.choice(OWN[wire]), choice)

    survives(wire, at_random(body, seed, pieces=3), Quirks(think_tags=tags, empty_signatures=True))


NAMES = """
    type index delta text thinking signature content parts functionCall args name id choices message tool_calls
    function arguments usage error code status candidates finishReason reasoning_details data item output summary
    response done done_reason content_block partial_json stop_reason input_tokens
""".split()  # noqa: SIM905 - a list of words reads better as words
WORDS = """
    content_block_start content_block_delta message_start message_delta thinking tool_use error response.completed
    response.output_item.done response.output_item.added response.output_text.delta reasoning function_call
""".split()  # noqa: SIM905 - the same


def json_values() -> st.SearchStrategy:
    words = st.sampled_from(WORDS)
    plain = st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=3) | words
    names = st.sampled_from(NAMES)
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("wire", WIRES)
@given(values=st.lists(json_values(), max_size=6))
def test_json_of_any_shape_raises_nothing_of_another_class(wire, values):
    one = wire_named(wire)
    decoder = one.decoder(Quirks())
    texts = [dumps(value).encode() for value in values]
    with contextlib.suppress(ProviderError):
        for text in texts:
            decoder.feed(("", text))
        decoder.finish()
    for text in texts:
        with contextlib.suppress(ProviderError):
            one.decoder(Quirks()).feed_whole(text)
        assert isinstance(one.refusal(ErrorResponse(status=400, headers={}, body=text)), ProviderError)


@pytest.mark.parametrize("wire", WIRES)
@given(body=st.binary(max_size=300), status=st.integers(400, 599))
def test_any_refusal_can_be_told(wire, body, status):
    assert wire_named(wire).refusal(ErrorResponse(status=status, headers={}, body=body)).message


@pytest.mark.parametrize("name", FRAMERS)
@given(data=st.lists(st.sampled_from([b"[", b"{", b"]", b"}", b'"', b"\\", b"\n", b"\r", b"data:", b" ", b"x"])))
def test_framers_take_any_bytes_however_they_are_cut(name, data):
    body = b"".join(data)
    whole, split = FRAMERS[name](), FRAMERS[name]()

    frames = whole.feed(body) + whole.finish()

    assert [frame for chunk in data for frame in split.feed(chunk)] + split.finish() == frames


def cpu(work) -> float:
    best = 1e9
    for _ in range(2):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


PATTERNS = {
    "open brackets": lambda n: b"[" * n,
    "backslashes in a string": lambda n: b'[{"' + b"\\" * n,
    "blank lines": lambda n: b"\n" * n,
    "spaces": lambda n: b" " * n,
    "tiny events": lambda n: b"data:\n\n" * (n // 7),
    "stray json": lambda n: b"{\n\n" * (n // 3),
    "one line of text": lambda n: b"data: " + b"x" * n,
    "event names": lambda n: b"".join(b"event: e%d\ndata: 1\n\n" % i for i in range(n // 20)),
    "an open tag": lambda n: b'data: {"choices":[{"index":0,"delta":{"content":"' + b"<think" * (n // 6) + b'"}}]}\n\n',
    "angle brackets one by one": lambda n: b'data: {"choices":[{"index":0,"delta":{"content":"<"}}]}\n\n' * (n // 55),
    "a page of titles": lambda n: b"<title" * (n // 6),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("wire", ["openai-chat", "ollama"])
def test_eight_times_the_bytes_take_about_eight_times_as_long(wire, pattern):
    small, large = PATTERNS[pattern](16 * 1024), PATTERNS[pattern](128 * 1024)

    def work(body: bytes):
        return lambda: survives(wire, [body[at : at + 512] for at in range(0, len(body), 512)], Quirks())

    assert cpu(work(large)) <= 24 * max(cpu(work(small)), 0.0015)


def test_a_torn_stream_keeps_no_more_memory_than_its_bytes_call_for():
    body = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"x" * (4 * 1024 * 1024)
    chunks = [body[at : at + 16384] for at in range(0, len(body), 16384)]
    tracemalloc.start()
    survives("openai-chat", chunks, Quirks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 10 * len(body)
