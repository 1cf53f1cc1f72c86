"""A real llama.cpp server ends the thinking in place, and the answer follows in the same stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.stage import config, house
from tests.app.test_answer_now import answered_now, said
from tests.e2e.terminal import Terminal, environment
from tests.llama_server import ANSWER, MODEL, llama_server, python_with_llama_cpp
from tui.domain.blocks import ThinkingBlock
from tui.domain.messages import Role

pytestmark = [pytest.mark.minutes, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server."""
    python = python_with_llama_cpp(tmp_path_factory.mktemp("llama_cpp"))
    with llama_server(python, tmp_path_factory.mktemp("model")) as address:
        yield address


async def test_the_thinking_ends_and_the_answer_belongs_to_the_same_message(tmp_path: Path, server: str) -> None:
    config(tmp_path, f'[providers."llama.cpp"]\nbase_url = "{server}/v1"\n')
    async with house(tmp_path, model=f"llama.cpp/{MODEL}/high") as h:
        turn = await answered_now(h, "How is it?", thought=5)
        assert [message.role for message in turn.messages] == [Role.USER, Role.ASSISTANT], "nothing was asked again"
        answer = turn.messages[-1]
        thinking = answer.blocks[0]
        assert isinstance(thinking, ThinkingBlock)
        assert thinking.text.startswith("hm-hm-")
        assert (said(answer).strip(), answer.answered_early, answer.superseded) == (ANSWER, True, False)
        assert answer.usage is not None
        assert answer.usage.output == len(thinking.text) + len("</think>") + len(ANSWER) + 1


def test_on_a_terminal_the_key_ends_it_and_the_usage_line_says_so(tmp_path: Path, server: str) -> None:
    config(tmp_path / "ponder", f'[providers."llama.cpp"]\nbase_url = "{server}/v1"\n')
    command = [sys.executable, "-m", "tui", "--model", f"llama.cpp/{MODEL}/high"]
    with Terminal(command, environment(tmp_path), size=(140, 40)) as terminal:
        terminal.wait_for("enter send")
        terminal.type("How is it?\r")
        terminal.wait_for("Thinking…")
        terminal.wait_for("hm-hm-hm")
        terminal.type(b"\x0c")
        terminal.wait_for(ANSWER)
        terminal.wait_for("answered early")
        assert terminal.text().count("Thought") == 1
        assert "ended early" not in terminal.text()
