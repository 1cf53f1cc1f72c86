"""Status says which proxy is really in force for the provider in use, and never its password."""

from __future__ import annotations

import pytest

from tui.app.diagnostics import describe_proxy

AWAY = "https://api.example.com/v1"
HERE = "http://127.0.0.1:11434"
PROXY = "http://me:secret@proxy.corp:3128"

CASES = {
    "none is set": ({}, AWAY, "none"),
    "the one for https": ({"HTTPS_PROXY": PROXY}, AWAY, "proxy.corp:3128, for api.example.com (HTTPS_PROXY)"),
    "small letters win": (
        {"HTTPS_PROXY": "http://other:1", "https_proxy": PROXY},
        AWAY,
        "proxy.corp:3128, for api.example.com (https_proxy)",
    ),
    "one for all": ({"ALL_PROXY": PROXY}, AWAY, "proxy.corp:3128, for api.example.com (ALL_PROXY)"),
    "an exception": ({"HTTPS_PROXY": PROXY, "NO_PROXY": ".example.com"}, AWAY, "none: NO_PROXY names api.example.com"),
    "this machine": ({"HTTP_PROXY": PROXY}, HERE, "none: 127.0.0.1:11434 is this machine"),
    "another scheme": ({"HTTP_PROXY": PROXY}, AWAY, "none: HTTP_PROXY is not for https"),
    "one that is no address": ({"HTTPS_PROXY": "http://["}, AWAY, "its address cannot be read"),
    "the demo": ({"HTTPS_PROXY": PROXY}, "http://demo.invalid", "none"),
}


@pytest.mark.parametrize(("environment", "url", "words"), CASES.values(), ids=CASES)
def test_the_proxy_in_force_is_named_and_its_password_is_not(environment: dict[str, str], url: str, words: str) -> None:
    assert describe_proxy(url, environment) == words
