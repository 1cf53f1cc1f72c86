"""``ponder auth set|list|remove``: keys kept for providers. A key is never an argument: others can read those."""

from __future__ import annotations

import argparse
import getpass
import os
import sys

from tui.catalog.facts import AuthStyle
from tui.catalog.load import Catalog, packaged_catalog
from tui.domain.errors import PonderError
from tui.providers.auth import Keys, host_of
from tui.settings.paths import find_paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One action and, for two of them, a provider."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    save = actions.add_parser("set", help="keep a key: asked for without showing it, or read from a pipe")
    save.add_argument("provider", metavar="PROVIDER")
    actions.add_parser("list", help="which providers have a key, and from where (never the key)")
    remove = actions.add_parser("remove", help="forget a kept key")
    remove.add_argument("provider", metavar="PROVIDER")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    try:
        paths = find_paths(os.environ)
        catalog = packaged_catalog()
        if paths.config_file.is_file():
            catalog = catalog.with_overrides(_catalogue_tables(paths.config_file.read_bytes()))
        keys = Keys(paths.credentials_file)
        match args.action:
            case "set":
                return _set(keys, catalog, args.provider)
            case "remove":
                return _remove(keys, args.provider)
            case _:
                return _list(keys, catalog)
    except PonderError as error:
        print(f"ponder: {error.message}", error.advice, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ponder: the key cannot be kept: {error.strerror}", file=sys.stderr)
        return 2


def _catalogue_tables(config: bytes) -> dict[str, object]:
    """The parts of config.toml that describe providers; a broken file is somebody else's to complain about."""
    import tomllib

    try:
        table = tomllib.loads(config.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return {}
    return {name: table[name] for name in ("providers", "models") if name in table}


def _set(keys: Keys, catalog: Catalog, name: str) -> int:
    provider = catalog.provider(name)
    if provider.auth is AuthStyle.NONE:
        print(f"{provider.title} takes no key.")
        return 0
    text = getpass.getpass(f"Key for {provider.title}: ") if sys.stdin.isatty() else sys.stdin.readline()
    place = keys.save(provider, text)
    print(f"Kept in the {place.value}, for {host_of(provider.base_url)} only.")
    return 0


def _remove(keys: Keys, name: str) -> int:
    if keys.forget(name):
        print(f"Removed what was kept for {name}.")
        return 0
    print(f"ponder: no key is kept for `{name}`", file=sys.stderr)
    return 2


def _list(keys: Keys, catalog: Catalog) -> int:
    found = False
    for provider in catalog.providers().values():
        try:
            key = keys.find(provider)
        except PonderError as error:
            print(f"{provider.id:<14} {error.message}")
            continue
        if key is not None:
            found = True
            print(f"{provider.id:<14} {key.secret!s:<8} {key.source}")
    if not found:
        print("No keys. Set one with `ponder auth set PROVIDER`, or in the environment.")
    return 0
