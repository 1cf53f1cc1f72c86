"""The shapes of what is known: models, how they think, what they want back, what they cost, providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.catalog.quirks import Quirks
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.domain.thinking import ThinkingForm


class EchoRule(StrEnum):
    """Whether a model wants its thinking back."""

    REQUIRED = "required"
    """On every assistant message, or at least on all that called tools."""
    REQUIRED_IN_TOOL_LOOP = "required_in_tool_loop"
    """From the last real user message on; older thinking may go too."""
    ALLOWED = "allowed"
    IGNORED = "ignored"
    """Sent back it changes nothing, so it is not sent."""
    REFUSED = "refused"
    """Sent back it is an error."""


class ThinkingCounted(StrEnum):
    """Which of the thinking that is sent back the server really counts as input."""

    ALL = "all"
    OPEN_TURN = "open_turn"
    TOOL_TURNS = "tool_turns"
    NONE = "none"


class Lifecycle(StrEnum):
    """Whether a model can still be used."""

    CURRENT = "current"
    RETIRING = "retiring"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRange:
    """Thinking budgets a model takes, in tokens."""

    min: int
    max: int
    zero_is_off: bool = False
    """The API takes 0 as "off" although 0 may lie below ``min``."""
    open_top: bool = False
    """The highest level sends no budget at all: the server's own limit is the most it has."""


EFFORT_CUTS: Mapping[str, int] = {"minimal": 4_000, "low": 16_000, "medium": 32_000}
"""Where a model's row has no cuts of its own. A larger number makes the same budget mean less effort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingControls:
    """The knobs a model has: a set, because models mix them."""

    thinks: bool = True
    can_disable: bool = False
    efforts: tuple[str, ...] = ()
    """Accepted effort or level words, weakest first, as spelled on the wire."""
    budget: BudgetRange | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    """Unified level → effort word, only where the general rule would choose another."""
    default: str | None = None
    """What the server does when nothing is sent."""
    levels_by: str = "auto"
    """What a level turns: ``effort``, ``budget`` or ``toggle``; ``auto`` is efforts, else budget, else the switch.
    The other knobs stay for whoever asks for them by number or word."""
    cuts: Mapping[str, int] = field(default_factory=lambda: dict(EFFORT_CUTS))
    """Budgets asked for in tokens, as efforts: word → budgets below this number mean it; above all, high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars per million tokens; None is unknown."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """All we know about one model at one provider; ``provenance`` says from where, fact by fact."""

    provider: str
    id: str
    """As the provider spells it, and as it is sent."""
    wire: WireName
    spelling: str
    """Name of the table in ``spellings.toml`` that puts plans into wire fields."""
    controls: ThinkingControls
    aliases: tuple[str, ...] = ()
    family: str = ""
    """Models of a family read each other's seals; "" means only itself."""
    context_window: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    echo: EchoRule = EchoRule.ALLOWED
    bound: bool = False
    """Thinking blocks are bound to system, tools and everything before them."""
    counted: ThinkingCounted = ThinkingCounted.ALL
    form: ThinkingForm = ThinkingForm.FULL
    """What the thinking text is when it is shown."""
    inputs: frozenset[str] = frozenset({"text"})
    """What it takes: text, image."""
    tools: bool = True
    chat_tools_without_thinking: bool = False
    """Over Chat Completions it takes tools only while thinking is off."""
    price: Price | None = None
    tokenizer: str = ""
    """Family name for token estimates; "" uses the general heuristic."""
    lifecycle: Lifecycle = Lifecycle.CURRENT
    retires: str | None = None
    successor: str | None = None
    recommended: Mapping[str, object] = field(default_factory=dict)
    """Settings this model works best with; a layer above config, below profiles."""
    quirks: Mapping[str, object] = field(default_factory=dict)
    """Quirk fields of this model, over those of its provider."""
    notes: tuple[str, ...] = ()
    known: bool = True
    """False for a model we have never heard of: conservative facts, and the user is told."""
    provenance: Mapping[str, str] = field(default_factory=dict)


class AuthStyle(StrEnum):
    """How the key goes into the request."""

    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    """A place where a wire is spoken."""

    id: str
    title: str
    wire: WireName
    base_url: str
    auth: AuthStyle
    key_env: tuple[str, ...] = ()
    key_optional: bool = False
    local: bool = False
    """Answers on loopback; found by asking its port."""
    quirks: Quirks = field(default_factory=Quirks)
    wire_quirks: Mapping[str, object] = field(default_factory=dict)
    """Wire → quirk fields, for models that speak another wire here than ``wire``."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Paths that differ from the wire's own (``chat``, ``models``, ``count``)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, object] = field(default_factory=dict)
    discovery: str | None = None
    """How models are listed: anthropic, openai, openrouter, gemini, ollama; None where they are not."""
    idle_timeout_s: float | None = None
    header_timeout_s: float | None = None
    key_url: str | None = None
    """Where a key is made, for the key dialog."""
    source: str = "packaged"
    """Which file it came from."""
    spelling: str | None = None
    """How thinking is asked for here whatever the model; None leaves it to the model's own row."""
    resells: bool = False
    """Makers' models are reached through here, under the makers' facts."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Wire → base URL, for models that speak another wire here."""
    models: str = ""
    """Packaged file with rows for this provider, without ``.toml``; "" where there is none."""
    complete: bool = False
    """Models that are not listed do not exist here."""
    start: str = ""
    """The model to begin with where nobody names one; "" is the first that is listed."""

    def base_url_for(self, wire: WireName) -> str:
        """Base URL of a model that speaks ``wire`` here."""
        return self.bases.get(wire, self.base_url)
