"""Drawn formulas in the whole program: in answers and thinking, copied as their source, found by their source."""

from __future__ import annotations

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.commands.registry import Copy
from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.document import Document
from tui.ui.markdown.occurrences import count_in_markdown, occurrences
from tui.ui.transcript.section import MARGIN

DISPLAY = "\\[\nx = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}\n\\]"
ANSWER = (
    f"The roots of \\(ax^2 + bx + c\\) are\n\n{DISPLAY}\n\n"
    "- where $\\Delta = b^2 - 4ac$ counts, and $\\weird{x}$ not\n\n"
    "| case | roots |\n|---|---|\n| $\\Delta > 0$ | $x_1 \\ne x_2$ |\n\nIt costs $5 and $6."
)
DRAWN = ["    −b ± √b² − 4ac", "x = ──────────────", "          2a"]


def find(drawn: str) -> int:
    """The line of the screen's text on which something stands."""
    return next(number for number, line in enumerate(drawn.split("\n")) if DRAWN[1] in line)


async def test_formulas_are_drawn_in_answers_and_in_thinking() -> None:
    turn = scenes.turn("q", ANSWER, thought="First $\\alpha \\le 1$, so\n\n$$\\frac{1}{2}$$\n\nholds.")
    async with on_stage(turn, size=(90, 50), values={"ui.thinking": "full"}) as (app, _, _pilot):
        shown = screen_text(app)
        at = find(shown)
        rows = shown.split("\n")[at - 1 : at + 2]
        assert [row.strip() for row in rows] == [row.strip() for row in DRAWN]
        assert "The roots of ax² + bx + c are" in shown
        assert "• where Δ = b² − 4ac counts, and $\\weird{x}$ not" in shown
        assert "Δ > 0  x₁ ≠ x₂" in shown
        assert "It costs $5 and $6." in shown
        thinking = [row.strip("┊ ") for row in shown.split("\n") if row.strip().startswith("┊")]
        assert thinking == ["First α ≤ 1, so", "", "1", "─", "2", "", "holds."]


@pytest.mark.parametrize("first", ["whole", "within"])
async def test_a_selection_copies_the_source(first: str) -> None:
    async with on_stage(scenes.turn("q", ANSWER), size=(90, 40)) as (app, _, pilot):
        transcript = app.chat.transcript
        column = transcript.column
        lines = [
            column.sections[at[0]].line(at[1])[0] if (at := column.find(row)) else [] for row in range(column.total)
        ]
        bar = next(row for row, line in enumerate(lines) if any(DRAWN[1] in run.text for run in line))
        if first == "whole":
            start = next(row for row, line in enumerate(lines) if any("The roots" in run.text for run in line))
            app.screen.selections = {transcript: Selection(Offset(MARGIN, start), None)}
        else:
            app.screen.selections = {transcript: Selection(Offset(MARGIN + 6, bar), Offset(MARGIN + 9, bar))}
        await pilot.pause()
        selected = app.screen.get_selected_text() or ""
        if first == "within":
            assert selected == DISPLAY
        else:
            assert selected.startswith(f"The roots of \\(ax^2 + bx + c\\) are\n\n{DISPLAY}\n\n• where $\\Delta = b^2")
            assert "$\\Delta > 0$  $x_1 \\ne x_2$" in selected


async def test_behind_a_bar_a_formula_is_copied_once() -> None:
    quote = "> Before.\n>\n> $$\\frac{a}{b}$$\n>\n> after $x$ and $x$."
    turn = scenes.turn("q", quote, thought="First\n\n$$\\frac{1}{2}$$\n\nholds.")
    async with on_stage(turn, size=(90, 50), values={"ui.thinking": "full"}) as (app, _, pilot):
        app.screen.selections = {app.chat.transcript: Selection(None, None)}
        await pilot.pause()
        rows = (app.screen.get_selected_text() or "").split("\n")
        first, second = (next(at for at, row in enumerate(rows) if word in row) for word in ("First", "Before"))
        assert [row.strip() for row in rows[first : first + 5]] == [
            "┊ First",
            "┊",
            "┊     $$\\frac{1}{2}$$",
            "┊",
            "┊ holds.",
        ]
        quoted = ["▎ Before.", "▎", "▎     $$\\frac{a}{b}$$", "▎", "▎ after $x$ and $x$."]
        assert [row.strip() for row in rows[second : second + 5]] == quoted


async def test_copying_an_answer_gives_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []

    def put_on_clipboard(text: str, *_: object) -> str:
        copied.append(text)
        return ""

    monkeypatch.setattr("tui.ui.terminal.clipboard.put_on_clipboard", put_on_clipboard)
    async with on_stage(scenes.turn("q", ANSWER), size=(90, 40)) as (app, _, _pilot):
        app.copying.copy(Copy.ANSWER)
        assert copied == [ANSWER]


@pytest.mark.parametrize(("word", "count"), [("frac", 1), ("delta", 2), ("x", 6), ("roots", 2), ("b^2", 2)])
def test_find_counts_and_locates_in_the_source(word: str, count: int) -> None:
    terms = SearchTerms(word)
    assert count_in_markdown(terms, ANSWER) == count
    lines = Document(ANSWER, closed=True).lines(80)
    found = occurrences(terms, lines)
    assert len(found) == count
    assert all(each.column is not None for each in found)
    assert found == sorted(found, key=lambda each: (each.line, each.column))


@pytest.mark.frames
async def test_find_steps_to_a_command_of_a_formula() -> None:
    long = "\n\n".join(f"Paragraph {number}." for number in range(80))
    async with on_stage(scenes.turn("q", f"{long}\n\n{ANSWER}\n\n{long}"), size=(90, 30)) as (app, _, pilot):
        assert DRAWN[1] not in screen_text(app)
        await app.ui_services.run_line("/find frac")
        await until(pilot, lambda: DRAWN[1] in screen_text(app))
        assert "1 of 1" in screen_text(app)
