"""Requests as bodies: every quirk on and off."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.validators.chat import problems
from tests.wires.chat.script import OFF, WEATHER, assistant, body_of, messages_of, results, user
from tui.catalog.facts import Quirks
from tui.domain.blocks import (
    Block,
    ImageBlock,
    OpaqueBlock,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
from tui.domain.thinking import PlanState, ThinkingForm, ThinkingPlan
from tui.wires.openai_chat import WIRE
from tui.wires.openai_chat.encode import tool_id

THOUGHT = ThinkingBlock(text="Hm.", form=ThinkingForm.FULL, wire_field="reasoning_content")
CALL = ToolCallBlock(call_id="call_1", name="weather", arguments='{"place":"Rome"}')
SPELLED_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"place":"Rome"}'},
}
PICTURE = ImageBlock(media_type="image/png", data="AAAA")
SPELLED_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
THINKS = ThinkingPlan(
    asked=0, nominal="high", sent="high", state=PlanState.ON, fields={"reasoning_effort": "high"}, max_output=900
)


def said(text: str) -> TextBlock:
    return TextBlock(text=text)


def result(*content: TextBlock | ImageBlock, failed: bool = False) -> ToolResultBlock:
    return ToolResultBlock(call_id="call_1", name="weather", content=content, failed=failed)


def spelled(*blocks: Block, quirks: Quirks | None = None) -> dict[str, Any]:
    """One assistant message, as it goes out."""
    (message,) = messages_of(assistant(*blocks), quirks=quirks)
    return message


def test_a_whole_request():
    body = body_of(
        user("Hi"),
        assistant(THOUGHT, CALL),
        results(result(said("Sunny"))),
        system="Be brief",
        tools=(WEATHER,),
        temperature=0.5,
        top_p=0.9,
        max_output=100,
    )
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [SPELLED_CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "Sunny"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Says how the weather is",
                    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
                },
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
    }
    assert problems(body) == []


def test_plan_fields_are_merged_and_the_users_own_come_last():
    plan = replace(THINKS, fields={"thinking": {"type": "enabled"}, "a": 1})
    body = body_of(user("Hi"), plan=plan, extra_body={"thinking": {"keep": True}, "a": 2}, stream=False, max_output=7)
    del body["messages"]
    assert body == {
        "model": "m",
        "stream": False,
        "max_tokens": 900,
        "thinking": {"type": "enabled", "keep": True},
        "a": 2,
    }


@pytest.mark.parametrize(
    ("quirks", "field", "value"),
    [
        (Quirks(), "max_tokens", 5),
        (Quirks(max_tokens_name="max_completion_tokens"), "max_completion_tokens", 5),
        (Quirks(), "stream_options", {"include_usage": True}),
        (Quirks(usage_option=False), "stream_options", None),
        (Quirks(), "store", None),
        (Quirks(store_false=True), "store", False),
        (Quirks(), "temperature", 0.5),
        (Quirks(never_sampling=True), "temperature", None),
        (Quirks(never_sampling=True), "top_p", None),
        (Quirks(), "prompt_cache_key", None),
        (Quirks(cache_key_field="prompt_cache_key"), "prompt_cache_key", "chat-1"),
    ],
)
def test_body_quirks(quirks, field, value):
    body = body_of(user("Hi"), quirks=quirks, max_output=5, temperature=0.5, top_p=0.1, cache_key="chat-1")
    assert body.get(field) == value


@pytest.mark.parametrize(
    ("drops", "state", "sent"), [(True, PlanState.ON, None), (False, PlanState.ON, 0.5), (True, PlanState.OFF, 0.5)]
)
def test_sampling_while_the_model_thinks(drops, state, sent):
    quirks = Quirks(drop_sampling_when_thinking=drops)
    body = body_of(user("Hi"), quirks=quirks, plan=replace(THINKS, state=state), temperature=0.5)
    assert body.get("temperature") == sent


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_system_role_is_a_quirk(role):
    body = body_of(user("Hi"), quirks=Quirks(system_role=role), system="Be brief")
    assert body["messages"][0] == {"role": role, "content": "Be brief"}


def test_pictures_make_parts():
    web = ImageBlock(media_type="image/png", url="https://example.org/a.png")
    message = OutgoingMessage(role=Role.USER, blocks=(said("Look"), PICTURE, web))
    assert messages_of(message) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                SPELLED_PICTURE,
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            ],
        }
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_goes_back_in_a_field(field):
    message = spelled(THOUGHT, said("Yes"), THOUGHT, quirks=Quirks(thinking_back=field))
    assert message == {"role": "assistant", "content": "Yes", field: "Hm.Hm."}


def test_no_thinking_goes_back_where_none_is_wanted():
    assert spelled(THOUGHT, said("Yes")) == {"role": "assistant", "content": "Yes"}


def test_an_empty_field_goes_back_only_where_it_is_missed():
    asks = Quirks(thinking_back="reasoning_content", thinking_back_empty=True)
    assert spelled(said("Yes"), quirks=asks) == {"role": "assistant", "content": "Yes", "reasoning_content": ""}
    assert spelled(said("Yes"), quirks=Quirks(thinking_back="reasoning_content")) == {
        "role": "assistant",
        "content": "Yes",
    }


def test_opaque_reasoning_goes_back_beside_its_text():
    opaque = replace(THOUGHT, provider_state=ProviderState(encrypted="op"))
    assert spelled(opaque, said("Yes"), quirks=Quirks(thinking_back="reasoning_text")) == {
        "role": "assistant",
        "content": "Yes",
        "reasoning_text": "Hm.",
        "reasoning_opaque": "op",
    }


def test_details_go_back_as_the_array_they_were():
    quirks = Quirks(thinking_back="reasoning_details")
    entry = {"type": "reasoning.text", "text": "Hm.", "signature": "s"}
    raw = '[{"type":"reasoning.text","text":"Hm.","signature":"s"}]'
    signed = replace(THOUGHT, wire_field="reasoning", provider_state=ProviderState(raw=raw))
    both = {"role": "assistant", "content": "Yes", "reasoning": "Hm.", "reasoning_details": [entry]}
    assert spelled(signed, said("Yes"), quirks=quirks) == both
    alone = replace(signed, wire_field="reasoning_details")
    assert spelled(alone, said("Yes"), quirks=quirks) == {
        "role": "assistant",
        "content": "Yes",
        "reasoning_details": [entry],
    }
    assert spelled(THOUGHT, said("Yes"), quirks=quirks) == {"role": "assistant", "content": "Yes", "reasoning": "Hm."}


def test_tags_go_back_in_the_content():
    tagged = {"role": "assistant", "content": "<think>Hm.</think>Yes"}
    assert spelled(THOUGHT, said("Yes"), quirks=Quirks(thinking_back="think_tags")) == tagged
    came_in_tags = replace(THOUGHT, wire_field="think_tags")
    assert spelled(came_in_tags, said("Yes"), quirks=Quirks(thinking_back="reasoning_details")) == tagged


def test_thinking_chunks_go_back_as_one_and_first():
    chunks = Quirks(thinking_back="content_chunks")
    signed = replace(THOUGHT, provider_state=ProviderState(signature="sig"))
    assert spelled(signed, said("Yes"), THOUGHT, quirks=chunks)["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm.Hm."}], "signature": "sig"},
        {"type": "text", "text": "Yes"},
    ]
    assert spelled(said("Yes"), quirks=chunks)["content"] == "Yes"


@pytest.mark.parametrize("thinking_back", ["none", "reasoning_content", "reasoning_details"])
def test_a_message_with_nothing_to_say_is_left_out(thinking_back):
    opaque = OpaqueBlock(label="web_search", raw="{}")
    quirks = Quirks(thinking_back=thinking_back, thinking_back_empty=True)
    assert messages_of(assistant(THOUGHT, opaque), assistant(), user(""), quirks=quirks) == []


@pytest.mark.parametrize(("never_null", "content"), [(True, ""), (False, None)])
def test_content_beside_calls(never_null, content):
    assert spelled(CALL, quirks=Quirks(content_never_null=never_null))["content"] == content


@pytest.mark.parametrize(
    ("form", "call_id", "sent"),
    [
        ("any", "call/with:anything" * 9, "call/with:anything" * 9),
        ("nine_alnum", "abcDEF123", "abcDEF123"),
        ("forty", "c" * 40, "c" * 40),
    ],
)
def test_an_id_that_fits_stays(form, call_id, sent):
    assert tool_id(call_id, form) == sent


def test_an_id_that_does_not_fit_is_hashed_the_same_for_call_and_result():
    for form, pattern in (("nine_alnum", "[A-Za-z0-9]{9}"), ("forty", "call_[0-9a-f]{32}")):
        long = "call_" + "x" * 50
        call = replace(CALL, call_id=long)
        answer = replace(result(said("Sunny")), call_id=long)
        asked, answered = messages_of(assistant(call), results(answer), quirks=Quirks(tool_id=form))
        assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
        assert re.fullmatch(pattern, answered["tool_call_id"])
        assert tool_id(long, form) != tool_id(long + "x", form)


@pytest.mark.parametrize("arguments", ["", "null", "[1]", '{"cut'])
def test_arguments_that_are_no_object_go_back_empty(arguments):
    message = spelled(replace(CALL, arguments=arguments))
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_sealed_call_goes_back_with_its_state():
    signed = replace(
        CALL, provider_state=ProviderState(raw='{"extra_content":{"google":{"thought_signature":"s"}},"id":"no"}')
    )
    assert spelled(signed)["tool_calls"] == [{**SPELLED_CALL, "extra_content": {"google": {"thought_signature": "s"}}}]


@pytest.mark.parametrize(
    ("takes_images", "content"),
    [
        (True, [{"type": "text", "text": "A map"}, SPELLED_PICTURE]),
        (False, "A map\n\n[image omitted: this model takes no images in tool results]"),
    ],
)
def test_pictures_in_results(takes_images, content):
    (message,) = messages_of(results(result(said("A map"), PICTURE)), quirks=Quirks(tool_images=takes_images))
    assert message["content"] == content


def test_a_failed_result_says_so():
    failed = [result(said("no such place"), failed=True), result(said("Error: x"), failed=True)]
    assert [message["content"] for message in messages_of(results(*failed))] == ["Error: no such place", "Error: x"]


@pytest.mark.parametrize(
    ("joined", "roles"), [(True, ["user", "assistant"]), (False, ["user", "user", "assistant", "assistant"])]
)
def test_neighbours_that_the_selection_joined_are_one_message(joined, roles):
    history = [
        user("a"),
        replace(user("b"), joined=joined),
        assistant(said("c")),
        replace(assistant(THOUGHT, CALL), joined=joined),
    ]
    messages = messages_of(*history, quirks=Quirks(thinking_back="reasoning_content"))
    assert [message["role"] for message in messages] == roles
    if joined:
        assert messages == [
            {"role": "user", "content": "a\n\nb"},
            {"role": "assistant", "content": "c", "reasoning_content": "Hm.", "tool_calls": [SPELLED_CALL]},
        ]


def test_joined_messages_keep_one_thinking_chunk_and_all_parts():
    quirks = Quirks(thinking_back="content_chunks")
    picture = OutgoingMessage(role=Role.USER, blocks=(PICTURE,), joined=True)
    history = [
        user("a"),
        picture,
        assistant(THOUGHT, said("b")),
        replace(assistant(THOUGHT, said("c")), joined=True),
    ]
    assert [message["content"] for message in messages_of(*history, quirks=quirks)] == [
        [{"type": "text", "text": "a"}, SPELLED_PICTURE],
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}] * 2},
            {"type": "text", "text": "b"},
            {"type": "text", "text": "c"},
        ],
    ]


def test_plan_headers_and_the_path_go_along():
    plan = replace(OFF, headers={"x-thinking": "on"})
    encoded = WIRE.encode(ChatRequest(model="m", outgoing=Outgoing(messages=()), plan=plan), Quirks())
    assert (encoded.method, encoded.path, encoded.headers) == ("POST", "/chat/completions", {"x-thinking": "on"})
