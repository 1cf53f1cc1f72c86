from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.domain import assemble
from tui.domain.assemble import Assembler, whole_text
from tui.domain.blocks import Block, ImageBlock, OpaqueBlock, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.stream import (
    BlockFinished,
    BlockNamed,
    BlockStarted,
    Finish,
    ImageData,
    ProviderRemark,
    ProviderStateReceived,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingBreak,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage


def fed(*events: StreamEvent) -> Assembler:
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler


def blocks(*events: StreamEvent) -> tuple[Block, ...]:
    return fed(*events).blocks()


def test_blocks_stand_in_the_order_they_opened_however_their_deltas_mix():
    assert blocks(
        BlockStarted(0, "thinking", form=ThinkingForm.SUMMARY, wire_field="reasoning"),
        BlockStarted(1, "text"),
        TextDelta(1, "Hel"),
        ThinkingDelta(0, "Hm"),
        TextDelta(1, "lo"),
        ProviderStateReceived(0, ProviderState(signature="s")),
        BlockFinished(0),
        BlockFinished(1),
    ) == (
        ThinkingBlock(
            text="Hm", form=ThinkingForm.SUMMARY, wire_field="reasoning", provider_state=ProviderState(signature="s")
        ),
        TextBlock(text="Hello"),
    )


def test_hidden_thinking_keeps_its_seal():
    assert blocks(
        BlockStarted(0, "thinking"), ProviderStateReceived(0, ProviderState(encrypted="e")), BlockFinished(0)
    ) == (ThinkingBlock(text="", form=ThinkingForm.HIDDEN, provider_state=ProviderState(encrypted="e")),)


def test_a_later_seal_replaces_the_former():
    assert blocks(
        ThinkingDelta(0, "x"),
        ProviderStateReceived(0, ProviderState(signature="1")),
        ProviderStateReceived(0, ProviderState(signature="12")),
        BlockFinished(0),
    ) == (ThinkingBlock(text="x", form=ThinkingForm.FULL, provider_state=ProviderState(signature="12")),)


def test_a_delta_without_a_start_opens_its_block():
    assert blocks(TextDelta(0, "a"), ThinkingDelta(1, "b"), ToolArgsDelta(2, "{}")) == (
        TextBlock(text="a", partial=True),
        ThinkingBlock(text="b", form=ThinkingForm.FULL, partial=True),
        ToolCallBlock(call_id="call_2", name="", arguments="{}", partial=True),
    )


def test_what_never_finished_is_partial_and_a_second_finish_is_nothing():
    assert blocks(TextDelta(0, "a"), BlockFinished(0), BlockFinished(0), TextDelta(1, "b"), BlockFinished(7)) == (
        TextBlock(text="a"),
        TextBlock(text="b", partial=True),
    )


def test_a_tool_call_may_be_named_late_and_in_two_steps():
    assert blocks(
        BlockStarted(0, "tool_call"),
        BlockNamed(0, "read", None),
        ToolArgsDelta(0, '{"a"'),
        BlockNamed(0, None, "call_x"),
        ToolArgsDelta(0, ":1}"),
        BlockFinished(0),
    ) == (ToolCallBlock(call_id="call_x", name="read", arguments='{"a":1}'),)


def test_parts_of_thinking_are_set_apart_by_a_blank_line_but_none_comes_first():
    assert blocks(
        BlockStarted(0, "thinking"),
        ThinkingBreak(0),
        ThinkingDelta(0, "one"),
        ThinkingBreak(0),
        ThinkingDelta(0, "two"),
        BlockFinished(0),
    ) == (ThinkingBlock(text="one\n\ntwo", form=ThinkingForm.FULL),)


def test_a_surrogate_pair_split_over_deltas_joins_and_a_lone_half_is_replaced():
    assert blocks(TextDelta(0, "a\ud83e"), TextDelta(0, "\udde0b\ud83d"), BlockFinished(0)) == (
        TextBlock(text="a🧠b\ufffd"),
    )


def test_refusals_pictures_and_items_we_do_not_know_keep_their_place():
    assert blocks(
        BlockStarted(0, "refusal"),
        TextDelta(0, "No."),
        BlockFinished(0),
        BlockStarted(1, "image", name="image/webp"),
        ImageData(1, "AAAA", None),
        ProviderStateReceived(1, ProviderState(signature="s")),
        BlockFinished(1),
        BlockStarted(2, "opaque", name="web_search_call"),
        ProviderStateReceived(2, ProviderState(raw='{"a":1}')),
        BlockFinished(2),
        BlockStarted(3, "opaque"),
    ) == (
        TextBlock(text="No.", refusal=True),
        ImageBlock(media_type="image/webp", data="AAAA", provider_state=ProviderState(signature="s")),
        OpaqueBlock(label="web_search_call", raw='{"a":1}'),
        OpaqueBlock(label="unknown", raw="{}"),
    )


def test_a_server_that_begins_anew_voids_what_it_said():
    assembler = fed(
        ResponseStarted("m", "r1"),
        TextDelta(0, "void"),
        ResponseStarted("m", "r2", restarted=True),
        TextDelta(1, "kept"),
    )

    assert assembler.response_id == "r2"
    assert assembler.blocks() == (TextBlock(text="kept", partial=True),)


def test_the_last_usage_counts_and_what_the_response_said_of_itself_is_kept():
    remark = ProviderRemark("dropped", "a thinking block")
    stop = Stop(Finish.STOP, "end_turn")
    assembler = fed(
        ResponseStarted("m", "r"),
        UsageReported(Usage(input=1)),
        remark,
        UsageReported(Usage(input=1, output=2)),
        ResponseFinished(stop),
    )

    assert (assembler.model, assembler.response_id, assembler.remarks, assembler.stop) == ("m", "r", [remark], stop)
    assert assembler.usage == Usage(input=1, output=2)


@given(st.text(alphabet="ab\ud83d\ude00\ufeffé", max_size=12))
def test_a_text_made_whole_in_parts_is_the_text_made_whole_at_once(text: str):
    at_once = whole_text([text])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "PART", 2)
        assert whole_text([text]) == at_once


@pytest.mark.long
def test_an_answer_of_many_small_pieces_takes_little_more_than_its_text():
    words = [f"word {number} " for number in range(200_000)]
    tracemalloc.start()
    try:
        assembler = Assembler()
        for word in words:
            assembler.feed(TextDelta(0, word[:3] + word[3:]))
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    text = "".join(words)
    assert taken < 1.5 * len(text)
    assert assembler.text_after(0, len(text) - 20) == (text[-20:], len(text))
    assert assembler.blocks() == (TextBlock(text=text, partial=True),)
    assembler.feed(TextDelta(0, "more"))
    assert assembler.blocks() == (TextBlock(text=f"{text}more", partial=True),)
