r"""LaTeX stays as the model wrote it, whole or cut anywhere; prices, variables and paths are no formulas."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import plain
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
    r"$x_1 \cdot _2x_$",
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


def shown(text: str, width: int = 200) -> str:
    return "\n".join(plain(line) for line in Document(text, closed=True).lines(width))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def formulas(text: str) -> list[str]:
    """Every formula of a text."""
    found: list[str] = []
    for node in parse(text):
        if isinstance(node, Formula):
            found.append(node.source)
        elif isinstance(node, Paragraph):
            found.extend(run.text for run in node.runs if run.role == "math")
    return found


@pytest.mark.parametrize("formula", INLINE)
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
def test_a_formula_in_a_line_stays_as_written(formula: str, frame: str, mark: str) -> None:
    got = shown(frame.format(formula, formula))
    assert got.count(formula) == frame.count("{}"), got


@pytest.mark.parametrize("formula", INLINE)
def test_a_formula_in_a_table_stays_in_its_cell(formula: str) -> None:
    table = f"| name | value | end |\n|---|---|---|\n| one | {formula} | last |\n| $5 | $6 | $7 |"
    for text in (table, "- list\n\n" + "\n".join("  " + row for row in table.split("\n"))):
        row = next(row for row in shown(text).split("\n") if "one" in row)
        assert formula in row
        assert row.rstrip().endswith("last")
        assert re.search(r"\$5 +\$6 +\$7", shown(text))


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("before", ["", "Words:\n", "> ", "- item\n\n  "])
def test_a_display_stays_as_written(display: str, before: str) -> None:
    prefix = "> " if before == "> " else "  " if before.startswith("-") else ""
    text = before + display.replace("\n", "\n" + prefix) + "\n\nand *after*."
    got = shown(text)
    assert squeezed(display) in squeezed(got.replace("▎", ""))
    assert got.rstrip().endswith("and after.")


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


FORMULAS_IN_WORDS = st.lists(
    st.one_of(
        st.sampled_from(INLINE),
        st.sampled_from(["word", "and so", "we get", "costs 5", "(see below)"]),
        st.sampled_from(DISPLAYS).map(lambda display: f"\n\n{display}\n\n"),
    ),
    min_size=1,
    max_size=6,
).map(" ".join)


@given(FORMULAS_IN_WORDS)
def test_while_it_streams_every_cut_shows_what_has_come(text: str) -> None:
    document = Document()
    for at, character in enumerate(text, 1):
        document.append(character)
        got = squeezed("".join(plain(line) for line in document.lines(400)))
        come = squeezed(text[:at])
        # A mark whose other half has not come yet may be drawn either way for one character.
        assert come.startswith(got) or got.startswith(come[:-1]), (text[:at], got)
        assert len(come) - len(got) <= 2
    document.close()
    assert squeezed("".join(plain(line) for line in document.lines(400))) == squeezed(text)


TABLE = "| name | value |\n|---|---|\n"


@pytest.mark.parametrize("formula", [formula for formula in INLINE if not formula.startswith("$ ")])
def test_while_a_row_of_a_table_streams_its_formula_is_whole(formula: str) -> None:
    document = Document(TABLE + "| one | ")
    for at in range(1, len(formula) + 1):
        document.append(formula[at - 1])
        row = plain(document.lines(200)[-1])
        got, come = squeezed(row.partition("one")[2]), squeezed(formula[:at])
        assert come.startswith(got) or got.startswith(come[:-1]), (formula[:at], row)


def test_many_openers_do_not_make_reading_slow() -> None:
    for text in (r"\( " * 1300, "$a " * 1300, r"\[ \\] " * 600, "$" * 4000, "| $a | " * 600, "\\[\n" * 1300):
        begin = time.process_time()
        shown(text)
        assert time.process_time() - begin < 1.0, text[:20]
