"""``ponder man``: the manual page, generated from the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from tui import __version__
from tui.cli.main import whole_parser
from tui.cli.parser_tree import ParserTree, parser_tree

EXIT_CODES = (
    ("0", "Success; with -p, a complete answer."),
    ("1", "The provider, the network or a file failed."),
    ("2", "The command line, a model name or a setting is invalid."),
    ("3", "There is no key for the provider."),
    ("4", "The answer was refused, filtered, cut off or empty, or a spending limit was reached."),
    ("129, 130, 141, 143", "Ended by SIGHUP, Ctrl+C, a reader that closed the output, or SIGTERM."),
)
ENVIRONMENT = (
    ("PONDER_HOME", "One folder for configuration, sessions, state and cache."),
    ("PONDER_DEBUG", "With 1, requests are noted in debug.log."),
    ("NO_COLOR", "No colours."),
    ("FORCE_COLOR", "How many colours to use, whatever the terminal says: 0 none, 1 sixteen, 2 256, 3 all."),
    ("FORCE_HYPERLINK", "1 writes links for the terminal to open, 0 does not, whatever the terminal is."),
    ("ANTHROPIC_API_KEY, OPENAI_API_KEY, ...", "Keys; \\(lqponder auth list\\(rq shows which are found."),
)
FILES = (
    ("config.toml", "Settings, providers, MCP servers and permissions. \\(lqponder config init\\(rq writes a sample."),
    ("keys.toml", "Keys of commands."),
    ("themes/, profiles/", "Themes and profiles of your own."),
    ("sessions.db", "All sessions. \\(lqponder doctor\\(rq shows where the files are."),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""
    parser.epilog = "To read it: ponder man | man -l -  To keep it: ponder man > ~/.local/share/man/man1/ponder.1"


def run(args: argparse.Namespace) -> int:
    """Print the page as roff source."""
    parser = whole_parser()
    print(manual_page(parser_tree(parser), parser.epilog or ""), end="")
    return 0


def manual_page(tree: ParserTree, epilog: str) -> str:
    """The roff source of the page."""
    lines = [
        f'.TH PONDER 1 "" "ponder {__version__}" "User Commands"',
        ".SH NAME",
        f"ponder \\- {_escaped(tree.description[:1].lower() + tree.description[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B ponder\n\\fI{tree.command_word}\\fR [\\fIOPTION\\fR]...",
        ".SH DESCRIPTION",
        _escaped(f"{tree.description} {epilog}"),
        ".SH OPTIONS",
        *_arguments(tree),
        ".SH COMMANDS",
        *_commands("ponder", tree),
        ".SH EXIT STATUS",
        *_rows(EXIT_CODES),
        ".SH ENVIRONMENT",
        *_rows(ENVIRONMENT),
        ".SH FILES",
        *_rows(FILES),
    ]
    return "\n".join(lines) + "\n"


def _arguments(tree: ParserTree) -> Iterator[str]:
    for action in tree.arguments:
        if "--help" in action.option_strings:
            continue
        names = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in action.option_strings)
        value = f"\\fI{_escaped(_value(action))}\\fR" if action.nargs != 0 else ""
        yield f".TP\n{' '.join(filter(None, (names, value)))}"
        yield _escaped((action.help or "").replace("%%", "%"))


def _commands(path: str, tree: ParserTree) -> Iterator[str]:
    for name, inner in tree.commands.items():
        yield f".SS {_escaped(f'{path} {name}')}"
        yield _escaped(inner.description)
        yield from _arguments(inner)
        yield from _commands(f"{path} {name}", inner)


def _value(action: argparse.Action) -> str:
    """The placeholder of an argument's value."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return action.dest if not action.option_strings else action.dest.upper()


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        yield f".TP\n\\fB{name}\\fR\n{text}"


def _escaped(text: str) -> str:
    """Text as roff: no letter of it is a command, and a hyphen stays the one that options have."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
