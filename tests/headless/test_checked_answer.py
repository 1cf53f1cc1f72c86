"""Answers of a server that wants to keep the check busy, or to get more than JSON through it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tui.domain.errors import UsageError
from tui.headless.checked_answer import checked_answer, read_schema


@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ("```json\n{}\n```", "{}"),
        ("\n```\n\n[1,\n2]\n  ```  \n", "[1,\n2]"),
        ("```json  \n{}\n```", "{}"),
        (" {} ", "{}"),
    ],
)
def test_a_fence_is_taken_off(text: str, json_text: str) -> None:
    found = checked_answer(text, {})
    assert (found.text, found.problem) == (json_text, "")


@pytest.mark.parametrize("text", ["```\n{}", "```{}```", "Here:\n```\n{}\n```", "```\n{}\n``` done", "```\n```"])
def test_what_is_more_or_less_than_a_fence_is_no_json(text: str) -> None:
    found = checked_answer(text, {})
    assert found.text == text
    assert found.problem.startswith("The answer is not JSON:")


def test_blank_lines_in_a_fence_take_no_time() -> None:
    start = time.monotonic()
    assert checked_answer("```\n" + "\n" * 1_000_000, {}).problem
    assert time.monotonic() - start < PATIENCE_S


def test_a_number_that_no_program_can_read_is_no_json() -> None:
    found = checked_answer("[1e999]", {})
    assert (found.value, found.problem) == (None, "The answer is not JSON: the number 1e999 is too large.")


def test_an_answer_that_is_wrong_everywhere_is_refused_after_its_first_faults() -> None:
    found = checked_answer("[" + "1," * 200 + "1]", {"type": "array", "items": {"type": "string"}})
    assert found.problem == "The answer does not fit at `$[99]`: 1 is not of type 'string'"


def _doubled(number: int, last: object) -> dict[str, object]:
    """Definitions that each refer to the next one twice."""
    twice = {f"x{at}": {"allOf": [{"$ref": f"#/$defs/x{at + 1}"}] * 2} for at in range(number)}
    return {"$ref": "#/$defs/x0", "$defs": {**twice, f"x{number}": last}}


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 40 + "!"),
        (_doubled(60, {}), {}),
        ({"uniqueItems": True}, [{"x": number} for number in range(20_000)]),
    ],
)
def test_a_check_without_end_is_given_up(schema: dict[str, object], answer: object) -> None:
    found = checked_answer(json.dumps(answer), schema, most_seconds=0.1)
    assert found.problem == "The answer cannot be checked: that takes too long."


@pytest.mark.parametrize(
    ("schema", "answer", "why"),
    [
        ({"$id": "http://[", "$ref": "b"}, "{}", "ValueError: Invalid IPv6 URL"),
        ({"$ref": "#/title", "title": "text"}, "{}", "AttributeError: 'str' object has no attribute 'items'"),
        (
            {"$ref": "#/x", "x": {"type": "strnig"}},
            "{}",
            "UnknownType: Unknown type 'strnig' for validator with schema:",
        ),
        ({"multipleOf": 0.1}, "1" + "0" * 400, "OverflowError: int too large to convert to float"),
    ],
)
def test_a_schema_that_leads_to_no_schema_is_told(schema: dict[str, object], answer: str, why: str) -> None:
    found = checked_answer(answer, schema)
    assert found.problem == f"The answer cannot be checked: the schema is not usable ({why})."


def test_a_schema_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"$schema": []}', "utf-8")
    with pytest.raises(UsageError, match="is not a valid JSON Schema: TypeError: unhashable type: 'list'"):
        read_schema(str(file))
