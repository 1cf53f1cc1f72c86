"""Thirty broken config files: each is told with its place, changes nothing else, and stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.settings.config_file import read_config
from tui.settings.user_files import parse_user_toml

GOOD = "\n[context]\nkeepTurns = 5\n"
"""Beside a mistake that is not one of syntax this still holds."""

# text, line, column, a word of the sentence, the first of the nearest
SYNTAX = [
    ("[reasoning\n", 1, 11, "]"),
    ("[reasoning]]\n", 1, 12, "newline"),
    ("enabled\n", 1, 8, "="),
    ("a = \n", 1, 5, "value"),
    ("a = tru\n", 1, 5, "value"),
    ('a = "open\n', 1, 10, "character"),
    ("a = 'open\n", 1, 10, "Expected"),
    ("a = [1, 2\n", 1, 10, ""),
    ("a = {b = 1\n", 1, 11, ""),
    ("a = 1\na = 2\n", 2, 6, "overwrite"),
    ("[context]\nlimit = 1\n[context]\nreserve = 1\n", 3, 9, "twice"),
    ('a = "\\q"\n', 1, 8, "escape"),
    ("= 1\n", 1, 1, ""),
    ("a = 01\n", 1, 6, ""),
    ("a = 1979-99-99\n", 1, 9, ""),
    ("\x01\n", 1, 1, ""),
]
MEANING = [
    ('[reasoning]\nstripfromContex = "all"\n', 2, 1, "no setting", "reasoning.stripFromContext"),
    ('[reasoning]\nenabled = true\n\n[tools]\nenabled = "perhaps"\n', 5, 1, "one of true, false", ""),
    ("[context]\n  compressAt = 3\n", 2, 3, "out of range", ""),
    ('[context]\nlimit = "many"\n', 2, 1, "a whole number", ""),
    ("[context]\nkeepTurns = -1\n", 2, 1, "out of range", ""),
    ("[context]\nkeepTurns = 2.5\n", 2, 1, "a whole number", ""),
    ('reasoning.effort = "hi"\n', 1, 1, "one of none, minimal", "high"),
    ('[reasoning]\n"effort" = "hi"\n', 2, 1, "one of none, minimal", "high"),
    ('reasoning = { enabled = true, effort = "hi" }\n', 1, 31, "one of none, minimal", "high"),
    ("reasoning = 5\n", 1, 1, "no setting", ""),
    ("[[reasoning]]\nenabled = true\n", 1, 3, "no setting", ""),
    ("[reasonning]\nenabled = true\n", 2, 1, "no setting", "reasoning.enabled"),
    ("favourites = 3\n", 1, 1, "a list", ""),
    ("model = 3\n", 1, 1, "text", ""),
    ('[ui]\ntheme = ["dusk"]\n', 2, 1, "text", ""),
    ('providers = "mine"\n', 1, 1, "no setting", "providers"),
    ('[network]\nidleTimeout = "5 minutes"\n', 2, 1, "a number", ""),
    ("[generation]\ntemperature = 7\n", 2, 1, "out of range", ""),
    ('[models."demo/demo"]\nrecommended = { "generation.temperature" = "hot" }\n', 2, 29, "takes a number", ""),
    ('[models."demo/demo"]\nrecommended = { tools = { enabled = "x" } }\n', 2, 27, "one of true, false", ""),
    ('[models."demo/demo"]\nrecommended = { nonsense = 1 }\n', 2, 17, "no setting", ""),
    ('[models."demo/demo"]\nrecommended = { "network.allowHttp" = true }\n', 2, 26, "cannot recommend", ""),
]


def problems_of(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    read = read_config(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    return read


def test_there_are_thirty() -> None:
    assert len(SYNTAX) + len(MEANING) >= 30


@pytest.mark.parametrize(("text", "line", "column", "word"), SYNTAX)
def test_a_file_that_is_no_toml_is_told_with_line_and_column(tmp_path, text, line, column, word) -> None:
    read = problems_of(tmp_path, text)
    [problem] = read.problems
    assert (problem.line, problem.column) == (line, column)
    assert f"line {line}, column {column}" in problem.message
    assert word in problem.message
    assert (read.values, read.tables) == ({}, {})


@pytest.mark.parametrize(("text", "line", "column", "word", "nearest"), MEANING)
def test_a_wrong_key_or_value_is_told_with_its_place_and_the_rest_holds(
    tmp_path, text, line, column, word, nearest
) -> None:
    good = "" if "[context]" in text else GOOD
    read = problems_of(tmp_path, text + good)
    [problem] = read.problems
    assert (problem.line, problem.column) == (line, column)
    assert word in problem.message
    assert not nearest or problem.nearest[0] == nearest
    assert not good or read.values["context.keepTurns"] == 5


@pytest.mark.parametrize(
    "text",
    ["a" + ".a" * 5_000 + " = 1", "[a" + " . 'b c'" * 5_000 + "]", '"a"' + '."\\"."' * 5_000 + " = 1"],
)
def test_a_key_of_thousands_of_names_is_refused_before_it_takes_memory(text: str) -> None:
    with pytest.raises(ValueError, match="it is nested too deeply"):
        parse_user_toml(text)


def test_words_with_many_full_stops_are_no_deep_key() -> None:
    text = "Use a.b.c, then d.e.f; or 1.2.3 ... and so on. " * 100
    assert parse_user_toml(f'[a.b.c.d]\nprompt = "{text}"\n') == {"a": {"b": {"c": {"d": {"prompt": text}}}}}
