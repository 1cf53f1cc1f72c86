"""Gemini chunks to events: parts to blocks, signatures on their own, ends, and what servers do that they should not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.narrow import expect_type
from tui.catalog.facts import Quirks
from tui.domain.assemble import Assembler
from tui.domain.blocks import ImageBlock, OpaqueBlock, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import Finish, Stop, UsageReported
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.wires.gemini import WIRE
from tui.wires.gemini.partial_arguments import MAX_ITEMS, PartialArguments

SIGNED = ProviderState(signature="c2ln")


def chunk(*parts: dict[str, Any], finish: str | None = None, **fields: object) -> dict[str, Any]:
    candidate: dict[str, object] = {"content": {"role": "model", "parts": list(parts)}}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **fields}


def assembled(*chunks: object) -> Assembler:
    decoder = WIRE.decoder(Quirks())
    assembler = Assembler()
    for each in chunks:
        for event in decoder.feed(("", each if isinstance(each, bytes) else json.dumps(each).encode())):
            assembler.feed(event)
    for event in decoder.finish():
        assembler.feed(event)
    return assembler


def text(words: str, **fields: object) -> dict[str, Any]:
    return {"text": words, **fields}


def thought(words: str, **fields: object) -> dict[str, Any]:
    return {"text": words, "thought": True, **fields}


def call(name: str, /, signature: str | None = None, **fields: object) -> dict[str, Any]:
    part: dict[str, object] = {"functionCall": {"name": name, **fields}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def test_neighbouring_parts_of_one_kind_are_one_block():
    usage: dict[str, Any] = {"usageMetadata": {"promptTokenCount": 1}}
    answer = assembled(
        chunk(thought("Let "), responseId="r", modelVersion="gemini", **usage),
        chunk(thought("me."), **usage),
        chunk(text("An"), **usage),
        chunk(text("swer"), text("."), **usage),
        chunk(text("", thoughtSignature="c2ln"), finish="STOP", **usage),
    )
    assert answer.blocks() == (
        ThinkingBlock(text="Let me.", form=ThinkingForm.SUMMARY),
        TextBlock(text="Answer."),
        TextBlock(text="", provider_state=SIGNED),
    )
    assert (answer.model, answer.response_id, answer.stop) == ("gemini", "r", Stop(Finish.STOP, "STOP"))


def test_two_signed_parts_are_never_merged():
    other = ProviderState(signature="b3RoZXI=")
    answer = assembled(
        chunk(
            text("a"),
            text("b", thoughtSignature="c2ln"),
            text("c", thoughtSignature="b3RoZXI="),
            text("d"),
            finish="STOP",
        )
    )
    assert answer.blocks() == (
        TextBlock(text="ab", provider_state=SIGNED),
        TextBlock(text="c", provider_state=other),
        TextBlock(text="d"),
    )


def test_a_call_keeps_its_signature_and_only_an_id_the_provider_gave():
    answer = assembled(
        chunk(call("read", "c2ln", args={"path": "a"}, id="9"), call("list"), finish="STOP", responseId="resp")
    )
    assert answer.blocks() == (
        ToolCallBlock(
            call_id="9", name="read", arguments='{"path":"a"}', provider_state=ProviderState(id="9", signature="c2ln")
        ),
        ToolCallBlock(call_id="call_resp_1", name="list", arguments="{}"),
    )
    assert answer.stop == Stop(Finish.TOOL_USE, "STOP")


def test_two_calls_with_one_id_are_told_apart():
    answer = assembled(chunk(call("a", id="1"), call("b", id="1"), finish="STOP"))
    assert [expect_type(ToolCallBlock, block).call_id for block in answer.blocks()] == ["1", "call_1"]


def test_arguments_in_pieces_are_put_together_by_their_paths():
    def pieces(*args: dict[str, Any], more: bool = True) -> dict[str, Any]:
        return chunk({"functionCall": {"partialArgs": list(args), "willContinue": more}})

    answer = assembled(
        chunk(call("move", "c2ln", willContinue=True)),
        pieces({"jsonPath": "$.to.city", "stringValue": "Bos", "willContinue": True}),
        pieces({"jsonPath": "$.to.city", "stringValue": "ton"}, {"jsonPath": "$.via[1]", "numberValue": 2}),
        pieces({"jsonPath": "$['fast']", "boolValue": True}, {"jsonPath": "$.note", "nullValue": None}),
        pieces({"jsonPath": "$.via[99999999]", "numberValue": 1}, {"jsonPath": "nonsense[", "numberValue": 1}),
        chunk({"functionCall": {}}),
        chunk(text(""), finish="STOP"),
    )
    assert answer.blocks() == (
        ToolCallBlock(
            call_id="call_0",
            name="move",
            arguments='{"to":{"city":"Boston"},"via":[null,2],"fast":true,"note":null}',
            provider_state=SIGNED,
        ),
    )


def test_a_long_text_in_very_many_pieces_is_put_together_once():
    arguments = PartialArguments()
    arguments.set_whole({"content": "begun "})
    piece = {"partialArgs": [{"jsonPath": "$.content", "stringValue": "ten words "}]}
    for _ in range(100_000):
        arguments.add(piece)
    assert json.loads(arguments.json()) == {"content": "begun " + "ten words " * 100_000}


def test_short_paths_cannot_ask_for_more_than_so_many_values():
    arguments = PartialArguments()
    for number in range(20):
        wide, deep = f"$.wide{number}" + "[9999]" * 60, f"$.deep{number}" + ".a" * 60
        arguments.add({"partialArgs": [{"jsonPath": path, "numberValue": 1} for path in (wide, deep)]})
    arguments.add({"partialArgs": [{"jsonPath": "$.more", "stringValue": "still taken"}]})
    text = arguments.json()
    assert text.count("null") <= MAX_ITEMS
    assert json.loads(text)["more"] == "still taken"


def test_a_call_whose_arguments_never_end_stays_partial():
    answer = assembled(chunk(call("move", willContinue=True)), chunk(finish="MAX_TOKENS"))
    assert answer.blocks() == (ToolCallBlock(call_id="call_0", name="move", arguments="", partial=True),)


def test_pictures_and_server_run_code_are_blocks_of_their_own():
    code = {"executableCode": {"code": "1"}, "thoughtSignature": "c2ln"}
    result = {"codeExecutionResult": {"output": "1"}}
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "c2ln"}
    answer = assembled(chunk(code, finish="STOP"), chunk(result), chunk(picture, text("one"), finish="STOP"))
    assert answer.blocks() == (
        OpaqueBlock(label="executableCode", raw=json.dumps(code, separators=(",", ":"))),
        OpaqueBlock(label="codeExecutionResult", raw=json.dumps(result, separators=(",", ":"))),
        ImageBlock(media_type="image/png", data="aGk=", provider_state=SIGNED),
        TextBlock(text="one"),
    )


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [chunk(text("a"))],
        [chunk({"executableCode": {"code": "1"}}, finish="STOP")],
        [chunk({"executableCode": {"code": "1"}}, finish="STOP"), chunk(text("a"))],
        [chunk(text("a"), finish="")],
    ],
)
def test_without_a_last_finish_reason_the_answer_was_cut(chunks):
    with pytest.raises(ProviderError) as caught:
        assembled(*chunks)
    assert caught.value.kind is ErrorKind.TRUNCATED


@pytest.mark.parametrize(
    ("reason", "fields", "stop"),
    [
        ("MAX_TOKENS", {}, Stop(Finish.LENGTH, "MAX_TOKENS")),
        ("SAFETY", {"finishMessage": "no"}, Stop(Finish.FILTER, "SAFETY", "no")),
        ("MALFORMED_FUNCTION_CALL", {}, Stop(Finish.MALFORMED_CALL, "MALFORMED_FUNCTION_CALL")),
        ("CONTINUATION", {"continuationToken": "tok"}, Stop(Finish.CONTINUATION, "CONTINUATION", "tok")),
        ("NEW_REASON", {}, Stop(Finish.OTHER, "NEW_REASON")),
    ],
)
def test_every_finish_reason_has_its_word(reason, fields, stop):
    assert assembled({"candidates": [{"finishReason": reason, **fields}]}).stop == stop


def test_a_refused_prompt_is_a_refusal():
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    assert assembled(blocked).stop == Stop(Finish.REFUSAL, "PROHIBITED_CONTENT")


def test_usage_keeps_what_a_later_reading_lacks_and_is_inclusive():
    answer = assembled(
        chunk(text("a"), usageMetadata={"promptTokenCount": 10, "thoughtsTokenCount": 5, "cachedContentTokenCount": 4}),
        chunk(
            text("b"),
            finish="STOP",
            usageMetadata={
                "promptTokenCount": 10,
                "candidatesTokenCount": 3,
                "thoughtsTokenCount": 0,
                "toolUsePromptTokenCount": 2,
            },
        ),
    )
    assert answer.usage == Usage(input=12, cache_read=4, output=8, thinking=5, total=20)


def test_usage_that_counts_nothing_is_not_reported():
    decoder = WIRE.decoder(Quirks())
    events = decoder.feed(("", json.dumps(chunk(text("a"), usageMetadata={"trafficType": "X"})).encode()))
    assert not any(isinstance(event, UsageReported) for event in events)


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_error_in_the_stream_means_what_it_means_outside(wrapped):
    error = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Slow down. Please retry in 3.5s."}}
    with pytest.raises(ProviderError) as caught:
        assembled(chunk(text("a")), [error] if wrapped else error)
    fault = caught.value
    assert (fault.kind, fault.status, fault.retry_after_s) == (ErrorKind.RATE_LIMIT, 429, 3.5)


def test_whole_bodies_and_lists_of_chunks_decode_alike():
    chunks = [chunk(text("a")), chunk(text("b"), finish="STOP")]
    listed = WIRE.decoder(Quirks()).feed_whole(json.dumps(chunks).encode())
    whole = WIRE.decoder(Quirks()).feed_whole(json.dumps(chunk(text("a"), text("b"), finish="STOP")).encode())
    assert listed == whole


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b"5", b'{"error":"no"}', b'[{"error":{"code":500}}]'])
def test_a_whole_body_that_is_no_response_is_a_fault(body):
    with pytest.raises(ProviderError):
        WIRE.decoder(Quirks()).feed_whole(body)


def test_other_candidates_and_unknown_fields_are_passed_over():
    strange = {"candidates": [{"index": 1, "content": {"parts": [text("no")]}}], "future": 1}
    answer = assembled(chunk(text("a"), future=1), strange, chunk({"thought": False, "text": "b"}, finish="STOP"))
    assert answer.blocks() == (TextBlock(text="ab"),)


KEYS = (
    "candidates content parts text thought thoughtSignature functionCall name args partialArgs jsonPath stringValue "
    "willContinue finishReason usageMetadata promptTokenCount inlineData mimeType data error code promptFeedback index"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("$.a[0]"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
    max_leaves=12,
)
PARTS = st.lists(st.dictionaries(st.sampled_from(KEYS.split()), JSON, max_size=4), max_size=3)


@given(st.lists(JSON | PARTS.map(lambda parts: chunk(*parts)), max_size=6))
def test_whatever_the_json_only_our_errors_come_out(values):
    decoder = WIRE.decoder(Quirks())
    try:
        for value in values:
            decoder.feed(("", json.dumps(value).encode()))
        decoder.finish()
    except ProviderError:
        pass


def test_content_after_a_finish_opens_the_answer_again():
    with pytest.raises(ProviderError):
        assembled(chunk(text("a"), finish="STOP"), chunk(text("b")))
    again = assembled(chunk(text("a"), finish="STOP"), chunk(text("b")), chunk(text("c"), finish="MAX_TOKENS"))
    assert (again.blocks(), again.stop) == ((TextBlock(text="abc"),), Stop(Finish.LENGTH, "MAX_TOKENS"))


def test_a_signature_without_words_or_text_is_a_block_of_its_own():
    answer = assembled(
        chunk(text("a"), {"thoughtSignature": "c2ln"}, thought("", thoughtSignature="c2ln"), finish="STOP")
    )
    assert answer.blocks() == (
        TextBlock(text="a"),
        TextBlock(text="", provider_state=SIGNED),
        ThinkingBlock(text="", form=ThinkingForm.HIDDEN, provider_state=SIGNED),
    )


def test_a_bad_frame_is_forgiven_only_when_the_end_comes():
    assert assembled(chunk(text("a")), b"{oops", chunk(text("b"), finish="STOP")).blocks() == (TextBlock(text="ab"),)
    with pytest.raises(ProviderError) as caught:
        assembled(chunk(text("a")), b"{oops")
    assert caught.value.kind is ErrorKind.BAD_FRAME


def test_the_short_way_and_the_long_way_say_the_same():
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 2}
    short = [chunk(each, usageMetadata=usage) for each in (thought("a"), thought("b"), text("c"), text("d"))]
    long = [{**each, "usageMetadata": {**usage, "thoughtsTokenCount": 0}, "future": 1} for each in short]
    end = chunk(finish="STOP")
    assert assembled(*short, end).blocks() == assembled(*long, end).blocks()
