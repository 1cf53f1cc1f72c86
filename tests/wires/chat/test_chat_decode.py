"""Text and thinking in the dialects of Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.narrow import text_of
from tests.wires.chat.script import DONE, assembled, blocks_of, blocks_of_deltas, chunk, events_of, frame
from tui.catalog.facts import Quirks
from tui.domain.blocks import ImageBlock, ProviderState, TextBlock, ThinkingBlock
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    Finish,
    PromptRead,
    ResponseFinished,
    ResponseStarted,
    Stop,
    TextDelta,
    ThinkingDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.wires.openai_chat import WIRE


def thought(text: str, field: str = "reasoning_content", **more: Any) -> ThinkingBlock:
    form = more.pop("form", ThinkingForm.FULL if text else ThinkingForm.HIDDEN)
    return ThinkingBlock(text=text, form=form, wire_field=field, **more)


def test_a_thinking_answer_in_events():
    frames = [
        chunk({"role": "assistant", "content": None, "reasoning_content": "Hm"}),
        chunk({"reasoning_content": "m."}),
        chunk({"content": "Ye"}),
        chunk({"content": "s."}),
        chunk({}, "stop"),
        DONE,
    ]
    assert events_of(frames) == [
        ResponseStarted("m", "c1"),
        BlockStarted(0, "thinking", wire_field="reasoning_content"),
        ThinkingDelta(0, "Hm"),
        ThinkingDelta(0, "m."),
        BlockFinished(0),
        BlockStarted(1, "text"),
        TextDelta(1, "Ye"),
        TextDelta(1, "s."),
        BlockFinished(1),
        ResponseFinished(Stop(Finish.STOP, "stop")),
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_is_read_from_each_known_field(field):
    assert blocks_of_deltas({field: "a"}, {field: "b"}) == (thought("ab", field),)


def test_the_same_thinking_in_two_fields_counts_once():
    twice = {"reasoning": "a", "reasoning_content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}
    (block,) = blocks_of_deltas(twice, twice)
    assert text_of(block) == "aa"


def test_fields_not_in_the_quirks_are_not_read():
    assert blocks_of_deltas({"reasoning": "a", "content": "b"}, quirks=Quirks(thinking_in=("thinking",))) == (
        TextBlock(text="b"),
    )


def test_details_are_read_where_no_plain_field_is():
    entry = {"type": "reasoning.summary", "summary": "short", "format": "openai-responses-v1", "index": 0}
    assert blocks_of_deltas({"reasoning_details": [entry]}, {"content": "x"}) == (
        thought(
            "short",
            "reasoning_details",
            form=ThinkingForm.SUMMARY,
            provider_state=ProviderState(raw=json.dumps([entry], separators=(",", ":"))),
        ),
        TextBlock(text="x"),
    )


def test_details_are_not_read_where_the_quirk_says_so():
    entry = {"type": "reasoning.text", "text": "a"}
    assert blocks_of_deltas({"reasoning_details": [entry], "content": "x"}, quirks=Quirks(details_in=False)) == (
        TextBlock(text="x"),
    )


def test_encrypted_details_alone_are_a_hidden_block():
    entry = {"type": "reasoning.encrypted", "data": "AA==", "index": 0}
    assert blocks_of_deltas({"content": "x"}, {"reasoning_details": [entry]}) == (
        TextBlock(text="x"),
        thought(
            "",
            "reasoning_details",
            provider_state=ProviderState(raw='[{"type":"reasoning.encrypted","data":"AA==","index":0}]'),
        ),
    )


def test_a_block_is_sealed_as_soon_as_its_thinking_is_over():
    entry = {"type": "reasoning.text", "text": "a", "signature": "s"}
    decoder = WIRE.decoder(Quirks())
    events = [*decoder.feed(chunk({"reasoning_details": [entry]})), *decoder.feed(chunk({"content": "x"}))]
    assert assembled(events).blocks() == (
        thought(
            "a",
            "reasoning_details",
            provider_state=ProviderState(raw='[{"type":"reasoning.text","text":"a","signature":"s"}]'),
        ),
        TextBlock(text="x", partial=True),
    )


def test_opaque_reasoning_is_sealed_on_the_thinking():
    assert blocks_of_deltas({"reasoning_text": "a"}, {"content": "x", "reasoning_opaque": "op"}) == (
        thought("a", "reasoning_text", provider_state=ProviderState(encrypted="op")),
        TextBlock(text="x"),
    )


def test_content_may_switch_between_list_and_string():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "signature": "sig"},
        {"type": "text", "text": "2"},
        {"type": "reference", "reference_ids": [1]},
    ]
    assert blocks_of_deltas({"content": parts}, {"content": " + 2"}) == (
        thought("hm", "content_chunks", provider_state=ProviderState(signature="sig")),
        TextBlock(text="2 + 2"),
    )


def test_thinking_after_text_is_another_block():
    deltas = [{"reasoning": "a"}, {"content": "x"}, {"reasoning": "b"}, {"content": "y"}]
    assert blocks_of_deltas(*deltas) == (
        thought("a", "reasoning"),
        TextBlock(text="x"),
        thought("b", "reasoning"),
        TextBlock(text="y"),
    )


def test_empty_pieces_open_and_close_nothing():
    deltas = [{"reasoning": "a", "content": ""}, {"content": "", "reasoning": None}, {"reasoning": "b"}, None, {}]
    assert blocks_of_deltas(*deltas) == (thought("ab", "reasoning"),)


def test_a_refusal_is_text_marked_as_one():
    events = events_of([chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"), DONE])
    assert assembled(events).blocks() == (TextBlock(text="I cannot.", refusal=True),)
    assert events[-1] == ResponseFinished(Stop(Finish.REFUSAL, "stop"))


def test_pictures_come_whole():
    image = {"type": "image_url", "image_url": {"url": "data:image/webp;base64,AAAA"}}
    remote = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert blocks_of_deltas({"images": [image, remote]}) == (
        ImageBlock(media_type="image/webp", data="AAAA"),
        ImageBlock(media_type="image/png", url="https://example.org/a.png"),
    )


def test_tags_in_the_answer_are_thinking():
    assert blocks_of_deltas({"content": "<thi"}, {"content": "nk>a</think>b"}, {"content": "<think>"}) == (
        thought("a", "think_tags"),
        TextBlock(text="b<think>"),
    )


def test_tags_stay_where_the_quirk_says_never():
    assert blocks_of_deltas({"content": "<think>a</think>b"}, quirks=Quirks(think_tags="never")) == (
        TextBlock(text="<think>a</think>b"),
    )


def test_tags_beside_a_thinking_field_are_a_repetition():
    deltas = [{"reasoning_content": "a"}, {"content": "<think>a</think>"}, {"content": "b"}]
    assert blocks_of_deltas(*deltas) == (thought("a"), TextBlock(text="b"))


def test_a_forced_open_answer_is_no_thinking_once_a_field_has_it():
    deltas = [{"reasoning_content": "a"}, {"content": "b"}]
    assert blocks_of_deltas(*deltas, quirks=Quirks(think_tags="forced_open")) == (thought("a"), TextBlock(text="b"))


def test_only_the_first_choice_is_read():
    both = [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]
    other = [{"index": 1, "delta": {"content": "no"}}]
    assert blocks_of(frame({"choices": both}), frame({"choices": other}), chunk({"content": "!"})) == (
        TextBlock(text="yes!"),
    )


def test_a_character_split_over_two_deltas_is_put_together():
    first = ("", b'{"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}')
    second = ("", b'{"choices":[{"index":0,"delta":{"content":"\\ude00"}}]}')
    assert blocks_of(first, second) == (TextBlock(text="\N{GRINNING FACE}"),)


def test_a_whole_message_after_its_deltas_is_not_said_again():
    whole = frame({"choices": [{"index": 0, "message": {"content": "ab"}, "finish_reason": "stop"}]})
    assert blocks_of(chunk({"content": "a"}), chunk({"content": "b"}), whole) == (TextBlock(text="ab"),)


def test_a_whole_body_is_read_from_its_message():
    body = {
        "id": "c1",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "delta": {"content": ""},
                "message": {"content": "<think>no</think>x", "reasoning": "a"},
                "finish_reason": "stop",
            }
        ],
    }
    decoder = WIRE.decoder(Quirks())
    events = decoder.feed_whole(json.dumps(body).encode())
    assert assembled(events).blocks() == (thought("a", "reasoning"), TextBlock(text="x"))
    assert (events[-1], decoder.complete) == (ResponseFinished(Stop(Finish.STOP, "stop")), True)


def test_how_much_of_the_prompt_was_read_is_said_without_what_was_in_the_cache():
    def progress(processed: int, total: object = 1_500) -> tuple[str, bytes]:
        said = {"total": total, "cache": 500, "processed": processed}
        return chunk({"role": "assistant", "content": None}, prompt_progress=said)

    frames = [progress(500), progress(1_012), progress(1_500), progress(500, 500), progress(7, "?")]
    events = events_of([*frames, chunk({"content": "Yes."}), chunk({}, "stop"), DONE])
    assert [event.share for event in events if isinstance(event, PromptRead)] == [0.0, 0.512, 1.0]
    assert assembled(events).blocks() == (TextBlock(text="Yes."),)
