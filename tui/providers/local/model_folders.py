"""The folders in which ponder and other programs keep GGUF models, and the model files in them.

The folders are read as they are on the disk; the other programs need not run or be installed.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

import orjson

from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.settings.user_files import read_user_file, with_home
from tui.wires.json_text import children, text

MOST_FOLDERS = 5_000
MOST_ENTRIES = 100_000
"""The most entries of all folders of a source that are looked at."""
MOST_MODELS = 5_000
DEEPEST = 8
LARGEST_MANIFEST = 1_000_000


class Source(StrEnum):
    """Whose model it is, best first: of two names for one file the first is used."""

    PONDER = "ponder"
    OLLAMA = "ollama"
    LMSTUDIO = "lmstudio"
    HUGGING_FACE = "huggingface"
    LLAMA_CPP = "llama.cpp"
    FILE = "file"
    """Not in any of the folders: named by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """The files of a model. They have not been opened."""

    source: Source
    name: str
    paths: tuple[Path, ...]
    """Its parts in order."""
    mmproj: Path | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A folder of models."""

    source: Source
    path: Path


def model_folders(environment: Mapping[str, str], own: Path) -> tuple[ModelFolder, ...]:
    """Return the folders to look into, whether or not they exist. Reads LM Studio's settings."""
    home = with_home(Path(environment.get("HOME") or "~"))
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    hub = (
        _first(environment, ("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub"))
        or cache / "huggingface" / "hub"
    )
    ollama = [home / ".ollama/models", Path("/usr/share/ollama/.ollama/models")]
    if place := environment.get("OLLAMA_MODELS"):
        ollama = [Path(place)]
    llama = [Path(place)] if (place := environment.get("LLAMA_CACHE")) else []
    llama += [home / "Library/Caches/llama.cpp" if sys.platform == "darwin" else cache / "llama.cpp"]
    places = [
        (Source.PONDER, own),
        *((Source.OLLAMA, path) for path in ollama),
        *((Source.LMSTUDIO, path) for path in _lm_studio(home)),
        (Source.HUGGING_FACE, hub),
        *((Source.LLAMA_CPP, path) for path in llama),
    ]
    return tuple(ModelFolder(source=source, path=with_home(path)) for source, path in dict.fromkeys(places))


def _first(environment: Mapping[str, str], *names: tuple[str, str]) -> Path | None:
    return next((Path(environment[name]) / below for name, below in names if environment.get(name)), None)


def _lm_studio(home: Path) -> Iterator[Path]:
    """Its folders: that of its settings, today's default, and the one of old versions."""
    root = home / ".lmstudio"
    with suppress(OSError, UnicodeDecodeError):
        if pointer := (read_user_file(home / ".lmstudio-home-pointer") or b"").decode().strip():
            root = Path(pointer)
    with suppress(OSError, ValueError):
        if chosen := text(orjson.loads(read_user_file(root / "settings.json") or b"{}"), "downloadsFolder"):
            yield Path(chosen)
    yield from dict.fromkeys((root / "models", home / ".lmstudio/models", home / ".cache/lm-studio/models"))


def found_models(folder: ModelFolder, deadline: float = float("inf")) -> tuple[FoundModel, ...]:
    """Return the models of a folder, sorted; what cannot be read is omitted."""
    if folder.source is Source.OLLAMA:
        found = list(_ollama_models(folder.path, deadline))
    else:
        found = []
        for root in _roots(folder, deadline):
            found += _models_below(root, folder, deadline)
    return tuple(sorted(found[:MOST_MODELS], key=lambda model: model.name.lower()))


def model_at(path: Path) -> FoundModel:
    """Return the model of one file: with its other parts, and with the mmproj file beside it."""
    path = path.absolute()
    names = _gguf_names(path.parent) | {path.name}
    whole = _whole_models(path.parent, names, Source.FILE)
    of_file = [model for model in whole if path in model.paths]
    model = of_file[0] if of_file else FoundModel(source=Source.FILE, name=_name(path), paths=(path,))
    mixed = len({_family(name) for name in names if not _is_projector(name)}) > 1
    return _paired(model, {path.parent: _Folder(path.parent, names, mixed=mixed)}, path.parent)


def _roots(folder: ModelFolder, deadline: float) -> Iterator[Path]:
    """Return the folder and, in the layout of the Hugging Face cache, the current snapshot of each repository.

    Newer versions of llama.cpp use that layout in their own folder, too.
    """
    repositories = [path for path in _folders(folder.path) if path.name.startswith("models--")]
    if folder.source in (Source.HUGGING_FACE, Source.LLAMA_CPP):
        for repository in repositories:
            if time.monotonic() > deadline:
                return
            yield from _snapshots(repository)
    if folder.source is not Source.HUGGING_FACE:
        yield folder.path


def _snapshots(repository: Path) -> Iterator[Path]:
    with suppress(OSError, UnicodeDecodeError):
        commit = (read_user_file(repository / "refs/main") or b"").decode("ascii").strip()
        if re.fullmatch(r"[0-9a-f]{40}", commit) and (repository / "snapshots" / commit).is_dir():
            yield repository / "snapshots" / commit
            return
    yield from _folders(repository / "snapshots")


def _folders(path: Path) -> list[Path]:
    with suppress(OSError), os.scandir(path) as entries:
        return sorted(
            Path(entry.path) for entry, _ in zip(entries, range(MOST_ENTRIES), strict=False) if _is_folder(entry)
        )
    return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _models_below(root: Path, folder: ModelFolder, deadline: float) -> Iterator[FoundModel]:
    files = {path: names for path, names in _walk(root, deadline) if names}
    folders = {path: _Folder(path, names, mixed=path == folder.path) for path, names in files.items()}
    for path, names in files.items():
        for model in _whole_models(path, names, folder.source):
            yield _paired(model, folders, root)


def _walk(root: Path, deadline: float) -> Iterator[tuple[Path, frozenset[str]]]:
    """Yield each folder below with the names of its GGUF files; a folder that links lead to again is read once."""
    waiting, seen, entries = [(root, 0)], set[tuple[int, int]](), 0
    while waiting and len(seen) < MOST_FOLDERS and entries < MOST_ENTRIES and time.monotonic() < deadline:
        folder, depth = waiting.pop()
        names, below = set[str](), []
        try:
            status = folder.stat()
            if (identity := (status.st_dev, status.st_ino)) in seen:
                continue
            seen.add(identity)
            with os.scandir(folder) as found:
                for entry in found:
                    entries += 1
                    if entries >= MOST_ENTRIES:
                        break
                    if _is_gguf(entry.name):
                        names.add(entry.name)
                    elif not entry.name.startswith((".", "models--")) and _is_folder(entry):
                        below.append(Path(entry.path))
        except OSError:
            continue
        yield folder, frozenset(names)
        if depth < DEEPEST:
            waiting += [(path, depth + 1) for path in sorted(below, reverse=True)]


def _gguf_names(folder: Path) -> frozenset[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return frozenset(
            entry.name for entry, _ in zip(entries, range(MOST_ENTRIES), strict=False) if _is_gguf(entry.name)
        )
    return frozenset()


def _is_gguf(name: str) -> bool:
    return name[-5:].lower() == ".gguf" and not name.startswith(".")


_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})", re.IGNORECASE | re.DOTALL)


def _whole_models(folder: Path, names: Iterable[str], source: Source) -> list[FoundModel]:
    """The models of a folder without mmproj files; the parts of a model are put together."""
    models, parts = [], dict[tuple[str, int], dict[int, str]]()
    for name in sorted(names):
        if _is_projector(name):
            continue
        if part := _PART.fullmatch(name[:-5]):
            parts.setdefault((part[1], int(part[3])), {})[int(part[2])] = name
        else:
            models.append(FoundModel(source=source, name=_name(folder / name), paths=(folder / name,)))
    for (stem, number), there in parts.items():
        missing = number - len(there)
        problem = (
            ""
            if not missing
            else f"{missing} of its {count(number, 'file')} {'is' if missing == 1 else 'are'} missing."
        )
        paths = tuple(folder / there[at] for at in sorted(there))
        models.append(FoundModel(source=source, name=_typeable(stem), paths=paths, problem=problem))
    return models


def _name(path: Path) -> str:
    stem = path.name[:-5] if _is_gguf(path.name) else path.name
    part = _PART.fullmatch(stem)
    return _typeable(part[1] if part else stem)


def _typeable(name: str) -> str:
    return "".join(letter if letter.isprintable() and not letter.isspace() else "-" for letter in name)


def _is_projector(name: str) -> bool:
    return "mmproj" in name.lower()


_FORMATS = re.compile(
    r"(?<![a-z0-9])(?:ud[-_])?(?:i?q\d(?:_[a-z0-9]+)*|tq\d_\d|bf16|fp?16|fp?32|mxfp4(?:_moe)?)(?![a-z0-9])"
)


def _family(name: str) -> str:
    """The name of a file without its format: the same for all files of one model, and for its mmproj file."""
    stem = name[:-5].lower()
    part = _PART.fullmatch(stem)
    bare = _FORMATS.sub("", part[1] if part else stem).replace("mmproj", "")
    return re.sub(r"[\W_]+", "", bare)


class _Folder:
    """The mmproj files of a folder, and which models they belong to."""

    def __init__(self, path: Path, names: frozenset[str], *, mixed: bool) -> None:
        """``mixed``: it may hold models of different origin."""
        projectors = sorted(filter(_is_projector, names), key=_format_order)
        self._projectors = [(_family(name), path / name) for name in projectors]
        self._mixed = mixed
        if projectors:
            self._families = {_family(name) for name in names if not _is_projector(name)}

    def projector_of(self, family: str) -> Path | None:
        """The mmproj file for a model in this folder or below."""
        for own, path in self._projectors:
            bare = own.removesuffix("model")
            if own == family or (not self._mixed and (not bare or self._families <= {family})):
                return path
            # llama.cpp's own folder: OWNER_REPO-GGUF_mmproj-model-f16.gguf and OWNER_REPO-GGUF_NAME-Q4_0.gguf.
            if bare.endswith("gguf") and family.startswith(bare):
                return path
        return None


def _paired(model: FoundModel, folders: Mapping[Path, _Folder], root: Path) -> FoundModel:
    """Add the mmproj file in the model's folder, or in one above it up to the root, that belongs to it."""
    family = _family(model.paths[0].name)
    for folder in model.paths[0].parents:
        if folder in folders and (mmproj := folders[folder].projector_of(family)):
            return replace(model, mmproj=mmproj)
        if folder == root:
            break
    return model


def _format_order(name: str) -> tuple[int, str]:
    formats = ("-f16", "bf16", "q8", "")
    return next(rank for rank, form in enumerate(formats) if form in name.lower()), name


_MODEL, _PROJECTOR = "application/vnd.ollama.image.model", "application/vnd.ollama.image.projector"
_ADAPTER = "application/vnd.ollama.image.adapter"
_REGISTRY, _LIBRARY, _TAG = "registry.ollama.ai", "library", "latest"


def _ollama_models(folder: Path, deadline: float) -> Iterator[FoundModel]:
    manifests = folder / "manifests"
    for host in _folders(manifests):
        for owner in _folders(host):
            for model in _folders(owner):
                if time.monotonic() > deadline:
                    return
                yield from _ollama_tags(folder / "blobs", host.name, owner.name, model)


def _ollama_tags(blobs: Path, host: str, owner: str, model: Path) -> Iterator[FoundModel]:
    with suppress(OSError):
        for manifest in sorted(model.iterdir())[:MOST_MODELS]:
            try:
                layers = [*children(orjson.loads(read_user_file(manifest, LARGEST_MANIFEST) or b""), "layers")]
            except (OSError, ValueError):
                continue
            blob = {text(layer, "mediaType"): _blob(blobs, text(layer, "digest")) for layer in reversed(layers)}
            if file := blob.get(_MODEL):
                origin = [part for part, usual in ((host, _REGISTRY), (owner, _LIBRARY)) if part != usual]
                tag = "" if manifest.name == _TAG else f":{manifest.name}"
                yield FoundModel(
                    source=Source.OLLAMA,
                    name=_typeable("/".join([*origin, model.name]) + tag),
                    paths=(file,),
                    mmproj=blob.get(_PROJECTOR),
                    problem="It is an adapter for another model." if _ADAPTER in blob else "",
                )


def _blob(blobs: Path, digest: str) -> Path | None:
    found = re.fullmatch(r"sha256[:-]([0-9a-f]{64})", digest)
    return blobs / f"sha256-{found[1]}" if found else None
