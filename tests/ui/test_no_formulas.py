"""Prices, variables of shells and languages, regular expressions and paths are text, whole and while they stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import plain

SENTENCES = Path(__file__).with_name("no_formulas.txt").read_text("utf-8").splitlines()


def formulas_in(document: Document) -> list[str]:
    return [run.text for line in document.lines(400) for run in line if run.role in ("formula", "math")]


def test_there_are_two_hundred_sentences() -> None:
    assert len(set(SENTENCES)) >= 200


@pytest.mark.parametrize("frame", ["{}", "- {}", "> {}", "Before. {} After."])
def test_a_sentence_without_formulas_has_none(frame: str) -> None:
    found = {sentence: formulas_in(Document(frame.format(sentence), closed=True)) for sentence in SENTENCES}
    assert {sentence: formulas for sentence, formulas in found.items() if formulas} == {}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("remainder", range(4))
def test_while_a_sentence_streams_nothing_of_it_is_drawn_as_a_formula(remainder: int) -> None:
    for sentence in SENTENCES[remainder::4]:
        text = f"{sentence}\n\nEnd."
        document = Document()
        for character in text:
            document.append(character)
            assert not any(run.role == "formula" for line in document.lines(400) for run in line), sentence
        document.close()
        whole = Document(text, closed=True)
        assert [plain(line) for line in document.lines(400)] == [plain(line) for line in whole.lines(400)]
        assert formulas_in(document) == []
