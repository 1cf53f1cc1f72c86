"""The options of the command line. A module of its own, so that the start loads nothing else to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(
            f"The working folder cannot be used: {error.strerror}.", advice="Change to another one."
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """Options of the command line that apply with and without a screen."""

    model: str | None = None
    asked: str | None = None
    """A level or budget instead of the one in the model's name."""
    profile: str | None = None
    assignments: Sequence[str] = ()
    """Arguments of ``--set``, as KEY=VALUE."""
    no_tools: bool = False
    allow: Sequence[str] = ()
    """Tools a headless run may use without asking."""
    folder: Path = field(default_factory=_working_folder)
    """The working folder of tools and attachments."""
    headless: bool = False
    """Without a screen: no question can be asked."""
    max_cost: float | None = None
    """Dollars that may be spent until the program ends."""
    no_save: bool = False
    """Begin with a private session, of which nothing is stored; all new ones are private, too."""
    answer_schema: Mapping[str, object] | None = None
    """A JSON Schema that the answer of a headless run must fit."""
    mcp_servers: Mapping[str, object] = field(default_factory=dict)
    """Tables of MCP servers that an editor adds to those of ``config.toml``."""
    demo_speed: float = 1.0
