"""Instructions of the working folder's project: ``AGENTS.md``. They are used only after the user trusted the folder.

A file of a repository was written by whoever wrote the repository. What it says becomes part of the system prompt and
nothing else: it sets nothing and allows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tui.app.user_state import UserState
from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.settings.user_files import read_user_text

NAME = "AGENTS.md"
LARGEST = 100_000
MOST_FOLDERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionFile:
    path: Path
    text: str


class ProjectFiles:
    """The instructions found from the project's folder down to the working folder."""

    def __init__(self, folder: Path, state: UserState, environment: Mapping[str, str]) -> None:
        self._state = state
        self._environment = environment
        self.root = _root(folder)
        """The folder that is trusted: that of the repository, or the working folder."""
        self._folder = folder
        self.files: tuple[InstructionFile, ...] = ()
        self.problems: list[str] = []

    def read(self) -> None:
        """Read the files. Blocking."""
        self.problems = []
        self.files = tuple(self._found())

    @property
    def trusted(self) -> bool:
        return str(self.root) in self._state.trusted

    @property
    def text(self) -> str:
        """What is added to the system prompt; "" unless the folder is trusted."""
        if not self.trusted or not self.files:
            return ""
        parts = [f'<file name="{self.shown(file.path)}">\n{file.text.strip()}\n</file>' for file in self.files]
        return "\n\n".join(("Instructions for work in this project:", *parts))

    @property
    def names(self) -> str:
        return " and ".join(self.shown(file.path) for file in self.files)

    def shown(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    def trust(self) -> None:
        """Use the instructions of this project, now and later."""
        if self.root in (Path.home(), Path(self.root.anchor)):
            raise UsageError(f"`{self.root}` holds more than a project, so it is not trusted as a whole.")
        self._state.trust(str(self.root), trusted=True)

    def distrust(self) -> None:
        """Use them no more."""
        self._state.trust(str(self.root), trusted=False)

    def _found(self) -> Iterator[InstructionFile]:
        """The files, outermost first."""
        inner = self._folder.relative_to(self.root).parts
        for depth in range(len(inner) + 1):
            path = self.root.joinpath(*inner[:depth], NAME)
            try:
                if path.is_symlink() and (where := self._where_not_to(path)):
                    self.problems.append(f"`{self.shown(path)}` leads {where} and is not used.")
                    continue
                text = read_user_text(path, LARGEST + 1)
            except (OSError, RuntimeError) as error:
                self.problems.append(f"`{self.shown(path)}` cannot be read: {getattr(error, 'strerror', error)}.")
                continue
            if text is not None and len(text) > LARGEST:
                self.problems.append(
                    f"`{self.shown(path)}` has more than {count(LARGEST, 'character')} and is not used."
                )
            elif text is not None and text.strip():
                yield InstructionFile(path=path, text=text)

    def _where_not_to(self, link: Path) -> str:
        """Where a link leads that is not followed; "" if it is."""
        from tui.app.attachment_filter import may_hold_secrets

        if not link.resolve().is_relative_to(self.root):
            return "out of the project"
        # Whoever wrote the link does not own what the user keeps in the folder.
        return "to a file that may hold secrets" if may_hold_secrets(link, self._environment) else ""


def _root(folder: Path) -> Path:
    """The nearest folder at or above this one that holds a repository; this one if there is none."""
    for candidate in (folder, *folder.parents[:MOST_FOLDERS]):
        if (candidate / ".git").exists():
            return candidate
    return folder
