"""Answers of a server that wants to keep the check busy, or to get more than JSON through it."""

from __future__ import annotations

import time

import pytest

from tests.patience import PATIENCE_S
from tui.headless.checked_answer import checked_answer


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
