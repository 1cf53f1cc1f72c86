"""Faults of the framing: every row F of the fault catalogue, through the real client."""
# ruff: noqa: N802 - the names carry the rows of the fault catalogue

from __future__ import annotations

import itertools
import json
import random
import time

import pytest

from tests.faultserver.player import Step
from tests.faultserver.renderers import BILL, SPEAKERS
from tests.faultserver.server import FaultServer
from tests.providers.conftest import WIRES, Client
from tui.domain.errors import ErrorKind
from tui.providers.demo.responses import Call, Piece, Say, Think

TEXT = "Grüße, 日本語 and 👩‍🔬"
FULL: list[Step] = [{"say": "thinking", "text": "hm, ünsure 🤔"}, {"say": "text", "text": TEXT}, {"end": 1}]
wires = pytest.mark.parametrize("wire", WIRES)


def stream(wire: str) -> bytes:
    """A whole stream as bytes."""
    speaker = SPEAKERS[wire][0]("m", "stem")
    pieces: list[Piece] = [Think("hm, ünsure 🤔"), Say(TEXT), Call("read_file", '{"path":"ä"}')]
    frames = [*speaker.begin(BILL)]
    for piece in pieces:
        frames += speaker.piece(piece)
    return b"".join([*frames, *speaker.end(BILL, calls=True)])


def chat(*events: object, done: str = "data: [DONE]\n\n") -> list[Step]:
    """A chat stream of raw events."""
    return [{"raw": "".join(f"data: {json.dumps(event)}\n\n" for event in events) + done}]


def delta(reason: str | None = None, **fields: object) -> dict[str, object]:
    return {"id": "1", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}


@wires
async def test_F01_cuts_at_any_byte_change_nothing(client: Client, wire: str) -> None:
    async with FaultServer([FULL, [{"chunk": 1}, *FULL], [{"chunk": 7}, *FULL]], wire) as server:
        backend = client.backend()
        whole, bytewise, cut = [await client.ask(server, wire, backend=backend) for _ in range(3)]
    assert (whole.error, whole.text, whole.thinking) == (None, TEXT, "hm, ünsure 🤔")
    assert bytewise.events == cut.events == whole.events


@wires
async def test_F01_random_cuts_change_nothing(client: Client, wire: str) -> None:
    body, dice = stream(wire), random.Random(11)
    scripts = [[{"raw": body}]]
    for _ in range(8):
        marks = sorted({0, len(body), *(dice.randrange(len(body)) for _ in range(12))})
        scripts.append([{"raw": body[a:b]} for a, b in itertools.pairwise(marks)])
    async with FaultServer(scripts, wire) as server:
        backend = client.backend()
        outcomes = [await client.ask(server, wire, backend=backend) for _ in scripts]
    assert [outcome.error for outcome in outcomes] == [None] * len(scripts)
    assert all(outcome.events == outcomes[0].events for outcome in outcomes)


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "openai-chat", "gemini", "ollama"])
async def test_F02_odd_line_ends_inside_json_end_no_line(client: Client, wire: str) -> None:
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1ei"
    async with FaultServer([[{"say": "text", "text": odd}, {"end": 1}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert (outcome.error, outcome.text) == (None, odd)


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "openai-chat", "gemini", "gemini-array"])
async def test_F03_a_leading_byte_order_mark_loses_nothing(client: Client, wire: str) -> None:
    async with FaultServer([[{"raw": b"\xef\xbb\xbf"}, *FULL]], wire) as server:
        outcome = await client.ask(server, wire)
    assert (outcome.error, outcome.text) == (None, TEXT)


async def test_F04_invalid_utf8_becomes_the_replacement_character(client: Client) -> None:
    bad = json.dumps(delta(content="a?b")).encode().replace(b"?", b"\xff\xfe")
    script: list[Step] = [{"raw": b"data: " + bad + b"\n\n"}, *chat(delta("stop"))]
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert outcome.error is None
    assert (outcome.text[0], outcome.text[-1], "\ufffd" in outcome.text) == ("a", "b", True)


async def test_F05_data_without_a_space_and_bare_colons_are_fine(client: Client) -> None:
    raw = f":\n\n:\ndata:{json.dumps(delta(content='x'))}\n\n:\n\ndata:{json.dumps(delta('stop'))}\n\ndata:[DONE]\n\n"
    async with FaultServer([[{"raw": raw}]], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text) == (None, "x")


async def test_F06_fields_without_data_dispatch_nothing(client: Client) -> None:
    raw = "id: 1\n\nevent: x\n\nretry: 5\n\n\n\n"
    async with FaultServer([[{"raw": raw}, *chat(delta(content="x"), delta("stop"))]], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text) == (None, "x")


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "kind",
    [None, "text/event-stream; charset=iso-8859-1", "application/octet-stream", "text/plain", "application/json"],
)
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "gemini", "gemini-array", "ollama"])
async def test_F07_a_wrong_content_type_costs_nothing(client: Client, wire: str, kind: str | None) -> None:
    async with FaultServer([[{"status": 200, "ct": kind}, *FULL]], wire) as server:
        outcome = await client.ask(server, wire)
    assert (outcome.error, outcome.text) == (None, TEXT)


async def test_F08_a_line_of_ten_megabytes_is_read_in_linear_time(client: Client) -> None:
    async def seconds(size: int) -> float:
        script = chat(delta(content="x" * size), delta("stop"))
        async with FaultServer([script], "openai-chat") as server:
            began = time.process_time()
            outcome = await client.ask(server, "openai-chat")
            assert len(outcome.text) == size
            return time.process_time() - began

    small = min([await seconds(1_000_000) for _ in range(2)])
    assert await seconds(10_000_000) < 25 * max(small, 0.01)


async def test_F08_an_event_beyond_the_cap_is_an_error(client: Client) -> None:
    async with FaultServer([[{"raw": b"data: " + b"x" * 17_000_000}, {"raw": b"\n\n"}]], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat", at_most_s=30)
    assert outcome.error is not None
    assert outcome.error.kind in (ErrorKind.TOO_LARGE, ErrorKind.BAD_FRAME)


@pytest.mark.parametrize(
    "done",
    [
        "",
        "data: [DONE]\n\n" * 2,
        "data: [DONE] \n\n",
        'data: [DONE]\n\ndata: {"choices":[{"delta":{"content":"!"}}]}\n\n',
    ],
    ids=["missing", "doubled", "with a space", "followed by data"],
)
async def test_F09_the_done_marker_may_be_missing_doubled_or_followed(client: Client, done: str) -> None:
    script = chat(delta(content="x"), delta("stop"), done=done)
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text, outcome.complete) == (None, "x", True)


async def test_F09_a_call_after_the_end_is_not_run(client: Client) -> None:
    call = {"index": 0, "id": "a", "function": {"name": "list_dir", "arguments": "{}"}}
    script = chat(delta(content="x"), delta("stop"), delta(tool_calls=[call]))
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text, outcome.complete) == (None, "x", True)
    assert [block.kind for block in outcome.blocks.blocks()] == ["text"]


async def test_F09_after_the_end_an_open_line_is_not_waited_for(client: Client) -> None:
    script: list[Step] = [*chat(delta(content="x"), delta("stop"), done=""), {"hold": 1}]
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text, outcome.complete) == (None, "x", True)


async def test_F10_several_data_lines_are_one_event(client: Client) -> None:
    lines = "".join(f"data: {line}\n" for line in json.dumps(delta(content="x"), indent=2).split("\n"))
    async with FaultServer([[{"raw": lines + "\n"}, *chat(delta("stop"))]], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text) == (None, "x")


@pytest.mark.parametrize("wire", ["gemini-array", "ollama"])
async def test_F10_arrays_and_lines_are_streams_too(client: Client, wire: str) -> None:
    async with FaultServer([FULL], wire) as server:
        outcome = await client.ask(server, wire)
    assert (outcome.error, outcome.text, len(outcome.events) > 5) == (None, TEXT, True)


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses"])
async def test_F11_unknown_events_and_fields_are_passed_over(client: Client, wire: str) -> None:
    future = {"sse": [{"type": "future.thing", "new": {"a": [1]}}]}
    async with FaultServer([[FULL[0], future, FULL[1], future, {"end": 1}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert (outcome.error, outcome.text) == (None, TEXT)


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "openai-chat", "gemini"])
async def test_F12_one_bad_frame_is_passed_over_if_the_end_comes(client: Client, wire: str) -> None:
    bad = {"raw": "data: {oops\n\n"}
    async with FaultServer([[FULL[0], bad, *FULL[1:]], [FULL[0], bad]], wire) as server:
        backend = client.backend()
        ended = await client.ask(server, wire, backend=backend)
        broken = await client.ask(server, wire, backend=backend)
    assert (ended.error, ended.text) == (None, TEXT)
    assert broken.error is not None
    assert broken.error.kind in (ErrorKind.BAD_FRAME, ErrorKind.TRUNCATED)


@pytest.mark.one_in(9)
@pytest.mark.parametrize(
    "value",
    ["9" * 5000, "[" * 100_000 + "]" * 100_000, "NaN", "Infinity", '{"a":1,"a":2}', "null", '"text"', "[]", "true"],
    ids=["digits", "nested", "nan", "infinity", "duplicate", "null", "string", "list", "bool"],
)
@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "openai-chat", "gemini", "ollama"])
async def test_F13_hostile_json_is_a_provider_error_or_nothing(client: Client, wire: str, value: str) -> None:
    frame = f"{value}\n" if wire == "ollama" else f"data: {value}\n\n"
    async with FaultServer([[{"raw": frame}, *FULL], [{"raw": frame}]], wire) as server:
        backend = client.backend()
        first = await client.ask(server, wire, backend=backend)
        second = await client.ask(server, wire, backend=backend)
    assert first.error is not None or first.text == TEXT
    assert second.error is not None


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
async def test_F14_a_pair_split_over_two_deltas_is_one_character(client: Client, field: str) -> None:
    halves = [
        f'data: {{"id":"1","choices":[{{"index":0,"delta":{{"{field}":"{half}"}}}}]}}\n\n'
        for half in ("a\\ud83d", "\\ude00b")
    ]
    async with FaultServer([[{"raw": "".join(halves)}, *chat(delta("stop"))]], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text + outcome.thinking) == (None, "a😀b")


async def test_F14_half_a_character_is_stored_as_the_replacement_character(client: Client) -> None:
    raw = 'data: {"id":"1","choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}\n\n'
    async with FaultServer([[{"raw": raw}, *chat(delta("stop"))]], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, outcome.text) == (None, "a\ufffd")
