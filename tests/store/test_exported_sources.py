"""Sources and searches in exported files: readable, harmless, and the same when they come back."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from tests.store.stage import Stage, answer, prompt
from tui.domain.blocks import OpaqueBlock, TextBlock
from tui.domain.messages import Turn
from tui.domain.usage import Usage
from tui.domain.web_search import Citation, Source, WebSearch, source

PAGE = Source(url="https://a.test/x?a=1&b=<2>", title="Rain & *sun* [1](https://evil.test)")
HOSTILE = (
    source("javascript:alert(1)", "Click <script>alert(1)</script>"),
    source("file:///etc/passwd", "Passwords"),
    source("https://a.test/\u202egpj", "Odd\u202e address\x1b[2J"),
)
TEXT = "It rains."
TURN = Turn(
    id="t",
    messages=(
        prompt("p", "Does it rain?"),
        replace(
            answer(
                "a",
                OpaqueBlock(
                    label="server_tool_use",
                    raw='{"type":"server_tool_use","id":"s"}',
                    search=WebSearch(id="s", queries=("rain",)),
                ),
                OpaqueBlock(
                    label="web_search_tool_result",
                    raw='{"encrypted_content":"ErkeSECRET"}',
                    search=WebSearch(id="s", results=(PAGE, *HOSTILE), done=True),
                ),
                TextBlock(text=TEXT, citations=tuple(Citation(source=one, end=len(TEXT)) for one in (PAGE, *HOSTILE))),
                OpaqueBlock(label="x", raw="{}", search=WebSearch(id="u", error="max_uses_exceeded", done=True)),
            ),
            usage=Usage(input=10, output=5, searches=2),
        ),
    ),
)


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str | None] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "a":
            self.found.append(dict(attrs).get("href"))


async def test_markdown_has_markers_and_numbered_sources(stage: Stage) -> None:
    await stage.keep("s", TURN)
    text = await stage.library.export("s", "md", "answers")

    assert text.endswith(
        "It rains. [1][2][3][4]\n\n**Sources**\n\n"
        "1. [Rain \\& \\*sun\\* \\[1\\]\\(https\\://evil\\.test\\)](<https://a.test/x?a=1&b=%3C2%3E>)\n"
        "1. Click \\<script\\>alert\\(1\\)\\</script\\> (javascript\\:alert\\(1\\))\n"
        "1. Passwords (file\\:///etc/passwd)\n"
        "1. Odd\\\\u\\{202E\\} address␛\\[2J (https\\://a\\.test/\\\\u\\{202E\\}gpj)\n"
    )


async def test_a_page_links_only_what_a_browser_may_open(stage: Stage) -> None:
    await stage.keep("s", TURN)
    page = await stage.library.export("s", "html", "all")
    links = Links()
    links.feed(page)

    assert links.found == ["https://a.test/x?a=1&b=%3C2%3E"]
    assert "script" not in links.tags
    assert "Rain &amp; *sun* [1](https://evil.test)" in page


async def test_an_export_of_everything_tells_searches_and_not_their_ciphers(stage: Stage) -> None:
    await stage.keep("s", TURN)
    text = await stage.library.export("s", "md", "all")

    assert '**Web search: "rain" (4 results)**' in text
    assert "**Failed web search**" in text
    assert "the limit of searches in one request was reached" in text
    assert "ErkeSECRET" not in text


async def test_json_brings_searches_and_sources_back(stage: Stage, tmp_path: Path) -> None:
    await stage.keep("s", TURN)
    file = tmp_path / "s.json"
    file.write_text(await stage.library.export("s", "json", "all"), encoding="utf-8")

    [turn] = (await stage.conversations.load(await stage.library.import_file(file))).turns
    assert turn.messages[1].blocks == TURN.messages[1].blocks
    assert turn.messages[1].usage == TURN.messages[1].usage
    assert json.loads(file.read_text("utf-8"))


async def test_a_stored_answer_keeps_them(stage: Stage) -> None:
    await stage.keep("s", TURN)

    [turn] = (await stage.conversations.load("s")).turns
    assert turn.messages[1].blocks == TURN.messages[1].blocks
