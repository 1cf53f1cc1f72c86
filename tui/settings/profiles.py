"""Profiles: a model, a level and settings in a TOML file. A user's profile replaces a shipped one of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.settings.config_file import MODEL_SECTIONS
from tui.settings.schema import checked_value, find_key, flattened, nearest
from tui.settings.user_files import list_user_files, may_exist, parse_user_toml, read_user_text, write_atomically

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

SECTIONS = MODEL_SECTIONS
"""Sections a profile may contain; ui and network settings do not depend on the model."""
NAME = lazy_regex(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
MOST_PROFILES = 1_000
"""The most that are listed; others can still be loaded by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A validated profile."""

    name: str
    model: str | None = None
    """As typed after /model: provider/model/level."""
    description: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    """Settings by dotted key."""
    shipped: bool = False


def profile_names(folder: Path) -> tuple[str, ...]:
    """Names of the user's and the shipped profiles."""
    try:
        own = {path.stem for path in list_user_files(folder, ".toml", MOST_PROFILES)}
    except OSError:
        own = set()
    return tuple(sorted(own | _shipped_names()))


def _shipped_names() -> set[str]:
    return {Path(entry.name).stem for entry in _examples().iterdir() if ".toml" in entry.name}


def _examples() -> Traversable:
    from importlib.resources import files

    return files("tui.settings") / "examples"


def load_profile(folder: Path, name: str) -> Profile:
    """Read and validate the whole profile before anything is changed."""
    _check_name(name)
    path = folder / f"{name}.toml"
    try:
        own = read_user_text(path)
        if own is not None:
            return parse_profile(name, own, shipped=False)
        packaged = _examples() / f"{name}.toml"
        if packaged.is_file():
            return parse_profile(name, packaged.read_text(encoding="utf-8"), shipped=True)
    except OSError as error:
        raise ConfigError(f"Profile `{name}` cannot be read: {error.strerror}.", file=str(path)) from None
    hint = nearest(name, list(profile_names(folder)))
    raise ConfigError(f"There is no profile `{name}`.", key=name, nearest=hint)


def parse_profile(name: str, text: str, *, shipped: bool) -> Profile:
    """Parse a profile's TOML."""
    try:
        document = parse_user_toml(text)
    except ValueError as error:  # it is not TOML
        raise ConfigError(f"Profile `{name}`: {error}.", key=name) from None
    model, description = document.pop("model", None), document.pop("description", "")
    if not isinstance(model, str | None) or not isinstance(description, str):
        raise ConfigError(f"Profile `{name}`: `model` and `description` are text.", key=name)
    values: dict[str, object] = {}
    for key, value in flattened(document).items():
        known = find_key(key)
        if known.name.partition(".")[0] not in SECTIONS:
            raise ConfigError(f"Profile `{name}`: `{known.name}` cannot be part of a profile.", key=known.name)
        values[known.name] = checked_value(known, value)
    return Profile(name=name, model=model, description=description, values=values, shipped=shipped)


def profile_toml(profile: Profile) -> str:
    """The profile as TOML."""
    import tomli_w

    document: dict[str, object] = {}
    if profile.description:
        document["description"] = profile.description
    if profile.model:
        document["model"] = profile.model
    for key, value in profile.values.items():
        section, _, leaf = key.partition(".")
        inner = document.setdefault(section, {})
        assert isinstance(inner, dict)
        if value is not None:
            inner[leaf] = value
    return tomli_w.dumps(document)


def save_profile(folder: Path, profile: Profile) -> Path:
    """Save the profile; replaces an older one of the same name."""
    _check_name(profile.name)
    path = folder / f"{profile.name}.toml"
    try:
        write_atomically(path, profile_toml(profile))
    except OSError as error:
        raise ConfigError(f"Profile `{profile.name}` cannot be saved: {error.strerror}.", file=str(path)) from None
    return path


def delete_profile(folder: Path, name: str) -> None:
    """Delete a user's profile."""
    _check_name(name)
    path = folder / f"{name}.toml"
    if not may_exist(path):
        shipped = name in _shipped_names()
        why = "is shipped with the program and cannot be deleted" if shipped else "does not exist"
        raise ConfigError(f"Profile `{name}` {why}.", key=name, nearest=nearest(name, list(profile_names(folder))))
    try:
        path.unlink()
    except OSError as error:
        raise ConfigError(f"Profile `{name}` cannot be deleted: {error.strerror}.", file=str(path)) from None


def _check_name(name: str) -> None:
    if not NAME.match(name):
        raise ConfigError("A profile's name consists of letters, digits, dots, dashes and underscores.", key=name)
