"""A refusal in whatever words is about one of the fields that were sent; where it names none, it stays what it was."""

from __future__ import annotations

import json

import pytest

from tui.domain.errors import ErrorKind
from tui.providers.refused_field import name_refused_field
from tui.wires.errors.classify import refusal_of
from tui.wires.wire import ErrorResponse

SENT = {
    "model": "m",
    "messages": [],
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [{}],
    "temperature": 1,
    "store": False,
    "reasoning": {"effort": "high"},
}


def _named(status: int, message: str, **more: object) -> tuple[ErrorKind, str | None]:
    body = json.dumps({"error": {"message": message}, **more}).encode()
    error = refusal_of(ErrorResponse(status=status, headers={}, body=body))
    name_refused_field(error, SENT, body.decode())
    return error.kind, error.param


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Additional properties are not allowed ('stream_options' was unexpected)", "stream_options"),
        ("Field 'stream_options' is not allowed", "stream_options"),
        ("Unrecognized key(s) in object: 'include_usage'", "include_usage"),
        ("property /store: is not defined in the schema", "store"),
        ("the following parameters are not supported: reasoning", "reasoning"),
        ("tools is not supported", "tools"),
        ("This model does not support function calling.", "tools"),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "tools"),
        ("Streaming is not supported by this model", "stream"),
    ],
)
def test_the_field_that_is_not_wanted_is_named(message: str, name: str) -> None:
    assert _named(400, message) == (ErrorKind.UNSUPPORTED, name)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "temperature must be between 0 and 2", ErrorKind.INVALID_REQUEST),
        (400, "must NOT have additional properties", ErrorKind.INVALID_REQUEST),
        (400, "unknown tool type in messages", ErrorKind.INVALID_REQUEST),
        (500, "Internal Server Error", ErrorKind.SERVER),
        (503, "'stream_options' is not allowed", ErrorKind.OVERLOADED),
    ],
)
def test_a_wrong_value_or_a_failure_stays_what_it_was(status: int, message: str, kind: ErrorKind) -> None:
    assert _named(status, message) == (kind, None)


def test_a_server_that_fails_over_tools_says_so_as_a_failure_of_its_own() -> None:
    assert _named(500, "tools param requires --jinja flag") == (ErrorKind.UNSUPPORTED, "tools")


def test_a_name_elsewhere_in_the_answer_counts_where_it_is_the_only_one() -> None:
    told = "must NOT have additional properties"
    assert _named(400, told, params={"additionalProperty": "stream_options"}) == (
        ErrorKind.UNSUPPORTED,
        "stream_options",
    )
    assert _named(400, told, input=SENT) == (ErrorKind.INVALID_REQUEST, None)
