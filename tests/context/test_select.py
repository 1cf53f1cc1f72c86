from dataclasses import replace

import pytest

from tests.context.aims import (
    CLAUDE,
    CLAUDE_BUDGET,
    DEEPSEEK,
    GEMINI,
    GPT,
    OLLAMA,
    OPENROUTER,
    PLAIN_CHAT,
    answer,
    call,
    result,
    results,
    said,
    sent,
    thought,
    turn,
    user,
)
from tests.narrow import state_of
from tui.context.thinking_back import SelectionRepair
from tui.domain.blocks import ImageBlock, OpaqueBlock, ProviderState, ThinkingBlock
from tui.domain.compression import CompressionView
from tui.domain.request import Reason
from tui.domain.thinking import (
    IncludeInContext,
    PlanState,
    ReasoningFormat,
    ReasoningRules,
    StripPolicy,
    ThinkingForm,
)

STRIP_ALL = ReasoningRules(strip=StripPolicy.ALL)
BUT_LAST = ReasoningRules(strip=StripPolicy.ALL_BUT_LAST)
NOT_INCLUDED = ReasoningRules(include_in_context=IncludeInContext.FALSE)
AS_FIELD = ReasoningRules(format=ReasoningFormat.FIELD)


def three_turns(goal):
    return (
        turn("t1", user("u1", "one?"), answer(goal, "a1", thought(goal, "first"), "one")),
        turn("t2", user("u2", "two?"), answer(goal, "a2", thought(goal, "second"), "two")),
        turn("t3", user("u3", "three?")),
    )


def open_loop(goal):
    return turn(
        "t9",
        user("u9", "look"),
        answer(goal, "a9", thought(goal, "in loop"), call("c1")),
        results("r9", result("c1")),
        is_open=True,
    )


def thoughts(outgoing):
    return [block.text for message in outgoing.messages for block in message.blocks if block.kind == "thinking"]


def reasons(outgoing, kind="thinking"):
    return [verdict.reason for verdict in outgoing.verdicts if verdict.kind == kind]


def test_own_thinking_goes_back_untouched():
    hidden = ThinkingBlock(text="", form=ThinkingForm.HIDDEN, provider_state=ProviderState(encrypted="opaque"))
    history = turn("t1", user("u1", "hi"), answer(CLAUDE, "a1", hidden, "hello")), turn("t2", user("u2", "more"))
    assert CLAUDE.select(*history).messages[1].blocks == (hidden, said("hello"))


def test_strip_all_takes_the_thinking_of_every_finished_turn():
    outgoing = CLAUDE.select(*three_turns(CLAUDE), rules=STRIP_ALL)
    assert thoughts(outgoing) == []
    assert reasons(outgoing) == [Reason.POLICY, Reason.POLICY]


def test_all_but_last_keeps_the_last_finished_turn():
    assert thoughts(CLAUDE.select(*three_turns(CLAUDE), rules=BUT_LAST)) == ["second"]


def test_an_open_loop_keeps_its_thinking_whatever_the_policy_and_says_so():
    outgoing = CLAUDE.select(*three_turns(CLAUDE)[:2], open_loop(CLAUDE), rules=NOT_INCLUDED)
    assert thoughts(outgoing) == ["in loop"]
    assert reasons(outgoing) == [Reason.POLICY, Reason.POLICY, Reason.REQUIRED]
    assert len(outgoing.warnings) == 1


def test_a_loop_whose_model_needs_no_thinking_gets_none_if_none_is_to_be_included():
    outgoing = OLLAMA.select(open_loop(OLLAMA), rules=NOT_INCLUDED)
    assert thoughts(outgoing) == []
    assert outgoing.warnings == ()
    assert thoughts(OLLAMA.select(open_loop(OLLAMA), rules=STRIP_ALL)) == ["in loop"]


def test_all_but_last_counts_finished_turns_so_a_loop_does_not_change_its_own_past():
    outgoing = CLAUDE.select(*three_turns(CLAUDE)[:2], open_loop(CLAUDE), rules=BUT_LAST)
    assert thoughts(outgoing) == ["second", "in loop"]


@pytest.mark.parametrize("goal", [CLAUDE, GPT, DEEPSEEK, GEMINI])
def test_another_models_thinking_stays_behind_but_its_words_go(goal):
    other = GPT if goal is CLAUDE else CLAUDE
    outgoing = goal.select(*three_turns(other))
    assert thoughts(outgoing) == []
    assert reasons(outgoing) == [Reason.FOREIGN, Reason.FOREIGN]
    assert [blocks for role, blocks in sent(outgoing) if role == "assistant"] == [["one"], ["two"]]


def test_foreign_thinking_goes_as_labelled_text_when_asked_for():
    outgoing = CLAUDE.select(*three_turns(GPT), rules=AS_FIELD)
    assert sent(outgoing)[1] == ("assistant", ["Earlier reasoning:\nfirst", "one"])
    assert reasons(outgoing) == [Reason.AS_TEXT, Reason.AS_TEXT]


def test_foreign_thinking_goes_in_the_field_of_a_server_that_has_an_unsealed_one():
    assert thoughts(DEEPSEEK.select(*three_turns(CLAUDE), rules=AS_FIELD)) == ["first", "second"]


@pytest.mark.parametrize("change", [{"host": "proxy.example"}, {"account": "other"}, {"family": "gpt"}])
def test_seals_do_not_cross_hosts_accounts_or_families(change):
    elsewhere = replace(CLAUDE, origin=replace(CLAUDE.origin, account="mine"))
    target = replace(elsewhere, origin=replace(elsewhere.origin, **change))
    assert thoughts(target.select(*three_turns(elsewhere))) == []


def test_models_of_one_family_read_each_others_seals():
    sibling = replace(CLAUDE, origin=replace(CLAUDE.origin, model="claude-sonnet-5"))
    assert thoughts(sibling.select(*three_turns(CLAUDE))) == ["first", "second"]


def test_a_model_that_takes_no_thinking_back_gets_none():
    outgoing = PLAIN_CHAT.select(*three_turns(PLAIN_CHAT))
    assert reasons(outgoing) == [Reason.IGNORED_BY_PROVIDER, Reason.IGNORED_BY_PROVIDER]


def test_thinking_whose_stream_broke_stays_behind():
    history = turn("t1", user("u1", "hi"), answer(CLAUDE, "a1", thought(CLAUDE, partial=True), interrupted="cut"))
    outgoing = CLAUDE.select(history, turn("t2", user("u2", "again")))
    assert sent(outgoing) == [("user", ["hi"]), ("user", ["again"])]
    assert reasons(outgoing) == [Reason.INTERRUPTED]


def test_thinking_switched_off_leaves_sealed_thinking_behind():
    off = CLAUDE.with_plan(PlanState.OFF, None)
    assert reasons(off.select(*three_turns(CLAUDE))) == [Reason.THINKING_OFF, Reason.THINKING_OFF]


def test_items_only_taken_back_under_beta_headers_stay_behind():
    advised = OpaqueBlock(label="server_tool_use", raw='{"type": "server_tool_use", "name": "advisor"}')
    advice = OpaqueBlock(label="advisor_tool_result", raw='{"type": "advisor_tool_result"}')
    searched = OpaqueBlock(label="server_tool_use", raw='{"type": "server_tool_use", "name": "web_search"}')
    history = turn("t1", user("u1", "hi"), answer(CLAUDE, "a1", advised, advice, "well", searched, "so"))
    assert sent(CLAUDE.select(history, turn("t2", user("u2", "more"))))[1] == ("assistant", ["well", "opaque", "so"])


def test_what_a_later_version_stored_stays_behind_on_every_wire():
    later = OpaqueBlock(label="hologram", raw='{"kind": "hologram"}', unread=True)
    for goal in (CLAUDE, GPT, GEMINI, DEEPSEEK, OLLAMA):
        history = turn("t1", user("u1", "hi"), answer(goal, "a1", later, "well"))
        outgoing = goal.select(history, turn("t2", user("u2", "more")))
        assert sent(outgoing)[1] == ("assistant", ["well"])
        assert reasons(outgoing, "opaque") == [Reason.UNREAD]


def test_items_of_an_interrupted_answer_that_we_do_not_model_stay_behind():
    search = OpaqueBlock(label="server_tool_use", raw='{"type": "server_tool_use"}')
    broken = turn("t1", user("u1", "hi"), answer(CLAUDE, "a1", "let me", search, interrupted="stream cut"))
    assert sent(CLAUDE.select(broken, turn("t2", user("u2", "more"))))[1] == ("assistant", ["let me"])
    whole = turn("t1", user("u1", "hi"), answer(CLAUDE, "a1", "let me", search))
    assert sent(CLAUDE.select(whole, turn("t2", user("u2", "more"))))[1] == ("assistant", ["let me", "opaque"])
    assert sent(GPT.select(whole, turn("t2", user("u2", "more"))))[1] == ("assistant", ["let me"])


def test_superseded_attempts_are_never_sent():
    history = turn("t1", user("u1", "hi"), answer(CLAUDE, "a1", "half", superseded=True), answer(CLAUDE, "a2", "whole"))
    outgoing = CLAUDE.select(history, turn("t2", user("u2", "more")))
    assert sent(outgoing)[1:] == [("assistant", ["whole"]), ("user", ["more"])]
    assert reasons(outgoing, "text")[1] is Reason.SUPERSEDED


def test_a_bound_model_loses_all_finished_thinking_or_none():
    bound = CLAUDE.with_facts(bound=True)
    outgoing = bound.select(*three_turns(CLAUDE), rules=BUT_LAST)
    assert thoughts(outgoing) == []
    assert reasons(outgoing) == [Reason.POLICY, Reason.BINDING]


def test_dropping_a_reasoning_item_drops_the_ids_of_what_followed_it():
    signed = answer(
        GPT,
        "a1",
        thought(GPT),
        said("one", provider_state=ProviderState(id="msg_1")),
        call("c1", provider_state=ProviderState(id="fc_1")),
    )
    history = turn("t1", user("u1", "hi"), signed, results("r1", result("c1"))), turn("t2", user("u2", "more"))
    whole, stripped = GPT.select(*history), GPT.select(*history, rules=STRIP_ALL)
    assert [state_of(block).id for block in whole.messages[1].blocks] == ["rs_1", "msg_1", "fc_1"]
    assert [state_of(block).id for block in stripped.messages[1].blocks] == [None, None]


def test_an_item_that_followed_a_dropped_reasoning_item_goes_with_it():
    search = OpaqueBlock(label="web_search_call", raw='{"type": "web_search_call", "id": "ws_1"}')
    history = turn("t1", user("u1", "hi"), answer(GPT, "a1", thought(GPT), search, "so")), turn("t2", user("u2", "?"))
    assert sent(GPT.select(*history))[1][1] == ["thinking: hm", "opaque", "so"]
    assert sent(GPT.select(*history, rules=STRIP_ALL))[1][1] == ["so"]


def test_thinking_of_nothing_is_nothing():
    empty = ThinkingBlock(text="", form=ThinkingForm.HIDDEN)
    outgoing = CLAUDE.select(
        turn("t1", user("u1", "hi"), answer(CLAUDE, "a1", empty, "so")), turn("t2", user("u2", "?"))
    )
    assert reasons(outgoing) == [Reason.EMPTY]


def test_gemini_loses_thoughts_by_policy_but_never_the_signature_of_a_call():
    signed = call("c1", provider_state=ProviderState(signature="Ct=="))
    history = turn("t1", user("u1", "hi"), answer(GEMINI, "a1", thought(GEMINI), signed), results("r1", result("c1")))
    outgoing = GEMINI.select(history, turn("t2", user("u2", "more")), rules=STRIP_ALL)
    assert outgoing.messages[1].blocks == (signed,)


def test_a_router_keeps_the_thinking_of_turns_with_tools_and_a_maker_does_not():
    with_tools = turn(
        "t1",
        user("u1", "hi"),
        answer(OPENROUTER, "a1", thought(OPENROUTER, "tools"), call("c1")),
        results("r1", result("c1")),
        answer(OPENROUTER, "a2", thought(OPENROUTER, "then"), "done"),
    )
    without = turn("t2", user("u2", "more"), answer(OPENROUTER, "a3", thought(OPENROUTER, "plain"), "yes"))
    outgoing = OPENROUTER.select(with_tools, without, turn("t3", user("u3", "?")), rules=STRIP_ALL)
    assert thoughts(outgoing) == ["tools", "then"]
    assert len(outgoing.warnings) == 1
    maker = OPENROUTER.with_quirks(tools_keep_thinking=False)
    assert thoughts(maker.select(with_tools, without, turn("t3", user("u3", "?")), rules=STRIP_ALL)) == []


def test_after_a_refused_seal_nothing_sealed_is_sent():
    signed = answer(GEMINI, "a1", thought(GEMINI), said("one", provider_state=ProviderState(signature="Ct==")))
    history = turn("t1", user("u1", "hi"), signed), turn("t2", user("u2", "more"))
    outgoing = GEMINI.select(*history, repair=frozenset({SelectionRepair.DROP_THINKING}))
    assert outgoing.messages[1].blocks == (said("one"),)
    assert reasons(outgoing) == [Reason.REPAIR]


def test_images_become_words_for_a_model_without_eyes():
    blind = CLAUDE.with_facts(inputs=frozenset({"text"}))
    picture = ImageBlock(media_type="image/png", data="AAAA")
    outgoing = blind.select(turn("t1", user("u1", "see", picture)))
    assert sent(outgoing) == [("user", ["see", "[image omitted]"])]
    assert reasons(outgoing, "image") == [Reason.UNSUPPORTED_INPUT]


def test_folded_turns_are_replaced_by_their_summary():
    view = CompressionView(summary="They counted.", compressed_turns=frozenset({"t1", "t2"}))
    outgoing = CLAUDE.select(*three_turns(CLAUDE), compression=view)
    assert sent(outgoing) == [("user", [view.as_message()]), ("user", ["three?"])]
    assert {verdict.reason for verdict in outgoing.verdicts[:-1]} == {Reason.COMPRESSED}


def test_folding_costs_a_bound_model_the_thinking_of_kept_turns_too():
    view = CompressionView(summary="They counted.", compressed_turns=frozenset({"t1"}))
    outgoing = CLAUDE.with_facts(bound=True).select(*three_turns(CLAUDE), compression=view)
    assert reasons(outgoing) == [Reason.COMPRESSED, Reason.BINDING]


def test_thinking_of_turns_after_a_compression_stays_valid():
    view = CompressionView(summary="They counted.", compressed_turns=frozenset({"t1"}), finished=frozenset({"t1"}))
    outgoing = CLAUDE.with_facts(bound=True).select(*three_turns(CLAUDE), compression=view)
    assert reasons(outgoing) == [Reason.COMPRESSED, Reason.SENT]


def test_a_loop_begun_elsewhere_is_told_in_words_where_a_budget_wants_thinking_first():
    outgoing = CLAUDE_BUDGET.select(open_loop(GPT))
    assert sent(outgoing) == [
        ("user", ["look"]),
        ("assistant", ["[called read_file with {}]"]),
        ("user", ["[read_file returned: done]"]),
    ]
    assert len(outgoing.warnings) == 1


def test_a_copy_that_called_a_tool_without_a_thought_gets_its_loop_back_as_it_was():
    copy = CLAUDE_BUDGET.with_quirks(empty_signatures=True)
    loop = turn("t9", user("u9", "look"), answer(copy, "a9", call("c1")), results("r9", result("c1")), is_open=True)
    outgoing = copy.select(loop)
    assert sent(outgoing)[1:] == [("assistant", ["call c1"]), ("tool", ["result c1: done"])]
    assert outgoing.warnings == ()
    told = copy.select(loop, repair=frozenset({SelectionRepair.DROP_THINKING}))
    assert sent(told)[1:] == [("assistant", ["[called read_file with {}]"]), ("user", ["[read_file returned: done]"])]


def test_a_loop_begun_elsewhere_goes_as_it_is_where_thinking_is_adaptive():
    assert sent(CLAUDE.select(open_loop(GPT)))[1:] == [("assistant", ["call c1"]), ("tool", ["result c1: done"])]
