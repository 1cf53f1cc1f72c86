"""Searches that providers run: what is read from them, and that they go back as they came."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.corpus_cases import OWN_CORPUS
from tests.validators import anthropic, gemini, responses
from tests.wires.continued import assembled
from tui.catalog.facts import Quirks
from tui.cli.main import main
from tui.cli.wire.decode import decoded
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block, OpaqueBlock, TextBlock
from tui.domain.citations import SourceNumbers, searches_of, with_markers
from tui.domain.messages import Role, WireName
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
from tui.domain.thinking import PlanState, ThinkingPlan
from tui.domain.usage import Usage
from tui.domain.web_search import Source, WebSearch
from tui.wires.wire import wire_named

PLAN = ThinkingPlan(asked=0, nominal=None, sent=None, state=PlanState.UNCONTROLLED)


def own(wire: str, case: str) -> tuple[Block, ...]:
    return assembled(wire_named(wire), OWN_CORPUS / wire / case / "stream.sse")


def usage(wire: str, file: Path) -> Usage | None:
    answer = Assembler()
    for event in decoded(wire_named(wire), Quirks(), file.read_bytes()).events:
        answer.feed(event)
    return answer.usage


def shown(blocks: tuple[Block, ...]) -> tuple[list[str], list[Source]]:
    """The texts as they are drawn, and the sources below them."""
    numbers = SourceNumbers()
    texts = [block.text for block in with_markers(blocks, numbers) if isinstance(block, TextBlock) and block.text]
    return texts, list(numbers.sources)


def sent_back(wire: str, blocks: tuple[Block, ...]) -> dict[str, Any]:
    outgoing = (
        OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="q"),)),
        OutgoingMessage(role=Role.ASSISTANT, blocks=blocks, in_open_loop=True),
        OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="and now?"),)),
    )
    request = ChatRequest(model="m", outgoing=Outgoing(messages=outgoing), plan=PLAN)
    body: dict[str, Any] = json.loads(json.dumps(wire_named(wire).encode(request, Quirks()).body))
    return body


def test_claude_searches_and_cites() -> None:
    blocks = own("anthropic", "web_searches_and_cited_words")

    assert searches_of(blocks) == [
        WebSearch(
            id="srvtoolu_1",
            queries=("speed of light",),
            results=(
                Source(url="https://a.test/c", title="Speed of light"),
                Source(url="https://b.test/m", title="Metre"),
            ),
            done=True,
        ),
        WebSearch(id="srvtoolu_2", queries=("more",), error="max_uses_exceeded", done=True),
    ]
    assert shown(blocks) == (
        [
            "I will look it up.",
            "It is 299 792 458 m/s [1][2] by definition.\n\n- The metre follows from it. [2]",
        ],
        [Source(url="https://a.test/c", title="Speed of light"), Source(url="https://b.test/m", title="Metre")],
    )


def test_gpt_searches_opens_pages_and_annotates() -> None:
    blocks = own("openai-responses", "web_searches_and_annotated_words")

    assert searches_of(blocks) == [
        WebSearch(
            id="ws_1",
            queries=("tokyo population", "tokyo growth"),
            results=tuple(Source(url=f"https://{name}") for name in ("a.test/x", "b.test/y", "c.test/z")),
            done=True,
        ),
        WebSearch(id="ws_2", action="open", page="https://a.test/x", done=True),
    ]
    assert shown(blocks) == (
        ["Tokyo has 14 million people ([a.test](https://a.test/x)) [1]. Growing [2]."],
        [Source(url="https://a.test/x", title="Tokyo"), Source(url="https://b.test/y", title="Growth")],
    )


@pytest.mark.parametrize("case", ["grounded_words_with_places", "searches_as_parts"])
def test_gemini_grounds(case: str) -> None:
    blocks = own("gemini", case)
    pages = [Source(url="https://a.test/1", title="a.test"), Source(url="https://b.test/2", title="b.test")]

    assert shown(blocks) == (["Zürich is in Switzerland. [1] 🙂 It rains. [2][1]"], pages)
    assert searches_of(blocks)[-1] == WebSearch(
        queries=("zürich weather", "zürich country"), results=tuple(pages), done=True
    )


def test_servers_of_the_chat_format_annotate_or_list() -> None:
    annotated = own("openai-chat", "annotations_of_a_search")
    listed = own("openai-chat", "sources_beside_the_words")

    assert shown(annotated) == (
        ["Rain [1] today."],
        [Source(url="https://a.test/1", title="A"), Source(url="https://b.test/2", title="B")],
    )
    assert shown(listed) == (["Paris."], [Source(url="https://a.test", title="A")])


@pytest.mark.parametrize(
    ("wire", "case", "searches"),
    [
        ("anthropic", "web_searches_and_cited_words", 1),
        ("openai-responses", "web_searches_and_annotated_words", 1),
        ("gemini", "grounded_words_with_places", 2),
        ("gemini", "searches_as_parts", 2),
        ("openai-chat", "annotations_of_a_search", 2),
        ("openai-chat", "sources_beside_the_words", 1),
        ("openai-chat", "whole_answer", None),
        ("anthropic", "citations_between_words", None),
    ],
)
def test_the_searches_that_are_charged_are_counted(wire: str, case: str, searches: int | None) -> None:
    (body,) = (OWN_CORPUS / wire / case).glob("stream.*")
    counted = usage(wire, body)

    assert counted is not None
    assert counted.searches == searches


def test_the_cost_that_xai_reports_is_taken_with_its_searches() -> None:
    reported: dict[str, object] = {"input_tokens": 10, "output_tokens": 2, "cost_in_usd_ticks": 37_756_000}
    reported |= {"server_side_tool_usage_details": {"web_search_calls": 3}}
    body = {"id": "r", "object": "response", "status": "completed", "output": [], "usage": reported}
    answer = Assembler()
    for event in decoded(wire_named("openai-responses"), Quirks(), json.dumps(body).encode()).events:
        answer.feed(event)

    assert answer.usage is not None
    assert (answer.usage.searches, answer.usage.cost) == (3, 0.0037756)


def received_items(file: Path) -> list[dict[str, Any]]:
    """The content of a recorded Anthropic message, put together from its stream by hand."""
    if file.suffix == ".json":
        whole: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))["content"]
        return whole
    items: dict[int, dict[str, Any]] = {}
    for line in file.read_text("utf-8").splitlines():
        event = json.loads(line[5:]) if line.startswith("data:") and line[5:].strip() != "[DONE]" else {}
        if event.get("type") == "content_block_start":
            items[event["index"]] = {**event["content_block"], "json": ""}
        elif event.get("type") == "content_block_delta":
            item, delta = items[event["index"]], event["delta"]
            if delta["type"] == "text_delta":
                item["text"] += delta["text"]
            elif delta["type"] == "citations_delta":
                item.setdefault("citations", []).append(delta["citation"])
            elif delta["type"] == "input_json_delta":
                item["json"] += delta["partial_json"]
    for item in items.values():
        if arguments := item.pop("json"):
            item["input"] = json.loads(arguments)
    return list(items.values())


def as_sent(item: dict[str, Any]) -> dict[str, Any]:
    """Without what says nothing: an empty list of citations."""
    return {key: value for key, value in item.items() if key != "citations" or value}


def round_trip(file: Path) -> None:
    """What Claude sent of searches and citations goes back byte for byte."""
    blocks = assembled(wire_named("anthropic"), file)
    sent = sent_back("anthropic", blocks)["messages"][1]["content"]

    wanted = [as_sent(item) for item in received_items(file) if item["type"] != "text" or item["text"].strip()]
    assert sent == wanted
    assert list(map(json.dumps, filter(searched, sent))) == list(map(json.dumps, filter(searched, wanted)))


def searched(item: dict[str, Any]) -> bool:
    return item["type"] in ("server_tool_use", "web_search_tool_result")


def test_what_claude_sent_goes_back_byte_for_byte() -> None:
    round_trip(OWN_CORPUS / "anthropic" / "web_searches_and_cited_words" / "stream.sse")


def responses_items(file: Path) -> list[dict[str, Any]]:
    """The finished items of a recorded response."""
    if file.suffix == ".json":
        output: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))["output"]
        return output
    events = [json.loads(line[5:]) for line in file.read_text("utf-8").splitlines() if line.startswith("data: {")]
    return [event["item"] for event in events if event["type"] == "response.output_item.done"]


def responses_round_trip(file: Path) -> None:
    blocks = assembled(wire_named("openai-responses"), file)
    sent = sent_back("openai-responses", blocks)["input"][1:-1]
    searches = [item for item in responses_items(file) if item["type"] == "web_search_call"]
    annotations = [
        part["annotations"] for item in responses_items(file) for part in item.get("content") or () if part.get("text")
    ]

    assert [item for item in sent if item["type"] == "web_search_call"] == [
        {key: value for key, value in item.items() if value is not None} for item in searches
    ]
    assert [
        part["annotations"] for item in sent if item["type"] == "message" for part in item["content"]
    ] == annotations


def test_what_gpt_sent_goes_back_with_its_annotations() -> None:
    responses_round_trip(OWN_CORPUS / "openai-responses" / "web_searches_and_annotated_words" / "stream.sse")


def test_gemini_gets_its_searches_back_and_not_what_it_said_about_them() -> None:
    sent = sent_back("gemini", own("gemini", "searches_as_parts"))["contents"][1]["parts"]
    parts = [
        json.loads(line[5:])["candidates"][0]["content"]["parts"][0]
        for line in (OWN_CORPUS / "gemini/searches_as_parts/stream.sse").read_text("utf-8").splitlines()
        if line.startswith("data:")
    ]

    assert sent[:2] == parts[:2]


SEARCHES = ("web-search-tool", "websearch")
"""Names of recordings with searches."""


def recordings(shared_corpus: Path, wire: str) -> list[Path]:
    return sorted(
        file
        for folder in (shared_corpus / wire).iterdir()
        if any(name in folder.name for name in SEARCHES)
        for file in folder.rglob("response.*")
    )


def test_recorded_searches_of_claude_go_back_byte_for_byte(shared_corpus: Path) -> None:
    files = recordings(shared_corpus, "anthropic")

    for file in files:
        round_trip(file)
        assert all(search.done for search in searches_of(assembled(wire_named("anthropic"), file)))
    assert len(files) >= 4


def test_recorded_searches_of_gpt_go_back(shared_corpus: Path) -> None:
    files = recordings(shared_corpus, "openai-responses")

    for file in files:
        responses_round_trip(file)
        blocks = assembled(wire_named("openai-responses"), file)
        assert searches_of(blocks)
        assert shown(blocks)[1]
    assert len(files) >= 3


@pytest.mark.parametrize("wire", [name.value for name in WireName])
def test_what_is_known_about_a_search_changes_nothing_that_is_sent(wire: str) -> None:
    for folder in sorted((OWN_CORPUS / wire).iterdir()):
        (file,) = folder.glob("stream.*")
        answer = Assembler()
        for event in decoded(wire_named(wire), Quirks(), file.read_bytes()).events:
            answer.feed(event)
        blocks = answer.blocks()
        bare = tuple(
            replace(block, search=None)
            if isinstance(block, OpaqueBlock)
            else replace(block, citations=())
            if isinstance(block, TextBlock)
            else block
            for block in blocks
        )
        assert sent_back(wire, blocks) == sent_back(wire, bare)


def test_an_answer_that_its_provider_cut_at_citations_is_one_message_elsewhere() -> None:
    """As ``select`` hands it to another provider: without the items and the state of the first."""
    blocks = tuple(
        replace(block, provider_state=None)
        for block in own("anthropic", "web_searches_and_cited_words")
        if isinstance(block, TextBlock)
    )
    told = "It is 299 792 458 m/s by definition.\n\n- The metre follows from it."

    assert [item["content"] for item in sent_back("openai-responses", blocks)["input"][1:-1]] == [
        "I will look it up.",
        told,
    ]
    assert sent_back("openai-chat", blocks)["messages"][1]["content"] == f"I will look it up.{told}"


@pytest.mark.parametrize(
    ("model", "wire", "case", "problems"),
    [
        ("anthropic/claude-opus-5/none", "anthropic", "web_searches_and_cited_words", anthropic.problems),
        ("openai/gpt-6.1-sol/low", "openai-responses", "web_searches_and_annotated_words", responses.problems),
        ("google/gemini-3.8-flash/low", "gemini", "searches_as_parts", gemini.problems),
        ("google/gemini-3.8-flash/low", "gemini", "grounded_words_with_places", gemini.problems),
    ],
)
def test_the_request_after_a_search_is_taken_by_the_server(
    model: str,
    wire: str,
    case: str,
    problems: Callable[[dict[str, Any]], list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    provider, name, _ = model.split("/")
    stream = str(OWN_CORPUS / wire / case / "stream.sse")
    answered = {"response": {"wire": wire, "provider": provider, "model": name, "file": stream}}
    read = {"name": "read_file", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}
    file = tmp_path / "conversation.json"
    file.write_text(json.dumps({"tools": [read], "turns": [{"user": "q"}, answered, {"user": "and now?"}]}))

    assert main(["wire", "encode", "--model", model, "--set", "tools.webSearch=true", str(file)]) == 0
    body = json.loads(capsys.readouterr().out)["body"]
    assert problems(body) == []
    assert len(body["tools"]) == 2
    assert "groundingMetadata" not in json.dumps(body)
