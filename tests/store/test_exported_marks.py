"""Alerts, footnotes, keys and details in exported files."""

from __future__ import annotations

import re

import pytest

from tests.store.stage import Stage, a_turn

MARKS = (
    "Press <kbd>Ctrl</kbd>[^1], <b>not</b>[^x].\n\n> [!WARNING]\n> Take *care*.\n\n"
    "<details>\n<summary>The `why`</summary>\n\n- [x] done\n\nTerm\n: meaning\n\n</details>\n\n"
    "[^1]: On every keyboard.\n[^2]: Not referred to.\n\n```\n<details>\n[^1]: code\n```"
)


async def test_a_page_has_alerts_footnotes_and_details_without_scripts(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "Go", MARKS), a_turn(2, "Again", MARKS))
    page = await stage.library.export("s", "html", "answers")
    assert page.count("<kbd>Ctrl</kbd>") == 2
    assert "&lt;b&gt;not&lt;/b&gt;[^x]" in page
    assert '<blockquote class="alert warning">\n<p><strong>Warning</strong></p>\n<p>Take <em>care</em>.</p>' in page
    assert page.count("<details><summary>The <code>why</code></summary>") == page.count("</details>") == 2
    assert "<dt>Term</dt>\n<dd>meaning</dd>" in page
    assert page.count("On every keyboard.") == page.count("Not referred to.") == 2
    targets = re.findall(r'href="#(fn[^"]+)"', page)
    assert set(targets) == set(re.findall(r'id="(fn[^"]+)"', page))
    assert len(re.findall(r'id="fn-', page)) == len(set(re.findall(r'id="(fn-[^"]+)"', page))) == 4
    assert "&lt;details&gt;\n[^1]: code" in page
    assert "<script" not in page
    assert "javascript" not in page


async def test_a_page_shows_characters_that_reorder_text_though_they_are_written_as_entities(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "Go", "a&#x202e;b **c&#13;d** &amp; e"))
    page = await stage.library.export("s", "html", "answers")
    assert "<p>a\\u{202E}b <strong>c␍d</strong> &amp; e</p>" in page


@pytest.mark.parametrize(
    "text",
    [
        "> <details>\n> x\n> </details>",
        "<details>\n- a\n  </details>\n  b",
        "<details><summary>a</summary>b</details></details> c <details>",
        "1. <details>\n   x\n\n2. y\n\n</details>",
        "<details>\n" * 20 + "deep",
        "<details>\n$$\nx\n</details>\n$$",
    ],
)
async def test_details_are_closed_however_they_are_written(stage: Stage, text: str) -> None:
    await stage.keep("s", a_turn(1, "Go", text))
    page = await stage.library.export("s", "html", "answers")
    opened = re.findall(r"<(/?)(details|summary|p|ul|ol|li|blockquote|section)\b[^>]*>", page)
    stack: list[str] = []
    for closes, name in opened:
        if closes:
            assert stack.pop() == name
        else:
            stack.append(name)
    assert stack == []


@pytest.mark.long
async def test_footnotes_of_two_answers_stay_apart_in_one_file(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "Go", MARKS), a_turn(2, "Again", MARKS))
    text = await stage.library.export("s", "md", "answers")
    first, second = text.split("## You")[1:]
    assert MARKS in first
    assert "<kbd>Ctrl</kbd>[^1-2], <b>not</b>[^x]." in second
    assert "[^1-2]: On every keyboard.\n[^2-2]: Not referred to.\n\n```\n<details>\n[^1]: code\n```" in second


async def test_a_summary_shows_characters_that_reorder_text(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "x", "<details><summary>a&#x202e;b</summary>\n\nc\n\n</details>"))
    assert "<summary>a\\u{202E}b</summary>" in await stage.library.export("s", "html", "answers")
