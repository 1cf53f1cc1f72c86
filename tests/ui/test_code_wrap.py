"""Long lines of code break between tokens, go on under a mark, and are copied as they came."""

from __future__ import annotations

from itertools import accumulate

import pytest
from pygments.lexers import get_lexer_by_name
from textual.geometry import Offset
from textual.selection import Selection

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.commands.registry import Copy
from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import line_width, plain
from tui.ui.transcript.section import MARGIN

SOURCES = {
    "python": (
        "def civilisations(rate: float, *shares: float, lifetime: float, verbose: bool = False) -> list[float]:\n"
        '    return {"a string of some length": [rate * lifetime for share in shares if share > 3.14159]}\n'
        "        result = self.transcript.column.sections[self.cursor].blocks[number].document().lines(width=80)"
    ),
    "javascript": (
        "const found = items.filter((item) => item.name.startsWith(prefix) && !seen.has(item.id)).map(name);\n"
        "  if (first !== second || third === fourth) { return callback(null, {first: 1, third: [3, 4, 5]}); }"
    ),
    "rust": (
        "    let total: Vec<HashMap<String, Option<u64>>> = "
        "input.iter().map(|line| parse(line)).collect::<Result<_, Error>>()?;"
    ),
    "css": (
        ".sidebar > .picker:hover { font-family: monospace; background-color: rgba(10, 20, 30, 0.5); "
        "border-top-left-radius: 4px }"
    ),
}


def rows(source: str, language: str, width: int) -> list[str]:
    """The rows of a block below its head, without the block's indent."""
    document = Document(f"```{language}\n{source}\n```", closed=True)
    lines = document.lines(width)
    assert [plain(line) for line in lines if line_width(line) > width] == []
    return [plain(line)[2:] for line in lines[1:]]


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("width", [30, 44, 60, 79])
def test_a_row_ends_where_a_token_ends(language: str, width: int) -> None:
    source = SOURCES[language]
    tokens = [value for _, value in get_lexer_by_name(language, stripnl=False, ensurenl=False).get_tokens(source)]
    edges = set(accumulate(map(len, tokens)))
    token_at = [value for value in tokens for _ in value]
    at = 0
    wrapped = 0
    for row in rows(source, language, width):
        indent, mark, text = row.partition("↪ ")
        if mark:
            assert not indent.strip()
            wrapped += 1
            token = token_at[at]
            room = width - 4 - len(indent) - len(mark)
            assert at in edges or " " in source[at - 1 : at + 1] or len(token) > room, (token, text)
        elif at:
            assert source[at] == "\n"
            at += 1
        text = text if mark else row
        assert source.startswith(text, at)
        at += len(text)
    assert at == len(source)
    assert wrapped


def test_a_row_goes_on_under_the_indent_of_its_line() -> None:
    shown = rows("        call(first_argument, second_argument, third)", "python", 38)
    assert shown == ["        call(first_argument, ", "        ↪ second_argument, third)"]


def test_a_token_longer_than_the_page_is_broken_but_not_before_it_began() -> None:
    assert rows("name = " + "x" * 50, "python", 34)[0] == "name = "
    assert "".join(row.removeprefix("↪ ") for row in rows("y" * 90, "", 34)) == "y" * 90


def test_a_line_that_streams_is_wrapped_as_it_is_when_it_is_whole() -> None:
    source = SOURCES["python"]
    document = Document("```python\n")
    for character in source:
        document.append(character)
        assert [line for line in document.lines(50) if line_width(line) > 50] == []
    document.close()
    assert [plain(line)[2:] for line in document.lines(50)[1:]] == rows(source, "python", 50)


async def test_what_is_selected_and_copied_has_no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    source, words = SOURCES["python"], "word " * 40 + "end"
    text = f"Look:\n\n> ```\n> {words}\n> ```\n\n```python\n{source}\n```"
    copied: list[str] = []

    def put_on_clipboard(text: str, *_: object) -> str:
        copied.append(text)
        return ""

    monkeypatch.setattr("tui.ui.terminal.clipboard.put_on_clipboard", put_on_clipboard)
    async with on_stage(scenes.turn("q", text), size=(80, 40)) as (app, _, pilot):
        assert screen_text(app).count("↪") > 5
        transcript = app.chat.transcript
        found = [transcript.column.find(number) for number in range(transcript.column.total)]
        lines = [plain(transcript.column.sections[at[0]].line(at[1])[0]) if at is not None else "" for at in found]
        first = next(number for number, line in enumerate(lines) if "word word" in line)
        app.screen.selections = {transcript: Selection(Offset(MARGIN, first), None)}
        await pilot.pause()
        selected = (app.screen.get_selected_text() or "").split("\n")
        assert selected[0] == f"▎   {words}"
        assert [row[2:] for row in selected[3:6]] == source.split("\n")
        app.copying.copy(Copy.CODE)
        assert copied == [source]


def test_lines_that_are_cut_show_every_column_once() -> None:
    source = "short\n" + "".join(f"{number:04d}" for number in range(40)) + "\n漢字 = '👨‍👩‍👧' * 40  # " + "long " * 30
    document = Document(f"```python\n{source}\n```", closed=True)
    for width in (30, 61):
        for column in range(0, 200, 8):
            document.sideways = column
            lines = document.lines(width)
            assert len(lines) == 4
            assert max(map(line_width, lines)) <= width
            shown = plain(lines[2])[2:]
            text = shown.strip("‹›")
            whole = source.split("\n")[1]
            assert (text != "") is (column < len(whole))
            assert whole[column:].startswith(text)
            assert shown.endswith("›") == (column + len(text) < len(whole) and column < len(whole))
            assert shown.startswith("‹") == (column > 0)
    document.sideways = None
    assert len(document.lines(30)) > 10


async def test_w_cuts_long_lines_and_the_arrows_move_them() -> None:
    text = f"Look:\n\n\\[\n\\frac{{a}}{{b}}\n\\]\n\n```python\n{SOURCES['python']}\n```\n\nAfter."
    async with on_stage(scenes.turn("q", text), size=(80, 30)) as (app, _, pilot):
        wrapped = screen_text(app)
        app.chat.transcript.focus()
        app.chat.selections = {app.chat.transcript: Selection(Offset(5, 4), Offset(9, 4))}
        await pilot.press("w")
        await until(pilot, lambda: "↪" not in screen_text(app))
        rows = screen_text(app).splitlines()
        assert sum(row.rstrip().endswith("›") for row in rows) == 3
        await pilot.press("right", "right")
        await until(pilot, lambda: "‹" in screen_text(app))
        assert "‹s(rate: float" in screen_text(app)
        assert [row.strip(" ▌") for row in screen_text(app).splitlines()[8:11]] == ["a", "─", "b"]
        assert app.chat.get_selected_text() is None
        await pilot.press(*["right"] * 9)
        await until(pilot, lambda: "list[float]:" in screen_text(app))
        await pilot.press("w")
        await until(pilot, lambda: "↪" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.chat.composer.has_focus)
        assert [row.strip() for row in screen_text(app).splitlines()[:16]] == [
            row.strip() for row in wrapped.splitlines()[:16]
        ]
