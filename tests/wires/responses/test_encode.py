from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.validators.responses import problems
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
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage, ToolSchema
from tui.domain.thinking import PlanState, ThinkingForm, ThinkingLevel, ThinkingPlan
from tui.wires.openai_responses import WIRE

PLAN = ThinkingPlan(
    asked=ThinkingLevel.MED,
    nominal="medium",
    sent="medium",
    state=PlanState.ON,
    fields={"reasoning": {"effort": "medium", "summary": "auto"}},
    headers={"x-plan": "1"},
    max_output=9,
)
HIDDEN = ThinkingBlock(
    text="",
    form=ThinkingForm.HIDDEN,
    provider_state=ProviderState(
        id="rs_1",
        encrypted="gAAA",
        raw='{"id":"rs_1","type":"reasoning","status":null,"content":[],"summary":[],"encrypted_content":"gAAA"}',
    ),
)
USER = OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="hi"),))


def asked(*messages: OutgoingMessage, **fields: Any) -> ChatRequest:
    request = ChatRequest(model="gpt-x", outgoing=Outgoing(messages=messages or (USER,)), plan=PLAN)
    return replace(request, **fields)


def items(*blocks: Block, quirks: Quirks | None = None) -> object:
    message = OutgoingMessage(role=Role.ASSISTANT, blocks=blocks)
    return WIRE.encode(asked(message), quirks or Quirks()).body["input"]


def test_a_conversation_is_spelled_item_by_item_in_order() -> None:
    opaque = '{"type":"web_search_call","id":"ws_1","status":"completed"}'
    request = asked(
        replace(USER, blocks=(TextBlock(text="hi"), ImageBlock(media_type="image/png", data="AAAA"))),
        OutgoingMessage(
            role=Role.ASSISTANT,
            blocks=(
                HIDDEN,
                OpaqueBlock(label="web_search_call", raw=opaque),
                TextBlock(text="a", provider_state=ProviderState(id="msg_1", raw='{"phase":"commentary"}')),
                TextBlock(
                    text="b", provider_state=ProviderState(id="msg_1", raw='{"phase":"commentary"}'), refusal=True
                ),
                ToolCallBlock(
                    call_id="call_1", name="read", arguments='{"p": 1}', provider_state=ProviderState(id="fc_1")
                ),
                ToolCallBlock(
                    call_id="call_2", name="look", arguments="", provider_state=ProviderState(raw='{"namespace":"n"}')
                ),
            ),
        ),
        OutgoingMessage(
            role=Role.TOOL,
            blocks=(
                ToolResultBlock(call_id="call_1", name="read", content=(TextBlock(text="x"), TextBlock(text="y"))),
                ToolResultBlock(
                    call_id="call_2",
                    name="look",
                    content=(TextBlock(text="see"), ImageBlock(media_type="image/png", url="https://x.invalid/i.png")),
                ),
            ),
        ),
        system="Be brief.",
        tools=(ToolSchema(name="read", description="Reads.", parameters={"type": "object"}),),
        cache_key="session-1",
        extra_body={"reasoning": {"summary": "detailed"}, "user": "me"},
    )
    encoded = WIRE.encode(request, Quirks())
    assert (encoded.method, encoded.path, encoded.headers) == ("POST", "/responses", {"x-plan": "1"})
    assert encoded.body == {
        "model": "gpt-x",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "hi"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "phase": "commentary",
                "content": [
                    {"type": "output_text", "text": "a", "annotations": []},
                    {"type": "refusal", "refusal": "b"},
                ],
            },
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"p": 1}'},
            {"type": "function_call", "namespace": "n", "call_id": "call_2", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "x\ny"},
            {
                "type": "function_call_output",
                "call_id": "call_2",
                "output": [
                    {"type": "input_text", "text": "see"},
                    {"type": "input_image", "image_url": "https://x.invalid/i.png", "detail": "auto"},
                ],
            },
        ],
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "max_output_tokens": 16,
        "prompt_cache_key": "session-1",
        "reasoning": {"effort": "medium", "summary": "detailed"},
        "user": "me",
    }
    assert problems(dict(encoded.body)) == []


def test_words_without_a_seal_are_a_plain_message() -> None:
    phased = TextBlock(text="b", provider_state=ProviderState(raw='{"phase":"final_answer"}'))
    assert items(TextBlock(text="a"), phased) == [
        {"type": "message", "role": "assistant", "content": "a"},
        {"type": "message", "role": "assistant", "content": "b", "phase": "final_answer"},
    ]


def test_thinking_that_is_not_this_wires_own_has_no_place() -> None:
    assert items(ThinkingBlock(text="x", form=ThinkingForm.FULL), TextBlock(text="a")) == [
        {"type": "message", "role": "assistant", "content": "a"}
    ]


def test_a_seal_without_its_item_is_spelled_from_what_is_left() -> None:
    assert items(replace(HIDDEN, provider_state=ProviderState(id="rs_1", encrypted="e"))) == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    ]


@pytest.mark.parametrize("quirks", [Quirks(item_ids=False), Quirks()])
def test_ids_the_server_refuses_stay_behind(quirks: Quirks) -> None:
    long = "x" * 65 if quirks.item_ids else "x"
    assert items(
        replace(HIDDEN, provider_state=replace(HIDDEN.provider_state or ProviderState(), id=long)),
        TextBlock(text="a", provider_state=ProviderState(id=long)),
        ToolCallBlock(call_id="c", name="n", arguments="{}", provider_state=ProviderState(id=long)),
        quirks=quirks,
    ) == [
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
    ]


@pytest.mark.parametrize(
    ("quirks", "sampling"),
    [
        (Quirks(), {"temperature": 0.5, "top_p": 0.9}),
        (Quirks(never_sampling=True), {}),
        (Quirks(drop_sampling_when_thinking=True), {}),
    ],
)
def test_sampling_is_sent_where_it_is_taken(quirks: Quirks, sampling: dict[str, float]) -> None:
    body = WIRE.encode(asked(temperature=0.5, top_p=0.9), quirks).body
    assert {key: body[key] for key in ("temperature", "top_p") if key in body} == sampling


def test_sampling_is_sent_when_thinking_is_off() -> None:
    off = replace(PLAN, state=PlanState.OFF)
    body = WIRE.encode(asked(temperature=0.5, plan=off), Quirks(drop_sampling_when_thinking=True)).body
    assert body["temperature"] == 0.5


@pytest.mark.parametrize("include", [True, False])
def test_encrypted_thinking_is_asked_for_unless_the_server_does_not_know_it(*, include: bool) -> None:
    assert ("include" in WIRE.encode(asked(), Quirks(include_encrypted=include)).body) is include


def test_encrypted_thinking_is_not_asked_of_a_model_that_cannot_think() -> None:
    plain = replace(PLAN, state=PlanState.UNSUPPORTED, fields={})
    assert "include" not in WIRE.encode(asked(plan=plain), Quirks()).body
    off = replace(PLAN, state=PlanState.OFF)
    assert "include" in WIRE.encode(asked(plan=off), Quirks()).body


FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "n", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "x"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"input": [THOUGHT]}, "without its required following item"),
        ({"input": [THOUGHT, {"role": "user", "content": "x"}]}, "without its required following item"),
        ({"input": [FUNCTION]}, "No tool output found"),
        ({"input": [OUTPUT]}, "No tool call found"),
        ({"input": [FUNCTION, OUTPUT, OUTPUT]}, "Duplicate output"),
        (
            {"input": [THOUGHT, FUNCTION, {**FUNCTION, "call_id": "d"}, OUTPUT, {**OUTPUT, "call_id": "d"}]},
            "Duplicate item",
        ),
        ({"input": [{"role": "assistant", "content": ""}]}, "content is empty"),
        ({"input": [{"role": "user", "content": "x"}], "temperature": 1}, "temperature"),
        ({"input": [{"role": "user", "content": "x"}], "max_output_tokens": 8}, "max_output_tokens"),
        ({"input": [{"role": "user", "content": "x"}], "reasoning": {"effort": "huge"}}, "reasoning.effort"),
        ({"input": [{"role": "user", "content": "x"}], "messages": []}, "Unknown parameter: 'messages'"),
        ({"input": []}, "One of 'input'"),
        ({"input": [{**FUNCTION, "arguments": "{"}, OUTPUT]}, "no JSON object"),
        ({"input": [{**THOUGHT, "status": None}, FUNCTION, OUTPUT]}, "got null"),
    ],
)
def test_the_validator_refuses_what_the_api_refuses(body: dict[str, Any], fault: str) -> None:
    assert any(fault in problem for problem in problems(body))


def test_a_call_under_its_id_needs_the_thinking_that_led_to_it() -> None:
    body = {"input": [FUNCTION, OUTPUT]}
    assert problems(body) == []
    assert any("required 'reasoning' item" in problem for problem in problems(body, led_by={"fc_1": "rs_1"}))
    assert problems({"input": [THOUGHT, FUNCTION, OUTPUT]}, led_by={"fc_1": "rs_1"}) == []
