"""Code that is lexed in stretches looks as if it had been lexed whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.ui.markdown.highlight import START, CodeState, highlight, highlight_from
from tui.ui.markdown.runs import Line, plain

CODE = {
    "python": [
        'def f(x):  # "s"',
        '    """Says',
        "    x = 1  # no comment",
        '    """',
        "    return f'{x}'",
        "",
        "y = 2",
    ],
    "javascript": ["const a = `one", "${b} /* no comment", "three`; // c", "/* long", "return 1", "*/ let x = '/*';"],
    "java": ["class A { /* a", "  \"b' c */ int x = 1; // foo /* no", '  String s = "/* not"; int y = 2;', "}"],
    "css": ["/* long", "comment */ a { color: red }", "b { margin: 0 } /* open", "still */ c { top: 1px }"],
    "rust": ["/* a", "/* nested */ b */ fn main() {", '  let s = "two', 'lines"; // x', "}"],
    "toml": ['a = """', "[not.a.table]", '"""', "[table]", "b = 1"],
    "diff": ["--- a", "+++ b", "@@ -1 +1 @@", "-old", "+new", " same"],
    "html": ["<p class='x'>", "<!-- a", "b -->", "</p>"],
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("language", CODE)
@given(cuts=st.sets(st.integers(1, 6)))
def test_stretches_of_code_have_the_colours_of_the_whole(language: str, cuts: set[int]) -> None:
    lines = CODE[language]
    rows: list[Line] = []
    place: CodeState = START
    places = sorted({0, len(lines), *(cut for cut in cuts if cut < len(lines))})
    for start, end in pairwise(places):
        found, place = highlight_from(lines[start:end], language, place)
        rows.extend(found)
    assert rows == highlight(lines, language)
    assert [plain(row) for row in rows] == lines


def test_a_docstring_goes_on_in_the_next_stretch() -> None:
    _, place = highlight_from(['"""Says'], "python", START)
    rows, place = highlight_from(["import this", '"""', "import that"], "python", place)
    assert [{run.role for run in row} for row in rows] == [
        {"syntax-string"},
        {"syntax-string"},
        {"syntax-keyword", "code"},
    ]
    assert place == START
