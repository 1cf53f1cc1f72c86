"""A broken file never stops the program, is never written, and says line, column and the nearest key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.settings.config_file import ConfigFile, read_config


def _read(tmp_path: Path, text: str) -> ConfigFile:
    path = tmp_path / "config.toml"
    path.write_text(text)
    read = read_config(path)
    assert path.read_text() == text
    return read


def test_a_missing_file_is_an_empty_one(tmp_path: Path) -> None:
    assert read_config(tmp_path / "config.toml") == ConfigFile()


def test_settings_and_tables_are_told_apart(tmp_path: Path) -> None:
    read = _read(
        tmp_path,
        'model = "openai/gpt-6-sol/high"\n[reasoning]\nstripFromContext = "all"\n[providers.mine]\nbase_url = "http://localhost:9"\n',
    )
    assert read.problems == ()
    assert read.values == {"model": "openai/gpt-6-sol/high", "reasoning.stripFromContext": "all"}
    assert read.tables == {"providers": {"mine": {"base_url": "http://localhost:9"}}}


@pytest.mark.parametrize(
    ("text", "line", "column", "words", "nearest"),
    [
        ("[reasoning\n", 1, 11, "Expected ']'", ()),
        ("a = \n", 1, 5, "Invalid value", ()),
        ('[reasoning]\nstripfromContex = "all"\n', 2, 1, "no setting", ("reasoning.stripFromContext",)),
        ("[reasonin]\nenabled = true\n", 2, 1, "no setting", ("reasoning.enabled", "tools.enabled")),
        ("[context]\n\n  compressAt = 3\n", 3, 3, "out of range", ()),
        ('[reasoning]\nenabled = "maybe"\n', 2, 1, "one of true, false", ()),
        ("reasoning = 5\n", 1, 1, "no setting", ("reasoning.format",)),
        ("[[reasoning]]\nenabled = true\n", 1, 3, "no setting", ()),
        ('[provider.mine]\nwire = "x"\n', 1, 2, "no table `[provider.mine]`", ("providers.mine",)),
        ('[model."a/b"]\nthinks = true\n', 1, 2, "no table", ('models."a/b"',)),
        ("[Permission]\nallow = []\n", 1, 2, "no table `[Permission]`", ("permissions",)),
    ],
)
def test_a_mistake_is_told_with_its_place(
    tmp_path: Path, text: str, line: int | None, column: int | None, words: str, nearest: tuple[str, ...]
) -> None:
    (problem,) = _read(tmp_path, text).problems
    assert (problem.line, problem.column) == (line, column)
    assert words in problem.message
    assert problem.nearest[: len(nearest)] == nearest


def test_what_is_right_beside_a_mistake_is_used(tmp_path: Path) -> None:
    read = _read(tmp_path, '[reasoning]\nnonsense = 1\nstripFromContext = "all"\n')
    assert read.values == {"reasoning.stripFromContext": "all"}
    assert len(read.problems) == 1


def test_a_folder_in_its_place_and_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "config.toml"
    folder.mkdir()
    assert "cannot be read" in read_config(folder).problems[0].message
    binary = tmp_path / "other.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in read_config(binary).problems[0].message


@given(st.binary(max_size=200))
def test_no_bytes_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(data)
    assert isinstance(read_config(path), ConfigFile)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("", True),
        ('[permissions]\ndeny = ["shell(rm)"]', True),
        ("[permissions", False),
        ('permissions = ["shell(rm)"]', False),
        ('[permission]\ndeny = ["shell(rm)"]', False),
        ('[provider]\nmine = "x"', True),
    ],
)
def test_it_says_whether_rules_may_be_in_what_cannot_be_read(tmp_path: Path, text: str, known: bool) -> None:
    read = _read(tmp_path, text)
    assert read.rules_are_known == known
    if text.startswith("permissions ="):
        [problem] = read.problems
        assert problem.message == "`config.toml`, line 1, column 1: `permissions` must be a table, `[permissions]`."
        assert problem.nearest == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ('model = "demo/fast"', None),
        ('model = "demo/fast"\n[reasonin]\nx = 1', None),
        ("[context]\nnonsense = 1", None),
        ('[model."demo/fast"]\nthinks = true', None),
        ('[context]\ncompressAt = 0.5\nmodel = "demo/fast', 3),
        ("\nmodel = 5", 2),
        ("\n\nmodle = 'demo/fast'", 3),
        ('\n[model]\nname = "demo/fast"', 2),
    ],
)
def test_it_says_whether_the_name_of_a_model_may_be_in_what_cannot_be_read(
    tmp_path: Path, text: str, line: int | None
) -> None:
    hidden = _read(tmp_path, text).hides_model
    assert (hidden and hidden.line) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("[budget]\nday = 5", None),
        ("[context]\nnonsense = 1\n[budget]\nday = 5", None),
        ("[context]\ncompressAt = 'x", None),
        ("[budget]\nday = 5\n[context", 3),
        ("[budget]\nday = '5 USD'", 2),
        ("[budget]\nsession = nan\nday = 5", 2),
        ("[budget]\ndaily = 5", 2),
        ("[budgets]\nday = 5", 2),
        ("budget = 5", 1),
    ],
)
def test_it_says_whether_a_spending_limit_may_be_in_what_cannot_be_read(
    tmp_path: Path, text: str, line: int | None
) -> None:
    hidden = _read(tmp_path, text).hides_limit
    assert (hidden and hidden.line) == line
