"""Every setting does something when it is set in the running program, and taking it back undoes that."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from textual.widgets import OptionList

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.catalog.asking import CATALOG
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.patience import PATIENCE_S
from tests.ui.pictures import encoded, quarters
from tests.ui.stage import until
from tui.domain.blocks import ImageBlock, ProviderState, TextBlock, ThinkingBlock
from tui.domain.events import (
    AppEvent,
    ApprovalAsked,
    Notice,
    RetryScheduled,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
)
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.thinking import ThinkingForm
from tui.engine.state import Phase
from tui.settings.schema import keys

THOUGHT = "moonshot", "kimi-k2-thinking"
FULL = "full"
KEY = "sk-test-0123456789abcdef0123456789"
ANSWER: list[Step] = [
    {"say": "thinking", "text": "Let me see."},
    {"say": "text", "text": "Because " + "of the light " * 30},
    {"end": True},
]
LONG = "word " * 4_000
WIRES = {"anthropic": "anthropic", "openai": "openai-responses", "deepseek": "openai-chat", "moonshot": "openai-chat"}


@dataclass
class Ran:
    """The running program and the server it asks."""

    screen: Screen
    server: FaultServer
    is_set: bool = False
    """Whether the setting differs from its default."""

    def body(self) -> dict[str, object]:
        return self.server.seen[-1].json

    async def asked(self) -> dict[str, object]:
        """The body of one more request."""
        await self.screen.ask("Why?")
        return self.body()

    async def events(self, words: str, *until_one: type[AppEvent], within: float = PATIENCE_S) -> list[AppEvent]:
        """What happens until the turn ends, waits to be tried again, or until one of these."""
        last = (TurnFinished, TurnFailed, RetryScheduled, *until_one)
        chat = self.screen.house.services.chat
        _, subscription = chat.attach()
        heard: list[AppEvent] = []
        await chat.submit((TextBlock(text=words),))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                async for batch in subscription.batches(0):
                    heard += [stamped.event for stamped in batch]
                    for event in heard:
                        if isinstance(event, ApprovalAsked) and ApprovalAsked not in until_one:
                            await chat.answer_approval(event.call_id, "yes")
                    if any(isinstance(event, last) for event in heard):
                        break
        subscription.close()
        await chat.cancel()
        await until(self.screen.pilot, lambda: self.screen.house.view().phase is Phase.IDLE)
        await self.screen.caught_up()
        await until(self.screen.pilot, lambda: self.screen.app.screen is self.screen.app.chat)  # no question is left
        self.screen.app.chat.composer.put("")  # a prompt that failed comes back as a draft
        return heard


Observe = Callable[[Ran], Awaitable[object]]


@dataclass
class Probe:
    """A value that differs from the default, and what shows it."""

    value: str
    observe: Observe
    model: str = "anthropic/claude-sonnet-4-5/high"
    script: list[Step] = field(default_factory=lambda: ANSWER)
    first: tuple[str, ...] = ()
    """Commands beforehand."""
    stored: tuple[Turn, ...] = ()
    config: str = ""
    tools: bool = False
    taken_back: bool = True
    base: str = ""


def sent(*path: str) -> Observe:
    """A part of the request body."""

    async def observe(ran: Ran) -> object:
        found: object = await ran.asked()
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    return observe


async def language_asked(ran: Ran) -> object:
    """Whether the prompt says in which language to think: the first prompt of the conversation was sent without."""
    messages = (await ran.asked())["messages"]
    assert isinstance(messages, list)
    return "German" in json.dumps(messages[-1])


async def local_obstacle(ran: Ran) -> object:
    """What is missing for models on this machine."""
    return await asyncio.to_thread(ran.screen.house.program.local_models.obstacle)


async def local_start(ran: Ran) -> object:
    """How the next model on this machine would be started; that it is, is tested with a scripted server."""
    return ran.screen.house.program.local_models.options()


def sees(words: str) -> Observe:
    """Whether the screen says something after an answer."""

    async def observe(ran: Ran) -> object:
        await ran.screen.pilot.pause()
        await ran.screen.pilot.pause()
        return words in ran.screen.text()

    return observe


async def panel(ran: Ran) -> object:
    """The meter in the sidebar."""

    def shown() -> str:
        return ran.screen.text().partition("CONTEXT")[2].partition("SESSION")[0]

    def certainty() -> str:
        meter = ran.screen.house.view().meter
        return "" if meter is None else meter.certainty.value

    # A reading of the draft asked for before the end of the turn can be drawn after the turn's own: ask for a new one.
    ran.screen.app.chat.composer.put("x")
    await ran.screen.pilot.pause()
    ran.screen.app.chat.composer.put("")
    await ran.screen.pilot.pause()
    await until(ran.screen.pilot, lambda: all(w.is_finished for w in ran.screen.app.workers if w.group == "weigh"))
    await ran.screen.pilot.pause()
    await until(ran.screen.pilot, lambda: certainty() in shown() and "draft" not in shown())
    await ran.screen.pilot.pause()
    await ran.screen.pilot.pause()
    return shown()


async def thinking_sent(ran: Ran) -> object:
    return "SCATTERED" in json.dumps(await ran.asked())


async def preview(ran: Ran) -> object:
    would = (await ran.screen.house.services.chat.preview("")).compression
    return None if would is None else (would.turns, would.writer)


async def compressed(ran: Ran) -> object:
    before = len(ran.screen.house.view().summaries)
    await ran.events(LONG)
    return len(ran.screen.house.view().summaries) > before


def failure(words: str) -> Observe:
    """Whether a request fails with these words."""

    async def observe(ran: Ran) -> object:
        # Nothing comes while the setting has its default; only what must come is worth a long wait.
        heard = await ran.events("Why?", within=PATIENCE_S if ran.is_set else 0.5)
        errors = [event.error for event in heard if isinstance(event, RetryScheduled | TurnFailed)]
        return any(words in error.message for error in errors)

    return observe


async def order_of_calls(ran: Ran) -> object:
    heard = await ran.events("Look.", ToolFinished)
    return [type(event).__name__ for event in heard if isinstance(event, ToolStarted | ToolFinished)][:3]


async def calls_made(ran: Ran) -> object:
    heard = await ran.events("Look.")
    return any(isinstance(event, Notice) and "1 tool call in one turn" in event.text for event in heard)


async def call_timed_out(ran: Ran) -> object:
    heard = await ran.events("Wait.", ToolFinished)
    results = [event.result for event in heard if isinstance(event, ToolFinished)]
    return [result.failed for result in results][:1]


async def request_stopped(ran: Ran) -> object:
    """Whether a question about a spending limit comes before the request."""
    requests = len(ran.server.seen)
    heard = await ran.events("Why?", ApprovalAsked)
    asked = [event.tool for event in heard if isinstance(event, ApprovalAsked)]
    return asked, len(ran.server.seen) > requests


async def requests_of_new_session(ran: Ran) -> object:
    """How many requests the first prompt of a session makes."""
    await ran.screen.pilot.press("ctrl+n")
    await until(ran.screen.pilot, lambda: not ran.screen.house.view().turns)
    before = len(ran.server.seen)
    await ran.screen.ask("Why?")
    await until(ran.screen.pilot, lambda: len(ran.server.seen) > before + ran.is_set)
    return len(ran.server.seen) - before


async def rung(ran: Ran) -> object:
    """What the terminal is told when an answer ends out of sight."""
    written: list[str] = []
    ran.screen.app.ui_services.notifications = type(ran.screen.app.ui_services.notifications)(written.append)
    ran.screen.app.ui_services.notifications.focus_changed(here=False)
    await ran.screen.ask("Why?")
    return [text for text in written if "\x07" in text and "]0;" not in text and "]2;" not in text]


async def step_by_key(ran: Ran) -> object:
    before = ran.screen.house.view().plan.level
    ran.screen.app.chat.composer.focus()
    await ran.screen.pilot.press("shift+tab")
    await ran.screen.pilot.pause()
    moved = ran.screen.house.view().plan.level != before
    await ran.screen.house.services.models.set_model("high")
    return moved


async def mode_shown(ran: Ran) -> object:
    return "INSERT" in ran.screen.text()


async def stillness(ran: Ran) -> object:
    app = ran.screen.app
    return app.animation_level, app.chat.status.still


async def unfolded(ran: Ran) -> object:
    if not ran.screen.house.view().turns:
        await ran.screen.ask("Why?")
    await ran.screen.pilot.pause()
    return "┊ Let me see." in ran.screen.text()


async def marks(ran: Ran) -> object:
    await ran.screen.pilot.pause()
    return "▱" in ran.screen.text(), "│ MODEL" in ran.screen.text()


async def sidebar(ran: Ran) -> object:
    await ran.screen.pilot.pause()
    return "CONTEXT" in ran.screen.text()


async def rows_drawn(ran: Ran) -> object:
    await until(ran.screen.pilot, lambda: "⊞ map.png" in ran.screen.text())
    await ran.screen.pilot.pause()
    return ran.screen.app.chat.transcript.column.total


async def favourites(ran: Ran) -> object:
    await ran.screen.pilot.pause()
    shown = ran.screen.app.chat.sidebar.picker.query_one(OptionList)
    return [str(shown.get_option_at_index(number).prompt) for number in range(shown.option_count)]


async def theme(ran: Ran) -> object:
    await ran.screen.pilot.pause()
    return ran.screen.app.theme


async def model(ran: Ran) -> object:
    await ran.screen.pilot.pause()
    return ran.screen.text().splitlines()[-2].split()[0]


def thought(provider: str = "anthropic", model_: str = "claude-sonnet-4-5") -> Turn:
    wire = WireName.ANTHROPIC if provider == "anthropic" else WireName.OPENAI_CHAT
    family = CATALOG.find(provider, model_).family
    origin = Origin(provider=provider, wire=wire, host="HOST", model=model_, family=family, level="high")
    provider_state = ProviderState(signature="c2VhbA==") if provider == "anthropic" else None
    block = ThinkingBlock(
        text="SCATTERED", form=ThinkingForm.FULL, wire_field="reasoning_content", provider_state=provider_state
    )
    prompt = Message(id=f"u-{provider}", role=Role.USER, blocks=(TextBlock(text="Why?"),))
    answer = Message(id=f"a-{provider}", role=Role.ASSISTANT, blocks=(block, TextBlock(text="So.")), origin=origin)
    return Turn(id=f"t-{provider}", messages=(prompt, answer))


def talked(count: int, words: str = "Why?") -> tuple[Turn, ...]:
    def turn(number: int) -> Turn:
        prompt = Message(id=f"u{number}", role=Role.USER, blocks=(TextBlock(text=words),))
        answer = Message(id=f"a{number}", role=Role.ASSISTANT, blocks=(TextBlock(text="Because."),))
        return Turn(id=f"t{number}", messages=(prompt, answer))

    return tuple(turn(number) for number in range(count))


def pictured() -> Turn:
    picture = ImageBlock(media_type="image/png", data=encoded(quarters()), name="map.png")
    prompt = Message(id="u-map", role=Role.USER, blocks=(TextBlock(text="What is this?"), picture))
    return Turn(id="t-map", messages=(prompt, Message(id="a-map", role=Role.ASSISTANT, blocks=(TextBlock(text="A."),))))


OPENAI, DEEPSEEK, KIMI = "openai/gpt-5.5/high", "deepseek/deepseek-v4-pro/high", "moonshot/kimi-k2-thinking"
LOOK: list[Step] = [{"call": "list_dir", "args": {"path": "."}}, {"end": True}]
LOOK_TWICE: list[Step] = [
    {"call": "list_dir", "args": {"path": "."}},
    {"call": "list_dir", "args": {"path": "./"}},
    {"end": True},
]
ALLOWED = '[permissions]\nallow = ["list_dir", "shell(*)"]\n'
SLEEP: list[Step] = [{"call": "shell", "args": {"command": "sleep 1"}}, {"end": True}]

PROBES: dict[str, Probe] = {
    "model": Probe("openai/gpt-5.5/low", model, taken_back=False),
    "favourites": Probe("anthropic/claude-haiku-4-5", favourites),
    "reasoning.enabled": Probe("false", sent("thinking")),
    "reasoning.includeInContext": Probe("false", thinking_sent, KIMI, stored=(thought(*THOUGHT),)),
    "reasoning.includeInResponse": Probe("false", sees("Let me see."), first=("ask",)),
    "reasoning.effort": Probe("low", sent("reasoning", "effort"), OPENAI),
    "reasoning.maxTokens": Probe("2000", sent("thinking", "budget_tokens")),
    "reasoning.format": Probe("field", thinking_sent, DEEPSEEK, stored=(thought("zai", "glm-4.7"),)),
    "reasoning.stripFromContext": Probe("all", thinking_sent, KIMI, stored=(thought(*THOUGHT),)),
    "reasoning.dynamicBudget": Probe("true", sent("thinking"), first=("/set reasoning.dynamicBudgetAbove 1",)),
    "reasoning.dynamicBudgetAbove": Probe("1", sent("thinking"), first=("/set reasoning.dynamicBudget true",)),
    "reasoning.summary": Probe("detailed", sent("reasoning", "summary"), OPENAI),
    "reasoning.language": Probe("German", language_asked),
    "generation.system": Probe("Be terse.", sent("system")),
    "generation.temperature": Probe("0.3", sent("temperature"), "deepseek/deepseek-v4-pro/none"),
    "generation.topP": Probe("0.96", sent("top_p"), "deepseek/deepseek-v4-pro/none"),
    "generation.maxOutput": Probe("9000", sent("max_tokens")),
    "context.limit": Probe("50k", panel, first=("ask",)),
    "context.compressAt": Probe("0.5", panel, first=("ask",)),
    "context.compress": Probe(
        "false",
        compressed,
        first=("/set context.limit 12k", "/set context.reserve 1k"),
        stored=talked(8, "word " * 900),
        taken_back=False,
    ),
    "context.keepTurns": Probe("1", preview, stored=talked(6, "word " * 400)),
    "context.reserve": Probe("9k", panel, first=("ask",)),
    "context.compressionModel": Probe("openai/gpt-5.5", preview, stored=talked(6, "word " * 400)),
    "cache.ttl": Probe("5m", sent("cache_control", "ttl")),
    "budget.turn": Probe("0.000001", request_stopped),
    "budget.session": Probe("0.000001", request_stopped),
    "budget.day": Probe("0.000001", request_stopped),
    "tools.enabled": Probe("false", sent("tools"), tools=True),
    "tools.webSearch": Probe("true", sent("tools")),
    "tools.maxParallel": Probe("1", order_of_calls, script=LOOK_TWICE, tools=True, config=ALLOWED),
    "tools.maxCalls": Probe("1", calls_made, script=LOOK, tools=True, config=ALLOWED),
    "tools.timeout": Probe("0.1", call_timed_out, script=SLEEP, tools=True, config=ALLOWED),
    "local.server": Probe("llama-server", local_obstacle),
    "local.idle": Probe("5", local_start),
    "local.context": Probe("8k", local_start),
    "ui.theme": Probe("moss", theme),
    "ui.motion": Probe("false", stillness),
    "ui.plain": Probe("true", marks),
    "ui.sidebar": Probe("off", sidebar),
    "ui.thinking": Probe("full", unfolded),
    "ui.bell": Probe("off", rung),
    "ui.images": Probe("off", rows_drawn, stored=(pictured(),)),
    "ui.levelKey": Probe("false", step_by_key),
    "ui.vim": Probe("true", mode_shown),
    "ui.titles": Probe("model", requests_of_new_session),
    "network.connectTimeout": Probe("0.2", failure("in time"), base=FULL),
    "network.headerTimeout": Probe("0.1", failure("0.1 s"), script=[{"hold": True}]),
    "network.idleTimeout": Probe("0.1", failure("0.1 s"), script=[{"say": "text", "text": "So"}, {"hold": True}]),
    "network.allowHttp": Probe("true", failure("without encryption"), base="http://ponder.invalid"),
}


@pytest.fixture(autouse=True)
def _many_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal can draw pictures."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")


@asynccontextmanager
async def running(home: Path, probe: Probe) -> AsyncIterator[Ran]:
    provider = probe.model.partition("/")[0]
    around = contextlib.ExitStack()
    async with FaultServer([probe.script], wire=WIRES[provider], honest=True, own_ids=True) as server:
        base = around.enter_context(full_listener()) if probe.base == FULL else probe.base or server.url
        config(home, f'{probe.config}[providers.{provider}]\nbase_url = "{base}"\n')
        environment = {f"{name.upper()}_API_KEY": KEY for name in WIRES}
        host = base.partition("//")[2]
        turns = tuple(_at(turn, host) for turn in probe.stored)
        async with screen(home, model=probe.model, environment=environment, stored=turns, tools=probe.tools) as s:
            ran = Ran(s, server)
            await until(s.pilot, lambda: s.app.chat.sidebar.picker.filled)
            for command in probe.first:
                await (s.ask("Why?") if command == "ask" else s.enter(command))
            yield ran
    around.close()


@contextlib.contextmanager
def full_listener() -> Iterator[str]:
    """An address on this machine where a connection is neither accepted nor refused: its queue is full."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = [socket.socket() for _ in range(4)]
    for client in waiting:
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for used in (*waiting, listener):
            used.close()


def _at(turn: Turn, host: str) -> Turn:
    """A stored turn that came from the server of this test."""
    messages = tuple(
        replace(m, origin=replace(m.origin, host=host)) if m.origin and m.origin.provider != "zai" else m
        for m in turn.messages
    )
    return replace(turn, messages=messages)


def test_no_setting_is_without_a_probe() -> None:
    assert set(PROBES) == set(keys())


@pytest.mark.one_in(24)
@pytest.mark.parametrize("key", PROBES)
async def test_setting_it_shows_and_taking_it_back_undoes_it(tmp_path: Path, key: str) -> None:
    probe = PROBES[key]
    async with running(tmp_path, probe) as ran:
        before = await probe.observe(ran)
        await ran.screen.enter(f"/set {key} {probe.value}")
        await until(
            ran.screen.pilot, lambda: ran.screen.house.services.settings.layers().value(key) != keys()[key].default
        )
        await ran.screen.pilot.pause()
        ran.is_set = True
        after = await probe.observe(ran)
        assert after != before, (before, after)
        if probe.taken_back:
            await ran.screen.enter(f"/unset {key}")
            await ran.screen.pilot.pause()
            ran.is_set = False
            assert await probe.observe(ran) == before
