"""The validator refuses what servers refuse, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validators.chat import problems

USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Yes"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def calling(*ids: str, **more: object) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


def answering(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def body(*messages: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


@pytest.mark.parametrize(
    ("dialect", "legal"),
    [
        ("openai", body(USER, ANSWER, USER, calling("a", "b"), answering("b"), answering("a"), USER)),
        ("openai", body(USER, model="gpt-5.4", tools=[TOOL], reasoning_effort="none")),
        ("openai", body(USER, model="gpt-4.1", tools=[TOOL], temperature=0.2)),
        ("mistral", body(USER, calling("abcdefghi"), answering("abcdefghi"), ANSWER, USER)),
        ("deepseek", body(USER, calling("a", reasoning_content=""), answering("a"))),
        ("deepseek", body(USER, calling("a"), answering("a"), thinking={"type": "disabled"})),
        ("kimi", body(USER, calling("a", reasoning_content="hm"), answering("a"), temperature=1)),
        ("openrouter", body(USER, calling("a", reasoning_details=[]), answering("a"))),
    ],
)
def test_a_legal_body_has_no_problems(dialect, legal):
    assert problems(legal, dialect=dialect) == []


@pytest.mark.parametrize(
    ("dialect", "illegal", "words"),
    [
        ("openai", body(), "at least one message"),
        ("openai", body({"role": "user", "content": ""}), "user content is empty"),
        ("openai", body(USER, {"role": "assistant", "content": ""}), "must not be empty"),
        ("openai", body(USER, {"role": "assistant", "content": "x", "tool_calls": []}), "tool_calls must not be empty"),
        ("openai", body({"role": "robot", "content": "x"}), "unknown role"),
        ("openai", body({"role": "user", "content": [{"type": "text", "text": ""}]}), "text part is empty"),
        ("openai", body(USER, answering("a")), "must be a response to a preceding message"),
        ("openai", body(USER, calling("a", "b"), answering("a"), USER), "did not have response messages: b"),
        ("openai", body(USER, calling("a")), "without results at the end: a"),
        ("openai", body(USER, calling("a", "a"), answering("a")), "duplicate tool call id"),
        ("openai", body(USER, calling("c" * 41), answering("c" * 41)), "expected at most 40"),
        ("openai", body(USER, {**ANSWER, "reasoning_content": "x"}), "'reasoning_content' is unsupported"),
        ("openai", body(USER, model="gpt-5", temperature=0.2), "'temperature' is not supported"),
        ("openai", body(USER, model="gpt-5", max_tokens=9), "Use 'max_completion_tokens'"),
        ("openai", body(USER, model="gpt-5.4", tools=[TOOL]), "Use /v1/responses"),
        ("openai", body(USER, reasoning_effort="max"), "does not support 'max'"),
        ("openai", body(USER, tools=[]), "too short"),
        ("openai", body(USER, max_tokens=1, max_completion_tokens=1), "cannot both be set"),
        ("mistral", body(USER, calling("abc"), answering("abc")), "with a length of 9"),
        ("mistral", body(USER, calling("abcdefghi"), answering("abcdefghi"), USER), "'user' after role 'tool'"),
        ("mistral", body(USER, USER), "two messages of role 'user' in a row"),
        ("mistral", body(USER, ANSWER), "Expected last role User or Tool"),
        (
            "mistral",
            body(USER, {"role": "assistant", "content": [{"type": "thinking"}, {"type": "thinking"}]}, USER),
            "one thinking chunk",
        ),
        ("deepseek", body(USER, calling("a"), answering("a")), "must be passed back to the API"),
        ("kimi", body(USER, calling("a"), answering("a")), "reasoning_content is missing"),
        ("kimi", body(USER, temperature=0.3), "only the default"),
        ("kimi", body(USER, thinking={"type": "enabled"}, reasoning_effort="low"), "cannot be used together"),
        ("openrouter", body(USER, reasoning={"effort": "low", "max_tokens": 9}), "Only one of"),
        ("groq", body(USER, reasoning_format="raw", include_reasoning=True), "cannot be used together"),
        ("qwen", body(USER, enable_thinking=True), "non-streaming"),
        ("deepseek", body(USER, store=False), "store"),
    ],
)
def test_an_illegal_body_is_refused_for_its_reason(dialect, illegal, words):
    assert any(words in problem for problem in problems(illegal, dialect=dialect))
