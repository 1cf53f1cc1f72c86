r"""Formulas are drawn, or shown as written while they are open or unknown; prices and paths are no formulas."""

from __future__ import annotations

import re
import time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.typeset.math.typesetting import set_display, set_line
from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import Look, plain, width_of
from tui.ui.markdown.set_formulas import BOLD
from tui.ui.markdown.tokens import Formula, Paragraph, parse

INLINE = (
    r"\( e^{i\pi} + 1 = 0 \)",
    r"\(\{x_1, x_2\}\)",
    r"\(a*b*c\)",
    r"\(\int_0^1 f(x)\,dx\)",
    r"\(x\_y\)",
    r"\(a \\ b\)",
    r"$\{a_1, \dots, a_n\}$",
    r"$a*b*c$",
    r"$\mathbf{w}^\top \! x$",
    r"$n$",
    r"$2n+1$",
    r"$5$",
    r"$P(A|B) = \|x\|$",
    r"$\text{if } x \text{ and } y$",
    r"$ \frac{a}{b} $",
    r"$$\sum_{i=1}^{n} i = \frac{n(n+1)}{2}$$",
    r"\[ \left\{ x \in S \right\} \]",
    r"\[E = mc^2\]",
)
DISPLAYS = (
    "\\[\n\\begin{aligned}\na &= b \\\\\n+ c &= d\\,e \\\\\n- _x_ &= *y*\n\\end{aligned}\n\\]",
    "$$\n\\frac{1}{2}\n=\n\\{a\\}\n$$",
    "$$\n\na_1 * b * c_2\n\n$$",
    "\\begin{align*}\na_1 &= b_1 \\\\\n# &> *c*\n\\end{align*}",
    "\\[ a \\\\ b \\],",
    "$$x_{1}\\\\\n1. y_{2}$$",
)
TEXTS = (
    "$5 and $6",
    "It costs $5 and *not* $6.",
    "between $10 and 20$ a piece",
    "US$5, CA$6 and A$7",
    "$1,000-$2,000 is *much*",
    "Pay $20/month, or 200$ a year",
    "echo $HOME and $PATH",
    "$HOME/$USER, ${HOME}/bin:${PATH}",
    'the variables "$A" and "$B"',
    "echo $? $! $$",
    "$_GET['a'] . $_POST['b']",
    r".+$|.?$ and [a-z]+$ or x+$",
    r"the patterns ^a+$ and ^b*$, or ^\d+$|^\w+$",
    "$FOO_BAR$ and $OTHER_NAME$",
)


UNKNOWN = (r"$x_1 \cdot _2x_$", r"$\unknowncommand{x} + 1$", r"\(\weird_{a} \\ *b*\)", r"$\frac{a}_1$")
"""Formulas that cannot be set."""


def shown(text: str, width: int = 200) -> str:
    return "\n".join(plain(line) for line in Document(text, closed=True).lines(width))


def drawn(formula: str) -> str:
    """What stands in a line for a formula."""
    return BOLD.sub(lambda bold: normalize("NFKC", bold[0]), set_line(formula) or formula)


def rows(display: str) -> list[str]:
    """What stands for a display."""
    drawing = set_display(display, width_of, 190)
    return [row.strip() for row in drawing.text.split("\n")] if drawing is not None else display.split("\n")


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def formulas(text: str) -> list[str]:
    """Every formula of a text."""
    found: list[str] = []
    for node in parse(text):
        if isinstance(node, Formula):
            found.append(node.source)
        elif isinstance(node, Paragraph):
            sources = [run.written or run.text for run in node.runs if run.role in ("math", "formula")]
            found.extend(dict.fromkeys(sources))
    return found


@pytest.mark.parametrize("formula", [*INLINE, *UNKNOWN])
@pytest.mark.parametrize(
    ("frame", "mark"),
    [
        ("We know {} here.", ""),
        ("- one\n- so {} is it", "•"),
        ("> as {} says", "▎"),
        ("1. **bold** {} *not*", ""),
        ("## On {}", ""),
        ("So **{}** is *{}*.", ""),
    ],
)
def test_a_formula_in_a_line_is_drawn_or_stays_as_written(formula: str, frame: str, mark: str) -> None:
    words = re.sub(r"\*+|^(?:- |> |## |1\. )", "", frame, flags=re.MULTILINE)
    got = shown(frame.format(formula, formula))
    bare = re.sub(r"^ *(?:• |▎ |1\. )", "", got, flags=re.MULTILINE)
    assert bare == words.format(drawn(formula), drawn(formula)).strip()
    assert (set_line(formula) is None) == (formula in UNKNOWN)
    assert mark in got


@pytest.mark.parametrize("formula", [*INLINE, *UNKNOWN])
def test_a_formula_in_a_table_stays_in_its_cell(formula: str) -> None:
    table = f"| name | value | end |\n|---|---|---|\n| one | {formula} | last |\n| $5 | $6 | $7 |"
    for text in (table, "- list\n\n" + "\n".join("  " + row for row in table.split("\n"))):
        row = next(row for row in shown(text).split("\n") if "one" in row)
        assert drawn(formula) in row
        assert row.rstrip().endswith("last")
        assert re.search(r"\$5 +\$6 +\$7", shown(text))


@pytest.mark.parametrize("display", [*DISPLAYS, "$$\n\\weird{a}\n*b*\n$$"])
@pytest.mark.parametrize("before", ["", "Words:\n", "> ", "- item\n\n  "])
def test_a_display_is_drawn_or_stays_as_written(display: str, before: str) -> None:
    prefix = "> " if before == "> " else "  " if before.startswith("-") else ""
    text = before + display.replace("\n", "\n" + prefix) + "\n\nand *after*."
    got = shown(text)
    lines = [line.strip(" ▎") for line in got.split("\n")]
    wanted = [row for row in rows(display) if row]
    assert [line for line in lines if line in wanted] == wanted, got
    assert got.rstrip().endswith("and after.")


@pytest.mark.parametrize("before", ["", "> ", "- "])
def test_a_code_block_of_mathematics_is_a_display(before: str) -> None:
    inner = before.replace("-", " ")
    got = shown(f"{before}```math\n{inner}x = \\frac{{a}}{{b}}\n{inner}```\n\nafter")
    assert [line.strip(" ▎•") for line in got.split("\n")][:3] == ["a", "x = ─", "b"]


def test_in_a_heading_a_formula_has_the_colour_of_the_heading() -> None:
    (line,) = Document("## On $x^2$ and", closed=True).lines(80)
    assert [(run.text, run.role) for run in line] == [("On ", "heading"), ("x²", "heading"), (" and", "heading")]


def test_bold_letters_are_bold_and_no_characters_of_their_own() -> None:
    (line,) = Document(r"So $\mathbf{Ax} = \boldsymbol{\beta}$.", closed=True).lines(80)
    assert [(run.text, run.look) for run in line[1:-1]] == [
        ("Ax", Look.BOLD),
        (" = ", Look.PLAIN),
        ("β", Look.BOLD),
    ]


def test_the_source_that_cannot_be_drawn_is_tinted() -> None:
    (line,) = Document(r"So $\weird{x}$ it is, and $x$.", closed=True).lines(80)
    assert [(run.text, run.role) for run in line if run.role != "text"] == [(r"$\weird{x}$", "math"), ("x", "formula")]


def test_a_display_that_is_too_wide_is_broken_or_set_in_a_line_or_scrolled() -> None:
    text = "$$f(x) = aaaa + bbbb + cccc = \\frac{dddd - eeee}{x + 1} + ffff$$"
    whole = max(len(row) for row in shown(text, 80).split("\n"))
    for width in (16, 24, 30):
        got = shown(text, width)
        assert max(map(width_of, got.split("\n"))) <= width < whole
        assert re.sub(r"[\W_]", "", got).count("ffff") == 1
    stack = "$$\\begin{pmatrix} aaaaaaaaaa & bbbbbbbbbb \\\\ cccccccccc & dddddddddd \\end{pmatrix}$$"
    assert shown(stack, 24).split() == ["(aaaaaaaaaa,", "bbbbbbbbbb;", "cccccccccc,", "dddddddddd)"]
    document = Document(stack, closed=True)
    document.sideways = 5
    scrolled = [plain(line).strip() for line in document.lines(18)]
    assert len(scrolled) == 3
    assert all(row.startswith("‹") and row.endswith("›") for row in (scrolled[0], scrolled[2]))


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_formula_is_markdown_as_ever(text: str) -> None:
    assert formulas(text) == []
    expected = text.replace("*not*", "not").replace("*much*", "much")
    assert shown(text).split() == expected.replace("^b*$", "^b*$").split()


@pytest.mark.parametrize("path", [r"C:\Users\(old)\_build\*.txt", r"\\server\share\[x]\y", r"(D:\a\{b}\c)", r"C:\!x"])
def test_a_path_of_windows_keeps_its_backslashes(path: str) -> None:
    assert shown(f"It is in {path} now.") == f"It is in {path} now."


def test_escapes_that_markdown_never_needs_stay_as_written() -> None:
    text = r"With \, kept, 3\,000 km and find . -exec ls {} \; too."
    assert shown(text) == text
    assert shown(r"a \\, b") == r"a \, b"


def test_escapes_outside_of_formulas_are_escapes() -> None:
    assert shown(r"\*no\* \_no\_ \# \\ \$5") == r"*no* _no_ # \ $5"
    assert shown(r"see \[1\] and - \[ \] and \[x\]") == "see [1] and - [ ] and [x]"
    assert shown(r"\[name\](address)") == "[name](address)"
    assert formulas("`$x$` and `\\(y\\)`") == []


def test_formulas_are_tokens_of_their_own() -> None:
    assert formulas("Let $x$ and \\(y\\) be.\n\n$$\nz\n$$") == ["$x$", "\\(y\\)", "$$\nz\n$$"]


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_formula_that_broke_off_stays_as_written(display: str) -> None:
    cut = display[: len(display) * 3 // 4].rstrip("\\\n")
    if re.search(r"\\[A-Za-z]{2}|[\^_]\{", cut[2:]):
        assert squeezed(cut) == squeezed(shown(cut))


PARTS_OF_TEXT = st.lists(
    st.one_of(
        st.sampled_from((*INLINE, *UNKNOWN)),
        st.sampled_from(["word", "and so", "we get", "costs 5", "(see below)"]),
        st.sampled_from(DISPLAYS).map(lambda display: f"\n\n{display}\n\n"),
    ),
    min_size=1,
    max_size=6,
)


def finished(part: str) -> str:
    """What a part of a text is shown as once it is whole."""
    if part.startswith("\n"):
        return "".join(rows(part.strip("\n")))
    return drawn(part) if part[0] in "$\\" else part


@given(PARTS_OF_TEXT)
def test_while_it_streams_every_cut_shows_what_has_come(parts: list[str]) -> None:
    document = Document()
    before = ""
    for part in parts:
        for at, character in enumerate(part, 1):
            document.append(character)
            got = squeezed("".join(plain(line) for line in document.lines(400)))
            open_end = squeezed(before + part[:at])
            # A mark whose other half has not come yet may be drawn either way for one character.
            is_open = open_end.startswith(got) or got.startswith(open_end[:-1])
            assert is_open or got == squeezed(before + finished(part[:at])), (part[:at], got)
            assert not is_open or len(open_end) - len(got) <= 2
        document.append(" ")
        before += finished(part)
        if part[-1] in "$)]}":
            assert squeezed("".join(plain(line) for line in document.lines(400))) == squeezed(before)
    document.close()
    assert squeezed("".join(plain(line) for line in document.lines(400))) == squeezed(before)


TABLE = "| name | value |\n|---|---|\n"


@pytest.mark.parametrize("formula", [formula for formula in INLINE if not formula.startswith("$ ")])
def test_while_a_row_of_a_table_streams_its_formula_is_whole(formula: str) -> None:
    document = Document(TABLE + "| one | ")
    for at in range(1, len(formula) + 1):
        document.append(formula[at - 1])
        row = plain(document.lines(200)[-1])
        got, come = squeezed(row.partition("one")[2]), squeezed(formula[:at])
        whole = at == len(formula) and got == squeezed(drawn(formula))
        assert whole or come.startswith(got) or got.startswith(come[:-1]), (formula[:at], row)


def test_many_openers_do_not_make_reading_slow() -> None:
    for text in (r"\( " * 1300, "$a " * 1300, r"\[ \\] " * 600, "$" * 4000, "| $a | " * 600, "\\[\n" * 1300):
        begin = time.process_time()
        shown(text)
        assert time.process_time() - begin < 1.0, text[:20]
