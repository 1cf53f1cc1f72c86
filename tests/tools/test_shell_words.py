"""How commands are read for rules, held against how a shell reads them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tools.shell_words import begins_with, mentions, offered_prefixes, plain_words

BASH = shutil.which("bash")
pieces = st.sampled_from(
    ["a", "b", "ab", " ", "  ", "\t", "'", '"', "''", "*", "?", "[a]", "{a,b}", "~", "#", "!", "=", ";", "$a", "\\"]
)
commands = st.lists(pieces, max_size=12).map("".join)


@pytest.mark.skipif(BASH is None, reason="no bash")
@given(commands)
def test_a_shell_begins_with_the_same_plain_words(command: str) -> None:
    read = plain_words(command)
    if read is None:
        return
    plain = list(takewhile(lambda word: word.isalpha(), read))
    done = subprocess.run(
        [str(BASH), "-c", f"set -- {command}\nprintf '%s\\n' \"$@\""],
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    assert done.stdout.split("\n")[: len(plain)] == plain


@given(commands, st.sampled_from(["a", "a b", "ab", "b a"]))
def test_what_a_rule_allows_the_same_rule_would_deny(command: str, prefix: str) -> None:
    assert not begins_with(command, prefix) or mentions(command, prefix)


@pytest.mark.parametrize(
    ("command", "offers"),
    [
        ("git commit -m 'a b'", ("git commit -m 'a b'", "git commit")),
        ("git -C x status", ("git -C x status",)),
        ("ls -la", ("ls -la", "ls")),
        ("pytest", ("pytest",)),
        ("python3.11 -c 'x'", ("python3.11 -c x",)),
        ("sudo ls", ("sudo ls",)),
        ("/usr/bin/env ls", ("/usr/bin/env ls",)),
        ("npm run build", ("npm run build", "npm run")),
        ("a && b", ()),
        ("a 'b", ()),
        ("", ()),
    ],
)
def test_what_is_offered_for_always_is_narrow(command: str, offers: tuple[str, ...]) -> None:
    assert offered_prefixes(command) == offers
