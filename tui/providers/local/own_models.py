"""ponder's own folder of models: adds files by links, and removes what was downloaded or added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.providers.local.download import PART
from tui.providers.local.library import LocalModel, Source
from tui.settings.user_files import make_private_folder

ADDED = "added"
"""The folder of links to files elsewhere."""
MOST_PARTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A download that was interrupted."""

    name: str
    path: Path
    size: int
    """Bytes that are there."""


class OwnModels:
    """The models folder. Methods raise OSError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, model: LocalModel) -> None:
        """Link a model's files into the folder; they stay where they are. Raises UsageError if it cannot be used."""
        if model.problem:
            raise UsageError(f"`{model.path.name}` cannot be used. {model.problem}")
        place = self._folder / ADDED / model.name
        files = [*model.parts, *([model.mmproj] if model.mmproj else [])]
        if self._folder.resolve() in model.path.resolve().parents or any(_leads_to(place / f.name, f) for f in files):
            raise UsageError(f"`{model.name}` is in the list already.")
        if place.exists():
            raise UsageError(
                f"Another model `{model.name}` was added before.",
                advice=f"`ponder local remove {model.name}` removes it.",
            )
        make_private_folder(place)
        for file in files:
            (place / file.name).symlink_to(file.absolute())

    def remove(self, model: LocalModel) -> None:
        """Delete a model's files, or its links. Raises UsageError for a model of another program."""
        if model.source is not Source.PONDER:
            raise UsageError(f"`{model.name}` belongs to another program.", advice=_how_to_remove(model))
        for file in model.parts:
            file.unlink(missing_ok=True)
        _tidy(model.path.parent, self._folder)

    def unfinished(self) -> tuple[Unfinished, ...]:
        """Return the interrupted downloads."""
        return tuple(sorted(self._parts(), key=lambda part: part.name))

    def discard(self, part: Unfinished) -> None:
        """Delete what came of a download."""
        part.path.unlink(missing_ok=True)
        _tidy(part.path.parent, self._folder)

    def _parts(self) -> Iterator[Unfinished]:
        with suppress(OSError):
            for number, path in enumerate(self._folder.rglob(f"*{PART}")):
                if number < MOST_PARTS and path.is_file():
                    name = path.name.removesuffix(PART).rpartition(".")[0].removesuffix(".gguf")
                    yield Unfinished(name=name, path=path, size=path.stat().st_size)


def _leads_to(link: Path, file: Path) -> bool:
    return link.is_symlink() and link.readlink() == file.absolute()


def _tidy(folder: Path, root: Path) -> None:
    """Remove what belongs to no model any more: mmproj files, lock files, and folders that became empty."""
    left = list(folder.iterdir())
    if all("mmproj" in path.name.lower() or path.name.endswith(".lock") for path in left):
        for path in left:
            path.unlink(missing_ok=True)
        while folder != root and root in folder.parents:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _how_to_remove(model: LocalModel) -> str:
    if model.source is Source.OLLAMA:
        return f"`ollama rm {model.name}` removes it."
    program = {Source.LMSTUDIO: "LM Studio", Source.HUGGING_FACE: "`hf cache`"}.get(model.source)
    return f"Remove it with {program}." if program else f"Its file is {model.path}."
