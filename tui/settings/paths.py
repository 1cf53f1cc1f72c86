"""Where the program keeps what it keeps. The only place that knows."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tui.domain.value import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The program's folders; none of them need exist."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def config_file(self) -> Path:
        """The user's settings; only ever read."""
        return self.config / "config.toml"

    @property
    def keys_file(self) -> Path:
        """The user's key bindings."""
        return self.config / "keys.toml"

    @property
    def credentials_file(self) -> Path:
        """Keys kept without a keyring."""
        return self.config / "credentials.toml"

    @property
    def permissions_file(self) -> Path:
        """What the user allowed for always."""
        return self.config / "permissions.toml"

    @property
    def profiles(self) -> Path:
        """Saved profiles."""
        return self.config / "profiles"

    @property
    def themes(self) -> Path:
        """The user's themes."""
        return self.config / "themes"

    @property
    def database(self) -> Path:
        """All sessions."""
        return self.data / "sessions.db"

    @property
    def log_file(self) -> Path:
        """What went wrong, for bug reports."""
        return self.state / "ponder.log"


def find_paths(environment: Mapping[str, str]) -> Paths:
    """``PONDER_HOME`` puts everything into one folder; otherwise the platform's own places."""
    home = environment.get("PONDER_HOME")
    if home:
        root = Path(home).expanduser()
        return Paths(config=root / "config", data=root / "data", state=root / "state", cache=root / "cache")
    user = environment.get("HOME", "")
    if sys.platform == "linux" and user.startswith("/"):
        return _xdg_paths(Path(user), environment)
    return _platform_paths()


def _xdg_paths(user: Path, environment: Mapping[str, str]) -> Paths:
    """The XDG base folders: what ``platformdirs`` says here, without the two dozen modules it brings along."""

    def place(name: str, usual: str) -> Path:
        chosen = environment.get(name, "")
        return (Path(chosen) if chosen.startswith("/") else user / usual) / "ponder"  # relative ones do not count

    return Paths(
        config=place("XDG_CONFIG_HOME", ".config"),
        data=place("XDG_DATA_HOME", ".local/share"),
        state=place("XDG_STATE_HOME", ".local/state"),
        cache=place("XDG_CACHE_HOME", ".cache"),
    )


def _platform_paths() -> Paths:
    import platformdirs

    places = platformdirs.PlatformDirs("ponder", appauthor=False)
    return Paths(
        config=Path(places.user_config_dir),
        data=Path(places.user_data_dir),
        state=Path(places.user_state_dir),
        cache=Path(places.user_cache_dir),
    )
