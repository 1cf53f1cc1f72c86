"""Readable text of pages, in time that grows with the page and not with its square."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tools.builtin.html_text import readable


def test_a_page_becomes_headings_paragraphs_lists_and_links() -> None:
    page = """<html><head><title>The &amp; title</title><style>p{}</style></head><body><nav>menu</nav>
    <h1>Head</h1><p>Some   words, <a href="https://x.org/">a link</a>, 1 < 2 &lt; 3.<ul><li>one<li>two</ul>
    <pre>  kept  as
  it is</pre><script>if (a<b) alert("</p>")</script><table><tr><td>1<td>2</table><img alt="A cat" src=x></body>"""
    assert readable(page) == (
        "The & title\n\n# Head\n\nSome words, a link (https://x.org/), 1 < 2 < 3.\n\n- one\n- two\n\n"
        "  kept  as\n  it is\n\n| 1 | 2\n\n[image: A cat]"
    )


@given(st.text(alphabet="<>/!-?=\"'&#;aA1 \n", max_size=60))
def test_no_page_is_too_broken(page: str) -> None:
    readable(page)


@pytest.mark.one_in(11)
@pytest.mark.parametrize(
    "unit", ["<", "<!--", "<a ", "<a x='", "<div>", "</", "&", "<![CDATA[", "<?", "&#99999999;", "<pre>"]
)
@pytest.mark.long
def test_a_hostile_page_takes_no_longer_than_its_length(unit: str) -> None:
    began = time.process_time()
    readable(unit * (400_000 // len(unit)))
    assert time.process_time() - began < 3
