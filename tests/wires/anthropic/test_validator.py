"""The validator refuses what the API refuses, and nothing it took when it was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.validators.anthropic import problems

USER = {"role": "user", "content": "hello"}
CALL = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "42"}
TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]
TEXT = {"type": "text", "text": "hm"}


def body(*messages: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {"model": "claude", "max_tokens": 4096, "messages": list(messages or (USER,)), **fields}


def step(
    *assistant: dict[str, Any], results: tuple[dict[str, Any], ...] = (RESULT,), **fields: object
) -> dict[str, Any]:
    asked = {"role": "assistant", "content": list(assistant)}
    return body(USER, asked, {"role": "user", "content": list(results)}, **{"tools": TOOLS, **fields})


BUDGET = {"type": "enabled", "budget_tokens": 2048}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"model": "claude", "max_tokens": 1, "messages": []}, "at least one message"),
        (body(temprature=1), "Extra inputs"),
        (body(max_tokens=None), "max_tokens: Field required"),
        (body({"role": "assistant", "content": "hi"}, USER), "first message"),
        (body(USER, USER), "roles must alternate"),
        (body(USER, {"role": "assistant", "content": "hi"}), "prefill"),
        (body({"role": "user", "content": ""}), "non-empty"),
        (body({"role": "user", "content": " \n"}), "non-whitespace"),
        (body(system=" "), "system"),
        (step(CALL, results=(TEXT,)), "without `tool_result` blocks immediately after"),
        (step(CALL, results=(TEXT, RESULT)), "without `tool_result` blocks immediately after"),
        (step(CALL, TEXT), "without `tool_result` blocks immediately after"),
        (step(TEXT), "unexpected `tool_use_id`"),
        (step(CALL, results=(RESULT, RESULT)), "must have a single result"),
        (step(CALL, CALL), "ids must be unique"),
        (step({**CALL, "id": "a:b"}, results=({**RESULT, "tool_use_id": "a:b"},)), "should match pattern"),
        (step({**CALL, "input": "x"}), "valid dictionary"),
        (step(CALL, tools=[]), "must define tools"),
        (step({**THOUGHT, "signature": ""}, CALL), "Invalid `signature`"),
        (step(CALL, thinking=BUDGET), "Expected `thinking`"),
        (body(thinking={**BUDGET, "budget_tokens": 1000}), "greater than or equal to 1024"),
        (body(thinking={**BUDGET, "budget_tokens": 4096}), "must be greater than `thinking.budget_tokens`"),
        (body(thinking={"display": "summarized"}), "thinking.type"),
        (body(thinking=BUDGET, temperature=0.5), "`temperature` may only be set to 1"),
        (body(output_config={"effort": "huge"}), "output_config.effort"),
        (body(tools=[{"name": "x", "input_schema": {"type": "object", "anyOf": []}}]), "top level"),
    ],
)
def test_each_fault_is_refused_in_the_apis_words(sent, said):
    assert [problem for problem in problems(sent) if said in problem], problems(sent)


@pytest.mark.parametrize("sent", [body(), step(THOUGHT, CALL, thinking=BUDGET), step(TEXT, CALL)])
def test_what_is_legal_passes(sent):
    assert problems(sent) == []


def test_binding_and_sampling_hang_on_headers():
    bound = body(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}})
    assert problems(bound) == []
    assert problems(bound, headers={}) == ["thinking.block_binding: Extra inputs are not permitted"]
    assert problems(body(temperature=1), headers={"anthropic-version": "2026-10-21"}) == [
        "temperature: Extra inputs are not permitted"
    ]


def test_requests_that_were_answered_pass_and_refused_ones_do_not(shared_corpus: Path):
    for meta_file in sorted((shared_corpus / "anthropic").glob("*/meta.json")):
        meta = json.loads(meta_file.read_text())
        for exchange in meta["exchanges"]:
            request = meta_file.parent / exchange["dir"] / "request.json"
            sent = json.loads(request.read_text())["body"] if request.is_file() else None
            if not isinstance(sent, dict) or "model" not in sent or exchange["status"] not in (200, 400):
                continue
            found = problems(sent)
            assert (found == []) == (exchange["status"] == 200) or "range: 0..1" in _answer(meta_file, exchange), found


def _answer(meta_file: Path, exchange: dict[str, Any]) -> str:
    """Value ranges are the models' affair, not this validator's."""
    body_file: Path = meta_file.parent / exchange["dir"] / exchange["body_file"]
    return body_file.read_text()
