"""Calls whose result never came, as a session opened again shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_two_windows import PONDER, READY
from tests.ui.without_screen import WIDTH
from tui.domain.blocks import TextBlock, ToolCallBlock
from tui.domain.messages import CRASHED, Message, Role, Turn
from tui.ui.markdown.runs import plain
from tui.ui.transcript.build_sections import NO_RESULT, DisplayOptions, sections_of
from tui.ui.transcript.section import Section

ASKED = Message(id="q", role=Role.USER, blocks=(TextBlock(text="clean up"),))
CALL = ToolCallBlock(call_id="c", name="shell", arguments='{"command": "make clean"}')


def _answer(*, open_turn: bool, interrupted: str | None = None) -> Section:
    message = Message(id="a", role=Role.ASSISTANT, blocks=(CALL,), interrupted=interrupted)
    return list(sections_of([Turn(id="t", messages=(ASKED, message), open=open_turn)], DisplayOptions()))[-1]


def _lines(section: Section) -> list[str]:
    return [plain(section.line(number)[0]).strip() for number in range(section.height(WIDTH))]


def test_a_call_that_the_program_did_not_outlive_is_no_running_one_and_says_why() -> None:
    section = _answer(open_turn=False, interrupted=CRASHED)
    assert [" ".join(line.split()) for line in _lines(section) if line] == [
        "answer",
        "✗ shell make clean failed",
        "⚠ incomplete: the program ended",
    ]
    assert NO_RESULT in "\n".join(block.text() for block in section.blocks)


def test_a_call_of_a_turn_that_still_runs_is_left_to_what_comes() -> None:
    assert "◌ shell  make clean" in _lines(_answer(open_turn=True))


@pytest.mark.parametrize("depth", [100, 400, 5_000])
def test_arguments_nested_too_deeply_to_indent_are_shown_as_they_came(
    depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = '{"path": ' + "[" * depth + "]" * depth + "}"
    message = Message(id="a", role=Role.ASSISTANT, blocks=(ToolCallBlock(call_id="c", name="x", arguments=arguments),))
    section = list(sections_of([Turn(id="t", messages=(ASKED, message))], DisplayOptions()))[-1]
    assert "[[[[" in "".join("".join(block.text() for block in section.blocks).split())
    assert caplog.records == []


def test_a_call_nested_too_deeply_to_indent_is_drawn_while_it_streams(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=(90, 30)) as terminal:
            terminal.wait_for(READY)
            terminal.type("hello\r")
            model.call_as_written("list_dir", '{"path": ' + "[" * 5_000 + "]" * 5_000 + "}")
            model.say("That was deep.")
            model.finish()
            terminal.wait_for("That was deep.")
            assert "could not be drawn" not in terminal.text()
        log = tmp_path / "ponder" / "state" / "ponder.log"
        assert "RecursionError" not in (log.read_text() if log.exists() else "")
