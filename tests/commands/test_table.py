"""The table that everything is read from holds together."""

from __future__ import annotations

from collections import Counter

import pytest

from tui.commands.builtin import registry
from tui.commands.keymap import INDISTINCT, default_keymap, key_name, read_keymap
from tui.commands.registry import Command, is_command, parse_line
from tui.domain.errors import UsageError

COMMANDS = registry().commands


def test_ids_and_slash_words_are_unique() -> None:
    assert [name for name, count in Counter(command.id for command in COMMANDS).items() if count > 1] == []
    words = Counter(command.slash for command in COMMANDS if command.slash)
    assert [word for word, count in words.items() if count > 1] == []


def test_no_two_commands_share_a_key_in_one_place() -> None:
    assert read_keymap(registry(), "").problems == ()


def test_no_default_is_a_key_that_terminals_cannot_tell_apart() -> None:
    assert {key for keys in default_keymap(registry()).keys.values() for key in keys} & INDISTINCT.keys() == set()


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.slash], ids=lambda row: row.id)
def test_every_slash_command_has_an_example_that_parses_to_it(command: Command) -> None:
    assert parse_line(registry(), command.example).command is command
    if command.argument is not None and command.argument.required:
        assert parse_line(registry(), command.example).argument


def test_every_command_is_explained() -> None:
    assert [command.id for command in COMMANDS if not command.title or not command.help.endswith((".", "?"))] == []


def test_every_key_of_the_key_sheet_is_bound() -> None:
    bound = {key for keys in default_keymap(registry()).keys.values() for key in keys}
    promised = {
        *(
            "enter",
            "ctrl+j",
            "escape",
            "ctrl+c",
            "ctrl+q",
            "ctrl+p",
            "ctrl+t",
            "shift+tab",
            "alt+comma",
            "alt+full_stop",
        ),
        *("f2", "shift+f2", "ctrl+o", "space", "ctrl+f", "ctrl+r", "ctrl+s", "ctrl+n", "ctrl+g", "ctrl+b", "f12", "up"),
        *("down", "pageup", "pagedown", "shift+up", "shift+down", "alt+up", "alt+down", "f1"),
        *("j", "k", "y", "Y", "r", "R", "e", "f", "i"),
    }
    assert promised - bound == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/model x", True),
        ("/help", True),
        ("  /help", False),
        ("/etc/passwd is a file", False),
        ("//comment", False),
        ("/ model", False),
        ("/model\nsecond line", False),
        ("/1", False),
        ("model", False),
    ],
)
def test_what_is_a_command_and_what_is_prose(text: str, expected: bool) -> None:
    assert is_command(text) is expected


@pytest.mark.parametrize(("typed", "nearest"), [("modle", "`/model`"), ("ses", "`/sessions`"), ("qit", "`/quit`")])
def test_a_wrong_command_gets_the_nearest(typed: str, nearest: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_line(registry(), f"/{typed}")
    assert nearest in caught.value.advice


def test_keys_are_changed_unbound_and_their_conflicts_told() -> None:
    read = read_keymap(registry(), '"view.sidebar" = ["f3", "ctrl+t"]\n"chat.edit" = ""\n[model]\npick = "f4"\n')
    assert read.keys["view.sidebar"] == ("f3", "ctrl+t")
    assert read.keys["chat.edit"] == ()
    assert read.keys["model.pick"] == ("f4",)
    assert read.problems == ()


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("R", "R"), ("r", "r"), ("Shift+R", "R"), ("Ctrl+B", "ctrl+b"), ("alt+.", "alt+full_stop"), ("+", "plus"),
        ("?", "question_mark"), ("esc", "escape"), ("pgup", "pageup"), ("shift+ctrl+up", "ctrl+shift+up"),
        ("ctrl++", "ctrl+plus"),
        ("ctrl+R", "ctrl+r"), ("f24", "f24"), ("alt+full_stop", "alt+full_stop"), ("Ф", "Ф"),
        ("foo+bar", None), ("f25", None), ("ctrl+", None), ("", None), ("latin_small_letter_a", None), ("ctrl", None),
    ],
)  # fmt: skip
def test_keys_are_read_as_people_write_them(written: str, key: str | None) -> None:
    assert key_name(written) == key


def test_a_capital_is_a_key_of_its_own() -> None:
    read = read_keymap(registry(), '"chat.retry" = "R"\n"chat.retry_with" = "r"\n')
    assert (read.keys["chat.retry"], read.keys["chat.retry_with"], read.problems) == (("R",), ("r",), ())


def test_keys_fixed_elsewhere_are_free_in_the_transcript() -> None:
    read = read_keymap(registry(), '"chat.retry" = "enter"\n"block.fold" = "space"\n"view.sidebar" = "n"')
    assert (read.keys["chat.retry"], read.keys["view.sidebar"], read.problems) == (("enter",), ("n",), ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"view.sidebr" = "f3"', "there is no command `view.sidebr`"),
        ('"view.sidebar" = 3', "takes a key or a list of keys"),
        ('"view.find" = "ctrl+i"', "terminals send `ctrl+i` as tab"),
        ('"view.find" = "foo+bar"', "there is no key `foo+bar`"),
        ('"chat.edit" = "shift+r"', "`R` is bound to chat.retry_with and chat.edit"),
        ('"view.sidebar" = "ctrl+t"', "`ctrl+t` is bound to model.pick and view.sidebar"),
        ('"composer.send" = "ctrl+s"', "the keys of `composer.send` cannot be changed"),
        ('"program.interrupt" = ""', "the keys of `program.interrupt` cannot be changed"),
        ('"view.sidebar" = "enter"', "`enter` cannot be bound: it belongs to `composer.send`"),
        ('"thinking.next" = "ctrl+j"', "`ctrl+j` cannot be bound: it belongs to `composer.newline`"),
        ('"chat.retry" = "ctrl+c"', "`ctrl+c` cannot be bound: it belongs to `program.interrupt`"),
        ('"chat.retry" = "esc"', "`esc` cannot be bound: it belongs to `composer.escape`"),
        ('"view.sidebar" = "ctrl+z"', "`ctrl+z` cannot be bound: it suspends the program"),
        ('"chat.retry" = "n"', "`n` cannot be bound: it goes to the next match"),
        ('"chat.retry" = "n"', "`n` cannot be bound: it goes to the next match, or sends a retry now"),
        ('"view', "keys.toml"),
    ],
)
def test_what_is_wrong_in_the_key_file_is_told_and_the_rest_holds(text: str, words: str) -> None:
    read = read_keymap(registry(), text)
    assert [words in problem.message for problem in read.problems] == [True]
    assert read.keys["program.quit"] == ("ctrl+q",)
