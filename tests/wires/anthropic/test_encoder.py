"""Requests as the Messages API takes them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.validators.anthropic import problems
from tui.catalog.facts import Quirks
from tui.domain.blocks import (
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
from tui.domain.thinking import PlanState, ThinkingForm, ThinkingPlan
from tui.wires.anthropic import WIRE

PLAN = ThinkingPlan(asked=0, nominal=None, sent=None, state=PlanState.ON)
READ = ToolSchema(name="read", description="Reads.", parameters={"properties": {}})
PICTURE = ImageBlock(media_type="image/png", data="aGk=")
HELLO = TextBlock(text="hello")


def said(role: Role, *blocks) -> OutgoingMessage:
    return OutgoingMessage(role=role, blocks=blocks)


def request(*messages: OutgoingMessage, **fields) -> ChatRequest:
    values: dict[str, Any] = {"model": "claude", "plan": PLAN, "max_output": 4096} | fields
    return ChatRequest(outgoing=Outgoing(messages=messages), **values)


def body(*messages: OutgoingMessage, quirks: Quirks | None = None, **fields) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(WIRE.encode(request(*messages, **fields), quirks or Quirks()).body))
    return made


def test_a_step_with_thinking_a_call_and_its_result_is_spelled_in_full():
    sent = body(
        said(Role.USER, HELLO, PICTURE),
        said(
            Role.ASSISTANT,
            ThinkingBlock(text="hm", form=ThinkingForm.FULL, provider_state=ProviderState(signature="c2ln")),
            ThinkingBlock(text="", form=ThinkingForm.HIDDEN, provider_state=ProviderState(encrypted="ZGF0YQ==")),
            TextBlock(text="I look."),
            ToolCallBlock(call_id="toolu_1", name="read", arguments='{"path":"a"}'),
        ),
        said(Role.TOOL, ToolResultBlock(call_id="toolu_1", name="read", content=(TextBlock(text="42"), PICTURE))),
        system="Be brief.",
        tools=(READ,),
    )
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    assert sent == {
        "model": "claude",
        "max_tokens": 4096,
        "system": "Be brief.",
        "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object", "properties": {}}}],
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hello"}, image]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [{"type": "text", "text": "42"}, image],
                    }
                ],
            },
        ],
    }
    assert problems(sent) == []


def test_calls_end_a_message_and_results_open_the_next():
    sent = body(
        said(Role.USER, HELLO),
        said(Role.ASSISTANT, ToolCallBlock(call_id="a", name="read", arguments="")),
        said(Role.ASSISTANT, TextBlock(text="Looking.")),
        said(Role.USER, TextBlock(text="And?")),
        said(Role.TOOL, ToolResultBlock(call_id="a", name="read", content=())),
        tools=(READ,),
    )
    assert [[block["type"] for block in message["content"]] for message in sent["messages"]] == [
        ["text"],
        ["text", "tool_use"],
        ["tool_result", "text"],
    ]
    assert problems(sent) == []


def test_call_ids_are_scrubbed_and_each_used_once_with_their_results():
    step = (
        said(Role.ASSISTANT, ToolCallBlock(call_id="call:1", name="read", arguments="{}")),
        said(Role.TOOL, ToolResultBlock(call_id="call:1", name="read", content=(HELLO,))),
    )
    sent = body(said(Role.USER, HELLO), *step, *step, tools=(READ,))
    ids = [
        block.get("id") or block["tool_use_id"]
        for message in sent["messages"]
        for block in message["content"]
        if block["type"] != "text"
    ]
    assert ids == ["call_1", "call_1", "call_1_2", "call_1_2"]
    assert problems(sent) == []


def test_blank_text_is_not_said_and_the_user_speaks_first():
    sent = body(said(Role.ASSISTANT, TextBlock(text=" \n"), HELLO), said(Role.USER, TextBlock(text=""), HELLO))
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "(conversation continues)"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
    ]


def test_what_a_failed_tool_says_is_text_only():
    failed = ToolResultBlock(call_id="a", name="read", content=(HELLO, PICTURE), failed=True)
    sent = body(
        said(Role.USER, HELLO),
        said(Role.ASSISTANT, ToolCallBlock(call_id="a", name="read", arguments="{}")),
        said(Role.TOOL, failed),
        tools=(READ,),
    )
    assert sent["messages"][-1]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "text", "text": "hello"}, {"type": "text", "text": "[image omitted]"}],
            "is_error": True,
        }
    ]
    assert problems(sent) == []


def test_items_and_fields_we_do_not_model_go_back_as_they_came():
    item = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    page = {"type": "web_fetch_tool_result", "tool_use_id": "srv_1"}
    caller = {"type": "code_execution_20250825", "tool_id": "srv_1"}
    cited = {"type": "char_location", "cited_text": "x", "file_id": "f"}
    sent = body(
        said(Role.USER, HELLO),
        said(
            Role.ASSISTANT,
            OpaqueBlock(label="server_tool_use", raw=json.dumps(item)),
            OpaqueBlock(label="cut off", raw="{}"),
            OpaqueBlock(label="web_fetch_tool_result", raw=json.dumps({**page, "content": {"abort_reason": None}})),
            TextBlock(text="x", provider_state=ProviderState(raw=json.dumps({"citations": [cited]}))),
            ToolCallBlock(
                call_id="a",
                name="read",
                arguments="{}",
                provider_state=ProviderState(raw=json.dumps({"caller": caller})),
            ),
        ),
    )
    assert sent["messages"][1]["content"] == [
        item,
        {**page, "content": {}},
        {"type": "text", "text": "x", "citations": [{"type": "char_location", "cited_text": "x"}]},
        {"type": "tool_use", "id": "a", "name": "read", "input": {}, "caller": caller},
    ]


@pytest.mark.parametrize(
    ("quirks", "thinking", "sent"),
    [
        (Quirks(forbids_sampling=False), {}, {"temperature": 0.5, "top_p": 0.9}),
        (Quirks(forbids_sampling=False), {"thinking": {"type": "adaptive"}}, {}),
        (Quirks(forbids_sampling=True), {}, {}),
        (Quirks(forbids_sampling=False, never_sampling=True), {}, {}),
    ],
)
def test_sampling_is_sent_only_where_it_is_taken(quirks, thinking, sent):
    made = body(said(Role.USER, HELLO), quirks=quirks, temperature=0.5, top_p=0.9, plan=replace(PLAN, fields=thinking))
    assert {name: made[name] for name in ("temperature", "top_p", "top_k") if name in made} == sent


def test_headers_carry_the_version_and_every_beta_once():
    plan = replace(PLAN, headers={"anthropic-beta": "a, b,a"})
    encoded = WIRE.encode(request(said(Role.USER, HELLO), plan=plan), Quirks(version="2023-06-01"))
    assert encoded.headers == {"anthropic-version": "2023-06-01", "anthropic-beta": "a,b"}
    assert encoded.path == "/v1/messages"


def test_the_plan_is_merged_and_the_users_own_fields_win():
    plan = replace(
        PLAN,
        max_output=64_000,
        fields={"thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}},
    )
    made = body(
        said(Role.USER, HELLO), plan=plan, stream=False, extra_body={"thinking": {"display": "omitted"}, "metadata": {}}
    )
    assert made == {
        "model": "claude",
        "max_tokens": 64_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "omitted"},
        "metadata": {},
    }
    assert body(said(Role.USER, HELLO), max_output=None)["max_tokens"] == 8192


def test_messages_with_nothing_in_them_are_not_sent_and_other_headers_go_along():
    plan = replace(PLAN, headers={"X-Trace": "1"})
    linked = ImageBlock(media_type="image/png", url="https://e/x.png")
    made = request(said(Role.USER, linked), said(Role.ASSISTANT), said(Role.USER, HELLO), plan=plan)
    encoded = WIRE.encode(made, Quirks())
    assert encoded.headers["x-trace"] == "1"
    assert encoded.body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "url", "url": "https://e/x.png"}},
                {"type": "text", "text": "hello"},
            ],
        }
    ]


def test_arguments_that_are_no_object_go_as_an_empty_one():
    calls = [ToolCallBlock(call_id=str(n), name="read", arguments=text) for n, text in enumerate(('{"a"', "[1]", ""))]
    sent = body(said(Role.USER, HELLO), said(Role.ASSISTANT, *calls))
    assert [block["input"] for block in sent["messages"][1]["content"]] == [{}, {}, {}]
