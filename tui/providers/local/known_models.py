"""A short list of good small models that think, for ``ponder local get NAME``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from tui.domain.fast_dataclass import dataclass
from tui.providers.local.hub import HubName

_FILE = Path(__file__).with_name("known_models.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model of the list."""

    name: str
    title: str
    repository: str
    file: str
    size: int
    """Bytes."""
    memory: float
    """GB that it needs with 8,192 tokens of context."""
    window: int
    licence: str
    good_for: str
    projector: int = 0
    """Bytes of the part that sees images."""

    @property
    def download(self) -> int:
        """Bytes of all its files."""
        return self.size + self.projector

    @property
    def hub_name(self) -> HubName:
        """What to download."""
        return HubName(repository=self.repository, file=self.file)


@cache
def known_models() -> dict[str, KnownModel]:
    """Return the list by name, smallest first."""
    rows = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {name: KnownModel(name=name, **row) for name, row in rows.items()}
