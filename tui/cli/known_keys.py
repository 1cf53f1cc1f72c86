"""The API keys that printed or exported text must not contain: the same as in the running program."""

from __future__ import annotations

from collections.abc import Mapping

from tui.cli.user_catalog import UserCatalog
from tui.providers.configured_secrets import learn_all_keys, learn_configured
from tui.providers.keys import Keys
from tui.providers.redaction import Redactor
from tui.settings.paths import find_paths


def known_keys(user: UserCatalog, environment: Mapping[str, str]) -> Redactor:
    """Knows all keys that can be found, including those in the keyring and the configuration."""
    keys = Keys(find_paths(environment).credentials_file, environ=environment)
    learn_configured(keys.redactor, user.catalog.own_providers.values(), user.mcp, environment)
    learn_all_keys(keys, user.catalog.providers().values())
    return keys.redactor
