"""Links on exported pages."""

from __future__ import annotations

import re

import pytest

from tests.store.stage import Stage, a_turn

LINKS = (
    "[to](//host.example/path)",
    "[to][1]\n\n[1]: //host.example/path 'title'",
    "[to](</\t/host.example/path>)",
    "[to](/&#47;host.example/path)",
    "[to](\\\\\\\\host.example\\share)",
    "[to](http:host.example)",
    "[to](https:\\\\host.example)",
    "[to](smb://host.example/share)",
    "[to](ms-word:ofe|u|https://host.example/a.docx)",
    "[to](docs/page.md)",
    "[to](#part)",
    "<smb://host.example/share>",
    "<mailto:a@host.example>",
    "| a |\n|---|\n| [to](//host.example) |",
    "See[^n].\n\n[^n]: [to](//host.example)",
    "<details><summary>[to](//host.example)</summary>\n\n[to](//host.example)\n\n</details>",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("said", LINKS)
async def test_only_addresses_of_the_web_are_links_on_a_page(stage: Stage, said: str) -> None:
    await stage.keep("s", a_turn(1, said, f"{said}\n\n[*the* web](https://web.example/a?b=c) and <http://web.example>"))
    page = await stage.library.export("s", "html", "answers")
    addresses = set(re.findall(r'href="([^"#]+)"', page)) | set(re.findall(r'href="(#(?!fn)[^"]*)"', page))
    assert addresses == {"https://web.example/a?b=c", "http://web.example"}
    assert '<a href="https://web.example/a?b=c"><em>the</em> web</a>' in page


async def test_the_address_of_another_link_is_written_behind_its_text(stage: Stage) -> None:
    await stage.keep(
        "s", a_turn(1, "x", "[*See* `it`](//host.example/a%20b) <a@b.example> [page.md](page.md) [](//h).")
    )
    page = await stage.library.export("s", "html", "answers")
    assert "<p><em>See</em> <code>it</code> (//host.example/a b) a@b.example page.md  (//h).</p>" in page
    markdown = await stage.library.export("s", "md", "answers")
    assert "[*See* `it`](//host.example/a%20b)" in markdown
