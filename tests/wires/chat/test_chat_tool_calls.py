"""Tool calls in the shapes servers send them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.narrow import expect_type, state_of
from tests.wires.chat.script import DONE, assembled, blocks_of_deltas, chunk, events_of, frame
from tui.domain.blocks import ProviderState, ToolCallBlock


def called(*deltas: object) -> list[tuple[str, str, str]]:
    """(id, name, arguments) of the calls in these ``tool_calls`` lists."""
    blocks = blocks_of_deltas(*[{"tool_calls": delta} for delta in deltas])
    calls = [expect_type(ToolCallBlock, block) for block in blocks]
    assert not any(call.partial for call in calls)
    return [(call.call_id, call.name, call.arguments) for call in calls]


def call(arguments: object = None, *, name: str | None = None, **more: object) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"function": function, **more}


def test_arguments_are_joined_by_index():
    assert called(
        [call("", name="f", index=0, id="a")],
        [call("", name="g", index=1, id="b")],
        [call('{"x":', index=0), call('{"y":', index=1)],
        [call("1}", index=0), call("2}", index=1)],
    ) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_the_first_index_may_be_one():
    assert called([call("", name="f", index=1, id="a")], [call("{}", index=1)]) == [("a", "f", "{}")]


def test_a_repeated_name_and_id_are_one():
    again = call('{"x"', name="f", index=0, id="a")
    assert called([again], [{**again, "function": {"name": "f", "arguments": ":1}"}}]) == [("a", "f", '{"x":1}')]


def test_an_empty_or_null_id_continues():
    assert called(
        [call("", name="f", index=0, id="a")], [call('{"x"', index=0, id="")], [call(":1}", index=0, id=None)]
    ) == [("a", "f", '{"x":1}')]


def test_without_index_the_id_tells():
    assert called(
        [call("{", name="f", id="a")], [call("{", name="g", id="b")], [call("}", id="a")], [call("}", id="b")]
    ) == [("a", "f", "{}"), ("b", "g", "{}")]


def test_without_index_and_id_the_position_tells():
    assert called([call("{", name="f", id="a"), call("{", name="g", id="b")], [call("}"), call('"x":1}')]) == [
        ("a", "f", "{}"),
        ("b", "g", '{"x":1}'),
    ]


def test_without_anything_the_last_call_goes_on():
    assert called([call("{", name="f", id="a")], [call('"x":')], [call("1}")]) == [("a", "f", '{"x":1}')]


def test_parallel_calls_that_are_all_numbered_zero_are_told_apart():
    assert called([call('{"x":1}', name="f", index=0, id="a")], [call('{"x":2}', name="f", index=0, id="b")]) == [
        ("a", "f", '{"x":1}'),
        ("b", "f", '{"x":2}'),
    ]


def test_a_new_id_on_an_unfinished_call_is_the_same_call():
    assert called([call('{"x":', name="f", index=0, id="a")], [call("1}", name="f", index=0, id="b")]) == [
        ("a", "f", '{"x":1}')
    ]


def test_a_name_in_pieces_and_a_late_id_are_put_together():
    assert called([call(name="get_", index=0)], [call(name="weather", index=0, id="a")], [call("{}", index=0)]) == [
        ("a", "get_weather", "{}")
    ]


@pytest.mark.parametrize(("sent", "kept"), [({"x": 1}, '{"x":1}'), ([1], "[1]"), ("", "")])
def test_arguments_may_come_as_values(sent, kept):
    assert called([call(sent, name="f", index=0, id="a")]) == [("a", "f", kept)]


def test_null_arguments_are_none():
    assert called([{"index": 0, "id": "a", "function": {"name": "f", "arguments": None}}]) == [("a", "f", "")]


def test_a_legacy_function_call_is_a_call():
    legacy = [{"function_call": {"name": "f", "arguments": '{"x"'}}, {"function_call": {"arguments": ":1}"}}]
    assert blocks_of_deltas(*legacy) == (ToolCallBlock(call_id="call_0", name="f", arguments='{"x":1}'),)


def test_a_custom_call_is_a_call():
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "f", "input": "free text"}}
    assert called([custom]) == [("a", "f", "free text")]


def test_a_thought_signature_is_sealed_on_its_call():
    state = {"google": {"thought_signature": "sig"}}
    (block,) = blocks_of_deltas({"tool_calls": [{**call("{}", name="f", index=0, id="a"), "extra_content": state}]})
    assert state_of(block) == ProviderState(raw='{"extra_content":{"google":{"thought_signature":"sig"}}}')


def test_the_output_limit_leaves_the_last_call_unfinished():
    frames = [
        chunk({"tool_calls": [call("{}", name="f", index=0, id="a"), call('{"x', name="g", index=1, id="b")]}),
        chunk({}, "length"),
        DONE,
    ]
    assert assembled(events_of(frames)).blocks() == (
        ToolCallBlock(call_id="a", name="f", arguments="{}"),
        ToolCallBlock(call_id="b", name="g", arguments='{"x', partial=True),
    )


def test_calls_of_a_whole_message_need_no_index_and_no_id():
    whole = {"message": {"content": None, "tool_calls": [call("{}", name="f"), call("{}", name="f")]}}
    frames = [frame({"choices": [{**whole, "finish_reason": "tool_calls"}]}), DONE]
    assert [expect_type(ToolCallBlock, block).name for block in assembled(events_of(frames)).blocks()] == ["f", "f"]
