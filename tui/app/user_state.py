"""Recent models, favourites, prompts and drafts, and the calibration of estimates: one JSON file each.

Neither file is essential: invalid content and failed writes are ignored. Several windows share the first one, so each
merges its changes into it instead of overwriting it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui.context.calibration import Calibration
from tui.domain.lazy_regex import lazy_regex
from tui.settings.user_files import read_user_text

if TYPE_CHECKING:
    from tui.settings.merged_file import Content, MergedFile


LARGEST_FILE = 64_000_000
MOST_RECENT = 12
MOST_PROMPTS = 500
LONGEST_PROMPT = 20_000
MOST_DRAFTS = 20
LONGEST_DRAFT = 200_000
DRAFT_AFTER_S = 5.0
"""A draft is written at most this long after a key press."""
_TYPED_KEY = lazy_regex(r"\s*/key\s+(?:\S+\s+\S|\S{25})")
"""A key typed into the command instead of the dialog: it is refused, and must not be kept either."""


class UserState:
    """Holds one window's copy of the file. A change applies here at once and is merged into the file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._merged: MergedFile | None = None
        self._content = _read(path)

    @property
    def recent(self) -> list[str]:
        """Used models as provider/model/level, newest first."""
        return _texts(self._content.get("recent"))

    @recent.setter
    def recent(self, names: list[str]) -> None:
        """Reorder them for this window only; the order is not written."""
        self._content["recent"] = names

    @property
    def favourites(self) -> list[str]:
        return _texts(self._content.get("favourites"))

    @property
    def prompts(self) -> list[str]:
        """Earlier prompts, newest last."""
        return _texts(self._content.get("prompts"))

    @property
    def trusted(self) -> list[str]:
        """Folders whose instructions are used."""
        return _texts(self._content.get("trusted"))

    def trust(self, folder: str, *, trusted: bool) -> None:
        """Use the instructions of a folder, or use them no more."""

        def change(content: Content) -> None:
            others = [other for other in _texts(content.get("trusted")) if other != folder]
            content["trusted"] = [*others, folder] if trusted else others

        self._change(f"trust {folder}", change)

    def draft(self, session: str) -> str:
        """The draft of a session; "" if there is none."""
        return _drafts(self._content).get(session, "")

    def add_recent(self, name: str) -> None:
        """Move a model and level to the front of ``recent``."""

        def change(content: Content) -> None:
            others = (other for other in _texts(content.get("recent")) if other != name)
            content["recent"] = [name, *others][:MOST_RECENT]

        self._change(f"used {name}", change)

    def add_prompt(self, prompt: str) -> None:
        """Add a prompt to the history; long ones are omitted."""
        if not prompt.strip() or len(prompt) > LONGEST_PROMPT or _TYPED_KEY.match(prompt):
            return

        def change(content: Content) -> None:
            others = (old for old in _texts(content.get("prompts")) if old != prompt)
            content["prompts"] = [*others, prompt][-MOST_PROMPTS:]

        self._change(f"asked {prompt}", change)

    def set_favourite(self, name: str, *, favourite: bool) -> None:

        def change(content: Content) -> None:
            others = [other for other in _texts(content.get("favourites")) if other != name]
            content["favourites"] = [*others, name] if favourite else others

        self._change(f"favourite {name}", change)

    def save_draft(self, session: str, text: str) -> None:
        """Set the draft of a session; "" removes it."""
        text = "" if _TYPED_KEY.match(text) else text
        if text == self.draft(session):
            return

        def change(content: Content) -> None:
            others = {name: old for name, old in _drafts(content).items() if name != session}
            kept = {session: text} if text.strip() and len(text) <= LONGEST_DRAFT else {}
            content["drafts"] = dict([*others.items(), *kept.items()][-MOST_DRAFTS:])

        self._change(f"draft {session}", change, after_s=DRAFT_AFTER_S)

    def close(self) -> None:
        """Write pending changes."""
        if self._merged is not None:
            self._merged.close()

    def _change(self, key: str, change: Callable[[Content], None], *, after_s: float = 0.0) -> None:
        change(self._content)
        if self._path is None:
            return
        if self._merged is None:
            from tui.settings.merged_file import MergedFile  # not loaded unless something changes

            self._merged = MergedFile(self._path, _parse, json.dumps)
        self._merged.change(key, change, after_s=after_s)


def _read(path: Path | None) -> Content:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        return _parse(read_user_text(path, LARGEST_FILE) or "{}") if path is not None else {}
    return {}


def _parse(text: str) -> Content:
    """Parse the file. A draft of the old format, which has no session, becomes the newest prompt."""
    content = json.loads(text)
    if not isinstance(content, dict):
        return {}
    draft = content.pop("draft", "")
    if isinstance(draft, str) and draft.strip():
        content["prompts"] = [*_texts(content.get("prompts")), draft]
    return content


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _drafts(content: Content) -> dict[str, str]:
    value = content.get("drafts")
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(name, str) and isinstance(text, str)}


class CalibrationFile:
    """Read at the start; written at the end if it changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._learned: Calibration | None = None

    def read(self) -> Calibration:
        """The stored calibration; an empty one if the file cannot be read."""
        try:
            return Calibration.from_table(json.loads(read_user_text(self._path) or "{}"))
        except (OSError, ValueError, RecursionError):
            return Calibration()

    def update(self, calibration: Calibration) -> None:
        """Set the calibration to save."""
        self._learned = calibration

    def save(self) -> None:
        """Write the calibration if it changed."""
        if self._learned is not None:
            from tui.settings.user_files import write_atomically  # not loaded at the start, which only reads

            with contextlib.suppress(OSError):
                write_atomically(self._path, json.dumps(self._learned.as_table()))
                self._learned = None
