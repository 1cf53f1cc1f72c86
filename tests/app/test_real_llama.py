"""The real llama.cpp, run by ponder, with a model that a test writes: what it says, counts and can be told."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.app.chained_model import BROODING, CHAINS, PICTURE_TOKENS, WINDOW, chained_model, seeing_part
from tests.app.local_stage import wait_for_end
from tests.app.stage import House, config, heard_until, house
from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import PonderError
from tui.domain.events import MessageCompleted, Notice, Streamed, TurnFailed, TurnFinished
from tui.domain.messages import Message, Role
from tui.domain.stream import ThinkingDelta

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or sys.platform != "linux",
    reason="THE REAL llama.cpp IS NOT TESTED: it needs Linux and `pip install 'ponder-tui[local]'`",
)
MESSAGES_API = '[models."local/chained"]\nwire = "anthropic"\nspelling = "llama.cpp-messages"\nmax_output = 512\n'


@asynccontextmanager
async def asking(
    home: Path, *, level: str = "high", brooding: bool = False, more: str = "", tools: bool = False
) -> AsyncIterator[House]:
    """ponder, asking the written model by its name."""
    chained_model(home / "data" / "models", BROODING if brooding else CHAINS)
    config(home, more)
    async with house(home, environment={"PATH": "/usr/bin"}, model=f"local/chained/{level}", tools=tools) as h:
        yield h
    wait_for_end(home)


async def answers(h: House, prompt: str = "How much is it?", *more: Block) -> list[Message]:
    """The messages of the model in one turn."""
    heard = await h.say(prompt, *more)
    assert [event.error for event in heard if isinstance(event, TurnFailed)] == []
    told = [event.message for event in heard if isinstance(event, MessageCompleted)]
    return [message for message in told if message.role is Role.ASSISTANT and not message.superseded]


def parts(message: Message) -> tuple[str, str, list[str]]:
    """Thinking, text and the arguments of calls."""
    thinking = "".join(block.text for block in message.blocks if isinstance(block, ThinkingBlock))
    text = "".join(block.text for block in message.blocks if isinstance(block, TextBlock))
    return thinking.strip(), text.strip(), [b.arguments for b in message.blocks if isinstance(b, ToolCallBlock)]


@pytest.mark.parametrize("more", ["", MESSAGES_API], ids=["chat", "messages"])
async def test_three_turns_with_thinking_and_a_tool_and_every_count_is_exact(tmp_path: Path, more: str) -> None:
    (tmp_path / "notes.md").write_text("Seven.")
    async with asking(tmp_path, more=more, tools=True) as h:
        for number in range(3):
            asked, told = await answers(h, f"Read the notes, please ({number}).")
            assert parts(asked)[0] == "Look first"
            assert [call.replace(" ", "") for call in parts(asked)[2]] == ['{"path":"notes.md"}']
            assert parts(told)[:2] == ("Found", "The notes say so")
            sent = h.program.backend.last_of(h.current.session_id)
            assert sent is not None
            assert told.usage is not None
            counted = await h.current.call(h.program.backend.count(sent.target, sent.request))
            assert counted == told.usage.input


async def test_it_answers_with_its_thinking_and_without(tmp_path: Path) -> None:
    async with asking(tmp_path) as h:
        heard = await h.say("How much is it?")
        assert [event for event in heard if isinstance(event, Notice)] == []
        (answer,) = await answers(h)
        assert parts(answer) == ("Three and four", "Seven it is", [])
        assert answer.answered_by is None
        await h.services.models.set_model("none")
        (answer,) = await answers(h)
        assert parts(answer) == ("", "Quietly", [])
        assert h.current.facts.context_window == WINDOW


async def test_a_picture_reaches_the_part_of_the_model_that_sees_and_is_counted(tmp_path: Path) -> None:
    pictures = pytest.importorskip("tests.ui.pictures")
    seeing_part(chained_model(tmp_path / "data" / "models"))
    async with asking(tmp_path) as h:
        assert h.current.facts.inputs == {"text", "image"}
        (alone,) = await answers(h, "What is on it?")
        await h.services.chat.new_session()
        (seen,) = await answers(h, "What is on it?", pictures.block())
        assert parts(seen)[1] == "Seven it is"
        assert alone.usage is not None
        assert seen.usage is not None
        assert (seen.usage.input or 0) - (alone.usage.input or 0) == PICTURE_TOKENS
        sent = h.program.backend.last_of(h.current.session_id)
        assert sent is not None
        assert await h.current.call(h.program.backend.count(sent.target, sent.request)) == seen.usage.input
        assert h.current.facts.inputs == {"text", "image"}, "as its server says"


@pytest.mark.parametrize("more", ["", MESSAGES_API], ids=["chat", "messages"])
async def test_a_budget_ends_the_thinking_to_the_token(tmp_path: Path, more: str) -> None:
    async with asking(tmp_path, level="6", brooding=True, more=more) as h:
        (answer,) = await answers(h)
        thinking, text, _ = parts(answer)
        assert thinking.replace(" ", "") == "hmmh" * 3
        assert text == "Done now"


async def test_answer_now_ends_the_thinking_in_place(tmp_path: Path) -> None:
    async with asking(tmp_path, brooding=True) as h:
        _, subscription = h.services.chat.attach()
        await h.services.chat.submit((TextBlock(text="Well?"),))
        async for batch in subscription.batches(0):
            if any(isinstance(s.event, Streamed) and isinstance(s.event.event, ThinkingDelta) for s in batch):
                break
        subscription.close()
        _, subscription = h.services.chat.attach()
        await h.services.chat.answer_now(())
        heard = await heard_until(subscription, TurnFinished, TurnFailed)
        told = [event.message for event in heard if isinstance(event, MessageCompleted)]
        (answer,) = [message for message in told if message.role is Role.ASSISTANT]
        assert parts(answer)[1] == "Done now"
        assert answer.answered_early


async def test_an_architecture_that_llama_cpp_does_not_know_is_named(tmp_path: Path) -> None:
    path = chained_model(tmp_path, more={"general.architecture": "zzama", "zzama.context_length": 512})
    async with house(tmp_path / "home", environment={}, model=str(path)) as h:
        async with asyncio.timeout(5):
            (error,) = [event.error for event in await h.say("Hi") if isinstance(event, TurnFailed)]
        assert error.message == "This version of llama.cpp does not know the architecture `zzama`."
        assert "unknown model architecture: 'zzama'" in await h.services.model_server()
    wait_for_end(tmp_path)


async def test_a_file_that_ends_too_early_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    path = chained_model(tmp_path)
    path.write_bytes(path.read_bytes()[:-1_000])
    with pytest.raises(PonderError, match="cut off"):
        async with house(tmp_path / "home", environment={}, model=str(path)):
            pass


async def test_a_vocabulary_that_llama_cpp_stops_at_is_explained_in_time(tmp_path: Path) -> None:
    path = chained_model(tmp_path, [*CHAINS, ("x", "y")])  # single letters are in the vocabulary already
    async with house(tmp_path / "home", environment={}, model=str(path)) as h:
        async with asyncio.timeout(5):
            (error,) = [event.error for event in await h.say("Hi") if isinstance(event, TurnFailed)]
        assert error.message.startswith("llama.cpp gave up: it expected `id_to_token.size()")
    wait_for_end(tmp_path)


async def test_its_log_has_no_word_of_the_conversation(tmp_path: Path) -> None:
    async with asking(tmp_path) as h:
        await answers(h, "A very private question?")
    (log,) = (tmp_path / "state" / "local").glob("*/output.log")
    told = log.read_text(encoding="utf-8", errors="replace")
    assert "listening on" in told
    assert [word for word in ("private", "Seven", "Three") if word in told] == []
