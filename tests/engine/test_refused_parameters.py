"""A parameter named by a provider goes, wherever it stands in what we send."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.planner import PLAN
from tui.domain.request import ChatRequest, Outgoing, ToolSchema
from tui.engine.refused_parameters import is_thinking_sent_back, without_parameter

FIELDS = {
    "reasoning": {"effort": "high", "summary": "auto"},
    "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}},
    "thinking": {"type": "enabled"},
}
REQUEST = ChatRequest(
    model="m",
    outgoing=Outgoing(messages=()),
    plan=replace(PLAN, fields=FIELDS),
    temperature=0.5,
    top_p=0.9,
    tools=(ToolSchema(name="t", description="", parameters={}),),
    extra_body={"logit_bias": 1},
)


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("reasoning.effort", {**FIELDS, "reasoning": {"summary": "auto"}}),
        ("reasoning", {key: FIELDS[key] for key in ("generationConfig", "thinking")}),
        ("thinkingLevel", {key: FIELDS[key] for key in ("reasoning", "thinking")}),
        ("generationConfig.thinkingConfig.thinkingLevel", {key: FIELDS[key] for key in ("reasoning", "thinking")}),
        ("thinking.type", {key: FIELDS[key] for key in ("reasoning", "generationConfig")}),
    ],
)
def test_a_thinking_field_goes_and_what_it_leaves_empty_too(name: str, gone: dict[str, object]) -> None:
    assert without_parameter(REQUEST, name) == replace(REQUEST, plan=replace(REQUEST.plan, fields=gone))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("temperature", {"temperature": None}),
        ("generationConfig.topP", {"top_p": None}),
        ("tools", {"tools": ()}),
        ("logit_bias", {"extra_body": {}}),
        ("stream_options.include_usage", {"without": ("stream_options",)}),
        ("max_tokens", {"without": ("max_tokens",)}),
        ("messages.0.content[1].cache_control.ttl", {"without": ("cache_control",)}),
    ],
)
def test_everything_else_that_can_go_goes(name: str, change: dict[str, Any]) -> None:
    assert without_parameter(REQUEST, name) == replace(REQUEST, **change)


@pytest.mark.parametrize("name", ["messages", "", ".", "messages[0].content", "effort_of_none"])
def test_what_is_not_there_changes_nothing(name: str) -> None:
    assert without_parameter(REQUEST, name) == REQUEST


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("messages.1.reasoning_content", True),
        ("messages[3].reasoning", True),
        ("reasoning_content", True),
        ("reasoning", False),
        ("reasoning.effort", False),
        ("messages.1.content", False),
    ],
)
def test_thinking_sent_back_is_told_from_a_thinking_control(name: str, is_one: bool) -> None:
    assert is_thinking_sent_back(name) is is_one
