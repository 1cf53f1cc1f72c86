"""A coding errand through the whole program: every wire of the demo, the real tools, a user who answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.app.stage import House, house
from tests.patience import PATIENCE_S
from tests.validators import anthropic, chat, gemini, responses
from tui.domain.blocks import DENIED, TextBlock, ToolCallBlock
from tui.domain.events import ApprovalAsked, ToolFinished, TurnFailed, TurnFinished
from tui.domain.messages import Message, Role, Turn
from tui.engine.tool_round import NOT_STARTED
from tui.providers.demo.server import DemoServer
from tui.providers.http.connection import InProcessResponse
from tui.providers.http.request import HttpRequest
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.build_sections import DisplayOptions, sections_of

MODELS = ("fast", "responses", "chat", "gemini")
VALIDATORS = {"/messages": anthropic, "/responses": responses, "/completions": chat, ":streamGenerateContent": gemini}
WRONG, RIGHT = "return first - second", "return first + second"


@dataclass
class Errand:
    """The program, what was asked, and what the strict validators say of every request."""

    house: House
    asked: list[tuple[str, str]] = field(default_factory=list)
    finished: list[ToolFinished] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    async def say(self, text: str, word: Callable[[ApprovalAsked], str | None]) -> str:
        """What the turn ends with; ``word`` answers, and None stops the turn instead."""
        _, subscription = self.house.services.chat.attach()
        await self.house.services.chat.submit((TextBlock(text=text),))
        async with asyncio.timeout(PATIENCE_S):
            async for batch in subscription.batches(0):
                for stamped in batch:
                    match stamped.event:
                        case ApprovalAsked() as sheet:
                            self.asked.append((sheet.tool, sheet.summary))
                            await self._answer(sheet, word(sheet))
                        case ToolFinished() as end:
                            self.finished.append(end)
                        case TurnFinished(turn=turn) | TurnFailed(turn=turn):
                            subscription.close()
                            return "".join(b.text for b in turn.messages[-1].blocks if isinstance(b, TextBlock))
        raise AssertionError("it never ended")

    async def _answer(self, sheet: ApprovalAsked, word: str | None) -> None:
        if word is None:
            await self.house.services.chat.cancel()
        elif word:
            await self.house.services.chat.answer_approval(sheet.call_id, word)

    def said(self) -> list[str]:
        """The first line of what each tool told the model."""
        texts = [part.text for end in self.finished for part in end.result.content if isinstance(part, TextBlock)]
        return [text.split("\n")[0] for text in texts]


@pytest.fixture
def around(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path


@asynccontextmanager
async def errand(
    around: Path, model: str, monkeypatch: pytest.MonkeyPatch, stored: Sequence[Turn] = ()
) -> AsyncIterator[Errand]:
    heard: list[HttpRequest] = []
    answer = DemoServer.answer

    async def listening(server: DemoServer, request: HttpRequest) -> InProcessResponse:
        heard.append(request)
        return await answer(server, request)

    monkeypatch.setattr(DemoServer, "answer", listening)
    environment: Mapping[str, str] = {"HOME": str(around), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    async with house(
        around / "home",
        environment=environment,
        model=f"demo/{model}/low",
        tools=True,
        folder=around / "ws",
        stored=stored,
    ) as opened:
        one = Errand(opened)
        yield one
    for request in heard:
        one.problems += _problems(request)


def _problems(request: HttpRequest) -> list[str]:
    path, body = request.url.partition("?")[0], json.loads(request.body or b"")
    for end, validator in VALIDATORS.items():
        if path.endswith(end):
            return list(validator.problems(body, **({"dialect": "deepseek"} if validator is chat else {})))
    return []


@pytest.mark.one_in(4)
@pytest.mark.parametrize("model", MODELS)
async def test_find_the_function_change_it_run_the_tests(
    around: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with errand(around, model, monkeypatch) as one:
        made = await one.say("make a bug", lambda _: "session" if len(one.asked) == 5 else "")
        fixed = await one.say("fix the bug", lambda _: "once")
    assert made.startswith("Made: `sums.py`, `test_sums.py`, `NOTES.md`, `prices.py`, `names.py`.")
    assert fixed == "Mended: `add` in `sums.py` adds, and the tests pass."
    # Five questions, one answer for them all; the errand's edit is covered by it too, and only the command asks.
    assert [tool for tool, _ in one.asked] == ["write_file"] * 5 + ["shell"]
    assert RIGHT in (around / "ws" / "sums.py").read_text()
    assert one.problems == []


FIXED = """\
 ▌ fix the bug

   demo/fast · low
   ▸ Thought 0.0 s · 21 tok   I do not know where the function is. Searching is cheaper…
   │ ✓ grep   def add\\b                                                    1 hit · 0.0 s
   │ ▸ 17 tok   Before a change the file is read: what was not seen is not edited.
   │ ✓ read   sums.py                                                    5 lines · 0.0 s
   │ ▸ 13 tok   It takes away where it should add. One line changes.
   │ ✓ edit   sums.py                                                      +1 −1 · 0.0 s
   │ ▸ 10 tok   A change that was not tried is a guess.
   │ ✓ shell  python3 -B -m unittest -q                                       OK · 0.0 s

   Mended: add in sums.py adds, and the tests pass.
   5 requests · in 1k · out 13 · thinking 61 · 0.0 s · $0
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", [72, 90, 200])
async def test_the_errand_is_one_run_of_fourteen_rows(
    around: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with errand(around, "fast", monkeypatch) as one:
        await one.say("make a bug", lambda _: "session" if len(one.asked) == 5 else "")
        await one.say("fix the bug", lambda _: "once")
        turn = one.house.view().turns[-1]
    page, theme = list(sections_of([turn], DisplayOptions())), ThemeStyles({})
    *rows, last = [
        re.sub(
            r"in [\d.]+k",
            "in 1k",
            re.sub(r"\d+\.\d s", "0.0 s", section.strip(number, theme, cursor=None).text.rstrip()),
        )
        for section in page
        for number in range(section.height(width))
    ]
    assert (len(rows), last) == (14, "")
    assert [len(row) for row in rows if " ✓ " in row] == [min(width - 2, 103)] * 4
    if width == 90:
        assert "\n".join(rows) + "\n" == FIXED


@pytest.mark.one_in(4)
@pytest.mark.parametrize("model", MODELS)
async def test_after_a_no_and_after_a_stop_at_the_question_the_next_request_is_legal(
    around: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (around / "ws" / "sums.py").write_text(f"def add(first, second):\n    {WRONG}\n")
    async with errand(around, model, monkeypatch) as one:
        left = await one.say("fix the bug", lambda _: "no: not on a Friday")
        denied = one.said()[-1]
        await one.say("fix the bug", lambda _: None)
        stopped = one.said()[-1]
        await one.say("hello", lambda _: "no")
        approvals = one.house.view().approvals
    assert left.startswith("Then I leave it as it is.")
    assert denied == f"{DENIED} The user says: not on a Friday"
    assert (stopped, approvals) == (NOT_STARTED, ())
    assert WRONG in (around / "ws" / "sums.py").read_text()
    assert one.problems == []


async def test_what_waited_for_an_answer_when_the_program_ended_never_runs_by_itself(
    around: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ToolCallBlock(call_id="t1", name="shell", arguments='{"command": "touch touched"}')
    prompt = Message(id="m1", role=Role.USER, blocks=(TextBlock(text="Touch it."),))
    asking = Message(id="m2", role=Role.ASSISTANT, blocks=(call,))
    cut = Turn(id="t", messages=(prompt, asking), open=True)
    async with errand(around, "fast", monkeypatch, [cut]) as one:
        assert one.house.view().approvals == ()
        await one.say("hello", lambda _: "no")
    assert ([end for end in one.finished if end.call_id == call.call_id], one.problems) == ([], [])
    assert not (around / "ws" / "touched").exists()
