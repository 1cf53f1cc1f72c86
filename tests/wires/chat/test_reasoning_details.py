"""The details array, from pieces to whole."""

from __future__ import annotations

import json
from typing import Any

from tui.wires.openai_chat.reasoning_details import ReasoningDetails, details_of


def merged(*deltas: list[Any]) -> list[object]:
    details = ReasoningDetails()
    for delta in deltas:
        details.add(json.loads(json.dumps(delta)))
    return details_of(details.raw())


def said(piece: str, **more: object) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": piece, "format": "unknown", "index": 0, **more}


def test_pieces_of_one_entry_are_joined():
    assert merged([said("one ")], [said("two ")], [said("three")]) == [said("one two three")]


def test_the_signature_comes_last_and_stays():
    signature = {"type": "reasoning.text", "signature": "s==", "format": "unknown", "index": 0}
    assert merged([said("so")], [said("", signature="")], [signature]) == [said("so", signature="s==")]


def test_words_after_a_signature_begin_another_entry():
    first, second = said("a", signature="s1"), said("b")
    assert merged([first], [second], [said("c")]) == [first, said("bc")]


def test_entries_of_other_index_or_id_stay_apart():
    pieces = [said("a", index=0), said("b", index=1), said("c", index=1, id="x"), said("d", index=1, id="y")]
    assert merged(*[[piece] for piece in pieces]) == [
        said("a", index=0),
        said("bc", index=1, id="x"),
        said("d", index=1, id="y"),
    ]


def test_encrypted_entries_are_never_joined():
    locked = [{"type": "reasoning.encrypted", "data": data, "id": "rs_1", "index": 0} for data in ("AA", "BB")]
    assert merged([locked[0]], [locked[1]]) == locked


def test_summaries_and_unknown_types_keep_their_fields():
    summary = {"type": "reasoning.summary", "summary": "in short", "format": "openai-responses-v1", "index": 0}
    odd = {"type": "reasoning.server_tool_call", "call": {"deep": [1, 2.5, None]}}
    assert merged([summary], [odd]) == [summary, odd]


def test_a_minimax_server_that_repeats_itself_is_heard_once():
    mini = {"format": "MiniMax-response-v1", "id": "t1"}
    details = ReasoningDetails()
    fresh = [details.add([said(piece, **mini)]) for piece in ("Let", "Let me", "Let me see")]
    assert (fresh, details_of(details.raw())) == (["Let", " me", " see"], [said("Let me see", **mini)])


def test_a_minimax_server_that_goes_on_is_heard_whole():
    mini = {"format": "MiniMax-response-v1", "id": "t1"}
    assert merged(*[[said(piece, **mini)] for piece in ("Let", " me", " see")]) == [said("Let me see", **mini)]


def test_other_servers_may_say_the_same_again():
    assert merged([said("ha")], [said("haha")]) == [said("hahaha")]


def test_what_is_no_detail_is_passed_over():
    assert merged([None, 3, "x", said("a", format=["odd"])]) == [said("a", format=["odd"])]


def test_a_seal_that_is_no_array_holds_no_details():
    assert [details_of(raw) for raw in (None, "", "{}", "not json")] == [[], [], [], []]
