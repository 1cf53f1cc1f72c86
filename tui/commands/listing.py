"""Rows for lists that only screens and commands know: models, levels, findings, the last exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import Asked, ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A line of the model picker."""

    spec: ModelSpec
    provider: str
    available: bool
    reason: str = ""
    """Why it is greyed: ``no key: /key openai``, ``server not running`` …"""
    window: int | None = None
    price: tuple[float | None, float | None] = (None, None)
    """Dollars per million tokens in and out; None is unknown."""
    thinking: str = ""
    """In a word or two: effort, budget, always on, none."""
    recent: bool = False
    favourite: bool = False
    note: str = ""
    """Retired, retiring, unknown, demo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelInfo:
    """A line of the thinking picker: only what the model takes, with the native value."""

    asked: Asked
    label: str
    native: str
    """What will be sent, in a sentence fragment: ``adaptive, effort high`` or ``59,904 tokens``."""
    current: bool = False
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """What was found at the start: a key, a local server, or their absence."""

    provider: str
    title: str
    ready: bool
    detail: str
    """``ANTHROPIC_API_KEY found``, ``3 models``, ``no key: /key openai``."""
    spec: ModelSpec | None = None
    """A model to begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheck:
    """What is known of a key before it is saved."""

    works: bool
    said: str
    """``Works: 14 models.``, or why it is in doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeInfo:
    """The last exchange with the provider, for the inspector."""

    request: Mapping[str, object] = field(default_factory=dict)
    """method, url, headers (masked), body."""
    events: tuple[str, ...] = ()
    seconds: float | None = None
