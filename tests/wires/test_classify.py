from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wires.error_bodies import OVERFLOWS, RATE_LIMITS
from tui.domain.errors import ErrorKind
from tui.wires.errors.body import ErrorParts, error_parts
from tui.wires.errors.classify import CAP, printable_error, provider_error, refusal_of, reported_error
from tui.wires.wire import ErrorResponse


def reply(status: int, body: bytes, **headers: str) -> ErrorResponse:
    return ErrorResponse(
        status=status, headers={key.replace("_", "-"): value for key, value in headers.items()}, body=body
    )


@pytest.mark.parametrize(("status", "code", "message"), OVERFLOWS)
def test_every_wording_of_a_full_window_is_known(status: int | None, code: str | None, message: str) -> None:
    error = provider_error(status=status, message=message, code=code)
    assert (error.kind, error.retryable) == (ErrorKind.CONTEXT_OVERFLOW, False)


@pytest.mark.parametrize(("status", "code", "message"), RATE_LIMITS)
def test_no_rate_limit_is_taken_for_a_full_window(status: int | None, code: str | None, message: str) -> None:
    error = provider_error(status=status, message=message, code=code)
    assert (error.kind, error.retryable) == (ErrorKind.RATE_LIMIT, status not in (400, 413))


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (401, "invalid_api_key", "Incorrect API key provided", ErrorKind.AUTH),
        (401, None, "model is overloaded", ErrorKind.AUTH),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", ErrorKind.AUTH),
        (400, "invalid-argument", "Incorrect API key provided. You can obtain one.", ErrorKind.AUTH),
        (403, None, "Country, region, or territory not supported", ErrorKind.PERMISSION),
        (403, "permission_error", "Your account may not use this", ErrorKind.PERMISSION),
        (403, None, "Your key has run out: insufficient credits", ErrorKind.BILLING),
        (402, None, "Insufficient Balance", ErrorKind.BILLING),
        (400, "invalid_request_error", "Your credit balance is too low to access the API.", ErrorKind.BILLING),
        (429, "insufficient_quota", "You exceeded your current quota, please check your plan", ErrorKind.BILLING),
        (429, None, "You exceeded your current quota, please check your plan and billing details", ErrorKind.BILLING),
        (429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: free_tier_requests, limit: 0", ErrorKind.BILLING),
        (429, "RESOURCE_EXHAUSTED", "GenerateRequestsPerDayPerProjectPerModel-FreeTier", ErrorKind.BILLING),
        (429, "1113", "Insufficient balance or no resource package", ErrorKind.BILLING),
        (None, "1008", "insufficient balance", ErrorKind.BILLING),
        (408, None, "", ErrorKind.TIMEOUT),
        (409, None, "", ErrorKind.CONFLICT),
        (404, "model_not_found", "The model `x` does not exist", ErrorKind.NOT_FOUND),
        (404, None, "model 'x' not found, try pulling it first", ErrorKind.NOT_FOUND),
        (400, "invalid-argument", "Model not found: grok-x", ErrorKind.NOT_FOUND),
        (413, "request_too_large", "Request exceeds the maximum size", ErrorKind.TOO_LARGE),
        (413, None, "", ErrorKind.TOO_LARGE),
        (500, "api_error", "Internal server error", ErrorKind.SERVER),
        (503, "UNAVAILABLE", "The model is overloaded.", ErrorKind.OVERLOADED),
        (503, "unavailable_error", "Loading model", ErrorKind.OVERLOADED),
        (529, "overloaded_error", "Overloaded", ErrorKind.OVERLOADED),
        (None, "overloaded_error", "Overloaded", ErrorKind.OVERLOADED),
        (None, "server_error", "The server had an error", ErrorKind.SERVER),
        (504, "DEADLINE_EXCEEDED", "", ErrorKind.TIMEOUT),
        (524, None, "", ErrorKind.TIMEOUT),
        (400, "invalid_encrypted_content", "The encrypted content could not be verified.", ErrorKind.INVALID_SIGNATURE),
        (400, None, "messages.1.content.0: Invalid `signature` in `thinking` block", ErrorKind.INVALID_SIGNATURE),
        (
            400,
            None,
            "messages.3.content.0: The block is bound to a different conversation",
            ErrorKind.INVALID_SIGNATURE,
        ),
        (
            400,
            None,
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
            ErrorKind.INVALID_SIGNATURE,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Function call is missing a thought_signature in functionCall parts.",
            ErrorKind.INVALID_SIGNATURE,
        ),
        (400, "INVALID_ARGUMENT", "Thought signature is not valid.", ErrorKind.INVALID_SIGNATURE),
        (
            400,
            "invalid_request_error",
            "The reasoning_content in the thinking mode must be passed back to the API.",
            ErrorKind.THINKING_MISSING,
        ),
        (
            400,
            None,
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
            ErrorKind.THINKING_MISSING,
        ),
        (
            400,
            None,
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
            ErrorKind.INVALID_SIGNATURE,
        ),
        (
            400,
            None,
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            ErrorKind.INVALID_SIGNATURE,
        ),
        (404, None, "Item with id 'rs_1' not found. Items are not persisted.", ErrorKind.INVALID_SIGNATURE),
        (400, "content_filter", "The response was filtered", ErrorKind.CONTENT_FILTER),
        (400, "1301", "System detected potentially unsafe or sensitive content", ErrorKind.CONTENT_FILTER),
        (400, "invalid_request_error", "messages: at least one message is required", ErrorKind.INVALID_REQUEST),
        (400, None, "max_tokens (200000) exceeds the maximum of 131072", ErrorKind.INVALID_REQUEST),
        (422, None, "Something is off", ErrorKind.INVALID_REQUEST),
        (302, None, "", ErrorKind.REDIRECT),
        (None, None, "an error was encountered while running the model", ErrorKind.OTHER),
    ],
)
def test_the_kind_follows_status_then_code_then_words(
    status: int | None, code: str | None, message: str, kind: ErrorKind
) -> None:
    assert provider_error(status=status, message=message, code=code).kind is kind


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
        ("Unsupported value: 'reasoning.effort' does not support 'minimal' with this model.", "reasoning.effort"),
        ("Unrecognized request argument supplied: thinking", "thinking"),
        ("Unknown parameter: 'input[2].status'.", "input[2].status"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ('"gemma3" does not support thinking', "think"),
        ("Thinking level is not supported for this model.", "thinkingLevel"),
        ("reasoning.effort 'none' is not supported by this model", "reasoning.effort"),
        ("Unable to submit request because thinking is not supported by this model", "thinking"),
        ("reasoning_effort: Extra inputs are not permitted", "reasoning_effort"),
    ],
)
def test_a_refused_parameter_is_named(message: str, param: str) -> None:
    error = provider_error(status=400, message=message)
    assert (error.kind, error.param, error.retryable) == (ErrorKind.UNSUPPORTED, param, False)


def test_the_provider_is_believed_on_its_own_parameter_and_on_retrying() -> None:
    told = provider_error(status=400, message="no", code="unsupported_value", param="top_p")
    assert (told.kind, told.param) == (ErrorKind.UNSUPPORTED, "top_p")
    assert provider_error(status=400, message="x", headers={"x-should-retry": "true"}).retryable
    assert not provider_error(status=529, message="x", headers={"x-should-retry": "false"}).retryable


def test_every_error_says_what_to_do_and_who_to_ask() -> None:
    error = refusal_of(
        reply(
            429,
            b'{"error":{"message":"Slow down, try again in 6m0s","type":"requests","code":"rate_limit_exceeded"}}',
            x_request_id="req_1",
        )
    )
    assert (error.kind, error.status, error.code, error.retry_after_s, error.request_id, error.retryable) == (
        ErrorKind.RATE_LIMIT,
        429,
        "rate_limit_exceeded",
        360.0,
        "req_1",
        True,
    )
    assert error.advice


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (
            {"error": {"message": "m", "type": "t", "param": "p", "code": "c"}},
            ("m", "c", "t", "p"),
        ),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
            ("m", None, "overloaded_error", None),
        ),
        (
            [{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}],
            ("m", "429", "RESOURCE_EXHAUSTED", None),
        ),
        ({"error": "m"}, ("m", None, None, None)),
        ({"code": "c", "error": "m"}, ("m", "c", None, None)),
        ({"detail": "m"}, ("m", None, None, None)),
        (
            {"detail": [{"loc": ["body", "n"], "msg": "too big", "type": "value_error"}]},
            ("n: too big", None, "value_error", None),
        ),
        ({"object": "error", "message": "m", "type": "t", "code": 1200}, ("m", "1200", "t", None)),
        ({"message": "m"}, ("m", None, None, None)),
        ({"base_resp": {"status_code": 1002, "status_msg": "m"}}, ("m", "1002", None, None)),
        (
            {"error": {"code": 502, "message": "Provider returned error", "metadata": {"raw": '{"error":"deep"}'}}},
            ("Provider returned error: deep", "502", None, None),
        ),
        ({"type": "error", "code": "c", "message": "m", "param": None}, ("m", "c", "error", None)),
    ],
)
def test_errors_are_read_in_every_shape(value: object, parts: tuple[str | None, ...]) -> None:
    found = error_parts(value)
    assert found is not None
    assert (found.message, found.code, found.type, found.param) == parts


@pytest.mark.parametrize(
    "value", [{}, [], None, "x", {"choices": []}, {"error": None}, {"base_resp": {"status_code": 0}}]
)
def test_what_is_no_error_is_none(value: object) -> None:
    assert error_parts(value) is None


def test_a_page_is_named_by_its_title_alone() -> None:
    error = refusal_of(reply(403, b"<!DOCTYPE html><html><head><title>Just a moment&hellip;</title><body>secret"))
    assert (error.kind, error.retryable) == (ErrorKind.PERMISSION, False)
    assert error.message == "The server sent an HTML page instead of an answer (HTTP 403): Just a moment…"
    gateway = refusal_of(reply(502, b"<html><h1>Bad Gateway</h1>"))
    assert (gateway.kind, gateway.retryable) == (ErrorKind.NOT_A_STREAM, True)


def test_a_quota_by_the_day_is_not_waited_for() -> None:
    detail = (
        b'{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"RequestsPerDayPerUser"}]}'
    )
    error = refusal_of(reply(429, b'{"error":{"code":429,"message":"q","details":[' + detail + b"]}}"))
    assert (error.kind, error.retryable) == (ErrorKind.BILLING, False)


def test_an_error_in_the_stream_keeps_its_hint() -> None:
    parts = error_parts({"error": {"code": "rate_limit_exceeded", "message": "Please try again in 1.5s."}})
    assert parts is not None
    assert reported_error(parts).retry_after_s == 1.5


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnopqrstuvwxyz",
        "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA",
        "AIzaSyA1234567890abcdefghijklmnopqrstuvw",
        "AKIAABCDEFGHIJKLMNOP",
        "ghp_abcdefghijklmnopqrstuvwx",
        "xoxb-1234567890-abcdef",
        "gsk_abcdefghijklmnopqrst",
        "xai-abcdefghijklmnopqrst",
        "Bearer abcdefghijklmnopqrstuvwxyz012345",
        "https://user:hunter2hunter2@proxy.invalid",
        "https://x.invalid/?key=abcdefgh12345678",
    ],
)
def test_nothing_that_looks_like_a_key_is_shown(secret: str) -> None:
    shown = provider_error(status=401, message=f"bad {secret} here").message
    tail = secret.rsplit(" ", 1)[-1].rsplit("=", 1)[-1]
    assert tail not in shown
    assert "hunter2" not in shown
    assert "***" in shown


def test_what_the_provider_masked_itself_stays() -> None:
    assert printable_error("Incorrect API key provided: sk-ab****cd.") == "Incorrect API key provided: sk-ab****cd."


@given(st.text(max_size=2000))
def test_any_text_becomes_one_short_printable_line(text: str) -> None:
    shown = printable_error("\x1b[31m" + text + "\x1b]52;c;x\x07")
    assert len(shown) <= CAP
    assert not any(ord(mark) < 32 or 127 <= ord(mark) < 160 for mark in shown)
    shown.encode()


@given(st.binary(max_size=400), st.integers(min_value=300, max_value=599))
def test_any_body_is_an_error_of_ours(body: bytes, status: int) -> None:
    assert refusal_of(reply(status, body)).status == status


def test_an_error_without_words_still_says_something() -> None:
    assert reported_error(ErrorParts(message="", code="c")).message == "The provider gave no reason (no status, c)"
