"""Where a link leads is said in full before anything is opened, and only http and https are."""

from __future__ import annotations

import sys

import pytest

from tests.ui.stage import on_stage, screen_text, until
from tui.ui.terminal.desktop_programs import Links, has_browser, safe_address

pytestmark = pytest.mark.usefixtures("no_frames")


@pytest.mark.parametrize(
    "address", ["https://a.example/path?x=1#y", "http://127.0.0.1:8000/", "https://münchen.example/"]
)
def test_an_address_that_may_be_opened_stays_as_it_is(address: str) -> None:
    assert safe_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "mailto:a@b.example",
        "ssh://host",
        "-flag",
        "--help",
        "//host/path",
        "https:///no-host",
        "https://",
        "https://a.example/ x",
        "https://a.example/\x1b]0;x\x07",
        "https://a.example/\u202egpj.exe",
        "https://a.example/\u200b",
        "https://[bad/",
        "",
        "https://a.example/" + "x" * 2_000,
    ],
)
def test_anything_else_is_not(address: str) -> None:
    assert safe_address(address) is None


async def test_the_second_click_opens_what_the_first_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_TTY", "/dev/pts/9")
    async with on_stage(size=(100, 30)) as (app, _services, pilot):
        copied: list[str] = []

        def put(text: str) -> str:
            copied.append(text)
            return " through the terminal"

        monkeypatch.setattr(app.copying, "put", put)
        now = [0.0]
        links = Links(app, now=lambda: now[0])
        for href, later in (("https://a.example", 0.0), ("https://b.example", 1.0), ("https://b.example", 60.0)):
            now[0] += later
            links.clicked(href)
        assert copied == []
        now[0] += 1.0
        links.clicked("https://b.example")
        assert copied == ["https://b.example"]
        links.clicked("javascript:alert(1)")
        await until(pilot, lambda: "Only http and https links are opened" in screen_text(app))


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="there is always a desktop")
def test_no_browser_is_started_where_nobody_would_see_it() -> None:
    assert has_browser({"DISPLAY": ":0"})
    assert not has_browser({"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 2"})
