"""HTTP errors of the Messages API."""

from __future__ import annotations

import json

import pytest

from tui.domain.errors import ErrorKind
from tui.wires.anthropic import WIRE
from tui.wires.wire import ErrorResponse


def body(kind: str, message: str, **details: object) -> bytes:
    error = {"type": kind, "message": message, **details}
    return json.dumps({"type": "error", "error": error, "request_id": "req_1"}).encode()


@pytest.mark.parametrize(
    ("status", "said", "kind", "retryable"),
    [
        (400, body("invalid_request_error", "prompt is too long: 2 > 1"), ErrorKind.CONTEXT_OVERFLOW, False),
        (400, body("invalid_request_error", "Your credit balance is too low"), ErrorKind.BILLING, False),
        (
            400,
            body("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"),
            ErrorKind.INVALID_SIGNATURE,
            False,
        ),
        (401, body("authentication_error", "invalid x-api-key"), ErrorKind.AUTH, False),
        (404, body("not_found_error", "model: claude-x"), ErrorKind.NOT_FOUND, False),
        (429, body("rate_limit_error", "Slow down."), ErrorKind.RATE_LIMIT, True),
        (529, body("overloaded_error", "Overloaded"), ErrorKind.OVERLOADED, True),
        (502, b"", ErrorKind.SERVER, True),
    ],
)
def test_a_refusal_is_told_by_its_status_type_and_words(status, said, kind, retryable):
    fault = WIRE.refusal(ErrorResponse(status=status, headers={}, body=said))
    assert (fault.kind, fault.retryable, fault.status) == (kind, retryable, status)


def test_the_requests_id_and_the_wait_are_found():
    said = body("rate_limit_error", "Slow down.")
    in_body = WIRE.refusal(ErrorResponse(status=429, headers={"retry-after": "2"}, body=said))
    in_head = WIRE.refusal(ErrorResponse(status=429, headers={"request-id": "req_2"}, body=said))
    assert (in_body.request_id, in_body.retry_after_s, in_head.request_id) == ("req_1", 2.0, "req_2")
