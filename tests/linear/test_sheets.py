"""Every sheet of the screen is a list here, and its rows are chosen by number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.app.stage import config
from tests.linear.stage import Keyboard, lines


def without_numbers(said: list[str]) -> list[str]:
    """The lines without times and counts, which differ."""
    return [re.sub(r"\d+(\.\d+)?k?", "N", line) for line in said]


async def test_model_and_level_are_chosen(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        said = await s.ask("/model", "leave: ")
        assert said[0].startswith("Models, ")
        assert "2 demo/fast, in use, demo, 200k tokens, free, budget" in said
        said = await s.choose("demo/chat,", "leave: ")
        assert said[-6:] == [
            "Thinking levels:",
            "1 none, off (effort none)",
            "2 low, in use, effort low",
            "3 med, effort medium",
            "4 high, effort high",
            "5 another budget, a number of tokens",
        ]
        assert (await s.choose("high, effort"))[-1].endswith("Thinking: high")
        assert str(s.house.view().spec) == "demo/chat/high"
        await s.ask("/thinking", "leave: ")
        await s.choose("another budget", "16k: ")
        assert "→" not in " ".join(await s.reply("9k"))
        assert s.house.view().spec.asked == 9_000
        said = await s.ask("/model", "leave: ")
        assert (await s.reply("gemini demo", "leave: "))[0].startswith("1 demo/gemini")
        assert await s.reply("nosuchmodel", "leave: ") == ["No row has nosuchmodel."]
        assert await s.reply("7", "leave: ") == ["There is no 7."]
        assert await s.reply("") == []
        assert str(s.house.view().spec) == "demo/chat/9000"


async def test_tools_are_switched(tmp_path: Path) -> None:
    async with lines(tmp_path, tools=True) as s:
        before = {row.name for row in s.house.services.tools.tools() if row.enabled}
        said = await s.ask("/tools", "leave: ")
        assert any(line.startswith(f"Tools: {len(before)} of ") for line in said)
        assert (await s.choose("shell, on", "leave: "))[0].startswith("shell is off.")
        await s.reply("")
        after = {row.name for row in s.house.services.tools.tools() if row.enabled}
        assert before - after == {"shell"}


async def test_settings_are_changed(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        about = "The finished turns that are sent without their thinking."
        await s.ask("/settings", "leave: ")
        await s.reply("strip", "leave: ")
        said = await s.choose("stripFromContext", "leave: ")
        assert said == [
            f"reasoning.stripFromContext is none, from default. {about} Changes apply to this session.",
            "1 none",
            "2 allButLast",
            "3 all",
        ]
        assert (await s.choose("all"))[0].startswith("reasoning.stripFromContext = all")
        said = await s.ask("/set reasoning.stripFromContext", "leave: ")
        assert said[-1] == "4 take the change back"
        assert (await s.choose("take the change"))[0].startswith("reasoning.stripFromContext = none (default)")
        await s.ask("/set generation.temperature", "leave: ")
        await s.choose("enter a value", "value: ")
        assert await s.reply("much") != ["generation.temperature = much"]
        await s.ask("/set generation.temperature", "leave: ")
        await s.choose("enter a value", "value: ")
        assert (await s.reply("0.5"))[0].startswith("generation.temperature = 0.5")


async def test_a_key_is_entered_unseen(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        said = await s.ask("/key openai", "leaves: ")
        assert said[0].startswith("OpenAI: the key is used for https://api.openai.com/v1 only.")
        assert isinstance(s.app.typed, Keyboard)
        assert s.app.typed.was_hidden
        said = await s.reply("/short", "leave: ")
        assert said[:2] == ["Checking the key.", "Error: This has 6 characters: too short for a key."]
        assert await s.reply("") == ["The key is not used."]
        assert await s.ask("/key openai sk-12345678901234567890") == [
            "Error: A key is never typed into a command. /key PROVIDER asks for it, masked."
        ]


async def test_the_providers_are_listed_for_a_key(tmp_path: Path) -> None:
    async with lines(tmp_path, environment={"OPENAI_API_KEY": "sk-0123456789abcdef"}) as s:
        said = await s.ask("/key", "leave: ")
        assert said[:2] == ["Keys:", "1 OpenAI, OPENAI_API_KEY found"]
        said = await s.choose("Anthropic, no key", "leaves: ")
        assert said[0].startswith("Anthropic: the key is used for https://api.anthropic.com only.")


async def test_sessions_are_found_opened_and_managed(tmp_path: Path) -> None:
    async with lines(tmp_path, stored_in="file") as s:
        await s.ask("context of the whale")
        await s.ask("/rename Whales")
        assert (await s.ask("/new"))[-1].startswith("A new session. Model demo/fast, thinking low.")
        await s.ask("Hello")
        await s.ask("/sessions", "leave: ")
        await s.choose("Whales, ", "leave: ")
        assert await s.choose("pin") == ["Pinned."]
        for answer, action, found in (
            ("Whales", "rename it", "New title: "),
            ("Whales", "export it", "leave: "),
            ("Whales", "delete it", "you> "),
        ):
            said = await s.ask("/sessions", "leave: ")
            assert "pinned" in said[1] or action == "export it"
            await s.choose(f"{answer}, ", "leave: ")
            await s.choose(action, found)
            if action == "rename it":
                assert await s.reply("Whales, and more") == ['Renamed to "Whales, and more".']
            if action == "export it":
                await s.reply("")
        await s.ask("/sessions", "leave: ")
        await s.choose("Hello", "leave: ")
        assert await s.choose("restore") == ["Restored."]
        said = await s.ask("/sessions whale", "leave: ")
        assert "Found: context of the whale" in said[1]
        await s.choose("Whales", "leave: ")
        said = await s.choose("open it")
        assert said[0] == 'Session "Whales, and more", 1 turn. Model demo/fast, thinking low.'
        assert said[-1] == "The match is in turn 1: context of the whale. /show prints it."
        await s.ask("/sessions", "leave: ")
        await s.choose("Hello", "leave: ")
        said = await s.choose("fork it")
        assert "This is the fork." in said


async def test_a_session_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with lines(tmp_path, stored_in="file") as s:
        await s.ask("context")
        await s.ask("/sessions", "leave: ")
        await s.choose("context", "leave: ")
        await s.choose("export it", "leave: ")
        said = await s.choose("Markdown, with thinking")
        assert said == [f"Written to {tmp_path / 'context.md'}."]
        assert "The size of the next request" in (tmp_path / "context.md").read_text()
        said = await s.ask("/export md notes.md")
        assert said[0].startswith("Error: /export takes md, json or html, and --thinking or --all.")
        assert [path.name for path in tmp_path.glob("*.md")] == ["context.md"]


async def test_answers_are_compared_and_branches_opened(tmp_path: Path) -> None:
    async with lines(tmp_path, stored_in="file") as s:
        await s.ask("context")
        assert "Answer by the demo, not a real model, thinking none:" in await s.ask("/retry none")
        said = await s.ask("/compare", "leave: ")
        assert "Answer 1 of 2 by the demo, not a real model, thinking low:" in said
        assert said[-3:] == [
            "Which one?",
            "1 continue with answer 1 by the demo, not a real model, thinking low",
            "2 continue with answer 2 by the demo, not a real model, thinking none",
        ]
        assert await s.choose("answer 1") == ["This turn is chosen. /show prints it."]
        said = await s.ask("/tree", "leave: ")
        assert said == [
            "2 turns:",
            "1 context, depth 1, on the current path, fast, thinking low, $0",
            "2 context, depth 1, branch 2, fast, thinking none, $0",
        ]
        await s.choose("branch 2")
        assert "Answer by the demo, not a real model, thinking none:" in await s.ask("/show")
        assert await s.ask("/branch") == ["Branch 1 of 2."]


async def test_several_models_are_asked(tmp_path: Path) -> None:
    async with lines(tmp_path, stored_in="file") as s:
        said = await s.ask("/ask blind low,high key", "leave: ")
        assert {"Answer A:", "Answer B:"} <= {*said}
        assert said[-3:] == [
            "Which one? Enter alone keeps all as branches.",
            "1 continue with Answer A",
            "2 continue with Answer B",
        ]
        said = await s.choose("Answer B")
        assert said[-1] == "Continues with fast. The other answer is a branch."
        said = await s.ask("/aside errors", "leave: ")
        assert said[0] == "Aside, which sees 1 finished turn. Ctrl+c stops it."
        assert said[-3:] == ["End of the aside.", "1 keep it as a branch", "2 forget it"]
        assert await s.choose("keep it") == ["Kept as a branch. /tree shows it."]
        await s.ask("/ask low,high context", "leave: ")
        assert await s.reply("") == ["Kept 2 answers as branches. /tree shows them."]


async def test_a_replay_is_compared(tmp_path: Path) -> None:
    async with lines(tmp_path, stored_in="file") as s:
        await s.ask("context")
        first = s.house.view().session
        said = without_numbers(await s.ask("/replay none", "leave: "))
        assert said[-4:] == [
            "Original by the demo, not a real model, thinking low: Took N s, N tokens in, N out, N thinking, $N.",
            "Replay by the demo, not a real model, thinking none: Took N s, N tokens in, N out, $N.",
            "N stay with the replay",
            "N go back to the original",
        ]
        await s.choose("go back")
        assert s.house.view().session == first


async def test_places_are_found_and_chosen(tmp_path: Path) -> None:
    async with lines(tmp_path, stored_in="file") as s:
        await s.ask("context")
        await s.ask("key")
        said = await s.ask("/outline", "leave: ")
        assert said == [
            "Outline:",
            "1 turn 1: context",
            "2 heading: The size of the next request",
            "3 turn 2: key",
            "4 heading: From the demo to a model",
        ]
        said = await s.choose("turn 1")
        assert said[:3] == ["Turn 1 of 2.", "You:", "context"]
        assert said[-1] == "/edit, /retry, /fork, /branch and /copy act on this turn until you send a prompt."
        await s.ask("/copy")
        assert s.copied[0].startswith("## The size of the next request")
        said = await s.ask("/find COUNTS", "leave: ")
        assert said[:2] == ["2 matches:", "1 turn 1, answer: …"] or said[0] == "2 matches:"
        await s.reply("")
        said = await s.ask("/outline thinking", "leave: ")
        assert said[1].startswith("1 turn 1: ")
        said = await s.choose("turn 2")
        assert "Thinking:" in said
        await s.ask("/history", "leave: ")
        assert await s.choose("context") == ["Not sent yet: context", "/draft sends it, /draft drop discards it."]
        assert await s.ask("/draft show") == ["context"]
        assert await s.ask("/draft drop") == ["Dropped."]
        assert await s.ask("/draft") == ["Error: There is no draft."]
        assert await s.ask("/find nothing of that") == ["No match for nothing of that."]


async def test_the_next_request_is_told(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        await s.ask("context")
        said = await s.ask("/context", "leave: ")
        assert said[0] == "Next request: demo/fast. Thinking: low (22,016 tokens)."
        assert said[-4:] == [
            "1 each part of the history: sent or not, and why",
            "2 the request as JSON",
            "3 the last exchange",
            "4 what differs from the last request",
        ]
        said = await s.choose("each part", "leave: ")
        assert said[:2] == ["Turn 1:", "you, sent: context"]
        assert (await s.reply("2", "leave: "))[:2] == ["{", '  "method": "POST",']
        assert "Answered in " in " ".join(await s.reply("3", "leave: "))
        assert (await s.reply("4", "leave: "))[0] == "--- last"
        await s.reply("")


async def test_what_cannot_be_done_by_lines_is_said(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        assert await s.ask("/theme") == ["Error: Themes change colours, and this form of ponder has none."]
        assert await s.ask("/theme dusk") == ["Error: Themes change colours: there is nothing to change line by line."]
        assert await s.ask("/xyz") == ["Error: There is no command /xyz. /help lists them all."]
        assert await s.ask("/compare") == ["Error: There is no turn yet."]
        assert await s.ask("/skip") == ["Error: There is nothing to skip: no answer is arriving."]
        assert await s.ask("/show") == ["Error: There is no finished turn yet."]
        await s.ask("Hello")
        assert await s.ask("/show 7") == ["Error: There is no turn 7: the session has 1."]
        assert await s.ask("/show often") == ["Error: /show cannot show often. For example: /show 2 thinking"]


async def test_a_sheet_is_left_by_a_command_and_by_ctrl_c(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        await s.ask("/settings", "leave: ")
        said = await s.reply("/tokens")
        assert "would be sent" in said[-1]
        await s.ask("/model", "leave: ")
        s.app.typed_input.interrupt()
        await s.hear("you> ")
        s.app.typed_input.interrupt()
        await s.hear("Ctrl+c again quits.\n")


async def test_what_was_found_at_the_start_is_said(tmp_path: Path) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
    async with lines(tmp_path, environment=key) as s:
        assert "Found: Anthropic, ANTHROPIC_API_KEY found.\n" in await s.hear("ANTHROPIC_API_KEY found.\n")
        assert str(s.house.view().spec) == "demo/fast/low"


async def test_problems_and_offers_are_said_after_the_greeting(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("Be brief.\n")
    config(tmp_path, "nosuch = 1\n")
    async with lines(tmp_path) as s:
        said = await s.hear("/trust show prints it.\n")
        greeting, problem = said.index("ponder, line by line."), said.index("nosuch")
        assert greeting < problem
        assert said.count("AGENTS.md") == 1


async def test_a_private_conversation_says_once_that_nothing_is_stored(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        said = await s.ask("/private")
        assert [line for line in said if "stored" in line] == [
            "Nothing of this new conversation is stored; it is gone when ponder ends. The one before is kept as it was."
        ]


async def test_help_lists_all_commands_or_those_with_a_word(tmp_path: Path) -> None:
    async with lines(tmp_path) as s:
        said = await s.ask("/help")
        named = {line[1:].split()[0].rstrip(":") for line in said if line.startswith("/")}
        assert named == {command.slash for command in s.app.context().registry if command.slash}
        said = await s.ask("/help spent")
        assert said == ["", "Context:", said[2]]
        assert said[2].startswith("/cost [DAYS]: Show what was spent")
        assert (await s.ask("/keys"))[-1] == "Ctrl+c stops the answer. Ctrl+d quits. There are no other keys."
