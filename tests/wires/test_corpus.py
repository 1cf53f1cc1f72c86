"""Our reading of every recording against a reader of the bytes that shares no code with ours."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.corpus_cases import Case, recorded_cases
from tests.narrow import expect_type
from tui.catalog.facts import Quirks
from tui.cli.wire.decode import as_recorded, decoded, report
from tui.domain.messages import WireName
from tui.wires.wire import wire_named

RECORDED = recorded_cases()


def number(raw: object, *path: str) -> int | None:
    for key in path:
        raw = raw.get(key) if isinstance(raw, dict) else None
    return raw if isinstance(raw, int) else None


def summed(*counts: int | None) -> int:
    return sum(count for count in counts if count is not None)


def anthropic_usage(raw: dict[str, Any]) -> dict[str, Any]:
    read, write = number(raw, "cache_read_input_tokens"), number(raw, "cache_creation_input_tokens")
    uncached, output = number(raw, "input_tokens"), number(raw, "output_tokens")
    sent = None if uncached is None else summed(uncached, read, write)
    return {
        "input": sent,
        "cache_read": read,
        "cache_write": write,
        "output": output,
        "thinking": number(raw, "output_tokens_details", "thinking_tokens"),
        "total": None if sent is None or output is None else sent + output,
    }


def responses_usage(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        "input": number(raw, "input_tokens"),
        "cache_read": number(raw, "input_tokens_details", "cached_tokens"),
        "cache_write": number(raw, "input_tokens_details", "cache_write_tokens"),
        "output": number(raw, "output_tokens"),
        "thinking": number(raw, "output_tokens_details", "reasoning_tokens"),
        "total": number(raw, "total_tokens"),
    }


def first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def chat_usage(raw: dict[str, Any]) -> dict[str, Any]:
    sent, output, total = (number(raw, key) for key in ("prompt_tokens", "completion_tokens", "total_tokens"))
    thinking = first(number(raw, "completion_tokens_details", "reasoning_tokens"), number(raw, "reasoning_tokens"))
    if (
        thinking
        and sent is not None
        and output is not None
        and (thinking > output or total == sent + output + thinking)
    ):
        output += thinking
        total = sent + output
    return {
        "input": sent,
        "cache_read": first(
            number(raw, "prompt_tokens_details", "cached_tokens"),
            number(raw, "prompt_cache_hit_tokens"),
            number(raw, "cached_tokens"),
        ),
        "cache_write": first(
            number(raw, "prompt_tokens_details", "cache_write_tokens"), number(raw, "cache_creation_input_tokens")
        ),
        "output": output,
        "thinking": thinking,
        "total": total,
    }


def gemini_usage(raw: dict[str, Any]) -> dict[str, Any]:
    prompt, thoughts = number(raw, "promptTokenCount"), number(raw, "thoughtsTokenCount")
    candidates, tool_use = number(raw, "candidatesTokenCount"), number(raw, "toolUsePromptTokenCount")
    sent = None if prompt is None else summed(prompt, tool_use)
    output = None if candidates is None and thoughts is None else summed(candidates, thoughts)
    return {
        "input": sent,
        "cache_read": number(raw, "cachedContentTokenCount"),
        "cache_write": None,
        "output": output,
        "thinking": thoughts,
        "total": number(raw, "totalTokenCount"),
    }


def ollama_usage(raw: dict[str, Any]) -> dict[str, Any]:
    sent, output = number(raw, "prompt_eval_count"), number(raw, "eval_count")
    return {
        "input": sent,
        "cache_read": number(raw, "prompt_eval_cached_count"),
        "cache_write": None,
        "output": output,
        "thinking": None,
        "total": None if sent is None or output is None else sent + output,
    }


USAGE = {
    "anthropic": anthropic_usage,
    "openai-responses": responses_usage,
    "openai-chat": chat_usage,
    "gemini": gemini_usage,
    "ollama": ollama_usage,
}


def without_keys(message: str) -> str:
    """Some providers mask the key they complain about; we mask what is left of it too."""
    return re.sub(r"[\w*-]*\*[\w*-]*", "***", message)


def expected_report(case: Case) -> dict[str, Any]:
    told = case.expected
    return {
        **{kind: {key: told[kind][key] for key in ("chars", "sha256")} for kind in ("thinking", "text")},
        "tool_calls": [
            {key: call[key] for key in ("id", "name", "args", "args_raw") if key in call} for call in told["tool_calls"]
        ],
        **{count: told[count] for count in ("signatures", "encrypted", "redacted")},
        "finish_raw": told["finish_reason"],
        "usage": USAGE[case.wire](told["usage"] or {}),
        "error": without_keys(told["error"].get("message")) if told["error"] else None,
        "complete": told["terminal_seen"],
    }


def our_report(case: Case) -> dict[str, Any]:
    name = WireName(case.wire)
    recording = decoded(
        wire_named(name), as_recorded(Quirks()), case.body, status=case.status, content_type=case.content_type
    )
    ours = report(name, recording)
    del ours["finish"]
    error = ours["error"]
    return {**ours, "error": without_keys(expect_type(dict, error)["message"]) if error else None}


def test_the_recordings_are_there(shared_corpus):
    assert len(RECORDED) > 700, "recordings are missing"


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_a_recording_is_read_as_an_independent_reader_read_it(case):
    assert our_report(case) == expected_report(case)
