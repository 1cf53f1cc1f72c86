from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.narrow import expect_type
from tests.validators.ollama import problems
from tui.catalog.facts import Quirks
from tui.cli.wire.decode import decoded
from tui.domain.assemble import Assembler
from tui.domain.blocks import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage, ToolSchema
from tui.domain.thinking import PlanState, ThinkingForm, ThinkingLevel, ThinkingPlan
from tui.wires.ollama import WIRE

PLAN = ThinkingPlan(
    asked=ThinkingLevel.MED, nominal="on", sent="on", state=PlanState.ON, fields={"think": True}, max_output=100
)
USER = OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="hi"),))


def asked(*messages: OutgoingMessage, **fields: Any) -> ChatRequest:
    request = ChatRequest(model="qwen3", outgoing=Outgoing(messages=messages or (USER,)), plan=PLAN)
    return replace(request, **fields)


def test_a_conversation_is_spelled_message_by_message() -> None:
    encoded = WIRE.encode(
        asked(
            replace(USER, blocks=(TextBlock(text="look"), ImageBlock(media_type="image/png", data="AAAA"))),
            OutgoingMessage(
                role=Role.ASSISTANT,
                blocks=(
                    ThinkingBlock(text="Hm", form=ThinkingForm.FULL),
                    TextBlock(text="I see"),
                    ToolCallBlock(call_id="call_1", name="read", arguments='{"p": 1}'),
                    ToolCallBlock(call_id="call_2", name="now", arguments=""),
                ),
            ),
            OutgoingMessage(
                role=Role.TOOL,
                blocks=(
                    ToolResultBlock(call_id="call_1", name="read", content=(TextBlock(text="x"),)),
                    ToolResultBlock(
                        call_id="call_2", name="now", content=(ImageBlock(media_type="image/png", data="BBBB"),)
                    ),
                ),
            ),
            system="Be brief.",
            tools=(ToolSchema(name="read", description="Reads.", parameters={"type": "object"}),),
            num_ctx=8192,
            temperature=0.5,
            top_p=0.9,
            stream=False,
            extra_body={"keep_alive": "5m", "options": {"seed": 1}},
        ),
        Quirks(),
    )
    assert (encoded.method, encoded.path) == ("POST", "/api/chat")
    assert encoded.body == {
        "model": "qwen3",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look", "images": ["AAAA"]},
            {
                "role": "assistant",
                "content": "I see",
                "thinking": "Hm",
                "tool_calls": [
                    {"function": {"name": "read", "arguments": {"p": 1}}},
                    {"function": {"name": "now", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "read", "content": "x"},
            {"role": "tool", "tool_name": "now", "content": "", "images": ["BBBB"]},
        ],
        "stream": False,
        "tools": [
            {
                "type": "function",
                "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}},
            }
        ],
        "options": {"num_ctx": 8192, "num_predict": 100, "temperature": 0.5, "top_p": 0.9, "seed": 1},
        "think": True,
        "keep_alive": "5m",
    }
    assert problems(dict(encoded.body)) == []


@pytest.mark.parametrize("send", [True, False])
def test_the_context_size_is_told_unless_the_server_is_not_to_be_told(*, send: bool) -> None:
    body = WIRE.encode(asked(num_ctx=4096), Quirks(send_num_ctx=send)).body
    assert ("num_ctx" in dict(body["options"])) is send  # type: ignore[call-overload]


@pytest.mark.parametrize(("never", "sent"), [(False, 0.5), (True, None)])
def test_sampling_is_sent_where_it_is_taken(*, never: bool, sent: float | None) -> None:
    body = WIRE.encode(asked(temperature=0.5), Quirks(never_sampling=never)).body
    assert dict(body["options"]).get("temperature") == sent  # type: ignore[call-overload]


@pytest.mark.parametrize("arguments", ["[1]", "not json", "null"])
def test_arguments_that_are_no_object_cannot_be_told(arguments: str) -> None:
    call = ToolCallBlock(call_id="c", name="n", arguments=arguments)
    body = WIRE.encode(asked(OutgoingMessage(role=Role.ASSISTANT, blocks=(call,))), Quirks()).body
    assert body["messages"] == [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "n", "arguments": {}}}]}
    ]


@pytest.mark.parametrize("kind", ["streaming", "nonstreaming"])
def test_recorded_thinking_goes_back_as_it_came(shared_corpus: Path, kind: str) -> None:
    case = shared_corpus / "ollama" / f"rig--ollama-reasoning-tool-roundtrip-{kind}"
    assembler = Assembler()
    for event in decoded(WIRE, Quirks(), next((case / "01").glob("response.*")).read_bytes()).events:
        assembler.feed(event)
    request = asked(OutgoingMessage(role=Role.ASSISTANT, blocks=assembler.blocks()))
    (ours,) = expect_type(list, WIRE.encode(request, Quirks()).body["messages"])
    theirs = json.loads((case / "02" / "request.json").read_text("utf-8"))["body"]["messages"][2]
    assert {**ours, "tool_calls": [{**call, "type": "function"} for call in ours["tool_calls"]]} == theirs


CALL = {"function": {"name": "n", "arguments": {}}}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([], "messages are missing"),
        ([{"role": "user", "content": ""}], "empty"),
        ([{"role": "user", "content": "x", "thinking": "y"}], "neither think nor call"),
        ([{"role": "user", "content": "x", "images": ["%"]}], "illegal base64"),
        ([{"role": "assistant", "content": "", "tool_calls": [CALL]}], "never answered"),
        ([{"role": "tool", "tool_name": "n", "content": "x"}], "without its call"),
        (
            [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "n", "arguments": "{}"}}]}],
            "unmarshal",
        ),
        ([{"role": "robot", "content": "x"}], "invalid role"),
    ],
)
def test_the_validator_refuses_what_the_server_refuses(messages: list[dict[str, Any]], fault: str) -> None:
    assert any(fault in problem for problem in problems({"model": "m", "messages": messages}))


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"think": "xhigh"}, "invalid think value"),
        ({"think": True}, "does not support thinking"),
        ({"options": {"num_context": 1}}, "invalid option"),
        ({"input": []}, "unknown field"),
    ],
)
def test_settings_the_server_refuses_are_found(fields: dict[str, Any], fault: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **fields}
    assert any(fault in problem for problem in problems(body, thinks=False))
