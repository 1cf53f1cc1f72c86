"""Where a link leads is said in full before anything is opened, and only http and https are."""

from __future__ import annotations

import sys

import pytest

from tests.ui.stage import on_stage, screen_text, until
from tui.domain.web_address import safe_address
from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import Look
from tui.ui.terminal.desktop_programs import Links, has_browser
from tui.ui.terminal.hyperlinks import knows_links
from tui.ui.theme.theme_styles import ThemeStyles


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


def test_the_words_after_an_address_go_on_in_its_row() -> None:
    text = "Only the first two factors were measured. See [the original](https://a.example/drake) for where it is from."
    lines = ["".join(run.text for run in line) for line in Document(text, closed=True).lines(60)]
    assert lines == [
        "Only the first two factors were measured. See the original",
        "(https://a.example/drake) for where it is from.",
    ]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="there is always a desktop")
def test_no_browser_is_started_where_nobody_would_see_it() -> None:
    assert has_browser({"DISPLAY": ":0"})
    assert not has_browser({"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 2"})


@pytest.mark.parametrize(
    ("environment", "knows"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4800"}, False),
        ({"TERM": "xterm-256color", "KONSOLE_VERSION": "220401"}, True),
        ({"TERM": "xterm-256color", "WT_SESSION": "x"}, True),
        ({"WT_SESSION": "x"}, True),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4"}, True),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a"}, False),
        ({"TERM": "screen", "TMUX": "x", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "linux"}, False),
        ({}, False),
        ({"TERM": "linux", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-256color", "FORCE_HYPERLINK": ""}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "false"}, False),
    ],
)
def test_the_environment_says_whether_the_terminal_knows_links(environment: dict[str, str], *, knows: bool) -> None:
    assert knows_links(environment) is knows


@pytest.mark.parametrize(
    ("href", "link"),
    [
        ("https://a.example/x?y=1#z", "https://a.example/x?y=1#z"),
        ("file:///etc/passwd", None),
        ("mailto:a@b.example", None),
        ("https://a.example/\x1b\\x", None),
        ("https://a.example/\x9c", None),
        ("https://a.example/é", None),
    ],
)
def test_only_safe_addresses_are_given_to_the_terminal(href: str, link: str | None) -> None:
    assert ThemeStyles({}, links=True).style("link", Look.PLAIN, "", href).link == link
    assert ThemeStyles({}).style("link", Look.PLAIN, "", href).link is None
