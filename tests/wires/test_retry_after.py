from __future__ import annotations

import pytest

from tui.wires.errors.retry_after import retry_hint

DATE = "Wed, 18 Nov 2026 12:00:00 GMT"
GOOGLE = {"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}]}}


@pytest.mark.parametrize(
    ("headers", "body", "words", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, None, "", 1.5),
        ({"retry-after": "2"}, GOOGLE, "try again in 5s", 2.0),
        ({"retry-after": "0.2"}, None, "", 0.2),
        ({"retry-after": "Wed, 18 Nov 2026 12:00:30 GMT", "date": DATE}, None, "", 30.0),
        ({"retry-after": "Wed, 18 Nov 2026 11:00:00 GMT", "date": DATE}, None, "", None),
        ({"retry-after": "Wed, 18 Nov 2026 12:00:30 GMT"}, None, "", None),
        ({}, GOOGLE, "try again in 5s", 34.07),
        ({}, [GOOGLE], "", 34.07),
        ({}, None, "Please try again in 1.9s.", 1.9),
        ({}, None, "Please try again in 28ms.", 0.028),
        ({}, None, "try again in 6m0s", 360.0),
        ({}, None, "Please retry in 12s", 12.0),
        ({}, None, "try again after 1 second", 1.0),
        ({}, None, "please wait 2 minutes", 120.0),
        ({}, None, "try again in a while", None),
        ({"retry-after": "nan"}, None, "", None),
        ({"retry-after": "inf"}, None, "", None),
        ({"retry-after": "-3"}, None, "", None),
        ({"retry-after": "999999"}, None, "", None),
        ({"retry-after": "0"}, None, "retry in 3s", 3.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0"}, None, "", 360.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "5"}, None, "", None),
        ({"x-ratelimit-reset": "1795003230000", "x-ratelimit-remaining": "0", "date": DATE}, None, "", 30.0),
        ({"x-ratelimit-reset": "1795003230", "x-ratelimit-remaining": "0", "date": DATE}, None, "", 30.0),
        ({"x-ratelimit-reset": "42", "x-ratelimit-remaining": "0"}, None, "", 42.0),
        (
            {
                "anthropic-ratelimit-tokens-reset": "2026-11-18T12:01:00Z",
                "anthropic-ratelimit-tokens-remaining": "0",
                "date": DATE,
            },
            None,
            "",
            60.0,
        ),
    ],
)
def test_the_first_believable_hint_counts(
    headers: dict[str, str], body: object, words: str, seconds: float | None
) -> None:
    assert retry_hint(headers, body, words, status=429) == pytest.approx(seconds)


def test_buckets_count_only_when_the_limit_was_hit() -> None:
    emptied = {"x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "0"}
    assert (retry_hint(emptied, status=503), retry_hint(emptied, status=429)) == (None, 1.0)
