"""``ponder``: reads the command line and hands over. Imports nothing heavy before it knows what is wanted."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple, Protocol, cast

from tui.cli import start
from tui.version import __version__


class Command(Protocol):
    """What a module in ``tui.cli`` offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare arguments and options."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it; the return value is the exit code."""
        ...


class Entry(NamedTuple):
    """A row of the command table."""

    module: str
    help: str


COMMANDS = {
    "plan": Entry("tui.cli.plan", "print what will be sent to control a model's thinking"),
    "models": Entry("tui.cli.models", "list the models in the catalogue"),
    "auth": Entry("tui.cli.auth", "keep, list and remove providers' keys"),
    "wire": Entry("tui.cli.wire", "decode recorded responses, encode conversations"),
}
"""Name → module; the order is the order of ``ponder --help``."""


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ponder",
        description="A full-screen terminal client for language models that think.",
        epilog="Without a command the full-screen program starts.",
    )
    parser.add_argument("--version", action="version", version=f"ponder {__version__}")
    start.add_arguments(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, entry in COMMANDS.items():
        sub = commands.add_parser(name, help=entry.help, description=entry.help[0].upper() + entry.help[1:] + ".")
        if name == chosen:
            _load(entry).add_arguments(sub)
    return parser


def _load(entry: Entry) -> Command:
    return cast(Command, importlib.import_module(entry.module))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit codes are listed in ``docs/headless.md``."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = arguments[0] if arguments and arguments[0] in COMMANDS else None
    args = _parser(chosen).parse_args(arguments)
    return start.run(args) if args.command is None else _load(COMMANDS[args.command]).run(args)
