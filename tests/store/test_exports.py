"""What leaves the store is readable, harmless and without keys; what comes in is checked."""

from __future__ import annotations

import asyncio
import html
import json
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.patience import PATIENCE_S
from tests.store.stage import Stage, a_turn, answer, open_stage, prompt, rich_turn, thought
from tui.domain.blocks import OpaqueBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.compression import CompressionView
from tui.domain.errors import UsageError
from tui.domain.messages import CacheRecord, Message, Role, Turn
from tui.domain.thinking import ModelSpec, ThinkingForm
from tui.domain.usage import Usage
from tui.store.codec import dumps
from tui.store.export import plain_paragraphs
from tui.store.library import MARK, redacted

TURN = Turn(
    id="t",
    messages=(
        prompt("p", "Sort *this* <b>now</b>"),
        answer(
            "a",
            ThinkingBlock(text="First\nthen", form=ThinkingForm.SUMMARY, tokens=1200, seconds=3.2),
            "```py\nsorted(x)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
            ToolCallBlock(call_id="c", name="shell", arguments='{"cmd": "ls ```"}'),
        ),
    ),
)


async def test_markdown_has_prompts_and_answers(stage: Stage) -> None:
    await stage.keep("s", TURN)
    assert await stage.library.export("s", "md", "answers") == (
        "# Sort *this* <b>now</b>\n\n## You\n\nSort *this* <b>now</b>\n\n## anthropic/claude-opus-5\n\n"
        "```py\nsorted(x)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )


async def test_markdown_has_thinking_and_tools_where_asked_for(stage: Stage) -> None:
    await stage.keep("s", TURN)
    thinking = await stage.library.export("s", "md", "thinking")
    whole = await stage.library.export("s", "md", "all")
    assert "> **Thinking (3 s, 1,200 tokens, summary)**\n>\n> First\n> then\n" in thinking
    assert "shell" not in thinking
    assert '**Tool: shell**\n\n````\n{\n  "cmd": "ls ```"\n}\n````\n' in whole


async def test_exports_say_what_the_prompt_cache_had_and_json_keeps_its_record(stage: Stage, tmp_path: Path) -> None:
    record = CacheRecord(at=1_795_000_000.5, ttl="1h", tools="t", system="s", history="h", rules="r", thinking="e")
    usage = Usage(input=62_000, cache_read=58_000, cache_write=1_200, output=9)
    paid = replace(TURN.messages[1], usage=usage, cost=0.5, cache=record)
    await stage.keep("s", replace(TURN, messages=(TURN.messages[0], paid)))
    assert "Input: 62,000 tokens (58,000 cached, 1,200 written)" in await stage.library.export("s", "md", "thinking")
    file = tmp_path / "s.json"
    file.write_text(await stage.library.export("s", "json", "all"), encoding="utf-8")
    [turn] = (await stage.conversations.load(await stage.library.import_file(file))).turns
    assert turn.messages[1].cache == record


def under_headings(text: str) -> dict[str, str]:
    """What stands under each heading of an export in markdown; a heading that comes again keeps its first text."""
    found: dict[str, str] = {}
    for piece in text.split("\n## ")[1:]:
        heading, _, words = piece.partition("\n")
        found.setdefault(heading, words)
    return found


async def test_thinking_and_tools_stand_under_the_heading_of_the_model(stage: Stage) -> None:
    result = ToolResultBlock(call_id="c", name="shell", content=(TextBlock(text="a.txt"),))
    results = Message(id="r", role=Role.TOOL, blocks=(result,))
    await stage.keep("s", Turn(id="t", messages=(*TURN.messages, results, answer("b", "Done."))))
    found = under_headings(await stage.library.export("s", "md", "all"))
    assert found["You"].strip() == "Sort *this* <b>now</b>"
    model = found["anthropic/claude-opus-5"]
    places = [model.index(words) for words in ("Thinking (3 s", "sorted(x)", "Tool: shell", "Result: shell", "Done.")]
    assert places == sorted(places)
    page = await stage.library.export("s", "html", "all")
    assert page.index("<h2>anthropic/claude-opus-5</h2>") < page.index('<details class="thinking">')
    assert page.count("<h2>anthropic/claude-opus-5</h2>") == 1


@pytest.mark.parametrize("parts", ["answers", "thinking", "all"])
@pytest.mark.parametrize("form", ["md", "html"])
async def test_a_cancelled_turn_without_text_has_its_heading_and_says_so(stage: Stage, form: str, parts: str) -> None:
    thinking = ThinkingBlock(text="Hm", form=ThinkingForm.FULL, partial=True)
    stopped = Turn(id="t1", messages=(prompt("p1", "Why?"), replace(answer("a1", thinking), interrupted="cancelled")))
    nothing = Turn(id="t2", messages=(prompt("p2", "And this?"),))
    await stage.keep("s", stopped, nothing)
    text = await stage.library.export("s", form, parts)  # type: ignore[arg-type]
    assert "anthropic/claude-opus-5 (cancelled)" in text
    assert "No answer" in text
    assert text.count("(interrupted before an answer came)") == 2
    assert ("Hm" in text) is (parts != "answers")


async def test_a_page_loads_nothing_and_runs_nothing(stage: Stage) -> None:
    nasty = '<script>alert(1)</script> [x](javascript:alert(1)) ![p](https://spy.example/p.png) <img src="https://spy">'
    await stage.keep("s", TURN, a_turn(1, nasty, nasty))
    page = await stage.library.export("s", "html", "all")
    assert '<code class="language-py">sorted(x)\n</code>' in page
    assert "<td>1</td>" in page
    assert (
        '<details class="thinking"><summary>Thinking (3 s, 1,200 tokens, summary)</summary><pre>First\nthen</pre>'
        in page
    )
    for bad in ("<script", "<img", 'href="javascript', 'src="'):
        assert bad not in page.lower()


async def test_controls_are_shown_and_not_written(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "\x1b]52;c;aGk=\x07 \u202e a\tb\r\n", "\x9b31m"))
    for form in ("md", "html"):
        text = await stage.library.export("s", form, "all")
        assert not {c for c in text if not c.isprintable()} - {"\n", "\t"}
        assert "a\tb" in text


async def test_retried_attempts_are_exported_only_with_everything(stage: Stage) -> None:
    await stage.keep("s", rich_turn())
    assert "(cancelled, retried)" not in await stage.library.export("s", "md", "thinking")
    assert "(cancelled, retried)" in await stage.library.export("s", "md", "all")


KEYS = [
    "sk-ant-api03-abcdefghijklmnopqrstuv",
    "AIza" + "a" * 35,
    "AKIA" + "A" * 16,
    "ghp_" + "a" * 36,
    "xoxb-123456789012",
    "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS)
def test_what_looks_like_a_key_is_taken_out(key: str) -> None:
    assert redacted(f"a {key} b") == f"a {MARK} b"


def test_passwords_and_bearer_tokens_are_taken_out_and_words_stay() -> None:
    assert redacted("https://me:secret@host/x and Bearer abcdefghijklmnop.q") == (
        f"https://me:{MARK}@host/x and Bearer {MARK}"
    )
    for harmless in ("task-sk-1", "Bearer of news", "http://host:8080/a@b", "task-management-system-overview"):
        assert redacted(harmless) == harmless


@pytest.mark.parametrize("form", ["md", "html", "json"])
async def test_no_key_leaves_in_any_form(tmp_path: Path, form: str) -> None:
    stage = open_stage(tmp_path, conceal=lambda text: text.replace("hunter2", "•"))
    call = ToolCallBlock(call_id="c", name="shell", arguments=json.dumps({"key": KEYS[5], "own": "hunter2"}))
    await stage.keep("s", Turn(id="t", messages=(prompt("p", *KEYS), answer("a", thought(" ".join(KEYS)), call))))
    text = await stage.library.export("s", form, "all")  # type: ignore[arg-type]
    assert not [key for key in (*KEYS, "hunter2", "MII") if key in text]
    if form == "json":
        json.loads(text)
    stage.database.close()


async def test_json_brings_back_branches_summary_and_model(stage: Stage, tmp_path: Path) -> None:
    await stage.keep("s", rich_turn(), a_turn(1), a_turn(2))
    await stage.journal.history_replaced("s", (rich_turn(), a_turn(1)))
    await stage.keep("s", a_turn(3))
    view = CompressionView(summary="sum", compressed_turns=frozenset({"rich"}), shortened={("rich-r", "c1"): "cut"})
    await stage.journal.compressed("s", view)
    await stage.conversations.save_settings("s", ModelSpec(provider="x", model="y/z"), {"reasoning.effort": "low"})
    path = tmp_path / "s.json"
    path.write_text(await stage.library.export("s", "json", "all"), encoding="ascii")
    new = await stage.library.import_file(path)
    before, after = await stage.conversations.load("s"), await stage.conversations.load(new)
    assert (after.turns, after.compression, after.spec, after.settings) == (
        before.turns,
        view,
        before.spec,
        before.settings,
    )
    assert await stage.conversations.siblings(new, "t3") == ("t2", "t3")
    assert (await stage.conversations.activate(new, "t2")).turns == (rich_turn(), a_turn(1), a_turn(2))


async def test_json_of_answers_holds_no_thinking(stage: Stage, tmp_path: Path) -> None:
    await stage.keep("s", TURN)
    path = tmp_path / "s.json"
    path.write_text(await stage.library.export("s", "json", "answers"), encoding="ascii")
    loaded = await stage.conversations.load(await stage.library.import_file(path))
    kinds = [[block.kind for block in message.blocks] for turn in loaded.turns for message in turn.messages]
    assert kinds == [["text"], ["text"]]


HOLOGRAM = {"kind": "hologram", "depth": 3, "text": "x", "$blob": "00"}


async def test_a_block_of_a_later_version_survives(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(dumps(own(blocks=[HOLOGRAM, {"kind": "text", "text": "known"}])), encoding="ascii")
    first = await stage.library.import_file(path)
    second = await stage.conversations.fork(first)
    path.write_text(await stage.library.export(second, "json", "all"), encoding="ascii")
    last = await stage.library.import_file(path)
    ((message,),) = [turn.messages for turn in (await stage.conversations.load(last)).turns]
    unread, known = message.blocks
    assert isinstance(unread, OpaqueBlock)
    assert (unread.label, unread.unread, json.loads(unread.raw)) == ("hologram", True, HOLOGRAM)
    assert known == TextBlock(text="known")
    await stage.journal.message_added(last, "t", message)
    assert (
        json.loads(await stage.library.export(last, "json", "all"))["turns"][0]["messages"][0]["blocks"][0] == HOLOGRAM
    )


def own(**message: object) -> dict[str, object]:
    """A session file with one message."""
    only = {"id": "m", "role": "assistant", "meta": {}, "blocks": [], **message}
    return {
        "format": "ponder-session",
        "version": 1,
        "title": "T",
        "turns": [{"id": "t", "parent": None, "messages": [only]}],
    }


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"PK\x03\x04",
        b"[]",
        b"{}",
        b"null",
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
        dumps(own() | {"version": 2}).encode(),
        dumps(own() | {"turns": "many"}).encode(),
        dumps(own() | {"turns": [{"id": "t", "parent": "none", "messages": []}]}).encode(),
        dumps(own(role="system")).encode(),
        dumps(own(blocks=[{"kind": "text", "text": 5}])).encode(),
        dumps(own(blocks=[{"kind": "thinking", "text": "x", "form": "odd"}])).encode(),
        dumps(own(blocks=[{"kind": "tool_result", "call_id": "c", "name": "n", "content": {"$blob": "0"}}])).encode(),
        dumps(own(meta={"usage": {"input": "many"}})).encode(),
        dumps(own(id="half \ud83d")).encode(),
        dumps(own() | {"view": {"shortened": [["a"]]}}).encode(),
        dumps(own() | {"turns": [*own()["turns"], *own()["turns"]]}).encode(),  # type: ignore[misc]
        b'[{"mapping": {"a": {"parent": "a"}}, "current_node": "a"}, {"what": 1}]',
    ],
)
async def test_a_hostile_file_is_refused_in_a_sentence(stage: Stage, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        await stage.library.import_file(path)
    assert await stage.titles() == []


async def test_odd_but_legal_words_of_a_file_do_no_harm(stage: Stage, tmp_path: Path) -> None:
    odd = own(
        blocks=[{"kind": "half \ud83d"}],
        meta={"origin": {"provider": "\ud83d", "wire": "gemini", "host": "", "model": "\0"}},
    )
    odd["settings"] = {"tools.policy": "allow", "reasoning.effort": "low"}
    odd["title"] = "\x1b[31m\ud83d\n"
    path = tmp_path / "odd.json"
    path.write_text(dumps(odd), encoding="ascii")
    session = await stage.library.import_file(path)
    assert (await stage.conversations.load(session)).settings == {"reasoning.effort": "low"}
    assert await stage.titles() == ["[31m"]


async def test_an_export_of_chatgpt_is_read_along_its_last_path(stage: Stage, tmp_path: Path) -> None:
    def node(parent: str | None, role: str, content: dict[str, object]) -> dict[str, object]:
        return {"parent": parent, "message": {"author": {"role": role}, "create_time": 1.7e9, "content": content}}

    def text(*parts: object) -> dict[str, object]:
        return {"content_type": "text", "parts": list(parts)}

    mapping = {
        "root": {"parent": None, "message": None},
        "sys": node("root", "system", text("")),
        "u": node("sys", "user", {"content_type": "multimodal_text", "parts": [{"asset": 1}, "Hello"]}),
        "left": node("u", "assistant", text("not this")),
        "think": node("u", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        "a": node("think", "assistant", text("Hi!")),
    }
    path = tmp_path / "conversations.json"
    for where in ({"current_node": "a"}, {}):
        path.write_text(json.dumps([{"title": "Greeting", "mapping": mapping, **where}]))
        loaded = await stage.conversations.load(await stage.library.import_file(path))
        said = [[block.text for block in m.blocks] for turn in loaded.turns for m in turn.messages]  # type: ignore[union-attr]
        assert (loaded.title, len(loaded.turns), said) == ("Greeting", 1, [["Hello"], ["hm"], ["Hi!"]])


async def test_a_forged_export_whose_messages_go_in_a_circle_ends(stage: Stage, tmp_path: Path) -> None:
    def node(parent: str, text: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text]}
        return {"parent": parent, "message": {"author": {"role": "user"}, "content": content}}

    path = tmp_path / "conversations.json"
    mapping = {"a": node("b", "one"), "b": node("a", "two")}
    path.write_text(json.dumps([{"title": "Circle", "mapping": mapping, "current_node": "b"}]))
    loaded = await stage.conversations.load(await stage.library.import_file(path))
    assert [m.blocks[0].text for turn in loaded.turns for m in turn.messages] == ["one", "two"]  # type: ignore[union-attr]


async def test_conversations_without_a_message_are_passed_over(stage: Stage, tmp_path: Path) -> None:
    empty = [{"title": "a", "mapping": {}}, {"title": "b", "mapping": {"x": {}}, "current_node": "y"}]
    said = {"name": "c", "chat_messages": [{"sender": "human", "text": "Hello", "created_at": "9999-12-31T23:59:59"}]}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(empty))
    with pytest.raises(UsageError, match="no conversation"):
        await stage.library.import_file(path)
    path.write_text(json.dumps([*empty, said, {"name": "d", "chat_messages": []}]))
    await stage.library.import_file(path)
    assert await stage.titles() == ["c"]


@pytest.mark.parametrize("digits", [9, 10, 5000])
async def test_a_session_opens_whatever_number_its_level_is(stage: Stage, tmp_path: Path, digits: int) -> None:
    origin = {"provider": "p", "wire": "gemini", "host": "", "model": "m", "level": "9" * digits}
    path = tmp_path / "level.json"
    path.write_text(dumps(own(role="assistant", meta={"origin": origin})))
    loaded = await stage.conversations.load(await stage.library.import_file(path))
    assert loaded.spec == ModelSpec(provider="p", model="m", asked=999_999_999 if digits == 9 else None)


async def test_an_export_of_claude_is_read_with_its_thinking(stage: Stage, tmp_path: Path) -> None:
    messages = [
        {"sender": "human", "text": "Hello", "created_at": "2026-01-02T03:04:05Z"},
        {"sender": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi!"}]},
        {"sender": "human", "content": [{"type": "text", "text": "Bye"}]},
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"name": "Greeting", "chat_messages": messages}]))
    loaded = await stage.conversations.load(await stage.library.import_file(path))
    assert [[block.kind for m in turn.messages for block in m.blocks] for turn in loaded.turns] == [
        ["text", "thinking", "text"],
        ["text"],
    ]


@given(st.text(alphabet="ab \"'.,;:()!?/@%-\n", max_size=60))
@example('One line\nof two.\n\nAnother, "quoted".\n\n\n\nThird.')
@example("1. a list\n- too")
@example("a setext heading\n---\n")
def test_text_without_markup_is_written_as_the_renderer_writes_it(text: str) -> None:
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    assert plain_paragraphs(text) in ("", renderer.render(text))


async def test_plain_prose_takes_the_short_way() -> None:
    assert plain_paragraphs('He said "no".\n\nSo it was.') == "<p>He said &quot;no&quot;.</p>\n<p>So it was.</p>\n"


async def test_a_page_draws_diagrams_and_keeps_their_sources(stage: Stage) -> None:
    source = "flowchart LR\n  A[Begin] -->|a < b| B[数据]\n"
    broken = "flowchart LR\n  A --> --> B\n"
    said = f"```mermaid\n{source}```\n\n```mermaid\n{broken}```"
    await stage.keep("s", Turn(id="t", messages=(prompt("p", "Draw it."), answer("a", said))))
    page = await stage.library.export("s", "html", "answers")
    assert '<pre class="diagram">┌───────┐' in page
    assert "│ Begin ├── a &lt; b ──►│ 数据 │" in page
    assert f"<summary>mermaid</summary><pre><code>{html.escape(source)}</code></pre>" in page
    assert html.escape(broken) in page
    assert "<script" not in page
    assert said in await stage.library.export("s", "md", "answers")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["html", "md", "json"])
@pytest.mark.long
async def test_a_long_session_is_exported_without_being_held_in_memory(
    stage: Stage, form: Literal["md", "json", "html"]
) -> None:
    size, count = 20_000, 60
    secret = "sk-" + "a" * 40
    await stage.keep("s", *(a_turn(number, f"{number} {secret}", "word " * (size // 5)) for number in range(count)))
    written, largest = 0, 0

    def export() -> tuple[int, int]:
        tracemalloc.start()
        size_of_all = 0
        for piece in stage.library.export_pieces("s", form, "all"):
            assert secret not in piece
            size_of_all += len(piece)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size_of_all, peak

    written, largest = await asyncio.to_thread(export)
    assert written > size * count
    assert largest < written / 2
    assert "".join(await asyncio.to_thread(list, stage.library.export_pieces("s", form, "all"))) == (
        await stage.library.export("s", form, "all")
    )


async def test_a_page_has_formulas_as_mathml_and_markdown_has_their_source(stage: Stage) -> None:
    words = (
        "It costs $5 and $6, and $x<1$ or $\\weird{<}$.\n\n\\[\n\\frac{a}{b}\n\\]\n\n"
        "| $|x|$ | b |\n|---|---|\n| 1 | $y$ |\n\n```math\nz\n```\n\n```python\n$q$\n```"
    )
    await stage.keep("s", a_turn(1, "Go", words))
    page = await stage.library.export("s", "html", "answers")
    assert page.count("<math") == 5
    assert page.count('<math display="block">') == 2
    assert "<mi>x</mi><mo>&lt;</mo><mn>1</mn>" in page
    assert "<mfrac><mi>a</mi><mi>b</mi></mfrac>" in page
    assert "It costs $5 and $6, and " in page
    assert "<code>$\\weird{&lt;}$</code>" in page
    assert "$q$" in page
    assert "<script" not in page
    assert words in await stage.library.export("s", "md", "answers")


@pytest.mark.parametrize("form", ["md", "json", "html"])
async def test_an_export_to_a_file_says_the_same_and_is_for_the_user_only(
    stage: Stage, tmp_path: Path, form: Literal["md", "json", "html"]
) -> None:
    await stage.keep("s", TURN, a_turn(2))
    path = tmp_path / "out"
    await stage.library.export_to(path, "s", form, "all")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text(encoding="utf-8") == await stage.library.export("s", form, "all")


async def test_an_export_that_is_left_ends_and_leaves_no_file(stage: Stage, tmp_path: Path) -> None:
    for number in range(200):
        await stage.keep("s", Turn(id=f"t{number}", messages=(prompt(f"p{number}", "Go"),)))
    turns_read = 0
    submit = stage.database.submit_read

    def counted(read: Any) -> Any:
        nonlocal turns_read
        turns_read += 1
        if turns_read == 3:
            loop.call_soon_threadsafe(task.cancel)
            left.wait(10)
        return submit(read)

    loop, left = asyncio.get_running_loop(), threading.Event()
    stage.database.submit_read = counted  # type: ignore[assignment, method-assign]
    folder = tmp_path / "out"
    task = asyncio.create_task(stage.library.export_to(folder / "s.json", "s", "json", "all"))
    with pytest.raises(asyncio.CancelledError):
        await task
    left.set()
    async with asyncio.timeout(PATIENCE_S):
        while list(folder.iterdir()):
            await asyncio.sleep(0.01)
    assert turns_read < 200
