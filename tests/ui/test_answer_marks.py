"""How marks of answers are drawn: code with its head, alerts, keys, definitions, wide tables."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui import scenes
from tests.ui.stage import compare_snapshot, on_stage, screen_text, until
from tui.domain.search_terms import SearchTerms
from tui.ui.app import PonderApp
from tui.ui.markdown.document import Document, code_blocks, lay_markdown
from tui.ui.markdown.runs import Line, Run, line_width, plain
from tui.ui.transcript.section import MARGIN

CODE = 'def add(first: int, second: int) -> int:\n    """The sum."""\n    return first + second'
EVERYTHING = f"""# Setting up

Press <kbd>Ctrl</kbd>+<kbd>C</kbd> to stop it[^step].

> [!WARNING]
> Never run this on the **production** database. It deletes rows, and there is no way to get them back afterwards.
>
> ```sh
> dropdb test
> ```

> [!note]
> Notes are read last.

> A quote of somebody.

```python
{CODE}
```

- [x] write it
- [ ] test it
  ```js
  run();
  ```

Term with `code`
: What it means, in a sentence.
: Another meaning.

| setting | what it does | default | where it applies | since | note |
|---|---|--:|---|---|---|
| `reasoning.effort` | asks for an effort instead of a level | none | the request | 1.0 | a later level wins |
| `ui.sidebar` | shows models, thinking and meter | auto | the screen | 1.0 | saved in state.toml |

<details>
<summary>The *long* proof</summary>

First step[^step].

```python
x = 1
```

<details open><summary>Inside</summary>
Deeper.
</details>

| a | b |
|---|---|
| 1 | 2[^2] |

</details>

The end[^2].

[^2]: Twice
    said, with `code`.

    - and a list
[^step]: Only one.
"""


def rows(text: str, width: int) -> list[str]:
    return [plain(line).rstrip() for line in lay_markdown(text, width)]


def roles(lines: list[Line], role: str) -> list[str]:
    return [run.text.strip() for line in lines for run in line if run.role == role]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_everything_on_the_screen(size: tuple[int, int]) -> None:
    turn = scenes.turn("Show me everything.", EVERYTHING)
    async with on_stage(turn, size=(size[0], 70), values={"ui.sidebar": "off"}) as (app, _, _pilot):
        compare_snapshot(f"answer-marks-{size[0]}", screen_text(app))


@pytest.mark.parametrize("kind", ["NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION", "Tip"])
def test_an_alert_has_its_name_and_colour(kind: str) -> None:
    lines = list(lay_markdown(f"> [!{kind}]\n> Some *words*\n> and more", 40))
    assert [plain(line) for line in lines] == [f"▎ {kind.capitalize()}", "▎ Some words and more"]
    bars = {line[0].role for line in lines}
    assert len(bars) == 1
    assert "rule" not in bars


@pytest.mark.parametrize("text", ["[!NOTE] on one line", "[!OTHER]\n> words", "[!NOTE\n> words", "\\[!NOTE]\n> words"])
def test_other_quotes_are_quotes(text: str) -> None:
    assert {line[0] for line in lay_markdown(f"> {text}", 40)} == {Run("▎ ", "rule")}


def test_an_alert_without_words_is_its_name() -> None:
    assert rows("> [!TIP]", 40) == ["▎ Tip"]


def test_keys_are_drawn_as_such_and_other_html_is_text() -> None:
    lines = list(
        lay_markdown("Press <kbd>Ctrl</kbd>+<KBD>C</KBD>, <b>not</b> <kbd> or <kbd><i></kbd>, `<kbd>x</kbd>`", 90)
    )
    assert roles(lines, "kbd") == ["Ctrl", "C"]
    assert plain(lines[0]) == "Press Ctrl+C, <b>not</b> <kbd> or <kbd><i></kbd>, <kbd>x</kbd>"


def test_definitions_are_indented_below_their_terms() -> None:
    assert rows("One\n: is 1\n\n  more of it\n: or 2\n\nTwo\n: is 2\n\nnot: this\n:nor this", 40) == [
        "One",
        "    is 1",
        "",
        "    more of it",
        "    or 2",
        "",
        "Two",
        "    is 2",
        "",
        "not: this :nor this",
    ]


WIDE = (
    "| "
    + " | ".join(f"column {n}" for n in range(9))
    + " |\n"
    + "|---" * 9
    + "|\n"
    + "\n".join("| " + " | ".join(f"{'v' * (n + row)} {row}" for n in range(9)) + " |" for row in range(1, 4))
)


@pytest.mark.parametrize("width", [30, 60, 77])
def test_a_table_too_wide_to_wrap_is_cut_and_its_columns_stay_aligned(width: int) -> None:
    whole = rows(WIDE, 200)
    document = Document(WIDE, closed=True)
    for first in (None, 0, 7, 40, 90):
        document.sideways = first
        lines = list(document.lines(width))
        assert max(map(line_width, lines)) <= width
        at = first or 0
        for line, row in zip(lines, whole, strict=True):
            shown = plain(line)
            text = shown.removeprefix("‹").removesuffix("›")
            assert row.ljust(200)[at : at + len(text)] == text
            assert shown.startswith("‹") == (at > 0)


def test_a_table_that_can_be_read_is_wrapped() -> None:
    text = "| a | b |\n|---|---|\n| " + "word " * 20 + " | " + "other " * 20 + " |"
    assert not any("›" in row for row in rows(text, 60))
    document = Document(text, closed=True)
    document.sideways = 0
    assert len(document.lines(60)) == 3


@given(st.lists(st.integers(0, len(EVERYTHING)), max_size=30), st.sampled_from([40, 77, 100]))
def test_a_text_in_pieces_is_the_text_in_one(cuts: list[int], width: int) -> None:
    document = Document()
    for start, end in pairwise(sorted({0, len(EVERYTHING), *cuts})):
        document.append(EVERYTHING[start:end])
        document.height(width)
    document.close()
    assert list(document.lines(width)) == list(lay_markdown(EVERYTHING, width))


def test_a_text_cut_at_every_character_is_the_text_in_one() -> None:
    document = Document()
    for character in EVERYTHING:
        document.append(character)
        document.height(77)
    document.close()
    assert list(document.lines(77)) == list(lay_markdown(EVERYTHING, 77))


def test_every_row_of_code_knows_its_block() -> None:
    document = Document(EVERYTHING, closed=True)
    found: list[str] = []
    for number in range(document.height(77)):
        code = document.code_at(number)
        if code is not None and found[-1:] != [code]:
            found.append(code)
    assert found == ["dropdb test", CODE, "run();"]
    assert code_blocks(document.chunks) == [*found, "x = 1"]
    document.folds.toggle_all()
    document.height(77)
    assert "x = 1" in {document.code_at(number) for number in range(document.height(77))}


def test_a_long_block_is_copied_whole_from_each_of_its_parts() -> None:
    code = "\n".join(f"line {number}" for number in range(200)) + "\n" + "x" * 9_000
    for closed in (True, False):
        document = Document(f"Before.\n\n```\n{code}" + ("\n```\n\nAfter." if closed else ""), closed=closed)
        height = document.height(77)
        document.lay_out(0, height)
        copies = {document.code_at(number) for number in range(document.height(77))}
        assert copies == {None, code}


# Footnotes and parts that fold


def test_footnotes_are_numbered_by_their_first_references_and_gathered_below() -> None:
    text = "One[^b], two[^a], again[^b].\n\n[^a]: Is *a*.\n[^b]: Is b.\n[^c]: Of no use.\n\nAfter[^nothing]."
    assert rows(text, 40) == [
        "One¹, two², again¹.",
        "",
        "After[^nothing].",
        "",
        "────────────",
        "¹ Is b.",
        "² Is a.",
        "³ Of no use.",
    ]


def test_what_is_no_footnote_stays_as_written() -> None:
    text = "A class [^a-z], `[^1]` and [^1].\n\n```\n[^1]: no\n```\n\nSee [^1]: there."
    assert not any("¹" in row for row in rows(text, 60))
    assert "class [^a-z], [^1] and [^1]." in rows(text, 60)[0]


def test_a_definition_that_comes_later_changes_the_reference_above() -> None:
    document = Document("Far above[^1].\n\n" + "Words.\n\n" * 2_000)
    document.height(60)
    assert document.lay_out(0, 5) == 0
    assert plain(document.line(0)) == "Far above[^1]."
    document.append("[^1]: Here")
    document.height(60)
    document.lay_out(0, 5)
    assert plain(document.line(0)) == "Far above¹."
    height = document.height(60)
    document.lay_out_end(3)
    assert plain(document.line(document.height(60) - 1)) == "¹ Here"
    assert height >= 4_000


def test_details_are_folded_until_they_are_opened() -> None:
    text = "Before.\n\n<details>\n<summary>Why</summary>\n\nBecause.\n\nReally.\n\n</details>\n\nAfter."
    document = Document(text, closed=True)
    folded = ["Before.", "", "▸ Why", "", "After."]
    opened = ["Before.", "", "▾ Why", "  Because.", "", "  Really.", "", "After."]
    assert [plain(line) for line in document.lines(40)] == folded
    assert not document.fold_at(0)
    assert document.fold_at(2)
    assert [plain(line) for line in document.lines(40)] == opened
    assert document.fold_at(2)
    assert [plain(line) for line in document.lines(40)] == folded


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<details><summary>A</summary>b</details> c", ["▸ A", "", "c"]),
        ("<details open>\n<summary>A\nB</summary>\nb\n</details>", ["▾ A B", "  b"]),
        ("<details>\n\nonly words\n\n</details>", ["▸ Details"]),
        ("<details open>\nonly words", ["▾ Details", "  only words"]),
        ("<DETAILS OPEN>\n<Summary>A</Summary>\n- b\n</DETAILS>\n- c", ["▾ A", "  • b", "", "• c"]),
        ("a </details> b", ["a </details> b"]),
        ("`<details>` is a tag", ["<details> is a tag"]),
        ("```html\n<details>\n```", ["  html" + " " * 29 + "copy", "  <details>"]),
        (
            "<details open>\n```\n</details>\n```\n</details>\nb",
            ["▾ Details", "  " + " " * 33 + "copy", "    </details>", "", "b"],
        ),
    ],
)
def test_details_however_they_are_written(text: str, shown: list[str]) -> None:
    assert rows(text, 40) == shown


def test_find_opens_what_is_folded_and_finds_footnotes() -> None:
    document = Document(EVERYTHING, closed=True)
    document.height(77)
    for words in ("Deeper", "x = 1", "and a list"):
        found = document.find(SearchTerms(words), 0)
        document.height(77)
        found = document.find(SearchTerms(words), 0)
        assert found.column is not None
        assert plain(document.line(found.line))[found.column :].startswith(words)


# On the screen


def position_of(app: PonderApp, word: str, number: int = 0) -> tuple[int, int]:
    found = [(row.index(word), y) for y, row in enumerate(screen_text(app).splitlines()) if word in row]
    return found[number]


@pytest.fixture
def clipboard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    copied: list[str] = []

    def put_on_clipboard(text: str, *_: object) -> str:
        copied.append(text)
        return ""

    monkeypatch.setattr("tui.ui.terminal.clipboard.put_on_clipboard", put_on_clipboard)
    return copied


async def test_a_click_on_copy_copies_that_block(clipboard: list[str]) -> None:
    async with on_stage(scenes.turn("q", EVERYTHING), size=(120, 70)) as (app, _, pilot):
        for number in range(3):
            x, y = position_of(app, " copy ", number)
            await pilot.click(offset=(x + 2, y))
            await until(pilot, lambda: len(clipboard) == number + 1)  # noqa: B023 - awaited at once
        await until(pilot, lambda: "Copied code (6 characters)" in screen_text(app))
    assert clipboard == ["dropdb test", CODE, "run();"]


async def test_c_copies_the_blocks_on_the_screen_one_after_the_other(clipboard: list[str]) -> None:
    async with on_stage(scenes.turn("q", EVERYTHING), size=(120, 70)) as (app, _, pilot):
        app.chat.transcript.focus()
        await pilot.press("c", "c", "c", "c")
        await until(pilot, lambda: len(clipboard) == 4)
    assert clipboard == ["dropdb test", CODE, "run();", "dropdb test"]


async def test_c_without_code_says_so(clipboard: list[str]) -> None:
    async with on_stage(scenes.turn("q", "No code."), size=(120, 40)) as (app, _, pilot):
        app.chat.transcript.focus()
        await pilot.press("c")
        await until(pilot, lambda: "Nothing to copy" in screen_text(app))
    assert clipboard == []


@pytest.mark.long
async def test_the_right_arrow_shows_the_rest_of_a_wide_table() -> None:
    async with on_stage(scenes.turn("q", WIDE), size=(80, 30)) as (app, _, pilot):
        assert "column 8" not in screen_text(app)
        app.chat.transcript.focus()
        await pilot.press(*["right"] * 6)
        await until(pilot, lambda: "column 8" in screen_text(app))
        heads = position_of(app, "column 8")
        assert position_of(app, "v" * 9 + " 1")[0] == heads[0]
        await pilot.press("w")
        await until(pilot, lambda: "column 0" in screen_text(app))


async def test_code_has_its_own_background_over_the_whole_width() -> None:
    async with on_stage(scenes.turn("q", f"Look:\n\n```python\n{CODE}\n\nx\n```"), size=(80, 30)) as (app, _, _pilot):
        _, y = position_of(app, "return first")
        transcript = app.chat.transcript
        top = y - transcript.region.y
        grounds = []
        for row in (top - 3, top, top + 1, top + 2, top + 3):
            strip = transcript.render_line(row)
            grounds.append([segment.style.bgcolor for segment in strip.crop(MARGIN, 70) if segment.style is not None])
        code = {ground for row in grounds[:4] for ground in row}
        assert len(code) == 1
        assert code.isdisjoint(grounds[4])


async def test_a_click_or_space_opens_details_which_stay_open() -> None:
    text = "<details>\n<summary>Why</summary>\n\nBecause.\n\n</details>\n\nAfter."
    async with on_stage(scenes.turn("q", text), size=(80, 30)) as (app, _, pilot):
        assert "Because" not in screen_text(app)
        x, y = position_of(app, "▸ Why")
        await pilot.click(offset=(x, y))
        await until(pilot, lambda: "Because" in screen_text(app))
        for section in app.chat.transcript.column.sections:
            section.drop_layout()
        app.chat.transcript.settle()
        assert "Because" in screen_text(app)
        app.chat.transcript.focus()
        await pilot.press("space")
        await until(pilot, lambda: "Because" not in screen_text(app))
