"""Exports are named after the title of their session, and never replace a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.app.export_file import export_name, new_export_file


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix the sums (2)", "fix-the-sums-2"),
        ("../../etc/passwd: what is it?", "etc-passwd-what-is-it"),
        ("Wie groß ist Ölmühle…", "wie-groß-ist-ölmühle"),
        ("Use sk-ant-api03-" + "x" * 80, "use-sk-ant-api03"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word-word-word"),
        ("…", "ponder-12345678"),
        ("", "ponder-12345678"),
    ],
)
def test_the_name_is_made_of_the_words_of_the_title(title: str, name: str) -> None:
    assert export_name(title, "0012345678") == name


def test_a_file_that_exists_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = []
    for _ in range(3):
        path = new_export_file("Readme", "s", "md")
        path.write_text("mine")
        made.append(path.name)
    assert made == ["readme.md", "readme-2.md", "readme-3.md"]
