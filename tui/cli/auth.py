"""``ponder auth set|list|remove``: stored API keys. A key is never an argument, as other users can read those."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from pathlib import Path

from tui.catalog.catalog import Catalog, packaged_catalog, users_catalog
from tui.catalog.cloud_accounts import unfilled
from tui.catalog.facts import AuthStyle
from tui.catalog.toml_values import nearest
from tui.cli.user_catalog import print_messages, print_problem
from tui.domain.errors import PonderError, UsageError
from tui.providers.clouds.failures import missing_in_address
from tui.providers.keys import Keys, host_of
from tui.settings.config_file import located, read_config
from tui.settings.paths import find_paths

ON_THE_COMMAND_LINE = (
    "A key does not belong on the command line, where other programs and the shell's history can read it. "
    "Nothing was kept; what was typed there should be replaced."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their provider argument."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    save = actions.add_parser("set", help="save a key; asks for it without echo, or reads it from a pipe")
    save.add_argument("provider", metavar="PROVIDER", help="the name of a provider")
    save.add_argument("typed", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    actions.add_parser("list", help="list the providers with a key, and where it is stored (never the key)")
    remove = actions.add_parser("remove", help="remove a saved key")
    remove.add_argument("provider", metavar="PROVIDER", help="the name of a provider")


def run(args: argparse.Namespace) -> int:
    """Run the action; returns the exit code."""
    try:
        paths = find_paths(os.environ)
        catalog = _catalog(paths.config_file)
        keys = Keys(paths.credentials_file)
        match args.action:
            case "set":
                _require_name(args.provider, catalog)
                if args.typed:
                    raise UsageError(ON_THE_COMMAND_LINE, advice=f"`ponder auth set {args.provider}` asks for it.")
                return _set(keys, catalog, args.provider)
            case "remove":
                return _remove(keys, catalog, args.provider)
            case _:
                return _list(keys, catalog)
    except PonderError as error:
        print_messages(f"ponder: {error.message} {error.advice}")
        return 2
    except OSError as error:
        if args.action not in ("set", "remove"):
            raise
        print_messages(f"ponder: the key cannot be saved: {error.strerror}")
        return 2


def _catalog(config_file: Path) -> Catalog:
    """The catalogue with the user's providers. Wrong rows are reported; wrong settings do not matter here."""
    tables = read_config(config_file).tables
    catalog, problems = users_catalog(packaged_catalog(), tables, os.environ, file=config_file.name)
    for problem in problems:
        print_problem(located(config_file, problem))
    return catalog


def _require_name(name: str, catalog: Catalog) -> None:
    """Reject an unknown provider without repeating it: it may be a key in the wrong place."""
    if name not in catalog.providers():
        near = nearest(name, catalog.providers())
        hint = f"Did you mean {', '.join(near)}?" if near else "`ponder models` lists them."
        raise UsageError("There is no provider of that name.", advice=hint)


def _set(keys: Keys, catalog: Catalog, name: str) -> int:
    provider = catalog.provider(name)
    if provider.auth is AuthStyle.NONE:
        print(f"{provider.title} needs no key.")
        return 0
    if unfilled(provider.base_url):  # a key is bound to its host
        raise missing_in_address(provider)
    text = getpass.getpass(f"Key for {provider.title}: ") if sys.stdin.isatty() else sys.stdin.readline()
    storage = keys.save(provider, text)
    print(f"Saved in the {storage.value}, for {host_of(provider.base_url)} only.")
    return 0


def _remove(keys: Keys, catalog: Catalog, name: str) -> int:
    if keys.forget(name):
        print(f"Removed the saved key of {name}.")
        return 0
    shown = f"`{name}`" if name in catalog.providers() else "a provider of that name"
    print_messages(f"ponder: no key is saved for {shown}")
    return 2


def _list(keys: Keys, catalog: Catalog) -> int:
    found = False
    problems: dict[str, None] = {}
    for provider in catalog.providers().values():
        try:
            source, key = keys.source(provider) or keys.login_source(provider), keys.find(provider)
        except PonderError as error:
            problems[error.message] = None
            continue
        if source:
            found = True
            shown = "" if key is None else str(key.secret)
            print(f"{provider.id:<14} {shown:<8} {source}")
    if keys.keyring_is_silent:
        problems["The keyring does not answer: keys in it are not listed."] = None
    for problem in problems:  # report an unreadable file once, not for every provider
        print_messages(f"ponder: {problem}")
    if not found and not problems:
        print("No keys. Set one with `ponder auth set PROVIDER`, or in the environment.")
    return 0
