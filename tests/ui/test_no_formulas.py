"""Prices, variables of shells and languages, regular expressions and paths are text, whole and while they stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import plain

SENTENCES = Path(__file__).with_name("no_formulas.txt").read_text("utf-8").splitlines()


def test_there_are_two_hundred_sentences() -> None:
    assert len(set(SENTENCES)) >= 200


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("frame", ["{}", "- {}", "> {}", "Before. {} After."])
def test_a_sentence_without_formulas_has_none(sentence: str, frame: str) -> None:
    lines = Document(frame.format(sentence), closed=True).lines(400)
    assert [run.text for line in lines for run in line if run.role in ("formula", "math")] == []


@pytest.mark.parametrize("sentence", SENTENCES)
def test_once_it_is_whole_a_sentence_that_streamed_has_no_formulas(sentence: str) -> None:
    document = Document()
    for character in f"{sentence}\n\nEnd.":
        document.append(character)
        assert not any(run.role == "formula" for line in document.lines(400) for run in line)
    document.close()
    whole = [plain(line) for line in Document(f"{sentence}\n\nEnd.", closed=True).lines(400)]
    assert [plain(line) for line in document.lines(400)] == whole
    assert not any(run.role == "math" for line in document.lines(400) for run in line)
