"""One question to several models: four servers at different speeds, of which one fails and one is stopped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import type_in, until
from tui.domain.blocks import TextBlock
from tui.domain.errors import UsageError
from tui.domain.messages import CANCELLED, Role, Turn
from tui.ui.dialogs.answer_column import AnswerColumn
from tui.ui.dialogs.approval import Approval
from tui.ui.dialogs.aside import Aside
from tui.ui.dialogs.ask import Ask, visible
from tui.ui.dialogs.sheet import Sheet

MODELS = {
    "anthropic": ("anthropic", "anthropic/claude-sonnet-4-5/low"),
    "openai": ("openai-responses", "openai/gpt-5.5/low"),
    "deepseek": ("openai-chat", "deepseek/deepseek-v4-pro/high"),
    "google": ("gemini", "google/gemini-2.5-flash/low"),
}
LOCAL = {"ollama": ("ollama", "ollama/qwen3/high")}
KEY_NAMES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY")
KEYS = dict.fromkeys(KEY_NAMES, "sk-test-0123456789abcdef0123456789")
NAMES = ",".join(name for _, name in MODELS.values())
FIRST: list[Step] = [{"say": "text", "text": "To begin with."}, {"end": True}]
SLOW: list[Step] = [
    {"say": "thinking", "text": "Slowly."},
    {"sleep": 0.3},
    {"say": "text", "text": "Slow."},
    {"end": True},
]
FAST: list[Step] = [{"say": "thinking", "text": "Quick."}, {"say": "text", "text": "Fast **one**."}, {"end": True}]
FAILS: list[Step] = [{"status": 400, "json": {"error": {"message": "No such thing.", "type": "invalid_request_error"}}}]
NEVER: list[Step] = [{"say": "text", "text": "It begins"}, {"hold": 1}]
THEN: list[Step] = [{"say": "text", "text": "Further."}, {"end": True}]


@asynccontextmanager
async def servers(
    home: Path, more: str = "", **scripts: Sequence[Sequence[Step]]
) -> AsyncIterator[dict[str, FaultServer]]:
    """A server for each provider, also for a local one with a script, and the settings that lead to them."""
    async with AsyncExitStack() as stack:
        running = {}
        local = {provider: row for provider, row in LOCAL.items() if provider in scripts}
        for provider, (wire, _) in {**MODELS, **local}.items():
            server = FaultServer(scripts.get(provider, [FAST]), wire, own_ids=True, honest=True)
            running[provider] = await stack.enter_async_context(server)
        paths = {"openai": "/v1", "deepseek": "", "google": "/v1beta"}
        text = "".join(
            f'[providers.{name}]\nbase_url = "{server.url}{paths.get(name, "")}"\n' for name, server in running.items()
        )
        config(home, text + more)
        yield running


def start(**more: Any) -> dict[str, Any]:
    return {"model": MODELS["anthropic"][1], "environment": KEYS, "stored_in": "file", **more}


def sheet(s: Screen) -> Ask:
    [found] = [screen for screen in s.app.screen_stack if isinstance(screen, Ask)]
    return found


async def ask(s: Screen, line: str) -> tuple[AnswerColumn, ...]:
    await s.enter(f"/ask {line}")
    await until(s.pilot, lambda: any(isinstance(screen, Ask) and screen.columns for screen in s.app.screen_stack))
    return sheet(s).columns


async def ended(s: Screen, *columns: AnswerColumn) -> None:
    await until(s.pilot, lambda: all(column.turn is not None for column in columns))


async def closed(s: Screen) -> None:
    await until(s.pilot, lambda: not isinstance(s.app.screen, Sheet))
    await until(s.pilot, lambda: not s.house.current.session.side_turns.open_ids())
    await s.caught_up()


def answer(turn: Turn) -> str:
    blocks = [block for message in turn.messages if message.role is Role.ASSISTANT for block in message.blocks]
    return " ".join(block.text for block in blocks if isinstance(block, TextBlock))


async def test_one_fails_one_is_stopped_and_the_chosen_one_becomes_the_path(tmp_path: Path) -> None:
    scripts: dict[str, Any] = {"anthropic": [FIRST, SLOW, THEN], "openai": [FAST, THEN]}
    scripts |= {"deepseek": [FAILS], "google": [NEVER]}
    async with servers(tmp_path, **scripts) as running, screen(tmp_path, size=(200, 60), **start()) as s:
        await s.ask("First?")
        slow, fast, failing, stopped = columns = await ask(s, f"{NAMES} Why is the sky dark?")
        assert [column.side.spec.provider for column in columns] == list(MODELS)
        await until(s.pilot, lambda: "It begins" in s.text())
        await s.pilot.press("4", "x")
        await ended(s, *columns)
        assert [column.mark for column in columns] == ["✓", "✓", "✗", "■"]
        assert sheet(s).columns == columns, "the order stays"
        for words in ("Slow.", "Fast one.", "No such thing.", "It begins", "Why is the sky dark?", "gpt-5.5 · low"):
            assert words in s.text()
        before = s.house.view().turns
        await s.pilot.press("2", "enter")
        await closed(s)
        turns = s.house.view().turns
        assert turns[:-1] == before
        assert answer(turns[-1]) == "Fast **one**."
        assert "Continues with gpt-5.5. 2 other answers are branches." in s.toasts()
        session = s.house.current.session_id
        names = await s.house.current.storage.siblings(session, turns[-1].id)
        assert list(names) == [slow.side.id, fast.side.id, stopped.side.id], "siblings in the order asked"
        assert stopped.failure == CANCELLED
        assert failing.side.id not in names
        assert s.house.view().spec.provider == "openai"
        await s.ask("And then?")
        assert answer(s.house.view().turns[-1]) == "Further."
        assert len(running["openai"].seen) == 2
        await s.enter("/tree")
        await s.until_it_says("5 turns")
        assert "3 branches" in s.text()


async def test_every_answer_is_on_the_bill_once(tmp_path: Path) -> None:
    async with servers(tmp_path) as running, screen(tmp_path, size=(200, 60), **start()) as s:
        columns = await ask(s, f"{NAMES} Why?")
        await ended(s, *columns)
        await s.caught_up()
        whole = s.house.services.chat.bill().cost
        assert len(s.house.view().paid) == 4
        await s.pilot.press("3", "enter")
        await closed(s)
        assert len(s.house.view().paid) == 4
        assert s.house.services.chat.bill().cost.dollars == pytest.approx(whole.dollars)
        [row] = await s.house.services.library.sessions()
        assert row.cost == pytest.approx(whole.dollars)
        assert (row.turns, row.title) == (1, "Why?")
        session = s.house.current.session_id
        assert all(len(server.seen) == 1 for server in running.values())
    async with screen(tmp_path, reopen=session, **start(model=None)) as s:
        assert s.house.services.chat.bill().cost.dollars == pytest.approx(whole.dollars)
        assert len(s.house.view().turns) == 1


@pytest.mark.long
async def test_without_a_choice_the_answers_are_branches(tmp_path: Path) -> None:
    async with servers(tmp_path, anthropic=[FIRST, FAST]), screen(tmp_path, size=(200, 60), **start()) as s:
        await s.ask("First?")
        before = s.house.view().turns
        columns = await ask(s, f"{MODELS['anthropic'][1]},{MODELS['openai'][1]} Why?")
        await ended(s, *columns)
        await s.pilot.press("escape")
        await closed(s)
        await s.until_toast("Kept 2 answers as branches")
        assert s.house.view().turns == before
        tree = await s.house.services.branches.tree()
        assert [turn.parent for turn in tree] == [None, before[0].id, before[0].id]


@pytest.mark.long
async def test_blind_names_are_letters_until_they_are_revealed(tmp_path: Path) -> None:
    async with servers(tmp_path, deepseek=[FAILS]), screen(tmp_path, size=(200, 60), **start()) as s:
        columns = await ask(s, f"blind {NAMES} Why?")
        await ended(s, *columns)
        await until(s.pilot, lambda: all(words in s.text() for words in ("▎ 1 A", "4 D", "failed", "Fast one.")))
        order = [column.side.id for column in columns]
        page = s.text()
        for name in ("claude", "gpt", "deepseek", "gemini", "No such thing", "$0.0"):
            assert name not in page, name
        await s.pilot.press("v")
        await s.until_it_says("No such thing")
        for name in ("claude-sonnet-4-5", "gpt-5.5", "deepseek-v4-pro", "gemini-2.5-flash", "Fast one."):
            assert name in s.text(), name
        assert [column.side.id for column in sheet(s).columns] == order


@pytest.mark.long
async def test_the_worst_case_of_all_together_is_asked_once(tmp_path: Path) -> None:
    prices = "".join(
        f'[models."{name.rpartition("/")[0]}"]\nprice = {{ input = 0.0, output = 10.0 }}\nmax_output = 10000\n'
        for _, name in MODELS.values()
    )
    more = f"[generation]\nmaxOutput = 10000\n[budget]\nday = 0.35\n{prices}"
    async with servers(tmp_path, more) as running, screen(tmp_path, size=(200, 60), **start()) as s:
        columns = await ask(s, f"{NAMES} Why?")
        await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
        await s.until_it_says("These 4 requests may cost up to $0.40")
        assert not any(server.seen for server in running.values())
        [asked] = s.house.view().approvals
        await s.house.services.chat.answer_approval(asked.call_id, "once")
        await until(s.pilot, lambda: isinstance(s.app.screen, Ask))
        await ended(s, *columns)
        assert s.house.view().approvals == ()
        assert all(len(server.seen) == 1 for server in running.values())


@pytest.mark.long
async def test_a_refusal_stops_all_of_them(tmp_path: Path) -> None:
    prices = "".join(
        f'[models."{name.rpartition("/")[0]}"]\nprice = {{ input = 0.0, output = 10.0 }}\nmax_output = 10000\n'
        for _, name in MODELS.values()
    )
    more = f"[generation]\nmaxOutput = 10000\n[budget]\nday = 0.35\n{prices}"
    async with servers(tmp_path, more) as running, screen(tmp_path, size=(200, 60), **start()) as s:
        columns = await ask(s, f"{NAMES} Why?")
        await until(s.pilot, lambda: bool(s.house.view().approvals))
        [asked] = s.house.view().approvals
        await s.house.services.chat.answer_approval(asked.call_id, "no")
        await ended(s, *columns)
        assert all("may cost up to" in column.failure for column in columns)
        assert not any(server.seen for server in running.values())


@pytest.mark.long
async def test_levels_of_one_model_can_be_compared(tmp_path: Path) -> None:
    async with servers(tmp_path) as running, screen(tmp_path, size=(80, 24), **start()) as s:
        columns = await ask(s, "low, high Why?")
        await ended(s, *columns)
        assert [str(column.side.spec.asked) for column in columns] == ["low", "high"]
        sent = [seen.json.get("thinking") for seen in running["anthropic"].seen]
        assert sent[0] != sent[1]


@pytest.mark.long
async def test_narrow_screens_show_one_answer_or_pages_of_them(tmp_path: Path) -> None:
    async with servers(tmp_path), screen(tmp_path, size=(80, 24), **start()) as s:
        columns = await ask(s, f"{NAMES} Why?")
        await ended(s, *columns)
        await until(s.pilot, lambda: [column.display for column in columns] == [True, False, False, False])
        await s.pilot.press("right")
        await until(s.pilot, lambda: [column.display for column in columns] == [False, True, False, False])
        await s.until_it_says("gpt-5.5 · low")
        await s.pilot.resize_terminal(120, 40)
        await until(s.pilot, lambda: [column.display for column in columns] == [False, True, True, True])
        await s.pilot.press("left")
        await until(s.pilot, lambda: [column.display for column in columns] == [True, True, True, False])
        await s.pilot.press("left")
        await until(s.pilot, lambda: [column.display for column in columns] == [False, True, True, True])
        for words in ("4 gemini-2.5-flash", "Fast one.", "enter continue"):
            assert words in s.text()


@pytest.mark.long
async def test_long_answers_scroll_up_and_down_only(tmp_path: Path) -> None:
    long: list[Step] = [{"say": "text", "text": "\n\n".join(["Some words of a paragraph. " * 3] * 30)}, {"end": True}]
    scripts: dict[str, Any] = {name: [long] for name in MODELS}
    async with servers(tmp_path, **scripts), screen(tmp_path, size=(120, 40), **start()) as s:
        columns = await ask(s, f"{NAMES} Why?")
        await ended(s, *columns)
        await s.pilot.press("right", "right", "right")
        await until(s.pilot, lambda: [column.display for column in columns] == [False, True, True, True])
        await until(s.pilot, lambda: all(column.transcript.show_vertical_scrollbar for column in columns[1:]))
        await s.pilot.pause()
        assert not any(column.transcript.show_horizontal_scrollbar for column in columns[1:])


@pytest.mark.parametrize("columns", range(2, 7))
def test_the_focused_column_is_always_visible(columns: int) -> None:
    for width in (60, 80, 100, 120, 160, 200, 300):
        first = 0
        for focused in [*range(columns), *reversed(range(columns)), columns - 1, 0]:
            shown = visible(columns, focused, width, first)
            assert focused in shown
            assert shown.start >= 0
            assert shown.stop <= columns
            assert len(shown) == (1 if width < 100 else min(columns, width // 38))
            first = shown.start


@pytest.mark.long
async def test_wrong_lines_are_explained_and_stay_in_the_composer(tmp_path: Path) -> None:
    async with servers(tmp_path), screen(tmp_path, **start()) as s:
        for line, words in (
            ("low Why?", "takes 2 to 6 models"),
            ("low,high", "question is missing"),
            ("low,low,low,low,low,low,low Why?", "takes 2 to 6 models"),
        ):
            s.app.chat.composer.put("")
            await type_in(s.pilot, f"/ask {line}")
            await s.pilot.press("enter")
            await s.until_toast(words)
            assert s.app.chat.composer.text == f"/ask {line}"
        several = s.house.services.side.several("blind low, high Why  not?")
        assert (several.question, len(several.specs), several.is_blind) == ("Why not?", 2, True)
        with pytest.raises(UsageError):
            s.house.services.side.several("")


@pytest.mark.long
async def test_names_of_the_list_are_completed(tmp_path: Path) -> None:
    async with servers(tmp_path), screen(tmp_path, **start()) as s:
        await type_in(s.pilot, "/ask anthropic/claude-sonnet-4-5,deepseek-v4-p")
        await until(s.pilot, lambda: "anthropic/claude-sonnet-4-5,deepseek/deepseek-v4-pro" in s.text())


@pytest.mark.long
async def test_nothing_of_a_private_session_is_on_the_disk(tmp_path: Path) -> None:
    async with servers(tmp_path), screen(tmp_path, size=(200, 60), **start()) as s:
        await s.enter("/private")
        await until(s.pilot, lambda: s.house.current.private)
        columns = await ask(s, "low,high What is CANARY7?")
        await ended(s, *columns)
        await s.pilot.press("enter")
        await closed(s)
        assert len(s.house.view().turns) == 1
        assert len(await s.house.services.branches.tree()) == 2
        await s.enter("/aside And CANARY8?")
        await until(s.pilot, lambda: isinstance(s.app.screen, Aside) and s.app.screen.is_over)
        await s.pilot.press("k")
        await s.until_toast("Kept as a branch")
        await s.pilot.press("escape")
        await closed(s)
        assert len(await s.house.services.branches.tree()) == 3
    written = [path for path in tmp_path.rglob("*") if path.is_file() and b"CANARY" in path.read_bytes()]
    assert written == []
