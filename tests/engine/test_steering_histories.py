"""Whatever users say and ask for in the middle of turns: every wire takes the next request, and its prefix is kept.

The sessions are those of ``generated_sessions``. Their requests are checked by validators that know what the APIs
refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from tests.engine.generated_sessions import GeneratedSession, Sent
from tests.engine.test_stable_prefix import Item, as_they_are, check, items, prompt
from tests.validators import anthropic, chat, gemini, ollama, responses
from tui.domain.messages import WireName

FIRST = 2_000_000
SHORT, LONG = 6, 1_000
"""Histories per wire; the long run has 5,000 together."""
DIALECTS = {"moonshot": "kimi", "alibaba": "qwen", "zai": "glm", "llama.cpp": "llamacpp"}


def _chat(sent: Sent) -> list[str]:
    provider = sent.model.partition("/")[0]
    return chat.problems(sent.body, dialect=DIALECTS.get(provider, provider))


PROBLEMS: dict[WireName, Callable[[Sent], list[str]]] = {
    WireName.ANTHROPIC: lambda sent: anthropic.problems(sent.body, strict_thinking=False),
    WireName.OPENAI_RESPONSES: lambda sent: responses.problems(sent.body),
    WireName.OPENAI_CHAT: _chat,
    WireName.GEMINI: lambda sent: gemini.problems(sent.body, strict_thinking=False),
    WireName.OLLAMA: lambda sent: ollama.problems(sent.body),
}


def steers_sent(session: GeneratedSession) -> Iterator[str]:
    for sent in session.sent:
        spelled = orjson.dumps(sent.body).decode()
        yield from (said for said in session.steers if said in spelled)


def results_first(body: dict[str, Any]) -> bool:
    """Gemini and Anthropic refuse a user message with anything between the calls and their results."""
    for message in body.get("messages", body.get("contents", ())):
        parts = message.get("content", message.get("parts"))
        if message["role"] != "user" or not isinstance(parts, list):
            continue
        kinds = ["functionResponse" in part or part.get("type") == "tool_result" for part in parts]
        if any(kinds) and kinds != sorted(kinds, reverse=True):
            return False
        if "contents" in body and any(kinds) and not all(kinds):
            return False
    return True


def of_the_turn(sent: Sent) -> list[Item]:
    """The prompt of the running turn and all after it. With thinking off, that of earlier turns is not sent."""
    found = items(prompt(sent)[1])
    return found[max(position for position, (_, text) in enumerate(found) if "Question " in text) :]


def same_steps(before: Sent, after: Sent) -> bool:
    """The request at the lowest level has the steps of the one it replaces, and then the note."""
    old, new = of_the_turn(before), of_the_turn(after)
    end = len(old) - 1
    return new[:end] == old[:end] and new[end][0] == old[end][0] and new[end][1].startswith(old[end][1])


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "histories", [SHORT, pytest.param(LONG, marks=[pytest.mark.minutes, pytest.mark.timeout(3_600)])]
)
@pytest.mark.parametrize("wire", WireName)
async def test_what_is_said_in_the_middle_of_a_turn_is_sent_in_a_form_that_the_api_accepts(
    wire: WireName, histories: int
) -> None:
    said = ended = 0
    for seed in range(FIRST, FIRST + histories):
        session = GeneratedSession(wire, seed, as_they_are)
        await session.play(6)
        check(session)
        said += len(set(steers_sent(session)))
        ended += len(session.answered_now)
        for sent in session.sent:
            assert PROBLEMS[sent.wire](sent) == [], f"{wire} seed {seed}, {sent.model}"
            assert results_first(sent.body), f"{wire} seed {seed}, {sent.model}"
        for before, after in session.answered_now:
            assert same_steps(before, after), f"{wire} seed {seed}, {after.model}"
    assert said >= histories
    assert ended >= histories / 3
