"""Refusals of providers: every row P of the fault catalogue, and what they do to keys, through the real client."""
# ruff: noqa: N802 - the names carry the rows of the fault catalogue

from __future__ import annotations

import pytest

from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.key_canary import CANARY
from tests.providers.conftest import WIRES, Client
from tui.domain.errors import ErrorKind

FULL: list[Step] = [{"say": "text", "text": "fine"}, {"end": 1}]
wires = pytest.mark.parametrize("wire", WIRES)


def said(wire: str, status: int, kind: str, message: str) -> dict[str, object]:
    """An error body in the wire's own shape."""
    match wire:
        case "anthropic":
            return {"type": "error", "error": {"type": kind, "message": message}}
        case "gemini" | "gemini-array":
            return {"error": {"code": status, "message": message, "status": kind.upper()}}
        case "ollama":
            return {"error": message}
        case _:
            return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def refusal(wire: str, status: int, kind: str, message: str, **headers: str) -> list[Step]:
    return [{"status": status, "json": said(wire, status, kind, message), "h": headers}]


@wires
async def test_P01_a_short_hint_is_handed_on(client: Client, wire: str) -> None:
    script = refusal(wire, 429, "rate_limit_error", "Slow down.", **{"retry-after": "2"})
    async with FaultServer([script], wire) as server:
        outcome = await client.ask(server, wire)
        assert len(server.seen) == 1
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable, outcome.error.retry_after_s) == (
        ErrorKind.RATE_LIMIT,
        True,
        2.0,
    )


@wires
async def test_P02_a_hint_of_hours_is_told_and_not_slept(client: Client, wire: str) -> None:
    script = refusal(wire, 429, "rate_limit_error", "Usage limit reached.", **{"retry-after": "18000"})
    async with FaultServer([script], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retry_after_s) == (ErrorKind.RATE_LIMIT, 18000.0)


@pytest.mark.parametrize(
    ("wire", "status", "kind", "message"),
    [
        ("openai-responses", 429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
        ("openai-chat", 402, "invalid_request_error", "Insufficient Balance"),
        ("anthropic", 400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        ("gemini", 429, "resource_exhausted", "You exceeded your current quota, please check your plan and billing."),
    ],
)
async def test_P03_money_is_not_a_matter_of_waiting(
    client: Client, wire: str, status: int, kind: str, message: str
) -> None:
    async with FaultServer([refusal(wire, status, kind, message)], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.BILLING, False)


@pytest.mark.one_in(8)
@wires
@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 522, 524, 529])
async def test_P04_failures_of_the_server_are_worth_a_retry(client: Client, wire: str, status: int) -> None:
    async with FaultServer([refusal(wire, status, "api_error", "Something broke.")], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.retryable, outcome.error.status) == (True, status)


@wires
async def test_P05_a_refused_key_names_its_source_and_at_most_four_characters(client: Client, wire: str) -> None:
    script = refusal(wire, 401, "authentication_error", f"Incorrect API key provided: {CANARY}.")
    async with FaultServer([script], wire) as server:
        outcome = await client.ask(server, wire)
        assert len(server.seen) == 1
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.AUTH, False)
    assert outcome.error.advice.startswith("The key ***abcd comes from environment TESTED_API_KEY.")


async def test_P05_a_key_that_was_replaced_meanwhile_is_read_again_once(client: Client) -> None:
    async with FaultServer([FULL, refusal("anthropic", 401, "authentication_error", "expired"), FULL]) as server:
        backend = client.backend()
        await client.ask(server, backend=backend)
        client.environ["TESTED_API_KEY"] = "sk-the-new-one-9876543210"
        outcome = await client.ask(server, backend=backend)
        sent = [seen.headers["x-api-key"] for seen in server.seen]
    assert (outcome.error, outcome.text) == (None, "fine")
    assert sent == [CANARY, CANARY, "sk-the-new-one-9876543210"]


async def test_P05_a_missing_key_asks_for_it_and_sends_nothing(client: Client) -> None:
    client.environ.clear()
    async with FaultServer([FULL]) as server:
        outcome = await client.ask(server, key_url="https://keys.example")
        assert server.seen == []
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.message) == (ErrorKind.NO_KEY, "There is no key for Tested.")
    assert outcome.error.advice == (
        "Set `TESTED_API_KEY` or run `ponder auth set tested`. Create a key at https://keys.example."
    )


@wires
async def test_P06_a_gateways_page_is_one_line(client: Client, wire: str) -> None:
    page = b"<html><head><title>Attention Required! | Cloudflare</title></head><body>" + b"<p>x</p>" * 900 + b"</body>"
    async with FaultServer([[{"status": 403, "ct": "text/html; charset=UTF-8", "body": page}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.PERMISSION, False)
    assert "Attention Required" in outcome.error.message
    assert len(outcome.error.message) < 200


@wires
async def test_P07_an_unknown_model_is_not_retried(client: Client, wire: str) -> None:
    async with FaultServer([refusal(wire, 404, "not_found_error", "model: asked-model not found")], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (ErrorKind.NOT_FOUND, False)


@pytest.mark.parametrize(
    ("wire", "message", "param"),
    [
        (
            "openai-responses",
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "reasoning.effort",
        ),
        (
            "openai-chat",
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model.",
            "reasoning_effort",
        ),
        ("ollama", '"asked-model" does not support thinking', "think"),
    ],
)
async def test_P08_a_parameter_that_is_not_taken_is_named(client: Client, wire: str, message: str, param: str) -> None:
    body = said(wire, 400, "unsupported_parameter", message)
    if isinstance(body["error"], dict):
        body["error"]["param"] = param
    async with FaultServer([[{"status": 400, "json": body}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.param) == (ErrorKind.UNSUPPORTED, param)


@wires
async def test_P09_a_huge_binary_screaming_body_is_short_and_harmless(client: Client, wire: str) -> None:
    body = b"\x1b]52;c;eA==\x07\x1b[2J" + CANARY.encode() + b" \x00\xff\xfe " + b"A" * 10_000_000
    async with FaultServer([[{"status": 500, "ct": "application/json", "body": body}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert len(outcome.error.message) <= 500
    assert outcome.error.message.isprintable()
    assert CANARY not in outcome.error.message


async def test_P09_an_error_body_that_never_ends_is_not_waited_for(client: Client) -> None:
    script: list[Step] = [{"status": 503, "ct": "application/json"}, {"raw": '{"error":{"message":"half'}, {"hold": 1}]
    async with FaultServer([script]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert (outcome.error.status, outcome.error.retryable) == (503, True)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ErrorKind.CONTEXT_OVERFLOW),
        (429, "too many tokens per minute, please wait", ErrorKind.RATE_LIMIT),
        (400, "error 500 while parsing your request", ErrorKind.INVALID_REQUEST),
        (500, "429 upstream said something", ErrorKind.SERVER),
        (403, "region not supported", ErrorKind.PERMISSION),
    ],
)
async def test_P10_the_status_decides_before_the_words_do(
    client: Client, status: int, message: str, kind: ErrorKind
) -> None:
    async with FaultServer([[{"status": status, "json": {"error": {"message": message}}}]], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert outcome.error is not None
    assert outcome.error.kind is kind


@wires
async def test_P11_the_backend_sends_one_request_and_leaves_retries_to_the_engine(client: Client, wire: str) -> None:
    async with FaultServer([refusal(wire, 503, "overloaded_error", "Overloaded")], wire) as server:
        await client.ask(server, wire)
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("date", "after", "seconds"),
    [
        ("Wed, 18 Nov 2099 10:00:00 GMT", "Wed, 18 Nov 2099 10:00:07 GMT", 7.0),
        ("Wed, 18 Nov 2026 10:00:00 GMT", "Wed, 18 Nov 2026 09:00:00 GMT", None),
        ("Wed, 18 Nov 2026 10:00:00 GMT", "Wed, 18 Nov 2099 10:00:00 GMT", None),
        ("Wed, 18 Nov 2026 10:00:00 GMT", "nan", None),
        ("Wed, 18 Nov 2026 10:00:00 GMT", "-5", None),
    ],
)
async def test_P12_dates_count_from_the_servers_own_clock(
    client: Client, date: str, after: str, seconds: float | None
) -> None:
    script = refusal("anthropic", 429, "rate_limit_error", "Slow down.", **{"date": date, "retry-after": after})
    async with FaultServer([script]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert outcome.error.retry_after_s == seconds


@pytest.mark.parametrize(("word", "retryable"), [("true", True), ("false", False)])
@pytest.mark.parametrize("status", [400, 503])
async def test_the_servers_own_word_on_retrying_is_obeyed(
    client: Client, status: int, word: str, retryable: bool
) -> None:
    script = refusal("anthropic", status, "api_error", "Hm.", **{"x-should-retry": word})
    async with FaultServer([script]) as server:
        outcome = await client.ask(server)
    assert outcome.error is not None
    assert outcome.error.retryable is retryable


async def test_P13_a_warning_of_the_provider_reaches_the_user(client: Client) -> None:
    warning = "This model is deprecated and goes away on 2026-12-01."
    async with FaultServer([[{"status": 200, "h": {"x-model-deprecation-warning": warning}}, *FULL]]) as server:
        backend = client.backend()
        first = await client.ask(server, backend=backend)
        second = await client.ask(server, backend=backend)
    assert [(remark.code, remark.text) for remark in first.blocks.remarks] == [("deprecation", warning)]
    assert second.blocks.remarks == []
