"""``ponder auth``: what stands in a key's place is never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.cli.main import main

KEY = "sk-canary-0123456789abcdef"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("anthropic", KEY), "`ponder auth set anthropic` asks for it."),
        (("anthropic", "--key", KEY), "`ponder auth set anthropic` asks for it."),
        ((KEY,), "There is no provider of that name."),
        (("antropic",), "Did you mean anthropic?"),
        (("antropic", KEY), "Did you mean anthropic?"),
    ],
    ids=["behind the name", "as an option", "for a name", "a wrong name", "behind a wrong name"],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["auth", "set", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert KEY not in printed.out + printed.err
    assert not list(tmp_path.rglob("credentials*"))
