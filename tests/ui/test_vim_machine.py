"""The keys of vim, compared with what vim itself makes of them.

The results in ``vim_sequences.jsonl`` were recorded from vim 9.0. Where vim is installed, it is asked again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.ui.real_vim import VIM, Case, Outcome, ask_ours, ask_vim, split_keys, typed
from tui.ui.input.vim.machine import Mode, VimMachine

needs_vim = pytest.mark.skipif(VIM is None, reason="vim is not installed, so it cannot be asked: apt install vim")


def _recorded() -> list[tuple[Case, Outcome]]:
    path = Path(__file__).with_name("vim_sequences.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        (
            Case(row["text"], tuple(row["cursor"]), row["keys"]),
            Outcome(row["then"], tuple(row["cursor_then"]), Mode(row["mode"])),
        )
        for row in rows
    ]


RECORDED = _recorded()


def test_many_sequences_were_recorded() -> None:
    assert len({case.keys for case, _ in RECORDED}) >= 150


def test_our_keys_do_what_vim_did() -> None:
    assert [(case, outcome) for case, expected in RECORDED if (outcome := ask_ours(case)) != expected] == []


@needs_vim
def test_vim_still_does_what_was_recorded() -> None:
    cases = [case for case, _ in RECORDED]
    assert ask_vim(cases) == [outcome for _, outcome in RECORDED]


@pytest.mark.parametrize(
    ("text", "keys", "left", "column"),
    [
        ("a👨‍👩‍👧b", "lx", "ab", 1),
        ("a👨‍👩‍👧b", "$hrX", "aXb", 1),
        ("👍🏽👍🏽 ok", "dw", "ok", 0),
        ("🇩🇪🇫🇷", "x", "🇫🇷", 0),
        ("क्षत्रिय", "x", "त्रिय", 0),
        ("e\u0301té", "x", "té", 0),
        ("ab👨‍👩‍👧", "$yl0P", "👨‍👩‍👧ab👨‍👩‍👧", 0),
        ("x👨‍👩‍👧y", "vly$p", "x👨‍👩‍👧yx👨‍👩‍👧", 4),
    ],
)
def test_a_cluster_is_one_character(text: str, keys: str, left: str, column: int) -> None:
    outcome = ask_ours(Case(text, (0, 0), keys))
    assert (outcome.text, outcome.cursor) == (left, (0, column))


WORDS = st.sampled_from(
    ["foo", "bar.", "a", "x_y", "(b", "c)", "{", "}", '"q r"', "it's", "--", "", "日本語", "é", "f(a, b)"]
)
LINES = st.one_of(st.just(""), st.just("   "), st.lists(WORDS, min_size=1, max_size=5).map(" ".join))
TEXTS = st.lists(LINES, min_size=2, max_size=5).map("\n".join)
COUNTS = st.sampled_from(["", "", "", "2", "3"])
FINDS = st.tuples(st.sampled_from("fFtT"), st.sampled_from("oabr(")).map("".join)
MOTIONS = st.one_of(st.sampled_from([*"hjklwWbBeE0^$%", "}", "ge", "gE", "gg", "G"]), FINDS)
OBJECTS = st.tuples(st.sampled_from("ia"), st.sampled_from("wWp\"'`([)b")).map("".join)
TYPED = st.text("abc .", max_size=3).map("{}<esc>".format)
OPERATIONS = st.one_of(
    st.tuples(COUNTS, st.sampled_from("dcy<>"), MOTIONS),
    st.tuples(st.sampled_from("dcy<>"), OBJECTS),
    st.tuples(COUNTS, st.sampled_from(["dd", "cc", "yy", ">>", "<<"])),
).map("".join)
EDITS = st.tuples(COUNTS, st.sampled_from([*"xXDJ~YiaIAoOsSC", "ra", "rb"])).map("".join)
VISUAL = st.tuples(
    st.sampled_from("vV"), MOTIONS, st.sampled_from([*"dcyxs~uUJ><XDSY", "rz"]).map(lambda key: key)
).map("".join)
COMMANDS = st.one_of(MOTIONS, OPERATIONS, EDITS, VISUAL)


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    """A text, a cursor, and one command; insert mode is left again."""
    text = draw(TEXTS)
    rows = text.split("\n")
    row = draw(st.integers(0, len(rows) - 1))
    column = draw(st.integers(0, max(0, len(rows[row]) - 1)))
    keys = draw(COMMANDS)
    machine = VimMachine()
    machine.press("escape")
    machine.started(text, (row, column))
    for key in split_keys(keys):
        if machine.mode is Mode.INSERT:
            machine.edited(*typed(machine, key))
        else:
            machine.press(key)
    if machine.mode is Mode.INSERT:
        keys += draw(TYPED)
    return Case(text, (row, column), keys)


@pytest.mark.minutes
@needs_vim
@given(st.lists(_cases(), min_size=100, max_size=100))
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=(Phase.generate,),  # a smaller example would take vim minutes
)
def test_any_command_does_what_vim_does(cases: list[Case]) -> None:
    expected = ask_vim(cases)
    assert [(case, vim) for case, vim in zip(cases, expected, strict=True) if ask_ours(case) != vim] == []
