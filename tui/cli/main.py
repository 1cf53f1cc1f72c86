"""``ponder``: parses the command line and calls the command. Imports nothing heavy before the command is known."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from tui.cli import start
from tui.version import __version__

if TYPE_CHECKING:
    import argparse


class Command(Protocol):
    """The interface of a command module in ``tui.cli``."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare arguments and options."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Run the command; returns the exit code."""
        ...


class Entry:
    """A row of the command table."""

    __slots__ = ("help", "module")

    def __init__(self, module: str, help_text: str) -> None:
        self.module = module
        self.help = help_text


COMMANDS = {
    "plan": Entry("tui.cli.plan", "print what will be sent to control a model's thinking"),
    "models": Entry("tui.cli.models", "list the models in the catalogue"),
    "auth": Entry("tui.cli.auth", "keep, list and remove providers' keys"),
    "sessions": Entry("tui.cli.sessions", "list, search, show, export, import and delete sessions"),
    "context": Entry("tui.cli.context", "print what the next request weighs, what goes, what stays and why"),
    "themes": Entry("tui.cli.themes", "list the themes"),
    "doctor": Entry("tui.cli.doctor", "print what was found on this machine"),
    "completions": Entry("tui.cli.completions", "print a completion script for bash, zsh or fish"),
    "wire": Entry("tui.cli.wire", "decode recorded responses, encode conversations"),
}
"""Name → module, in the order of ``ponder --help``."""

PIPE_CLOSED = 141
"""The exit code shells report for a program whose reader closed the pipe."""
INTERRUPTED = 130


def whole_parser() -> argparse.ArgumentParser:
    """The parser with all commands and their arguments; completions are generated from it."""
    return _parser(None, whole=True)


def _parser(chosen: str | None, *, whole: bool = False) -> argparse.ArgumentParser:
    parser = _parser_class()(
        prog="ponder",
        description="A full-screen terminal client for language models that think.",
        epilog="Without a command the full-screen program starts.",
    )
    parser.add_argument("--version", action="version", version=f"ponder {__version__}")
    start.add_arguments(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, entry in COMMANDS.items():
        sub = commands.add_parser(name, help=entry.help, description=entry.help[0].upper() + entry.help[1:] + ".")
        if whole or name == chosen:
            _load(entry).add_arguments(sub)
    return parser


def _parser_class() -> type[argparse.ArgumentParser]:
    """A parser that suggests similar words for a wrong one; its subparsers have the same class."""
    import argparse

    class Parser(argparse.ArgumentParser):
        _given: Sequence[str] = ()

        def parse_known_args(  # type: ignore[override]  # the overloads for other namespaces are not used
            self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
        ) -> tuple[argparse.Namespace, list[str]]:
            self._given = args or ()
            found, unknown = super().parse_known_args(args, namespace)
            if unknown:  # reported by the parser whose options were used, not by the outermost one
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            return found, unknown

        def error(self, message: str) -> NoReturn:
            options = re.findall(r"(?<!\S)--?[a-z-]+", self.format_help())
            for word in self._given:
                if f"invalid choice: {word!r}" in message:
                    known = re.findall(r"[a-z][a-z-]*", message.rpartition("(choose from")[2])
                    is_command = "COMMAND" in message or "ACTION" in message
                    wrong = f"there is no command `{word}`" if is_command else f"`{word}` is not one of its choices"
                elif word.startswith("--") and not any(option.startswith(word.partition("=")[0]) for option in options):
                    known, wrong = options, f"there is no option `{word}`"
                else:
                    continue
                near = nearest_word(word, known)
                if near:
                    self.exit(2, f"{self.prog}: {wrong}.\nDid you mean `{near}`? `{self.prog} --help` explains it.\n")
                break
            super().error(message)

        def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
            if message:
                from tui.domain.printable import printable

                # The message repeats the wrong words, which may be file names.
                message = printable(message)
            super().exit(status, message)

    return Parser


def nearest_word(word: str, known: Sequence[str]) -> str:
    """The most similar of the known words; "" if none is similar."""
    from difflib import get_close_matches

    bare = {name.lstrip("-"): name for name in known}
    return next((bare[name] for name in get_close_matches(word.lstrip("-").lower(), bare, n=1)), "")


def _only_options(arguments: list[str]) -> argparse.Namespace | None:
    """Parse a command line that starts the program itself, without building all commands; None needs the full parser.

    The full parser also handles errors and help: a normal start should not pay for it.
    """
    if not COMMANDS.keys().isdisjoint(arguments):
        return None
    import argparse

    class Quick(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise ValueError(message)

    # Help is never formatted here; with a fixed width argparse does not query the terminal for every argument.
    quick = Quick(prog="ponder", add_help=False, formatter_class=lambda prog: argparse.HelpFormatter(prog, width=80))
    start.add_arguments(quick)
    quick.set_defaults(command=None)
    try:
        return quick.parse_args(arguments)
    except ValueError:
        return None


def _load(entry: Entry) -> Command:
    return cast(Command, importlib.import_module(entry.module))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit codes are listed in ``docs/headless.md``."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = arguments[0] if arguments and arguments[0] in COMMANDS else None
    try:
        args = _only_options(arguments) if arguments else start.nothing_said()
        args = _parser(chosen).parse_args(arguments) if args is None else args
        code = start.run(args) if args.command is None else _load(COMMANDS[args.command]).run(args)
        if sys.stdout is not None:  # the caller may have closed it
            sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _forget_output() -> None:
    """Redirect the streams when their reader is gone (``ponder ... | head``), so that the interpreter exits cleanly."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
