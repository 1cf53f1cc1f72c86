"""How commands are read for rules, held against how a shell reads them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.patience import PATIENCE_S
from tui.tools.permissions.shell_words import begins_with, is_readable, mentions, plain_words, prefix_to_offer

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
    ("command", "offer"),
    [
        ("git commit -m 'a b'", "git commit"),
        ("git -C x status", None),
        ("ls -la", "ls"),
        ("pytest", "pytest"),
        ("pytest -q tests", "pytest"),
        ("python3.11 -c 'x'", None),
        ("sudo ls", None),
        ("/usr/bin/env ls", None),
        ("npm run build", "npm run"),
        ("stdbuf -o0 ls", None),
        ("nice ls", None),
        ("timeout 5 ls", None),
        ("xargs ls", None),
        ("find . -name x", None),
        ("sed -n 1p x", None),
        ("tar xf x", None),
        ("rm x", None),
        ("rm: -x", None),
        ("npm run: x", None),
        ("curl example.org", None),
        ("A=1 ls", None),
        ("a && b", None),
        ("a 'b", None),
        ("", None),
    ],
)
def test_what_is_offered_for_always_is_narrow(command: str, offer: str | None) -> None:
    assert prefix_to_offer(command) == offer


words = st.sampled_from(
    ["rm", "git", "push", "x", "-C", ".", "--no-pager", "'rm'", 'r"m"', "/bin/rm", "sh", "-c", "env"]
)
joints = st.sampled_from(
    [" ", "  ", ";", " && ", "|", "\n", " & ", "$(", "`", "'", '"', "{", "}", "\\", "*", "?", "$x"]
)
scripts = st.lists(st.one_of(words, joints), max_size=10).map("".join)


@pytest.mark.long
@pytest.mark.skipif(BASH is None, reason="no bash")
@given(scripts)
@settings(max_examples=200, deadline=None)
def test_a_program_that_a_shell_starts_is_named_or_the_command_is_not_readable(tmp_path_factory, script: str) -> None:
    """Every program is a stand-in that writes its name and words; nothing else can be started."""
    folder = tmp_path_factory.getbasetemp() / "stand-ins"
    if not folder.exists():
        folder.mkdir()
        for name in ("rm", "git"):
            (folder / name).write_text('#!/bin/sh\necho "$0" >> "$LOG"\n'.replace("$0", name))
            (folder / name).chmod(0o755)
        for name in ("sh", "env"):
            (folder / name).symlink_to(str(shutil.which(name)))
    log = folder / "log"
    log.write_text("")
    subprocess.run(
        [str(BASH), "--norc", "-c", script.replace("/bin/rm", str(folder / "rm"))],
        env={"PATH": str(folder), "LOG": str(log), "PWD": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=folder,
        timeout=PATIENCE_S,
        check=False,
    )
    for name in set(log.read_text().split()):
        assert mentions(script, name) or not is_readable(script)


@given(st.text(max_size=60))
def test_reading_any_text_raises_nothing(command: str) -> None:
    for pattern in ("rm", "git push -f", "*", "-f", command):
        mentions(command, pattern)
    assert isinstance(is_readable(command), bool)


@pytest.mark.parametrize(
    "command", ["git log --oneline -3", "pytest -k 'a or b' && ls", "grep 'x*' a.txt | sort > out"]
)
def test_common_commands_are_readable(command: str) -> None:
    assert is_readable(command)
