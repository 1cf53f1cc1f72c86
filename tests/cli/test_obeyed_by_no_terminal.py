"""What a command says of the words and files it was given, none of which a terminal may obey."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tui.cli.main import main

HOSTILE = "no\x1b]0;title\x07\x1b]52;c;eA==\x07\u202e\x9b31m"
OBEYED = ("\x1b", "\x07", "\u202e", "\x9b")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / HOSTILE
    folder.mkdir()
    monkeypatch.setenv("PONDER_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    return folder


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "words",
    [
        ["-p", "x", "-m", "demo/fast", "--attach", HOSTILE],
        ["-p", "x", "-m", "demo/fast", "--session", HOSTILE],
        ["-p", "x", "-m", HOSTILE],
        ["-p", "x", "-m", "demo/fast", "--profile", HOSTILE],
        ["-p", "x", "-m", "demo/fast", "--set", HOSTILE],
        ["-p", "x", "-m", "demo/fast", "--allow", HOSTILE],
        [f"--{HOSTILE}"],
        [HOSTILE],
        ["sessions", HOSTILE],
        ["sessions", "show", HOSTILE],
        ["sessions", "import", HOSTILE],
        ["auth", "set", HOSTILE],
        ["auth", "remove", HOSTILE],
        ["models", "--refresh", HOSTILE],
        ["-p", "x", "-m", "demo/fast", "--allow", f"shell({HOSTILE};)"],
        ["plan", HOSTILE],
        ["plan", f"mine/{HOSTILE}"],
        ["price", f"mine/{HOSTILE}"],
        ["context", "-m", f"mine/{HOSTILE}"],
        ["context", "--file", HOSTILE],
        ["wire", "decode", HOSTILE],
        ["wire", "encode", HOSTILE],
        ["doctor"],
        ["themes"],
    ],
    ids=lambda words: " ".join(words).replace(HOSTILE, "HOSTILE"),
)
def test_no_words_of_the_command_line_reach_a_terminal_as_they_are(
    home: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config" / "themes").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(
        '[providers.mine]\nwire = "openai-chat"\nauth = "none"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    theme = Path(__file__).parents[2] / "themes"
    for number, source in enumerate(sorted(theme.glob("*.toml"))[:1]):
        text = source.read_text().replace("\n", f'\ndescription = "{number} \\u001b]0;title\\u0007"\n', 1)
        (home / "config" / "themes" / f"t{HOSTILE.replace('/', '')}.toml").write_text(text)
    try:
        main(words)
    except SystemExit as error:
        assert error.code  # noqa: PT017 - what counts is what was said
    told = capsys.readouterr()
    said = told.out + told.err
    assert said
    assert [mark for mark in OBEYED if mark in said] == []
