"""The GGUF models on this machine: those of ponder, and those that other programs have downloaded.

All methods read files: call them in a thread.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from tui.domain.errors import UnknownModel
from tui.domain.fast_dataclass import dataclass
from tui.providers.local.facts_cache import FactsCache, FileFacts
from tui.providers.local.gguf import GgufFacts
from tui.providers.local.model_folders import FoundModel, ModelFolder, Source, found_models, model_at, model_folders
from tui.settings.paths import Paths

__all__ = ["LocalModel", "ModelLibrary", "Source", "library_of"]

FACTS_CACHE = "local-models.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model on this machine."""

    name: str
    """Unique among the models of this machine, without white space."""
    path: Path
    """Its file; the first one of a model in several files."""
    parts: tuple[Path, ...]
    """All its files except ``mmproj``."""
    mmproj: Path | None
    """The file with which it sees images."""
    size: int
    """Bytes of all its files."""
    facts: GgufFacts | None
    """None if the file cannot be used, or was not read within the time."""
    source: Source
    problem: str = ""
    """Why it cannot be used, as a sentence."""

    @property
    def sees(self) -> bool:
        """Whether it takes images."""
        return self.mmproj is not None


class ModelLibrary:
    """Lists the models of all folders, each file once."""

    def __init__(self, folders: Iterable[ModelFolder], cache: FactsCache) -> None:
        self._folders = tuple(folders)
        self._cache = cache

    def models(self, *, within_s: float = float("inf")) -> tuple[LocalModel, ...]:
        """Return all models by source and name.

        When the time is over, files are no longer opened: their facts are None unless they are in the cache.
        """
        deadline = time.monotonic() + within_s
        listed: dict[str, LocalModel] = {}
        files: set[tuple[int, int]] = set()
        for folder in self._folders:
            for found in found_models(folder, deadline):
                model = self._model(found, files, deadline)
                if model is not None:
                    name = _unique(model.name, model.source, listed)
                    listed[name] = replace(model, name=name)
        self._cache.save()
        return tuple(listed.values())

    def find(self, name: str) -> LocalModel:
        """Return the model of this name. Raises UnknownModel."""
        listed = self.models()
        for same in (name.__eq__, lambda known: known.lower() == name.lower()):
            if found := [model for model in listed if same(model.name)]:
                return found[0]
        near = get_close_matches(name, [model.name for model in listed], n=3, cutoff=0.5)
        raise UnknownModel(f"There is no local model `{name}`.", nearest=tuple(near))

    def at(self, path: Path) -> LocalModel:
        """Return the model of a file, in whatever folder it is. Raises OSError if there is none."""
        path.stat()
        found = self._model(model_at(path), set(), float("inf"), any_kind=True)
        self._cache.save()
        assert found is not None  # of any kind, and seen for the first time
        return found

    def _model(
        self, found: FoundModel, files: set[tuple[int, int]], deadline: float, *, any_kind: bool = False
    ) -> LocalModel | None:
        """The model with its facts; None for a file that is listed already, or holds no model to talk to."""
        model = LocalModel(
            name=found.name,
            path=found.paths[0],
            parts=found.paths,
            mmproj=found.mmproj,
            size=0,
            facts=None,
            source=found.source,
            problem=found.problem,
        )
        try:
            status = [path.stat() for path in found.paths]
        except OSError as error:
            return _unreadable(model, error)
        identity = status[0].st_dev, status[0].st_ino
        if identity in files:
            return None
        files.add(identity)
        model = replace(model, size=sum(part.st_size for part in status))
        if not all(stat.S_ISREG(part.st_mode) for part in status):
            return replace(model, problem="It is not a file.") if any_kind else None
        read = self._facts(found.paths, status, deadline)
        if read.facts is not None and (read.facts.kind != "model" or read.facts.embeds):
            return replace(model, facts=read.facts, problem=_no_chat(read.facts)) if any_kind else None
        return replace(model, facts=read.facts, problem=model.problem or read.problem)

    def _facts(self, paths: tuple[Path, ...], status: list[os.stat_result], deadline: float) -> FileFacts:
        """The facts of the first file, with the weights of all."""
        whole: FileFacts | None = None
        for path, part in zip(paths, status, strict=True):
            known = self._cache.known(path, part)
            if known is None:
                if time.monotonic() > deadline:
                    return FileFacts(facts=None)
                known = self._cache.read(path, part)
            if known.facts is None:
                return known
            if whole is None or whole.facts is None:
                whole = known
            else:
                weights = (whole.facts.parameters or 0) + (known.facts.parameters or 0)
                whole = FileFacts(facts=replace(whole.facts, parameters=weights or None))
        assert whole is not None  # a model has at least one file
        return whole


def _unreadable(model: LocalModel, error: OSError) -> LocalModel | None:
    """A model of ponder's own folder says what is wrong; other programs leave links to what they have deleted."""
    if model.source is not Source.PONDER:
        return None
    if isinstance(error, FileNotFoundError) and model.path.is_symlink():
        return replace(model, problem=f"Its file is gone: {model.path.readlink()}.")
    return replace(model, problem=f"It cannot be read: {error.strerror}.")


def _no_chat(facts: GgufFacts) -> str:
    if facts.embeds:
        return "It computes embeddings and does not answer."
    return f"It is not a model but {'a part of one' if facts.kind == 'mmproj' else f'of the kind {facts.kind}'}."


def _unique(name: str, source: Source, taken: Mapping[str, LocalModel]) -> str:
    if name not in taken:
        return name
    numbered = (f"{name}@{source}" + (f"-{number}" if number > 1 else "") for number in range(1, len(taken) + 2))
    return next(other for other in numbered if other not in taken)


def library_of(environment: Mapping[str, str], paths: Paths) -> ModelLibrary:
    """Return the library of this user. Reads LM Studio's settings."""
    return ModelLibrary(model_folders(environment, paths.models), FactsCache(paths.cache / FACTS_CACHE))
