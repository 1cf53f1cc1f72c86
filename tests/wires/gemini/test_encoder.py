"""Requests as generateContent takes them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.validators.gemini import problems
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
from tui.wires.gemini import WIRE

PLAN = ThinkingPlan(asked=0, nominal=None, sent=None, state=PlanState.ON)
HELLO = TextBlock(text="hello")
PICTURE = ImageBlock(media_type="image/png", data="aGk=")
INLINE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
STAND_IN = "skip_thought_signature_validator"


def said(role: Role, *blocks, open_loop: bool = True) -> OutgoingMessage:
    return OutgoingMessage(role=role, blocks=blocks, in_open_loop=open_loop)


def request(*messages: OutgoingMessage, **fields) -> ChatRequest:
    values: dict[str, Any] = {"model": "gemini-4", "plan": PLAN} | fields
    return ChatRequest(outgoing=Outgoing(messages=messages), **values)


def body(*messages: OutgoingMessage, quirks: Quirks | None = None, **fields) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(WIRE.encode(request(*messages, **fields), quirks or Quirks()).body))
    return made


def call(name: str, **provider_state: str) -> ToolCallBlock:
    return ToolCallBlock(
        call_id=f"our {name}",
        name=name,
        arguments='{"a":1}',
        provider_state=ProviderState(**provider_state) if provider_state else None,
    )


def result(name: str, *content, failed: bool = False) -> ToolResultBlock:
    return ToolResultBlock(call_id=f"our {name}", name=name, content=content or (HELLO,), failed=failed)


def test_a_step_goes_back_part_by_part_with_each_signature_on_its_own():
    code = {"executableCode": {"code": "1"}, "thoughtSignature": "Y29kZQ=="}
    sent = body(
        said(Role.USER, HELLO, PICTURE),
        said(
            Role.ASSISTANT,
            ThinkingBlock(text="hm", form=ThinkingForm.SUMMARY),
            OpaqueBlock(label="executableCode", raw=json.dumps(code)),
            TextBlock(text="I look."),
            TextBlock(text="", provider_state=ProviderState(signature="dGV4dA==")),
            TextBlock(text=""),
            call("read", id="9", signature="Y2FsbA=="),
            call("list"),
        ),
        said(Role.TOOL, result("list", failed=True)),
        said(Role.TOOL, result("read")),
    )
    assert sent == {
        "contents": [
            {"role": "user", "parts": [{"text": "hello"}, INLINE]},
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    code,
                    {"text": "I look."},
                    {"text": "", "thoughtSignature": "dGV4dA=="},
                    {
                        "functionCall": {"id": "9", "name": "read", "args": {"a": 1}},
                        "thoughtSignature": "Y2FsbA==",
                    },
                    {"functionCall": {"name": "list", "args": {"a": 1}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "9", "name": "read", "response": {"output": "hello"}}},
                    {"functionResponse": {"name": "list", "response": {"error": "hello"}}},
                ],
            },
        ]
    }
    assert problems(sent) == []


def test_a_prompt_after_results_stands_apart_from_them():
    sent = body(
        said(Role.USER, HELLO),
        said(Role.ASSISTANT, call("read")),
        said(Role.TOOL, result("read")),
        said(Role.USER, HELLO),
        said(Role.USER, HELLO),
    )
    assert [(content["role"], len(content["parts"])) for content in sent["contents"]] == [
        ("user", 1),
        ("model", 1),
        ("user", 1),
        ("user", 2),
    ]
    assert problems(sent) == []


@pytest.mark.parametrize(
    ("open_loop", "later", "literal", "signature"),
    [
        (True, (), STAND_IN, STAND_IN),
        (False, (), STAND_IN, STAND_IN),
        (True, (said(Role.USER, HELLO),), STAND_IN, STAND_IN),
        (False, (said(Role.USER, HELLO),), STAND_IN, STAND_IN),
        (True, (), "", None),
    ],
)
def test_an_unsigned_first_call_gets_a_stand_in_and_keeps_it(open_loop, later, literal, signature):
    sent = body(
        said(Role.USER, HELLO),
        said(Role.ASSISTANT, call("read", signature="c2ln")),
        said(Role.TOOL, result("read")),
        said(Role.ASSISTANT, call("read"), call("list"), open_loop=open_loop),
        said(Role.TOOL, result("read"), result("list")),
        *later,
        quirks=Quirks(skip_signature=literal),
    )
    assert [part.get("thoughtSignature") for part in sent["contents"][3]["parts"]] == [signature, None]


@pytest.mark.parametrize(
    ("takes", "answer"),
    [
        (True, {"name": "read", "response": {"output": "hello"}, "parts": [INLINE]}),
        (False, {"name": "read", "response": {"output": "hello\n[image omitted]"}}),
    ],
)
def test_pictures_in_results_go_only_where_they_are_taken(takes, answer):
    sent = body(
        said(Role.USER, HELLO),
        said(Role.ASSISTANT, call("read")),
        said(Role.TOOL, result("read", HELLO, PICTURE)),
        quirks=Quirks(tool_images=takes),
    )
    assert sent["contents"][2]["parts"] == [{"functionResponse": answer}]


def test_the_user_speaks_first():
    sent = body(said(Role.ASSISTANT, HELLO), said(Role.USER, HELLO))
    assert [content["parts"][0]["text"] for content in sent["contents"]] == [
        "(conversation continues)",
        "hello",
        "hello",
    ]


def test_settings_tools_and_the_continuation_token_have_their_places():
    plan = replace(PLAN, fields={"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}, max_output=65_536)
    sent = body(
        said(Role.USER, HELLO),
        plan=plan,
        system="Be brief.",
        tools=(ToolSchema(name="read", description="Reads.", parameters={"type": "object"}),),
        temperature=0.5,
        continuation="tok",
        extra_body={"generationConfig": {"seed": 1}},
    )
    assert sent == {
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read", "description": "Reads.", "parametersJsonSchema": {"type": "object"}}
                ]
            }
        ],
        "generationConfig": {
            "maxOutputTokens": 65_536,
            "temperature": 0.5,
            "thinkingConfig": {"thinkingLevel": "LOW"},
            "seed": 1,
        },
        "continuationToken": "tok",
    }
    assert problems(sent) == []


@pytest.mark.parametrize("quirks", [Quirks(never_sampling=True), Quirks(drop_sampling_when_thinking=True)])
def test_sampling_is_left_out_where_it_is_refused(quirks):
    assert "generationConfig" not in body(said(Role.USER, HELLO), quirks=quirks, temperature=0.5, top_p=0.5)


@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        ("gemini-4", True, "/models/gemini-4:streamGenerateContent?alt=sse"),
        ("gemini-4", False, "/models/gemini-4:generateContent"),
        ("tunedModels/mine", False, "/tunedModels/mine:generateContent"),
        ("odd?name", False, "/models/odd%3Fname:generateContent"),
    ],
)
def test_the_path_names_the_model_and_the_method(model, stream, path):
    assert WIRE.encode(request(said(Role.USER, HELLO), model=model, stream=stream), Quirks()).path == path


def test_what_cannot_be_spelled_is_not_said():
    unreadable = ToolCallBlock(call_id="x", name="read", arguments='{"a"')
    sent = body(
        said(Role.USER),
        said(
            Role.USER,
            ImageBlock(media_type="image/png", url="https://e/x.png"),
            ThinkingBlock(text="hm", form=ThinkingForm.FULL),
        ),
        said(Role.ASSISTANT, PICTURE, result("list"), OpaqueBlock(label="cut", raw="{"), unreadable, open_loop=False),
        said(Role.TOOL, result("orphan")),
        quirks=Quirks(skip_signature=""),
    )
    assert [content["parts"] for content in sent["contents"]] == [
        [{"fileData": {"mimeType": "image/png", "fileUri": "https://e/x.png"}}],
        [INLINE, {"functionCall": {"name": "read", "args": {}}}],
        [{"functionResponse": {"name": "orphan", "response": {"output": "hello"}}}],
    ]


def test_two_calls_under_one_id_are_each_answered():
    twice = [ToolCallBlock(call_id="1", name=name, arguments="") for name in ("read", "list")]
    answers = [ToolResultBlock(call_id="1", name=name, content=(HELLO,)) for name in ("list", "read")]
    sent = body(said(Role.USER, HELLO), said(Role.ASSISTANT, *twice), said(Role.TOOL, *answers))
    assert [part["functionResponse"]["name"] for part in sent["contents"][2]["parts"]] == ["read", "list"]
    assert problems(sent) == []
