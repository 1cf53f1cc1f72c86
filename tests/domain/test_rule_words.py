"""What an answer says that it allows."""

from __future__ import annotations

import pytest

from tui.domain.events import ApprovalAsked
from tui.domain.rule_words import rule_words, session_words

FOLDER = "/home/me/[work]"


@pytest.mark.parametrize(
    ("tool", "rule", "words"),
    [
        ("write_file", "write(/home/me/[[]work]/sums.py)", "writing sums.py"),
        ("write_file", "write(/home/me/[[]work]/**)", "writing files here"),
        ("write_file", "write(/home/me/[[]work]/src/**)", "writing files in src"),
        ("write_file", "write(/etc/a[*]b)", "writing /etc/a*b"),
        ("write_file", "write(/etc/a*b)", "what write(/etc/a*b) covers"),
        ("write_file", "write(/x/a\u202eb)", "writing /x/a\\u{202E}b"),
        ("read_file", "read(/etc/**)", "reading files in /etc"),
        ("shell", "shell(=the command) full", "exactly this command"),
        ("shell", "shell(=another) full", "what shell(=another) full covers"),
        ("shell", "shell(git log) ro", "“git log …” commands, sandboxed, read-only"),
        ("shell", "shell(make) rw", "“make …” commands, sandboxed, writing only in this folder"),
        ("fetch_url", "fetch_url(example.org)", "fetching from example.org"),
        ("mcp_a__b", "mcp_a__b(0af1)", "all calls of this tool"),
    ],
)
def test_a_rule_in_words(tool: str, rule: str, words: str) -> None:
    assert rule_words(rule, ApprovalAsked("t", "c", tool, "Do it", "the command"), FOLDER) == words


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("write(**)", "Yes, all file changes in this folder for this session"),
        ("shell(=the command) full", "Yes, exactly this command for this session"),
        ("write(/etc/motd)", "Yes, writing /etc/motd for this session"),
    ],
)
def test_the_answer_for_the_session_says_what_it_covers(rule: str, words: str) -> None:
    tool = rule.partition("(")[0]
    assert session_words(ApprovalAsked("t", "c", tool, "Do it", "the command", session=rule), FOLDER) == words


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("write(**)", "Yes, these 5 and all other file changes in this folder for this session"),
        ("shell(=the command) full", "Yes, exactly this command for this session"),
    ],
)
def test_the_answer_for_the_session_says_how_many_of_the_waiting_calls_it_settles(rule: str, words: str) -> None:
    asked = ApprovalAsked("t", "c", rule.partition("(")[0], "Do it", "the command", session=rule)
    assert session_words(asked, FOLDER, 5) == words
