"""The program's folders and files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.settings.user_files import close_to_others, with_home

NO_HOME = Path(os.devnull) / "ponder"
"""All folders of a user without a home: nothing can be there. A relative path would be one in the current folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The program's folders; none of them need exist."""

    config: Path
    data: Path
    state: Path
    cache: Path
    home: Path | None = None
    """The folder of all four, if ``PONDER_HOME`` names it."""

    @property
    def config_file(self) -> Path:
        """The user's settings; never written."""
        return self.config / "config.toml"

    @property
    def state_file(self) -> Path:
        """Screen settings that the program saves."""
        return self.state / "state.toml"

    @property
    def keys_file(self) -> Path:
        """The user's key bindings."""
        return self.config / "keys.toml"

    @property
    def credentials_file(self) -> Path:
        """API keys on systems without a keyring."""
        return self.config / "credentials.toml"

    @property
    def permissions_file(self) -> Path:
        """Permissions the user granted permanently."""
        return self.config / "permissions.toml"

    @property
    def profiles(self) -> Path:
        """Saved profiles."""
        return self.config / "profiles"

    @property
    def prompts(self) -> Path:
        """The user's prompt templates."""
        return self.config / "prompts"

    @property
    def themes(self) -> Path:
        """The user's themes."""
        return self.config / "themes"

    @property
    def database(self) -> Path:
        """All sessions."""
        return self.data / "sessions.db"

    @property
    def models(self) -> Path:
        """Models that were downloaded or added."""
        return self.data / "models"

    @property
    def log_file(self) -> Path:
        """The error log, for bug reports."""
        return self.state / "ponder.log"


def find_paths(environment: Mapping[str, str]) -> Paths:
    """``PONDER_HOME`` puts everything into one folder; otherwise the platform's standard folders are used.

    A relative ``PONDER_HOME`` is below the current folder.
    """
    home = environment.get("PONDER_HOME")
    if home:
        root = with_home(Path(home))
        with suppress(OSError):  # the current folder may be gone
            root = root.absolute()
        return Paths(config=root / "config", data=root / "data", state=root / "state", cache=root / "cache", home=root)
    import platformdirs  # import takes 2 ms; not needed with PONDER_HOME

    places = platformdirs.PlatformDirs("ponder", appauthor=False)
    try:
        return Paths(
            config=places.user_config_path,
            data=places.user_data_path,
            state=places.user_state_path,
            cache=places.user_cache_path,
        )
    except RuntimeError:  # HOME is not set, and the system does not know the user
        return Paths(config=NO_HOME, data=NO_HOME, state=NO_HOME, cache=NO_HOME)


def protect_folders(paths: Paths) -> list[ConfigError]:
    """Close the folders that exist to other users. Returns a problem for each that others can still change.

    Whoever can write there can replace the settings, and with them the host that a key is sent to. A ``PONDER_HOME``
    that holds other things as well is left as it is, as it may be shared on purpose.
    """
    folders = list(dict.fromkeys((paths.config, paths.data, paths.state, paths.cache)))
    still_open = [folder for folder in folders if not close_to_others(folder)]
    if paths.home is not None and not close_to_others(paths.home, holding_only={folder.name for folder in folders}):
        still_open.insert(0, paths.home)
    return [
        ConfigError(
            f"Other users can write to the folder {folder}, and so replace your settings. Run: chmod go-w {folder}"
        )
        for folder in still_open
    ]
