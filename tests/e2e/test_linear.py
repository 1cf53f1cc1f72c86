"""The program line by line on a terminal: nothing is rewritten, and everything can be answered."""

from __future__ import annotations

import re
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.line_terminal import PONDER, LineTerminal
from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tui.linear.approvals import QUIET_S

TERMS = ["dumb", "xterm-256color"]


def chosen(terminal: LineTerminal, words: str) -> None:
    """Answer the question that is open with the number of the row with these words."""
    terminal.hear(": ")
    rows = re.findall(r"^(\d+) (.*)$", terminal.said, re.M)
    terminal.enter(next(number for number, row in reversed(rows) if words in row))


def asked(terminal: LineTerminal, model: Loopback) -> None:
    terminal.until(lambda: model.asked.acquire(blocking=False), "a request")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("term", TERMS)
def test_a_prompt_is_answered_in_lines_that_are_only_appended(tmp_path: Path, term: str) -> None:
    with LineTerminal(tmp_path, "-m", "demo/fast", term=term) as terminal:
        said = terminal.ask("Hello")
        assert re.search(r"^Thinking…\nThought [\d.]+ s, about \d+ tokens\. /thinking show prints it\.$", said, re.M)
        assert "\nAnswer by the demo, not a real model, thinking med:\nHeading 2: Welcome to ponder\n" in said
        assert re.search(r"^Took [\d.]+ s, 1\.2k tokens in, \d+ out, \d+ thinking, \$0\. Context: ", said, re.M)
        said = terminal.ask("/thinking show")
        assert 'Thinking:\nThe user says: "Hello".' in said
        terminal.hear("you> ")
        terminal.enter("/quit")
        assert terminal.exit_code() == 0
        assert b"\x1b" not in terminal.raw


@pytest.mark.one_in(2)
@pytest.mark.parametrize("term", TERMS)
def test_a_whole_journey(tmp_path: Path, term: str) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with LineTerminal(tmp_path, term=term) as terminal:
            terminal.hear("you> ")
            terminal.enter("List it")
            asked(terminal, model)
            model.think("I look.\n")
            terminal.hear("Thinking…")
            model.call("shell", command="echo one; echo two")
            terminal.hear("Question: Run a command\n")
            about = terminal.hear("End of the call.\n")
            assert "in " in about
            assert "Text of the call, 1 line:\n  echo one; echo two\n" in about
            terminal.hear(": ")
            time.sleep(QUIET_S)
            terminal.enter("1")
            terminal.hear("Tool shell: done in ")
            asked(terminal, model)
            model.say("There are two.\n\nThe sec")
            terminal.hear("Answer by model")
            terminal.hear("There are two.\n")
            terminal.type("\x03")
            terminal.hear("The sec\nStopped by you.\nTook ")
            model.finish()  # for the request that was cancelled
            terminal.hear("you> ")

            terminal.enter("/edit")
            terminal.hear("Editing turn 1 of 1. Its answer will be on another branch.\nThe prompt was: List it\n")
            terminal.hear("you> ")
            terminal.enter("List all of it")
            asked(terminal, model)
            model.say("All | of *it*.")
            model.finish()
            terminal.hear("Answer:\nAll | of it.\n")
            terminal.hear("you> ")

            terminal.enter("/model")
            chosen(terminal, "demo/fast,")
            terminal.hear("Thinking levels:")
            chosen(terminal, "none, off")
            terminal.hear("you> ")
            terminal.enter("Hello")
            terminal.hear("Answer by the demo, not a real model, thinking none:")
            terminal.hear("you> ")

            terminal.enter("/find of *it*")
            terminal.hear("1 match:\n1 turn 1, answer: All | of *it*.\n")
            terminal.hear("leave: ")
            terminal.enter("1")
            terminal.hear("Turn 1 of 2.\nYou:\nList all of it\n")
            terminal.hear("you> ")
            terminal.type("\x04")
            assert terminal.exit_code() == 0
        with LineTerminal(tmp_path, "-c", term=term) as terminal:
            terminal.hear('Session "List it", 2 turns. Model demo/fast, thinking none.\n')
            said = terminal.ask("/show 1")
            assert said.startswith("/show 1\nTurn 1 of 2.\nYou:\nList all of it\nAnswer by model:\nAll | of it.\n")


def test_what_is_typed_while_an_answer_streams_is_queued(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with LineTerminal(tmp_path) as terminal:
            terminal.hear("you> ")
            terminal.enter("First?")
            asked(terminal, model)
            model.say("One.\n\n")
            terminal.hear("One.\n")
            terminal.enter("Second?")
            terminal.hear("Queued. It is sent when this answer ends.\n")
            terminal.enter("/tokens")
            terminal.hear("would be sent (estimated)")
            model.say("Two.\n\n")
            terminal.hear("Two.\n")
            terminal.type("Thi")
            model.say("Three.\n\n")
            terminal.hear("Three.\n")
            terminal.enter("rd?")
            terminal.hear("Queued.")
            model.finish()
            terminal.hear("From the queue: Second?\n")
            asked(terminal, model)
            model.say("Yes.")
            model.finish()
            terminal.hear("From the queue: Third?\n")
            asked(terminal, model)
            model.say("Done.")
            model.finish()
            terminal.hear("Done.\n")
            terminal.hear("you> ")
    assert model.prompts == ['"First?"', '"Second?"', '"Third?"']


def test_enter_alone_holds_the_output_while_the_user_types(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with LineTerminal(tmp_path) as terminal:
            terminal.hear("you> ")
            terminal.enter("First?")
            asked(terminal, model)
            model.say("One.\n\n")
            terminal.hear("One.\n")
            terminal.enter("")
            terminal.hear("The output waits until you press enter again.")
            terminal.hear("you> ")
            sent = model.sent
            model.say("Two.\n\n")
            terminal.until(lambda: model.sent > sent, "more of the answer")
            terminal.type("A second ")
            terminal.hear("A second ")
            terminal.enter("prompt")
            terminal.hear("prompt\nTwo.\n")
            terminal.hear("Queued.")
            model.finish()
            asked(terminal, model)
    assert model.prompts[-1] == '"A second prompt"'


def test_a_server_error_is_told_and_the_prompt_is_kept(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with LineTerminal(tmp_path, "--set", "ui.bell=off") as terminal:
            terminal.hear("you> ")
            model.fail(400)
            terminal.enter("First?")
            terminal.hear("Error: ")
            terminal.hear("Your prompt got no answer and is kept. /draft sends it again.\n")
            terminal.hear("you> ")
            terminal.enter("/draft")
            asked(terminal, model)
            model.say("Now.")
            model.finish()
            terminal.hear("Now.\n")
            terminal.hear("you> ")
            model.fail(503)
            terminal.enter("Second?")
            terminal.hear("before the next attempt. /now skips the wait.\n")
            terminal.enter("/now")
            asked(terminal, model)
            model.say("Again.")
            model.finish()
            terminal.hear("Again.\n")
    assert model.prompts == ['"First?"', '"Second?"']


def stored(home: Path) -> list[str]:
    """What models said, as it was stored."""
    connection = sqlite3.connect(home / "ponder" / "data" / "sessions.db")
    try:
        query = "SELECT text FROM block WHERE kind = 'text' ORDER BY place"
        return [text for (text,) in connection.execute(query)]
    finally:
        connection.close()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda terminal: terminal.signal(signal.SIGTERM), 143),
        (lambda terminal: terminal.signal(signal.SIGHUP), 129),
        (lambda terminal: terminal.close(), 129),
    ],
    ids=["SIGTERM", "SIGHUP", "hang-up"],
)
def test_an_ended_program_has_saved_what_arrived(
    tmp_path: Path, end: Callable[[LineTerminal], None], code: int
) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with LineTerminal(tmp_path) as terminal:
            terminal.hear("you> ")
            terminal.enter("First?")
            asked(terminal, model)
            model.say("One.\n\nTw")  # in one piece: of the second line nothing is seen that could be waited for
            terminal.hear("One.\n")
            end(terminal)
            assert terminal.exit_code() == code
    assert stored(tmp_path) == ["First?", "One.\n\nTw"]


def test_what_was_typed_and_not_entered_is_the_draft_of_the_next_start(tmp_path: Path) -> None:
    with LineTerminal(tmp_path, "-m", "demo/fast") as terminal:
        terminal.ask("Hello")
        terminal.hear("you> ")
        terminal.type("not sent")
        terminal.hear("not sent")
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code() == 143
        assert terminal.is_echoing()
    with LineTerminal(tmp_path, "-c") as terminal:
        terminal.hear("Not sent yet: not sent\n")
        said = terminal.ask("/draft")
        assert "Heading 2: Welcome to ponder" in said
        assert "not sent" in terminal.ask("/show")


def test_prompts_of_several_lines(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with LineTerminal(tmp_path) as terminal:
            terminal.hear("you> ")
            terminal.enter("one\\")
            terminal.hear("more> ")
            terminal.enter("two")
            asked(terminal, model)
            model.say("Yes.")
            model.finish()
            terminal.hear("you> ")
            terminal.enter("<<")
            for line in ("/quit", "", "three \\"):
                terminal.hear("more> ")
                terminal.enter(line)
            terminal.hear("more> ")
            terminal.enter(">>")
            asked(terminal, model)
            model.say("Yes.")
            model.finish()
            terminal.hear("you> ")
            terminal.type("four\n/quit\nfive\n")
            terminal.hear("Pasted 3 lines. An empty line sends them, ctrl+c drops them.\nmore> ")
            terminal.enter("")
            asked(terminal, model)
            model.say("Yes.")
            model.finish()
            terminal.hear("you> ")
            terminal.type("six\nseven\n")
            terminal.hear("Pasted 2 lines.")
            terminal.hear("more> ")
            terminal.type("\x03")
            terminal.hear("The lines are dropped.\nyou> ")
            terminal.enter("x" * 5_000)
            terminal.hear("The end of this one is lost, so it was not used.")
            terminal.hear("you> ")
    assert model.prompts == ['"one\\ntwo"', '"/quit\\n\\nthree \\\\"', '"four\\n/quit\\nfive"']


def test_a_key_is_typed_unseen_and_ctrl_c_shows_what_is_typed_again(tmp_path: Path) -> None:
    with LineTerminal(tmp_path, "-m", "demo/fast", term="xterm") as terminal:
        terminal.hear("you> ")
        terminal.enter("/key openai")
        terminal.hear("Enter alone leaves: ")
        terminal.until(lambda: not terminal.is_echoing(), "silence")
        terminal.type("sk-secret")
        terminal.type("\x03")
        terminal.hear("you> ")
        terminal.until(terminal.is_echoing, "the echo")
        assert "sk-secret" not in terminal.said
        terminal.type("\x03")
        terminal.hear("Ctrl+c again quits.")
        terminal.type("\x03")
        assert terminal.exit_code() == 0


@pytest.mark.parametrize("more", [{"ACCESSIBLE": "1"}, {}])
def test_a_variable_chooses_it_and_a_dumb_terminal_is_told_of_it(tmp_path: Path, more: dict[str, str]) -> None:
    around = environment(tmp_path, TERM="dumb", **more)
    with Terminal([*PONDER[:-1], "-m", "demo/fast"], around, size=(100, 30)) as terminal:
        terminal.wait_for("you>" if more else "`ponder --linear` works here.")
        terminal.type("\x04")
        assert terminal.exit_code() == (0 if more else 2)
