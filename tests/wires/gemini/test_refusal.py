"""HTTP errors of the Gemini API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui.domain.errors import ErrorKind
from tui.wires.gemini import WIRE
from tui.wires.wire import ErrorResponse


def said(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


PER_DAY = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]}
WAIT = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}


@pytest.mark.parametrize(
    ("body", "kind", "wait"),
    [
        (said(429, "RESOURCE_EXHAUSTED", "Quota", WAIT), ErrorKind.RATE_LIMIT, 34.07),
        (said(429, "RESOURCE_EXHAUSTED", "Quota", PER_DAY), ErrorKind.BILLING, None),
        (said(503, "UNAVAILABLE", "Overloaded"), ErrorKind.OVERLOADED, None),
        (said(400, "INVALID_ARGUMENT", "API key not valid."), ErrorKind.AUTH, None),
        (
            said(
                400, "INVALID_ARGUMENT", "The input token count (2) exceeds the maximum number of tokens allowed (1)."
            ),
            ErrorKind.CONTEXT_OVERFLOW,
            None,
        ),
        (
            said(400, "INVALID_ARGUMENT", "Function call is missing a thought_signature in functionCall parts."),
            ErrorKind.INVALID_SIGNATURE,
            None,
        ),
        (said(404, "NOT_FOUND", "models/x is not found"), ErrorKind.NOT_FOUND, None),
    ],
)
@pytest.mark.parametrize("listed", [False, True])
def test_a_refusal_is_told_by_its_status_and_words(body, kind, wait, listed):
    data = json.dumps([body] if listed else body).encode()
    fault = WIRE.refusal(ErrorResponse(status=body["error"]["code"], headers={}, body=data))
    assert (fault.kind, fault.retry_after_s, fault.message) == (kind, wait, body["error"]["message"])
