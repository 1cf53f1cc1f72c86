"""What the program remembers between starts beside sessions: recent models, favourites, prompts, the draft.

One small JSON file in the state folder. Losing it loses comfort, nothing else, so it is read tolerantly and a write
that fails is passed over.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from tui.domain.value import dataclass
from tui.settings.user_files import read_user_text

MOST_RECENT = 12
MOST_PROMPTS = 500
LONGEST_PROMPT = 20_000
LARGEST_FILE = 64_000_000


@dataclass(slots=True)
class Memory:
    """The file's content; ``keep`` writes it."""

    path: Path | None
    recent: list[str] = field(default_factory=list)
    """provider/model/level as used, newest first."""
    favourites: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    """Newest last."""
    draft: str = ""

    def used(self, name: str) -> None:
        """A model and level were used."""
        self.recent = [name, *(other for other in self.recent if other != name)][:MOST_RECENT]

    def asked(self, prompt: str) -> None:
        """A prompt was sent."""
        if prompt.strip() and len(prompt) <= LONGEST_PROMPT:
            self.prompts = [*(old for old in self.prompts if old != prompt), prompt][-MOST_PROMPTS:]

    def keep(self) -> None:
        """Write it."""
        if self.path is None:
            return
        from tui.settings.atomic import write_atomically  # the start only reads

        content = {
            "recent": self.recent,
            "favourites": self.favourites,
            "prompts": self.prompts,
            "draft": self.draft[:LONGEST_PROMPT],
        }
        with contextlib.suppress(OSError):
            write_atomically(self.path, json.dumps(content, ensure_ascii=True))


def read_memory(path: Path | None) -> Memory:
    """What was remembered; anything odd in the file is passed over."""
    try:
        content = json.loads(read_user_text(path, LARGEST_FILE) or "{}") if path is not None else {}
    except (OSError, ValueError, RecursionError):
        content = {}
    if not isinstance(content, dict):
        content = {}
    draft = content.get("draft")
    return Memory(
        path=path,
        recent=_texts(content.get("recent")),
        favourites=_texts(content.get("favourites")),
        prompts=_texts(content.get("prompts")),
        draft=draft if isinstance(draft, str) else "",
    )


def _texts(value: object) -> list[str]:
    found: Sequence[object] = value if isinstance(value, list) else ()
    return [item for item in found if isinstance(item, str)]
