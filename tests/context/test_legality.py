import re

import pytest

from tests.context.aims import (
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    GPT,
    MISTRAL,
    OLLAMA,
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
from tui.catalog.facts import EchoRule
from tui.context.legality import MAY_HAVE_RUN
from tui.domain.blocks import ImageBlock, OpaqueBlock, ProviderState, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.request import Reason
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import PlanState, ThinkingForm

EVERYWHERE = pytest.mark.parametrize("goal", [CLAUDE, GPT, DEEPSEEK, MISTRAL, GEMINI, OLLAMA])


@EVERYWHERE
def test_a_call_that_nobody_answered_gets_a_failed_result_at_once(goal):
    history = turn("t1", user("u1", "go"), answer(goal, "a1", call("c1"), call("c2")), results("r1", result("c2")))
    outgoing = goal.select(history, turn("t2", user("u2", "and?")))
    assert sent(outgoing)[2] == ("tool", [f"result c1 failed: {MAY_HAVE_RUN}", "result c2: done"])


@EVERYWHERE
def test_results_without_a_call_stay_behind(goal):
    outgoing = goal.select(turn("t1", user("u1", "go"), results("r1", result("lost"))))
    assert sent(outgoing) == [("user", ["go"])]
    assert outgoing.verdicts[-1].reason is Reason.ORPHAN


@EVERYWHERE
def test_a_call_whose_arguments_never_ended_stays_behind_with_its_result(goal):
    history = turn("t1", user("u1", "go"), answer(goal, "a1", "wait", call("c1", arguments='{"a', partial=True)))
    outgoing = goal.select(history, turn("t2", user("u2", "and?")))
    assert sent(outgoing) == [("user", ["go"]), ("assistant", ["wait"]), ("user", ["and?"])]
    assert Reason.BROKEN_CALL in [verdict.reason for verdict in outgoing.verdicts]


@EVERYWHERE
@pytest.mark.parametrize("name", ["functions.list dir", "2nd", "-x", "é\x1b[31m" * 40, "a" * 65])
def test_a_name_no_tool_can_have_is_spelled_so_that_servers_take_it(goal, name):
    history = turn("t1", user("u1", "go"), answer(goal, "a1", call("c1", name=name)), results("r1", result("c1")))
    blocks = [block for message in goal.select(history).messages for block in message.blocks]
    [called] = [block for block in blocks if isinstance(block, ToolCallBlock)]
    [told] = [block for block in blocks if isinstance(block, ToolResultBlock)]
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", called.name)
    assert told.name == called.name


@EVERYWHERE
def test_results_come_in_the_order_of_their_calls(goal):
    history = turn(
        "t1",
        user("u1", "go"),
        answer(goal, "a1", call("c1"), call("c2")),
        results("r1", result("c2", "second")),
        results("r2", result("c1", "first")),
        is_open=True,
    )
    assert sent(goal.select(history))[2:] == [("tool", ["result c1: first", "result c2: second"])]


def test_words_sent_while_a_tool_ran_come_after_its_result():
    history = turn(
        "t1", user("u1", "go"), answer(CLAUDE, "a1", call("c1")), user("u2", "hurry"), results("r1", result("c1"))
    )
    assert sent(CLAUDE.select(history))[2:] == [("tool", ["result c1: done"]), ("user", ["hurry"])]


def test_call_ids_that_come_again_are_told_apart():
    history = [
        turn(f"t{n}", user(f"u{n}", "go"), answer(OLLAMA, f"a{n}", call("call_0")), results(f"r{n}", result("call_0")))
        for n in range(3)
    ]
    ids = [
        block.call_id
        for message in OLLAMA.select(*history).messages
        for block in message.blocks
        if isinstance(block, ToolCallBlock | ToolResultBlock)
    ]
    assert ids == ["call_0", "call_0", "call_0_2", "call_0_2", "call_0_3", "call_0_3"]


def test_words_that_were_cut_off_say_so():
    history = turn("t1", user("u1", "go"), answer(CLAUDE, "a1", said("half a", partial=True)))
    assert sent(CLAUDE.select(history, turn("t2", user("u2", "on"))))[1] == ("assistant", ["half a [interrupted]"])


def test_an_answer_of_thinking_alone_is_not_sent():
    history = turn("t1", user("u1", "go"), answer(DEEPSEEK, "a1", thought(DEEPSEEK)))
    assert sent(DEEPSEEK.select(history, turn("t2", user("u2", "on")))) == [("user", ["go"]), ("user", ["on"])]


def test_thinking_that_led_to_nothing_does_not_end_a_sealed_message():
    history = turn("t1", user("u1", "go"), answer(GPT, "a1", "so", thought(GPT)))
    assert sent(GPT.select(history, turn("t2", user("u2", "on"))))[1] == ("assistant", ["so"])


def test_gemini_keeps_a_signature_that_came_on_an_empty_text():
    bare = said("", provider_state=ProviderState(signature="Ct=="))
    history = turn("t1", user("u1", "go"), answer(GEMINI, "a1", "so", bare)), turn("t2", user("u2", "on"))
    assert GEMINI.select(*history).messages[1].blocks == (said("so"), bare)


@pytest.mark.parametrize("goal", [CLAUDE, GEMINI, DEEPSEEK])
def test_a_history_never_starts_with_the_assistant(goal):
    outgoing = goal.select(turn("t1", answer(goal, "a1", "hello")), turn("t2", user("u2", "hi")))
    assert sent(outgoing)[0] == ("user", ["(conversation continues)"])


def test_a_history_does_not_end_with_the_assistant_where_that_is_refused():
    history = turn("t1", user("u1", "go"), answer(CLAUDE, "a1", "done"))
    assert sent(CLAUDE.select(history))[-1] == ("user", ["(continue)"])
    assert sent(GPT.select(turn("t1", user("u1", "go"), answer(GPT, "a1", "done"))))[-1] == ("assistant", ["done"])


def test_a_paused_answer_goes_back_as_the_last_message():
    search = OpaqueBlock(label="server_tool_use", raw='{"type": "server_tool_use"}')
    paused = answer(CLAUDE, "a1", "searching", search, stop=Stop(Finish.PAUSE))
    assert sent(CLAUDE.select(turn("t1", user("u1", "go"), paused)))[-1] == ("assistant", ["searching", "opaque"])


def test_with_a_budget_a_paused_answer_is_the_last_message_only_if_it_begins_with_thinking():
    budget = CLAUDE.with_plan(PlanState.ON, 16_000)
    search = OpaqueBlock(label="server_tool_use", raw='{"type": "server_tool_use"}')
    unled = answer(CLAUDE, "a1", "searching", search, stop=Stop(Finish.PAUSE))
    led = answer(budget, "a1", thought(budget), search, stop=Stop(Finish.PAUSE))
    assert sent(budget.select(turn("t1", user("u1", "go"), unled)))[-1] == ("user", ["(continue)"])
    assert sent(budget.select(turn("t1", user("u1", "go"), led)))[-1] == ("assistant", ["thinking: hm", "opaque"])


def test_a_paused_answer_that_could_not_be_continued_keeps_the_end_of_the_request_before_the_next_prompt():
    budget = CLAUDE.with_plan(PlanState.ON, 16_000)
    search = OpaqueBlock(label="server_tool_use", raw='{"type": "server_tool_use"}')
    begun = turn("t1", user("u1", "go"), answer(CLAUDE, "a1", "searching", search, stop=Stop(Finish.PAUSE)))
    failed = sent(budget.select(begun))
    assert failed[-1] == ("user", ["(continue)"])
    assert sent(budget.select(begun, turn("t2", user("u2", "on"))))[: len(failed)] == failed
    assert sent(budget.select(begun, nudge="Answer now."))[: len(failed)] == failed
    # Where the request could end with the answer, nothing was added.
    assert sent(CLAUDE.select(begun, turn("t2", user("u2", "on"))))[-1] == ("user", ["on"])


def test_claude_is_told_words_before_the_calls_they_came_after():
    said_late = answer(CLAUDE, "a1", call("c1"), "and", call("c2"), call("c3"), "there")
    history = turn("t1", user("u1", "go"), said_late, is_open=True)
    assert sent(CLAUDE.select(history))[1][1] == ["call c1", "and", "there", "call c2", "call c3"]


def test_mistral_gets_an_assistant_between_tool_and_user():
    history = turn("t1", user("u1", "go"), answer(MISTRAL, "a1", call("c1")), results("r1", result("c1")))
    outgoing = MISTRAL.select(history, turn("t2", user("u2", "on")))
    assert [role for role, _ in sent(outgoing)] == ["user", "assistant", "tool", "assistant", "user"]


def test_mistral_gets_one_thought_for_answers_that_become_one():
    history = turn("t1", user("u1", "go"), answer(MISTRAL, "a1", "half"), answer(MISTRAL, "a2", thought(MISTRAL), "b"))
    assert sent(MISTRAL.select(history, turn("t2", user("u2", "on"))))[1:3] == [
        ("assistant", ["half"]),
        ("assistant", ["b"]),
    ]


def test_words_beside_calls_stay_words_when_the_calls_become_some():
    history = turn("t1", user("u1", "go"), answer(CLAUDE, "a1", "wait", call("c1")), results("r1", result("c1")))
    outgoing = CLAUDE.select(history, turn("t2", user("u2", "on")), has_tools=False)
    assert sent(outgoing)[1] == ("assistant", ["wait", "[called read_file with {}]"])


def test_thinking_is_scrubbed_like_all_else():
    history = turn("t1", user("u1", "go"), answer(CLAUDE, "a1", thought(CLAUDE, "a\0b"), "so"))
    assert sent(CLAUDE.select(history, turn("t2", user("u2", "on"))))[1][1] == ["thinking: a\ufffdb", "so"]


def test_without_tools_calls_and_results_are_told_in_words():
    history = turn("t1", user("u1", "go"), answer(CLAUDE, "a1", call("c1")), results("r1", result("c1", failed=True)))
    outgoing = CLAUDE.select(history, turn("t2", user("u2", "on")), has_tools=False)
    assert sent(outgoing)[1:3] == [
        ("assistant", ["[called read_file with {}]"]),
        ("user", ["[read_file failed: done]"]),
    ]
    assert [verdict.reason for verdict in outgoing.verdicts][1:3] == [Reason.FLATTENED, Reason.FLATTENED]


def test_without_tools_the_wires_that_do_not_mind_keep_calls():
    history = turn("t1", user("u1", "go"), answer(GPT, "a1", call("c1")), results("r1", result("c1")))
    outgoing = GPT.select(history, turn("t2", user("u2", "on")), has_tools=False)
    assert [role for role, _ in sent(outgoing)] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    ("stored", "sent_back"),
    [
        ("", "{}"),
        ('{"a":  1}', '{"a":  1}'),
        ("not json", '{"unreadable_arguments":"not json"}'),
        ("[1]", '{"unreadable_arguments":"[1]"}'),
        ('{"a":"\\ud83d"}', '{"a":"\ufffd"}'),
        ('{"a":["\\ud83d",1]}', '{"a":["\ufffd",1]}'),
    ],
)
def test_arguments_go_back_as_they_came_unless_no_server_could_read_them(stored, sent_back):
    history = turn("t1", user("u1", "go"), answer(GPT, "a1", call("c1", arguments=stored)), is_open=True)
    (sent,) = GPT.select(history).messages[1].blocks
    assert isinstance(sent, ToolCallBlock)
    assert sent.arguments == sent_back


def test_what_no_server_can_read_becomes_the_replacement_character():
    assert sent(CLAUDE.select(turn("t1", user("u1", "a\0b\ud83dc")))) == [("user", ["a\ufffdb\ufffdc"])]


def test_nothing_stored_is_nothing_sent():
    assert CLAUDE.select().messages == ()


def test_prompts_in_a_row_are_joined_where_roles_have_to_alternate():
    picture = ImageBlock(media_type="image/png", data="AAAA")
    history = turn("t1", user("u1", "first"), answer(PLAIN_CHAT, "a1", said("half", partial=True), call("c1")))
    unanswered = [turn(f"t{number}", user(f"u{number}", f"prompt {number}", picture)) for number in (2, 3)]
    apart = PLAIN_CHAT.select(history, *unanswered)
    strict = PLAIN_CHAT.with_quirks(merge_same_role=True).select(history, *unanswered)
    assert [message.joined for message in apart.messages] == [False] * 5
    assert [message.joined for message in strict.messages] == [False] * 4 + [True]
    assert [message.blocks for message in strict.messages] == [message.blocks for message in apart.messages]


def test_sealed_answers_are_never_joined():
    signed = ThinkingBlock(text="hm", form=ThinkingForm.FULL, provider_state=ProviderState(raw="[]"))
    goal = PLAIN_CHAT.with_quirks(merge_same_role=True, thinking_back="reasoning_details").with_facts(
        echo=EchoRule.REQUIRED
    )
    history = turn("t1", user("u1", "go"), *(answer(goal, f"a{n}", signed, f"answer {n}") for n in (1, 2)))
    plain = turn("t2", answer(goal, "a3", "answer 3"))
    outgoing = goal.select(history, plain, turn("t3", user("u2", "on")))
    assert [message.joined for message in outgoing.messages] == [False, False, False, True, False]
