"""Services without a program: scripted models, levels, sessions and providers, real settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tests.ui import scenes
from tests.ui.fake_chat import FakeChat
from tests.ui.fake_mcp import FakeMcp
from tui.app.attachments import Attachments
from tui.app.background_sessions import BackgroundEvent, activity_of, next_to_see
from tui.app.branches import Branches
from tui.app.models import ModelService
from tui.app.prompt_cache import BeforeChange, CacheService
from tui.app.services import AppServices, DraftService, KeyService, ToolService
from tui.app.session_storage import InMemorySessions
from tui.app.sessions import SessionsService
from tui.app.settings import SettingsService
from tui.context.prompt_cache import CacheState
from tui.domain.blocks import TextBlock
from tui.domain.cost import Paid
from tui.domain.errors import UsageError
from tui.domain.events import ModelChanged, SettingsChanged
from tui.domain.listing import (
    KeyCheck,
    LevelInfo,
    ModelInfo,
    OpenSessionInfo,
    ProviderInfo,
    ServerInfo,
    SessionInfo,
    ToolInfo,
    ToolTokens,
)
from tui.domain.messages import Turn
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel
from tui.engine.state import SessionView, title_of
from tui.settings.layers import Layer, Layers
from tui.settings.schema import parse

NO_KEY = "no key: /key openai"


def _model(provider: str, title: str, model: str, **more: Any) -> ModelInfo:
    row = ModelInfo(spec=ModelSpec(provider=provider, model=model), provider=title, available=True)
    return replace(row, **more)


MODELS = (
    _model(
        *("anthropic", "Anthropic", "claude-opus-5"),
        window=200_000,
        price=(5.0, 25.0),
        thinking="effort",
        favourite=True,
        recent=True,
    ),
    _model(
        "deepseek", "DeepSeek", "deepseek-v4-pro", window=128_000, price=(0.28, 0.42), thinking="on/off", recent=True
    ),
    _model("anthropic", "Anthropic", "claude-haiku-4-5", window=200_000, price=(1.0, 5.0), thinking="budget"),
    _model("anthropic", "Anthropic", "claude-sonnet-4-5", window=1_000_000, price=(3.0, 15.0), thinking="budget"),
    _model("google", "Google", "gemini-3.8-flash", window=1_048_576, price=(0.3, 2.5), thinking="level"),
    _model("google", "Google", "gemini-2.5-pro", window=1_048_576, price=(1.25, 10.0), thinking="budget, always on"),
    _model("ollama", "Ollama", "qwen3:8b", window=40_960, price=(0.0, 0.0), thinking="on/off"),
    _model("demo", "Demo", "thinker", window=64_000, price=(0.0, 0.0), thinking="effort", note="demo"),
    _model(
        *("openai", "OpenAI", "gpt-6-sol"),
        available=False,
        reason=NO_KEY,
        window=400_000,
        price=(2.0, 16.0),
        thinking="effort, always on",
    ),
    _model("openai", "OpenAI", "gpt-6-luna-mini", available=False, reason=NO_KEY, window=400_000, thinking="effort"),
)


class FakeModels(ModelService):
    def __init__(self, chat: FakeChat) -> None:
        self._chat = chat
        self.rows: tuple[ModelInfo, ...] = MODELS
        self.chosen: list[str] = []

    def _spec(self) -> ModelSpec:
        return self._chat.state.view(0).spec

    async def get_ready(self) -> None:
        pass

    async def set_model(self, name: str) -> str:
        self.chosen.append(name)
        row = next((row for row in self.rows if name.startswith(str(row.spec))), None)
        if row is None:
            raise UsageError(f"There is no model `{name}`.")
        spec = replace(row.spec, asked=self._spec().asked)
        self._chat.publish(ModelChanged(spec, scenes.PLAN, ""))
        return f"{spec}: thinking high."

    async def set_level(self, asked: Asked) -> str:
        self.chosen.append(str(asked))
        self._chat.publish(ModelChanged(replace(self._spec(), asked=asked), replace(scenes.PLAN, asked=asked), ""))
        return f"Thinking: {asked}."

    async def step_level(self, step: int, *, wrap: bool) -> str:
        levels = [row.asked for row in self.levels()]
        now = self._spec().asked
        place = levels.index(now) if now in levels else 0
        place = (place + step) % len(levels) if wrap else min(max(place + step, 0), len(levels) - 1)
        return await self.set_level(levels[place])

    async def step_model(self, step: int) -> str:
        return await self.set_model(str(self.rows[1].spec))

    def models(self) -> Sequence[ModelInfo]:
        return self.rows

    def providers_without_key(self) -> int:
        return len({row.provider for row in self.rows if row.reason.startswith("no key")})

    def levels(self, spec: ModelSpec | None = None) -> Sequence[LevelInfo]:
        spec = replace(spec, asked=self._spec().asked) if spec is not None else self._spec()
        natives = {
            "none": "off",
            "low": "adaptive, effort low",
            "med": "adaptive, effort medium",
            "high": "effort high",
        }
        if "2.5-pro" in spec.model:
            natives = {"low": "11,008 tokens", "med": "21,888 tokens", "high": "32,768 tokens"}
        rows = [
            LevelInfo(
                asked=ThinkingLevel(word),
                label=word,
                native=native,
                current=spec.asked == word,
                warning="It may still think a little." if word == "none" else "",
            )
            for word, native in natives.items()
        ]
        if isinstance(spec.asked, int):
            rows.append(
                LevelInfo(asked=spec.asked, label=f"{spec.asked:,}", native=f"{spec.asked:,} tokens", current=True)
            )
        return rows

    def level(self, asked: Asked, spec: ModelSpec | None = None) -> LevelInfo:
        return LevelInfo(asked=asked, label=f"{asked}", native=f"{asked} tokens")

    def cost_of_level(self, row: LevelInfo, *, brief: bool) -> str:
        return ""

    def cost_of_model(self, spec: ModelSpec, *, brief: bool) -> str:
        return ""

    def cost_of_name(self, name: str, *, turn_id: str = "") -> str:
        return ""

    def cost_of_turn(self, row: LevelInfo, spec: ModelSpec | None = None) -> float | None:
        return None

    def model_info(self, name: str = "") -> str:
        return f"# {name or self._spec()}\n\nA model."

    async def toggle_favourite(self, spec: ModelSpec) -> bool:
        now = not next(row.favourite for row in self.rows if row.spec == spec)
        self.rows = tuple(replace(row, favourite=now) if row.spec == spec else row for row in self.rows)
        return now

    async def refresh_models(self) -> int:
        return len(self.rows)


class FakeSessions(SessionsService):
    """The session on the screen, and what else a test says is open."""

    def __init__(self, chat: FakeChat) -> None:
        self._chat = chat
        self.elsewhere: tuple[OpenSessionInfo, ...] = ()
        self.listener: Callable[[BackgroundEvent], None] | None = None

    @property
    def private(self) -> bool:
        return False

    def open_sessions(self) -> Sequence[OpenSessionInfo]:
        view = self._chat.state.now
        shown = OpenSessionInfo(id="s1", title=title_of(view), activity=activity_of(view), on_screen=True)
        return (shown, *self.elsewhere)

    def next_session(self) -> OpenSessionInfo | None:
        return next_to_see(self.open_sessions(), "s1")

    def listen(self, listener: Callable[[BackgroundEvent], None] | None) -> None:
        self.listener = listener

    async def delete_shown(self) -> None:
        await self._chat.new_session()


class FakeCache(CacheService):
    """Nothing is cached."""

    def __init__(self) -> None:
        self.cached: CacheState | None = None

    def now(self) -> float:
        return 1_795_000_000.0

    def state(self, view: SessionView) -> CacheState | None:
        return self.cached

    def report_expiry(self, view: SessionView) -> None:
        """Nothing expires."""

    def savings(self, paid: Iterable[Paid]) -> float | None:
        return None

    def before_turn(self, view: SessionView, turn_id: str) -> str:
        return ""

    def after_compression(self, view: SessionView, size: int) -> str:
        return ""

    def before_change(self) -> BeforeChange:
        return BeforeChange(0, scenes.OPUS, "")

    def after_change(self, before: BeforeChange) -> str:
        return ""

    def cost_of_uncompressing(self) -> str:
        return ""


class FakeSettings(SettingsService):
    """The real schema."""

    def __init__(self, chat: FakeChat, values: dict[str, object] | None = None) -> None:
        self._chat = chat
        self._layers = Layers().with_layer(Layer.CONFIG, values or {})

    def layers(self) -> Layers:
        return self._layers

    def cost_of_value(self, key: str, text: str) -> str:
        return ""

    def cost_of_unset(self, key: str) -> str:
        return ""

    def cost_of_profile(self, name: str) -> str:
        return ""

    async def assign(self, key: str, words: str) -> str:
        name, value = parse(key, words)
        self._layers = self._layers.with_value(Layer.SESSION, name, value)
        self._chat.publish(SettingsChanged({name: value}))
        return f"{name} is {words} now."

    async def set_saved(self, key: str, *, saved: bool) -> str:
        value = self._layers.value(key)
        self._layers = self._layers.without(Layer.SESSION if saved else Layer.SAVED, key)
        self._layers = self._layers.with_value(Layer.SAVED if saved else Layer.SESSION, key, value)
        return f"{key} is {'saved' if saved else 'for this session only'}."

    async def unassign(self, key: str) -> str:
        self._layers = self._layers.without(Layer.SESSION, key)
        self._chat.publish(SettingsChanged({key: self._layers.value(key)}))
        return f"{key} is {self._layers.value(key)} again."

    def profiles(self) -> Sequence[tuple[str, str]]:
        return [("kimi", "Kimi K2 with its thinking sent back"), ("quick", "no thinking")]

    async def load_profile(self, name: str) -> str:
        return f"Profile {name}."

    async def save_profile(self, name: str) -> str:
        return f"Saved {name}."

    async def delete_profile(self, name: str) -> str:
        return f"Deleted {name}."

    def show_profile(self, name: str) -> str:
        return 'model = "moonshot/kimi-k2"'

    def keys_file(self) -> str:
        return "/home/me/.config/ponder/keys.toml"


class FakeKeys(KeyService):
    def __init__(self) -> None:
        self.saved: list[tuple[str, str, bool]] = []
        self.rows: tuple[ProviderInfo, ...] = (
            ProviderInfo(
                provider="anthropic", title="Anthropic", ready=True, detail="ANTHROPIC_API_KEY found", spec=scenes.OPUS
            ),
            ProviderInfo(provider="ollama", title="Ollama", ready=True, detail="3 models"),
            ProviderInfo(provider="openai", title="OpenAI", ready=False, detail=NO_KEY),
        )

    def availability(self) -> Sequence[ProviderInfo]:
        return self.rows

    def providers(self) -> Sequence[ProviderInfo]:
        return self.rows

    async def check_key(self, provider: str, key: str) -> KeyCheck:
        return KeyCheck(works=True, message="Works: 2 models.")

    async def save_key(self, provider: str, key: str, *, keep: bool) -> str:
        self.saved.append((provider, key, keep))
        return f"The key for {provider} works from now on."

    def key_hint(self, provider: str) -> str:
        return f"{provider.upper()}_API_KEY, or a key from platform.{provider}.example/keys"


class FakeTools(ToolService):
    def __init__(self) -> None:
        self.rows = [
            ToolInfo(
                name="read_file", source="built in", enabled=True, policy="allow", tokens=120, description="Reads."
            ),
            ToolInfo(name="shell", source="built in", enabled=True, policy="ask", tokens=210, description="Runs."),
            ToolInfo(
                name="search", source="web", enabled=False, policy="ask", tokens=95, description="Search the web."
            ),
        ]

    @property
    def folder(self) -> str:
        return "/home/me/[work]"

    def tools(self) -> Sequence[ToolInfo]:
        return self.rows

    def note_on(self, name: str) -> str:
        return ""

    def tools_sent(self) -> ToolTokens:
        return ToolTokens(tokens=sum(row.tokens for row in self.rows if row.enabled))

    async def notes(self) -> Sequence[str]:
        return ["Sandbox for commands: Landlock 7 (ro and rw)"]

    def cost_of_enabling(self, name: str, *, enabled: bool) -> str:
        return ""

    async def enable_tool(self, name: str, *, enabled: bool) -> str:
        self.rows = [replace(row, enabled=enabled) if row.name == name else row for row in self.rows]
        return ""

    def servers(self) -> Sequence[ServerInfo]:
        return [ServerInfo(name="web", state="running", tools=1)]


class FakeDrafts(DraftService):
    def __init__(self) -> None:
        self.history = ["What is a monad?", "Explain the Fermi paradox", "Write a haiku about tokens"]
        self.drafts: dict[str, str] = {}

    def is_private(self, session: str) -> bool:
        return False

    def prompt_history(self) -> Sequence[str]:
        return self.history

    def keep_draft(self, session: str, text: str) -> None:
        self.drafts[session] = text

    def kept_draft(self, session: str) -> str:
        return self.drafts.get(session, "")

    def remember_prompt(self, text: str) -> None:
        self.history.append(text)

    def complete_path(self, start: str) -> Sequence[str]:
        return [path for path in ("src/drake.py", "src/fermi.py", "README.md") if path.startswith(start)]

    def read_attachments(self, path: str) -> Attachments:
        if path.startswith("missing"):
            raise UsageError(f"There is no file `{path}`.")
        return Attachments(blocks=((path.rpartition("/")[2], TextBlock(text=f"content of {path}")),))


class FakeBranches(Branches):
    def __init__(self) -> None:
        self.known: dict[str, tuple[int, int]] = {}

    async def places(self) -> dict[str, tuple[int, int]]:
        return self.known


class FakeLibrary(InMemorySessions):
    def __init__(self, now: float) -> None:
        super().__init__()
        self.done: list[tuple[str, ...]] = []
        self.stored: dict[str, tuple[Turn, ...]] = {
            "s2": (scenes.turn("How?", "Like this.", 1, "Short."), scenes.turn("How many?", "About ten.", 2, "Short."))
        }
        self.rows = [
            SessionInfo(
                id="s1", title="Explain the Fermi idea", model="claude-opus-5", turns=4, cost=1.12, updated=now
            ),
            SessionInfo(
                id="s2", title="Why is the sky dark?", model="gpt-6-sol", turns=2, cost=0.04, updated=now - 7_200
            ),
            SessionInfo(
                id="s3",
                title="Refactor [bold]drake.py",
                model="qwen3:8b",
                turns=11,
                cost=None,
                updated=now - 259_200,
            ),
        ]

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        rows = [row for row in self.rows if not row.deleted and query.lower() in row.title.lower()]
        if query:
            rows = [replace(row, snippet=f"… asked about \x02{query}\x03 and more") for row in rows]
        return sorted(rows, key=lambda row: not row.pinned)[:limit]

    async def preview(self, session: str) -> str:
        return f"**You** about {session}\n\nThe first words of the answer."

    async def turns(self, session: str) -> Sequence[Turn]:
        return self.stored.get(session, ())

    def _change(self, session: str, **changes: Any) -> None:
        self.rows = [replace(row, **changes) if row.id == session else row for row in self.rows]

    async def rename(self, session: str, title: str, *, by_user: bool = True) -> None:
        self.done.append(("rename", session, title))
        self._change(session, title=title)

    async def pin(self, session: str, *, pinned: bool) -> None:
        self.done.append(("pin", session, str(pinned)))
        self._change(session, pinned=pinned)

    async def delete(self, session: str) -> None:
        self.done.append(("delete", session))
        self._change(session, deleted=True)

    async def undelete(self, session: str) -> None:
        self.done.append(("undelete", session))
        self._change(session, deleted=False)

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        self.done.append(("export", session, form, parts))
        path.write_text(f"# {session}", encoding="utf-8")

    async def import_file(self, path: Path) -> str:
        return "s9"


@dataclass
class FakeServices(AppServices):
    chat: FakeChat = field(default_factory=FakeChat)
    values: dict[str, object] = field(default_factory=dict)
    now: float = 1_795_000_000.0
    wrong: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        self.cache: FakeCache = FakeCache()
        self.sessions: FakeSessions = FakeSessions(self.chat)
        self.models: FakeModels = FakeModels(self.chat)
        self.settings: FakeSettings = FakeSettings(self.chat, self.values)
        self.keys: FakeKeys = FakeKeys()
        self.tools: FakeTools = FakeTools()
        self.mcp: FakeMcp = FakeMcp()
        self.drafts: FakeDrafts = FakeDrafts()
        self.library: FakeLibrary = FakeLibrary(self.now)
        self.branches: FakeBranches = FakeBranches()

    async def discover(self) -> None:
        """Finds nothing more."""

    async def model_server(self) -> str:
        return ""

    def status(self) -> str:
        return "- model **anthropic/claude-opus-5**\n- store: ok"

    async def doctor(self) -> str:
        return "All is well."

    def problems(self) -> Sequence[tuple[str, str]]:
        return self.wrong
