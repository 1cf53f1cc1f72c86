"""The types of the catalogue: models with their thinking, echo rule and prices, and providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Origin, WireName
from tui.domain.thinking import ThinkingForm

WORDS: Mapping[str, tuple[str, ...]] = {
    "thinking_back": (
        *("none", "as_received", "reasoning_content", "reasoning", "reasoning_text", "reasoning_details"),
        *("think_tags", "content_chunks"),
    ),
    "think_tags": ("auto", "always", "forced_open", "never"),
    "system_role": ("system", "developer"),
    "tool_id": ("any", "nine_alnum", "forty"),
    "plain_reasoning": ("none", "content", "any"),
    "prompt_cache": ("automatic", "top_level", "parts", "options"),
    "answer_schema": ("native", "both", "words"),
    "web_search": (*("", "claude", "claude-basic", "gpt", "grok", "gemini", "gemini-2", "openrouter", "none"),),
}
"""Accepted words of fields that are words. An error message for a wrong word lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """The quirks of all wires. The defaults are the behaviour of the wire's original provider."""

    # Chat Completions and Responses: order of messages
    merge_same_role: bool = False
    """Consecutive messages of one role are sent as one, and the first one is the user's: chat templates of open
    models raise an error where roles do not alternate."""
    assistant_after_tool: bool = False
    """An assistant message is put between tool results and the user (Mistral, chat templates of open models)."""

    # Chat Completions: thinking in the stream
    thinking_in: tuple[str, ...] = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
    """Delta fields that contain thinking. The first non-empty one is used."""
    think_tags: str = "auto"
    """Inline tags: ``auto`` (only when the answer opens with one), ``always``, ``forced_open`` (the prompt opened
    the block, so only the closing tag comes), ``never``."""
    details_in: bool = True
    """Read ``reasoning_details``."""

    # Chat Completions: thinking sent back
    thinking_back: str = "none"
    """none, as_received (in the field it came in: unknown servers),
    reasoning_content, reasoning, reasoning_text (with ``reasoning_opaque``: GitHub Copilot),
    reasoning_details (the array as received, plus ``reasoning`` where that came too; ``reasoning`` alone without
    an array), think_tags (in the content), content_chunks (Mistral)."""
    thinking_back_empty: bool = False
    """Send the field on every assistant message, even without thinking."""
    empty_thinking: str = ""
    """Value of the field if there was no thinking: Kimi K2.5 and K2.6 refuse "" and accept a blank."""
    tools_keep_thinking: bool = False
    """Send thinking of finished turns that called tools despite the settings: routers forward it to providers that
    refuse the calls without it (OpenRouter)."""

    # Chat Completions: body
    max_tokens_name: str = "max_tokens"
    system_role: str = "system"
    """``developer`` for OpenAI's reasoning models."""
    usage_option: bool = True
    """Ask for usage with ``stream_options.include_usage``."""
    store_false: bool = False
    """Send ``store: false``."""
    cache_key_field: str = ""
    """Body field for the conversation's id, for prompt caches that use one (``prompt_cache_key`` at OpenAI)."""
    content_never_null: bool = False
    """Send "" instead of null as assistant content beside tool calls."""
    tool_id: str = "any"
    """``any``, ``nine_alnum`` (Mistral), ``forty`` (at most 40 characters)."""
    tool_images: bool = False
    """Tool results may contain images."""
    drop_sampling_when_thinking: bool = False
    """temperature and top_p are refused or fixed if thinking is on."""
    never_sampling: bool = False
    """temperature and top_p are always refused."""

    reasoning_control: bool = False
    """The server can end the thinking of a running response (llama.cpp): ``reasoning_control`` is sent, and
    ``/chat/completions/control`` is asked when the user wants the answer."""

    prompt_progress: bool = False
    """The server says how much of the prompt it has read if ``return_progress`` asks for it (llama.cpp)."""

    counts_chat: bool = False
    """The server counts the tokens of a request at ``/chat/completions/input_tokens`` (llama.cpp)."""

    # Answers that fit a JSON Schema
    answer_schema: str = "native"
    """How a schema is asked for: ``native`` (the wire's field, which the server enforces), ``both`` (also in words,
    because not every server or model obeys the field), ``words`` (the server has no such field or refuses it)."""
    answer_schema_with_tools: bool = True
    """The field works in a request with tools. Servers that obey it by a grammar could not call any."""

    # Web search
    web_search: str = ""
    """How a request asks for the provider's own web search: a name in ``web_search.toml``, ``none``, or "" for what
    that file says about the provider and the model."""

    # Prompt caches
    prompt_cache: str = "automatic"
    """How a request asks for caching: ``automatic`` (not at all), ``top_level`` (``cache_control`` of the body, which
    moves along by itself, and on parts), ``parts`` (``cache_control`` on parts only), ``options``
    (``prompt_cache_options``). It is used with models whose facts say that they accept it."""
    cache_ttls: tuple[str, ...] = ("5m", "1h")
    """Lifetimes that the server offers, the default first."""
    cache_key_header: str = ""
    """Header for the conversation's id, which keeps a conversation on one machine (xAI)."""

    # Responses
    include_encrypted: bool = True
    """Ask for ``reasoning.encrypted_content``."""
    item_ids: bool = True
    """Item ids may be sent back with their items."""
    plain_reasoning: str = "none"
    """Which reasoning items are sent back that have no encrypted content: ``none`` (OpenAI stores nothing and answers
    404), ``content`` (those with the reasoning itself: open models), ``any`` (those with a summary too: xAI)."""

    # Anthropic
    version: str = "2026-10-21"
    """The ``anthropic-version`` header."""
    model_in_path: bool = False
    """The model is in the path and the version in the body (Vertex)."""
    forbids_sampling: bool = True
    """Sampling fields are refused at this version."""
    empty_signatures: bool = False
    """Thinking blocks may have an empty signature, received and sent (MiniMax)."""

    # Gemini
    skip_signature: str = "skip_thought_signature_validator"
    """Placeholder for the signature that calls of other models lack."""

    usage_merged: bool = True
    """Counts that are missing in a later usage event keep their earlier value. Off for analysing recordings."""

    # Ollama
    send_num_ctx: bool = True
    """Send ``options.num_ctx``. Without it the server truncates silently."""


if TYPE_CHECKING:
    from tui.catalog.prices import Price


class EchoRule(StrEnum):
    """Whether thinking must be sent back to a model."""

    REQUIRED = "required"
    """Required on every assistant message, or at least on all that called tools."""
    REQUIRED_IN_TOOL_LOOP = "required_in_tool_loop"
    """Required from the last real user message on; older thinking may be sent too."""
    ALLOWED = "allowed"
    IGNORED = "ignored"
    """The model ignores it, so it is not sent."""
    REFUSED = "refused"
    """The provider refuses a request that contains it."""


class ThinkingCounted(StrEnum):
    """Which of the thinking that is sent back the server counts as input."""

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
    """The thinking budgets that a model accepts, in tokens."""

    min: int
    max: int
    zero_is_off: bool = False
    """The API accepts 0 as "off", although 0 may be below ``min``."""
    open_top: bool = False
    """The highest level sends no budget, because the server's own limit is the maximum."""


EFFORT_CUTS: Mapping[str, int] = {"minimal": 4_000, "low": 16_000, "medium": 32_000}
"""Default cuts for models without their own. With larger numbers the same budget means less effort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingControls:
    """The thinking controls of a model. A model may have several."""

    thinks: bool = True
    can_disable: bool = False
    efforts: tuple[str, ...] = ()
    """Accepted effort or level words, weakest first, as the wire spells them."""
    budget: BudgetRange | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    """Unified level → effort word, only if the general rule would choose another."""
    default: str | None = None
    """What the server does if nothing is sent."""
    levels_by: str = "auto"
    """The control that a level sets: ``effort``, ``budget`` or ``toggle``; ``auto`` is efforts, else budget, else the
    switch. The other controls can be set by a number or an effort word."""
    cuts: Mapping[str, int] = field(default_factory=lambda: dict(EFFORT_CUTS))
    """Conversion of budgets to efforts: word → budgets below this number. Larger budgets mean high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """All facts about one model at one provider. ``provenance`` is the source of each fact."""

    provider: str
    id: str
    """The provider's model id, as it is sent."""
    wire: WireName
    spelling: str
    """Name of the table in ``spellings.toml`` that converts plans to wire fields."""
    controls: ThinkingControls
    aliases: tuple[str, ...] = ()
    family: str = ""
    """Models of a family accept each other's provider state; "" for a model on its own."""
    context_window: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    echo: EchoRule = EchoRule.ALLOWED
    bound: bool = False
    """Thinking blocks are bound to system, tools and everything before them."""
    counted: ThinkingCounted = ThinkingCounted.ALL
    form: ThinkingForm = ThinkingForm.FULL
    """The form of the thinking text."""
    inputs: frozenset[str] = frozenset({"text"})
    """Accepted input types: text, image."""
    tools: bool = True
    chat_tools_without_thinking: bool = False
    """Over Chat Completions the model accepts tools only if thinking is off."""
    price: Price | None = None
    """A price from the user's settings or the provider's list; otherwise the price table applies (``price_of``)."""
    priced_as: str = ""
    """The maker's name of the model, if the provider has another: its price applies."""
    prompt_cache: str = "automatic"
    """What the model accepts to control prompt caching: ``automatic`` (nothing), ``marks`` or ``options``."""
    tokenizer: str = ""
    """A tokenizer family (``tokenizers.toml`` lists them) for token estimates; "" uses the general heuristic."""
    lifecycle: Lifecycle = Lifecycle.CURRENT
    retires: str | None = None
    successor: str | None = None
    recommended: Mapping[str, object] = field(default_factory=dict)
    """Recommended settings for this model. They override the config file and are overridden by profiles."""
    quirks: Mapping[str, object] = field(default_factory=dict)
    """Quirk fields of this model, which override those of its provider."""
    notes: tuple[str, ...] = ()
    known: bool = True
    """False for an unknown model: its facts are safe defaults, and the user is warned."""
    provenance: Mapping[str, str] = field(default_factory=dict)


class AuthStyle(StrEnum):
    """How the key is sent."""

    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"
    API_KEY = "api-key"
    """Azure: its OpenAI endpoints read ``api-key``, its Anthropic endpoint ``x-api-key``. Both are sent."""
    NONE = "none"


class Cloud(StrEnum):
    """A cloud whose own login can replace a key."""

    AWS = "aws"
    GOOGLE = "google"
    AZURE = "azure"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    """A provider: an endpoint that speaks a wire format."""

    id: str
    title: str
    wire: WireName
    base_url: str
    auth: AuthStyle
    key_env: tuple[str, ...] = ()
    key_command: tuple[str, ...] = ()
    """The words of a command that prints the key."""
    key_optional: bool = False
    local: bool = False
    """The server is on loopback and is detected by its port."""
    starts_models: bool = False
    """ponder itself starts a server on this machine for each model; the base URL only names the provider."""
    quirks: Quirks = field(default_factory=Quirks)
    wire_quirks: Mapping[str, object] = field(default_factory=dict)
    """Wire → quirk fields, for models that use another wire than ``wire``."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Paths that differ from the wire's (``chat``, ``models``, ``count``)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, object] = field(default_factory=dict)
    discovery: str | None = None
    """The API that lists models: anthropic, openai, openrouter, gemini, ollama; None if there is none."""
    idle_timeout_s: float | None = None
    header_timeout_s: float | None = None
    key_url: str | None = None
    """Page where the user can create a key, for the key dialog."""
    source: str = "packaged"
    """The file that defines the provider."""
    spelling: str | None = None
    """Spelling for all models of this provider; None uses the model's spelling."""
    resells: bool = False
    """The provider offers models of other makers, with the makers' facts."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Wire → base URL, for models that use another wire."""
    models: str = ""
    """Packaged file with rows for this provider, without ``.toml``; "" if there is none."""
    complete: bool = False
    """The list is complete: the provider has no other models."""
    cloud: Cloud | None = None
    """Without a key, the login of this cloud is used."""
    account: Mapping[str, str] = field(default_factory=dict)
    """What the cloud needs to know besides the login: ``region`` and ``profile``, ``project`` and ``location``, or
    ``resource``. It replaces ``{NAME}`` in base URLs."""
    account_env: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variables that set ``account``, the first one that is set wins."""
    offers: Mapping[str, str] = field(default_factory=dict)
    """Name at this provider → MAKER/MODEL whose facts apply."""
    wires: Mapping[str, str] = field(default_factory=dict)
    """Maker → wire, for a provider that offers models of several makers as they offer them themselves."""
    start: str = ""
    """The default model of the provider; "" for the first listed model."""

    @property
    def costs_nothing(self) -> bool:
        """Its models run on this machine."""
        return self.local or self.starts_models

    def base_url_for(self, wire: WireName) -> str:
        """Return the base URL for models that use ``wire``."""
        return self.bases.get(wire, self.base_url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A model at a provider, ready for requests."""

    provider: ProviderFacts
    facts: ModelFacts
    origin: Origin
    """The origin of answers from this target, as far as it is known beforehand."""
