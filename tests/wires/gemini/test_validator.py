"""The validator refuses what the API refuses, and nothing it took when it was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.validators.gemini import problems

USER = {"role": "user", "parts": [{"text": "hello"}]}
CALL = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2ln"}
RESULT = {"functionResponse": {"name": "read", "response": {"output": "42"}}}


def body(*contents: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {"contents": list(contents or (USER,)), **fields}


def step(*model: dict[str, Any], results: tuple[dict[str, Any], ...] = (RESULT,)) -> dict[str, Any]:
    return body(USER, {"role": "model", "parts": list(model)}, {"role": "user", "parts": list(results)})


def config(**fields: object) -> dict[str, Any]:
    return body(generationConfig={"thinkingConfig": fields})


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "contents is not specified"),
        (body(max_tokens=1), 'Unknown name "max_tokens"'),
        (body({"role": "assistant", "parts": [{"text": "a"}]}, USER), "valid role"),
        (body({"role": "model", "parts": [{"text": "a"}]}, USER), "start with a user turn"),
        (body(USER, {"role": "model", "parts": [{"text": "a"}]}), "ends with a user role"),
        (body({"role": "user", "parts": []}), "must not be empty"),
        (body({"role": "user", "parts": [{"text": ""}]}), "must have a text parameter"),
        (body({"role": "user", "parts": [{"words": "a"}]}), "required oneof field 'data'"),
        (step(CALL, results=()), "number of function response parts"),
        (step(CALL, results=(RESULT, RESULT)), "number of function response parts"),
        (step({"text": "a"}), "immediately after a function call turn"),
        (step(CALL, results=(RESULT, {"text": "a"})), "hold function responses only"),
        (step({"functionCall": {"name": "list"}, "thoughtSignature": "x"}), "does not answer function call"),
        (step({"functionCall": {"name": "read", "id": "1"}, "thoughtSignature": "x"}), "does not match"),
        (step({"functionCall": {"name": "read"}}), "missing a thought_signature"),
        (config(thinkingLevel="LOW", thinkingBudget=1), "only one of thinking budget and thinking level"),
        (config(thinkingLevel="SOME"), "thinking_level"),
        (body(tools=[{"functionDeclarations": [{"name": "1x"}]}]), "Invalid function name"),
    ],
)
def test_each_fault_is_refused(sent, said):
    assert [problem for problem in problems(sent) if said in problem], problems(sent)


@pytest.mark.parametrize("sent", [body(), step(CALL), config(thinkingLevel="low")])
def test_what_is_legal_passes(sent):
    assert problems(sent) == []


def test_older_models_do_not_ask_for_signatures():
    assert problems(step({"functionCall": {"name": "read"}}), strict_thinking=False) == []


def test_requests_that_were_answered_pass(shared_corpus: Path):
    for meta_file in sorted((shared_corpus / "gemini").glob("*/meta.json")):
        for exchange in json.loads(meta_file.read_text())["exchanges"]:
            request = meta_file.parent / exchange["dir"] / "request.json"
            if request.is_file() and exchange["status"] == 200:
                assert problems(json.loads(request.read_text())["body"], strict_thinking=False) == []
