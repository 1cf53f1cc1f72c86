"""Which part of a cached prefix the next request can still read, per family of provider and kind of change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.context.aims import CLAUDE, DEEPSEEK, answer, turn, user
from tui.context.prompt_cache import (
    UNKNOWN_LIFETIME_S,
    NextRequest,
    cache_state,
    history_digest,
    kept_tokens,
    record_request,
    rules_name,
    tools_digest,
)
from tui.domain.compression import CompressionView
from tui.domain.messages import CacheRecord, Message
from tui.domain.request import ChatRequest, Outgoing, ToolSchema
from tui.domain.thinking import PlanState, ReasoningRules, StripPolicy, ThinkingLevel, ThinkingPlan
from tui.domain.usage import Usage

AT = 1_795_000_000.0
TOOLS, SYSTEM = 2_000, 500
RECORD = CacheRecord(at=AT, ttl="1h", tools="t", system="s", thinking="e")
ANTHROPIC = NextRequest(
    provider="anthropic",
    model="claude-opus-5",
    level="high",
    tools="t",
    system="s",
    history="",
    has_marks=True,
    tools_tokens=TOOLS,
    system_tokens=SYSTEM,
)
AUTOMATIC = replace(ANTHROPIC, provider="deepseek", model="deepseek-v4-pro", has_marks=False)


def cached(following: NextRequest, read: int = 57_000, written: int | None = 1_000, number: int = 1) -> Message:
    goal = CLAUDE if following.provider == "anthropic" else DEEPSEEK
    made = answer(goal, f"a{number}", "because", usage=Usage(input=60_000, cache_read=read, cache_write=written))
    assert made.origin is not None
    return replace(made, origin=replace(made.origin, level="high"), cache=RECORD)


@pytest.mark.parametrize(
    ("changes", "with_marks", "automatic"),
    [
        ({}, 58_000, 58_000),
        ({"level": "med"}, TOOLS + SYSTEM, 58_000),
        ({"level": "med", "thinking": "other"}, TOOLS + SYSTEM, 58_000),
        ({"level": "20000", "thinking": "e"}, 58_000, 58_000),
        ({"tools": ""}, 0, 0),
        ({"tools": "other", "system": "other"}, 0, 0),
        ({"system": "other"}, TOOLS, TOOLS),
        ({"history": "a summary"}, TOOLS + SYSTEM, TOOLS + SYSTEM),
        ({"rules": "auto-all-auto"}, 58_000, 58_000),
        ({"rules": "auto-all-auto", "has_thinking": True}, TOOLS + SYSTEM, TOOLS + SYSTEM),
        ({"model": "another"}, 0, 0),
        ({"provider": "another"}, 0, 0),
    ],
)
def test_what_a_change_leaves_of_the_cached_prefix(changes: dict[str, object], with_marks: int, automatic: int) -> None:
    for family, kept in ((ANTHROPIC, with_marks), (AUTOMATIC, automatic)):
        changed = replace(family, **changes)  # type: ignore[arg-type]  # fields by name
        assert kept_tokens(cached(family), changed) == kept, family.provider


def test_no_more_is_kept_than_was_cached() -> None:
    small = cached(ANTHROPIC, read=1_200, written=0)
    assert kept_tokens(small, replace(ANTHROPIC, system="other")) == 1_200
    assert kept_tokens(small, replace(ANTHROPIC, level="med")) == 1_200


def test_a_beginning_too_short_for_a_cache_is_not_kept() -> None:
    tiny = replace(ANTHROPIC, tools_tokens=600, system_tokens=400)
    assert kept_tokens(cached(tiny), replace(tiny, level="med")) == 0
    assert kept_tokens(cached(tiny), tiny) == 58_000


def test_a_change_that_is_taken_back_finds_what_was_there_before() -> None:
    first = turn("t1", user("u1", "why?"), cached(ANTHROPIC, 40_000, 0, 1))
    later = cached(ANTHROPIC, 0, 50_000, 2)
    assert later.origin is not None
    second = turn("t2", user("u2", "and?"), replace(later, origin=replace(later.origin, level="med")))
    state = cache_state((first, second), ANTHROPIC, AT + 60)
    assert state is not None
    assert (state.tokens, state.left_s) == (40_000, 3_540)
    state = cache_state((first, second), replace(ANTHROPIC, level="med"), AT + 60)
    assert state is not None
    assert state.tokens == 50_000


@pytest.mark.parametrize(("ttl", "seconds"), [("5m", 300), ("30m", 1_800), ("1h", 3_600)])
def test_a_cache_lasts_as_long_as_was_asked_for(ttl: str, seconds: int) -> None:
    turns = (turn("t1", user("u1", "why?"), replace(cached(ANTHROPIC), cache=replace(RECORD, ttl=ttl))),)
    state = cache_state(turns, ANTHROPIC, AT + seconds - 1)
    assert state is not None
    assert state.left_s == 1
    assert cache_state(turns, ANTHROPIC, AT + seconds) is None


def test_a_cache_without_a_stated_lifetime_is_not_believed_in_for_ever() -> None:
    turns = (turn("t1", user("u1", "why?"), replace(cached(AUTOMATIC, written=None), cache=replace(RECORD, ttl=""))),)
    state = cache_state(turns, AUTOMATIC, AT + UNKNOWN_LIFETIME_S - 1)
    assert state is not None
    assert (state.tokens, state.left_s) == (57_000, None)
    assert cache_state(turns, AUTOMATIC, AT + UNKNOWN_LIFETIME_S) is None


def test_a_record_names_what_the_request_began_with() -> None:
    tool = ToolSchema(name="grep", description="Searches.", parameters={"type": "object"})
    plan = ThinkingPlan(asked=ThinkingLevel.MED, nominal=None, sent=None, state=PlanState.ON)
    request = ChatRequest(
        model="m", outgoing=Outgoing(messages=()), plan=plan, system="Be terse.", tools=(tool,), cache_ttl="off"
    )
    rules = ReasoningRules(strip=StripPolicy.ALL)
    view = CompressionView(summary="It was long.", compressed_turns=frozenset({"t1"}))
    made = record_request(request, view, rules, at=AT)
    assert (made.at, made.ttl, made.tools) == (AT, "", tools_digest((tool,)))
    assert made.history == history_digest(view) != history_digest(replace(view, summary="It was short."))
    assert made.rules == rules_name(rules) != rules_name(ReasoningRules()) == ""
    other = record_request(replace(request, system="", tools=(replace(tool, name="glob"),)), None, rules, at=AT)
    assert made.tools != other.tools
    assert made.system != other.system == other.history == ""
