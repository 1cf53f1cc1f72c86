"""``ponder``: parses the command line and runs the command, the screen, or with ``-p`` one prompt.

Imports nothing heavy before the command is known.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, NoReturn, cast

from tui import __version__

if TYPE_CHECKING:
    import argparse

    from _typeshed import SupportsWrite

    from tui.app.launch_options import LaunchOptions
    from tui.domain.errors import PonderError


class CommandEntry:
    """A row of the command table."""

    __slots__ = ("help", "module")

    def __init__(self, module: str, help_text: str) -> None:
        self.module = module
        self.help = help_text


COMMANDS = {
    "plan": CommandEntry("tui.cli.plan", "print what is sent to control a model's thinking"),
    "price": CommandEntry("tui.cli.price", "print what a request costs"),
    "cost": CommandEntry("tui.cli.cost", "print what was spent, by day, model or session"),
    "models": CommandEntry("tui.cli.models", "list the models in the catalogue"),
    "local": CommandEntry("tui.cli.local", "list, download, add and remove models on this machine"),
    "auth": CommandEntry("tui.cli.auth", "save, list and remove providers' keys"),
    "sessions": CommandEntry("tui.cli.sessions", "list, search, show, export, import and delete sessions"),
    "context": CommandEntry(
        "tui.cli.context", "print the size of the next request, what is sent and not sent, and why"
    ),
    "themes": CommandEntry("tui.cli.themes", "list the themes"),
    "config": CommandEntry("tui.cli.config", "print the schema and a sample of config.toml, or write them"),
    "doctor": CommandEntry("tui.cli.doctor", "check versions, terminal, paths, providers and database"),
    "completions": CommandEntry("tui.cli.completions", "print a completion script for bash, zsh or fish"),
    "acp": CommandEntry("tui.cli.acp", "be the agent of an editor (Agent Client Protocol)"),
    "man": CommandEntry("tui.cli.man", "print the manual page"),
    "wire": CommandEntry("tui.cli.wire", "decode recorded responses and encode conversations"),
}
"""Name → module, in the order of ``ponder --help``."""

PIPE_CLOSED = 141
"""The exit code shells report for a program whose reader closed the pipe."""
INTERRUPTED = 130
OUTPUT_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Errors of a write to stdout that has no other cause than its file or device."""


def whole_parser() -> argparse.ArgumentParser:
    """The parser with all commands and their arguments; completions are generated from it."""
    return _parser(None, whole=True)


def _parser(chosen: str | None, *, whole: bool = False) -> argparse.ArgumentParser:
    from argparse import SUPPRESS

    parser = _parser_class()(
        prog="ponder",
        description="A full-screen terminal client for language models that think.",
        epilog="Without a command, the full-screen program starts.",
    )
    parser.add_argument(
        "--version", action="store_true", default=SUPPRESS, help="show program's version number and exit"
    )
    add_arguments(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, entry in COMMANDS.items():
        sub = commands.add_parser(name, help=entry.help, description=entry.help[0].upper() + entry.help[1:] + ".")
        if whole or name == chosen:
            _load(entry).add_arguments(sub)
    return parser


def _parser_class() -> type[argparse.ArgumentParser]:  # noqa: C901 - counts all methods of the class
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

        def print_help(self, file: SupportsWrite[str] | None = None) -> None:
            _print_whole(self.format_help(), file)

        def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
            if message:
                from tui.domain.printable import printable

                # The message repeats the wrong words, which may be file names.
                message = printable(message)
            super().exit(status, message)

    return Parser


def _print_whole(text: str, file: SupportsWrite[str] | None = None) -> None:
    """Print to stdout or a file; unlike argparse, which ignores it, an error of the write is raised."""
    if file is None:
        print(text, end="", flush=True)
    else:
        file.write(text)


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
    add_arguments(quick)
    quick.set_defaults(command=None)
    try:
        return quick.parse_args(arguments)
    except ValueError:
        return None


def _load(entry: CommandEntry) -> ModuleType:
    """The command's module. It defines ``add_arguments(parser)`` and ``run(args)``, which returns the exit code."""
    return importlib.import_module(entry.module)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit codes are listed in ``docs/headless.md``."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    _make_stderr_optional()
    if (few := _too_few_files()) is not None:
        print(
            f"ponder: the limit of open files is {few}, which is too low. Raise it: `ulimit -n 256`.", file=sys.stderr
        )
        return 1
    chosen = arguments[0] if arguments and arguments[0] in COMMANDS else None
    try:
        args = _only_options(arguments) if arguments else no_arguments()
        args = _parser(chosen).parse_args(arguments) if args is None else args
        if args.command is None and getattr(args, "version", False):
            _print_whole(f"ponder {__version__}\n")
            return 0
        code: int = run(args) if args.command is None else _load(COMMANDS[args.command]).run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except OSError as fault:
        if fault.errno not in OUTPUT_FAULTS or fault.filename is not None:
            raise
        _forget_output()
        print(f"ponder: the output cannot be written: {fault.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _open_closed_streams() -> None:
    """Open the null device in place of standard streams that the caller closed.

    Otherwise their descriptors would be given to the next files, such as the session store.
    """
    # In this order: each gets the lowest free descriptor.
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None and not _is_open(number):
            descriptor = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


STDERR = 2


class _OptionalOutput(io.TextIOWrapper):
    """A text stream whose faults are nobody's concern. After the first, the rest goes to the null device."""

    def write(self, text: str, /) -> int:
        """Write the text, or drop it."""
        try:
            return super().write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Write what is held, or drop it."""
        try:
            super().flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """Keep nothing: the interpreter writes at its end what is still held, and exits with 120 if that fails."""
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            super().flush()


def _make_stderr_optional() -> None:
    """A full disk behind stderr must not cost an answer that is paid for. Somebody's own stream stays."""
    stream = sys.stderr
    # The interpreter keeps the original, which would close the descriptor when it is gone.
    if stream is sys.__stderr__ and type(stream) is io.TextIOWrapper and stream.fileno() == STDERR:
        sys.stderr = _OptionalOutput(stream.buffer, stream.encoding, stream.errors, line_buffering=True)


FILES = 64
"""Descriptors that the program is sure to manage with: the database, the event loops, a connection, a tool."""


def _too_few_files() -> int | None:
    """Raise a low limit of open files as far as allowed; returns the limit if it stays too low."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= FILES:
        return None
    if hard != resource.RLIM_INFINITY and hard < FILES:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    return None


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _forget_output() -> None:
    """Redirect the streams when their reader is gone (``ponder ... | head``), so that the interpreter exits cleanly."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


EXIT_USAGE = 2
WITH_A_PROMPT = {
    "--json": "json",
    "--jsonl": "jsonl",
    "--show-thinking": "show_thinking",
    "--session": "session",
    "--attach": "attach",
    "--schema": "schema",
}
"""Options that only apply to headless runs."""
MOST_DOLLARS = 1_000_000
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Allocation threshold of the garbage collector. Start-up creates many objects that stay; with Python's default of 700,
collections take a twentieth of the time to the first byte.
"""


def no_arguments() -> argparse.Namespace:
    """The parser's result for an empty command line, without running it: that takes a fiftieth of a start."""
    absent = dict.fromkeys(
        ("command", "prompt", "model", "thinking_budget", "profile", "resume", "session", "max_cost", "schema")
    )
    off = dict.fromkeys(("go_on", "no_save", "no_tools", "show_thinking", "json", "jsonl", "linear"), False)
    given = SimpleNamespace(**absent, **off, assignments=[], allow=[], attach=[])
    return cast("argparse.Namespace", given)


def add_set_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--set``, which may be given several times."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="KEY=VALUE",
        help="change a setting, as with /set",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the program without a command."""
    parser.add_argument(
        *("-p", "--prompt"),
        nargs="?",
        const="",
        metavar="TEXT",
        help="print the answer and exit; stdin is added to TEXT, or is the prompt without it",
    )
    parser.add_argument("-m", "--model", metavar="NAME[/LEVEL]", help="the model to ask")
    parser.add_argument(
        "--thinking-budget", metavar="N", help="a number of tokens or a level; replaces the level in NAME"
    )
    parser.add_argument("--profile", metavar="NAME", help="use the settings of a profile")
    add_set_option(parser)
    parser.add_argument(
        "--linear",
        action="store_true",
        help="run line by line, for screen readers and simple terminals; ACCESSIBLE=1 does the same",
    )
    parser.add_argument("-c", "--continue", action="store_true", dest="go_on", help="continue the last session")
    parser.add_argument("-r", "--resume", metavar="ID", help="continue a session")
    parser.add_argument("--session", metavar="ID", help="with -p: continue this session")
    parser.add_argument("--no-save", action="store_true", help="store nothing of the conversation")
    parser.add_argument("--no-tools", action="store_true", help="do not offer tools to the model")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="PATTERN", help="with -p: tools that may run without asking"
    )
    parser.add_argument("--attach", action="append", default=[], metavar="PATH", help="with -p: attach a file or image")
    parser.add_argument(
        "--max-cost",
        type=_dollars,
        metavar="DOLLARS",
        help="spending limit until ponder ends; a request that may exceed it asks, or with -p ends with exit code 4",
    )
    parser.add_argument(
        "--schema", metavar="FILE", help="with -p: the answer must fit this JSON Schema, or the exit code is 4"
    )
    parser.add_argument("--show-thinking", action="store_true", help="with -p: print thinking on stderr")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="with -p: print one JSON object at the end")
    forms.add_argument("--jsonl", action="store_true", help="with -p: print one JSON line for every event")


def _dollars(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        dollars = float(text.removeprefix("$"))
    except ValueError:
        dollars = math.nan
    if not 0 <= dollars <= MOST_DOLLARS:
        raise ArgumentTypeError(f"{text!r} is not an amount of dollars")
    return dollars


def run(args: argparse.Namespace) -> int:
    """Start the program; user errors are reported in a sentence with exit code 2."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from tui.cli.quick_imports import find_quickly

    find_quickly()
    from tui.domain.lazy_ssl import import_asyncio

    import_asyncio()
    from tui.app.launch_options import LaunchOptions
    from tui.domain.errors import PonderError, StoreError

    if contradiction := _contradiction(args):
        print(f"ponder: {contradiction}", file=sys.stderr)
        return EXIT_USAGE

    try:
        options = LaunchOptions(
            model=args.model,
            asked=args.thinking_budget,
            profile=args.profile,
            assignments=tuple(args.assignments),
            no_tools=args.no_tools,
            no_save=args.no_save,
            headless=args.prompt is not None,
            allow=tuple(args.allow),
            max_cost=args.max_cost,
            answer_schema=_schema(args.schema) if args.schema is not None else None,
        )
        if args.prompt is not None:
            from tui.bootstrap.headless import run_prompt

            return run_prompt(os.environ, options, args)
        return _run_interactive(options, args)
    except StoreError as problem:
        return _report(problem, 1)
    except PonderError as problem:
        return _report(problem, EXIT_USAGE)


def _contradiction(args: argparse.Namespace) -> str:
    """Which options do not go together; "" if all do."""
    alone = [] if args.prompt is not None else [option for option, name in WITH_A_PROMPT.items() if getattr(args, name)]
    if alone:
        return f"`{alone[0]}` needs `-p TEXT`, which answers without a screen."
    if args.linear and args.prompt is not None:
        return "`--linear` is for conversations, and `-p` answers once: choose one of them."
    if args.no_save and (args.go_on or args.resume is not None or args.session is not None):
        return "`--no-save` begins a new conversation, so it cannot continue a stored one."
    return ""


def _run_interactive(options: LaunchOptions, args: argparse.Namespace) -> int:
    if args.linear or os.environ.get("ACCESSIBLE", "") not in ("", "0"):
        from tui.bootstrap.linear import run_linear

        return run_linear(os.environ, options, resume=args.resume, latest=args.go_on)
    from tui.bootstrap.screen import run_screen

    return run_screen(os.environ, options, resume=args.resume, latest=args.go_on)


def _schema(path: str) -> Mapping[str, object]:
    from tui.headless.checked_answer import read_schema

    return read_schema(path)


def _report(problem: PonderError, code: int) -> int:
    from tui.cli.user_catalog import print_messages

    print_messages(f"ponder: {problem}", problem.advice)
    return code
