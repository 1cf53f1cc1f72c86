"""Encrypted search results weigh what the server counts of them, and are never sent without their search."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.context.aims import CLAUDE, answer, turn, user
from tests.corpus_cases import OWN_CORPUS
from tests.wires.continued import assembled
from tui.context.estimate import block_tokens
from tui.domain.blocks import Block, OpaqueBlock, TextBlock
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import Finish, Stop
from tui.domain.web_search import Source, WebSearch
from tui.wires.wire import wire_named


def found(encrypted: int) -> OpaqueBlock:
    page = {"type": "web_search_result", "url": "https://a.test", "title": "A", "encrypted_content": "E" * encrypted}
    item = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [page, page]}
    search = WebSearch(id="s", results=(Source(url="https://a.test"),) * 2, done=True)
    return OpaqueBlock(label="web_search_tool_result", raw=json.dumps(item), search=search)


def test_encrypted_results_weigh_less_than_their_characters() -> None:
    assert block_tokens(found(10_000), "claude") == 5_800


@pytest.mark.parametrize("raw", ["", "not json", "{}", '{"content": 5}'])
def test_results_of_any_other_form_weigh_as_text(raw: str) -> None:
    odd = replace(found(1), raw=raw)

    assert block_tokens(odd, "claude") == block_tokens(OpaqueBlock(label="x", raw=raw), "claude")


def test_recorded_results_weigh_what_the_server_counted(shared_corpus: Path) -> None:
    """The server counts a request once before the search and once with its results."""
    errors = []
    for file in sorted((shared_corpus / "anthropic").glob("*web*search*/**/response.sse")):
        counted = [
            usage["input_tokens"]
            for line in file.read_text("utf-8").splitlines()
            if line.startswith("data:")
            for event in [json.loads(line[5:])]
            if (usage := event.get("usage") or event.get("message", {}).get("usage")) and "input_tokens" in usage
        ]
        results = [
            block for block in blocks_of(file) if isinstance(block, OpaqueBlock) and "tool_result" in block.label
        ]
        weight = sum(block_tokens(block, "claude") for block in results)
        errors.append(weight / (counted[-1] - 2 * counted[0]) - 1)
    assert len(errors) >= 3
    assert max(map(abs, errors)) < 0.06


def blocks_of(file: Path) -> tuple[Block, ...]:
    return assembled(wire_named("anthropic"), file)


@pytest.mark.parametrize(("interrupted", "kept"), [(None, True), ("cancelled", False)])
def test_an_answer_that_broke_off_goes_without_its_searches_and_what_cites_them(
    interrupted: str | None, kept: bool
) -> None:
    blocks = blocks_of(OWN_CORPUS / "anthropic" / "web_searches_and_cited_words" / "stream.sse")
    spoken = replace(answer(CLAUDE, "a1"), blocks=blocks, interrupted=interrupted)
    selected = CLAUDE.select(turn("t1", user("u1", "one?"), spoken), turn("t2", user("u2", "two?")))

    (message,) = [message for message in selected.messages if message.role is Role.ASSISTANT]
    states = [block.provider_state for block in message.blocks if isinstance(block, TextBlock)]
    assert any(isinstance(block, OpaqueBlock) for block in message.blocks) is kept
    assert any(state is not None for state in states) is kept


SEARCH = OpaqueBlock(
    label="server_tool_use",
    raw='{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"rain"}}',
    search=WebSearch(id="s", queries=("rain",)),
)


def paused(identity: str, *blocks: Block) -> Message:
    return replace(answer(CLAUDE, identity), blocks=blocks, stop=Stop(Finish.PAUSE, "pause_turn"))


def kinds(*turns: Turn) -> list[list[str]]:
    selected = CLAUDE.select(*turns)
    return [[block.kind for block in message.blocks] for message in selected.messages if message.role is Role.ASSISTANT]


def test_a_paused_answer_that_goes_on_keeps_its_search() -> None:
    running = turn("t1", user("u1", "one?"), paused("a1", TextBlock(text="I look."), SEARCH), is_open=True)

    assert kinds(running) == [["text", "opaque"]]


def test_a_search_that_was_never_answered_goes_no_further() -> None:
    stopped = turn("t1", user("u1", "one?"), paused("a1", TextBlock(text="I look."), SEARCH))
    cut = replace(answer(CLAUDE, "a2"), blocks=(found(10), TextBlock(text="It")), interrupted="cancelled")
    broken = turn("t1", user("u1", "one?"), paused("a1", TextBlock(text="I look."), SEARCH), cut)
    following = turn("t2", user("u2", "two?"))

    assert kinds(stopped, following) == [["text"]]
    assert kinds(broken, following) == [["text"], ["text"]]


def test_a_search_that_was_answered_after_the_pause_stays() -> None:
    rest = replace(answer(CLAUDE, "a2"), blocks=(found(10), TextBlock(text="It rains.")))
    whole = turn("t1", user("u1", "one?"), paused("a1", TextBlock(text="I look."), SEARCH), rest)

    assert kinds(whole, turn("t2", user("u2", "two?"))) == [["text", "opaque"], ["opaque", "text"]]
