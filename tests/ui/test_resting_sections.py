"""A section far from the window keeps its text and drops its layout."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType

import pytest

from tui.ui.markdown.runs import Line, Run
from tui.ui.transcript.blocks import Answer, Caption, Prompt, Renderable
from tui.ui.transcript.section import Section, Speaker

TEXT = "\n\n".join(f"Paragraph {number} with **bold** and `code` in it. " * 5 for number in range(40))
RUNS = [Run("a heading ", "muted"), Run("of two runs " * 20, "text")]


def runs_kept(block: Renderable) -> int:
    seen: dict[int, object] = {}
    left: list[object] = [block]
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, type | ModuleType | FunctionType):
            seen[id(one)] = one
            left += gc.get_referents(one)
    return sum(isinstance(one, Run) for one in seen.values())


def drawn(section: Section, width: int) -> list[Line]:
    section.height(width)
    section.lay_out(0, section.height(width))
    return [section.line(number)[0] for number in range(section.height(width))]


def prompt() -> Renderable:
    return Prompt(TEXT)


def caption() -> Renderable:
    return Caption(*RUNS)


def answer() -> Renderable:
    made = Answer()
    made.append(TEXT)
    made.close()
    return made


@pytest.mark.parametrize(("make", "at_rest"), [(prompt, 0), (caption, len(RUNS)), (answer, 0)])
def test_a_resting_section_keeps_no_lines_and_draws_the_same_again(make, at_rest: int) -> None:
    section = Section("key", Speaker.USER)
    block = make()
    section.add(block)
    before = drawn(section, 60)
    assert runs_kept(block) > at_rest
    section.drop_layout()
    assert runs_kept(block) == at_rest
    assert drawn(section, 60) == before
    section.drop_layout()
    assert drawn(section, 40) != before
    assert drawn(section, 60) == before
