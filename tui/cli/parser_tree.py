"""The arguments of a parser and of its subcommands. The only reader of argparse's private names."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserTree:
    """A parser: its shown arguments and its subcommands."""

    help: str
    """What the list of commands says about it; "" for the outermost."""
    description: str
    arguments: tuple[argparse.Action, ...]
    commands: Mapping[str, ParserTree]
    """By name."""
    command_word: str = ""
    """The placeholder of a subcommand in the usage; in brackets if it can be left out."""


def parser_tree(parser: argparse.ArgumentParser, help_text: str = "") -> ParserTree:
    """Read a parser with its subcommands."""
    arguments: list[argparse.Action] = []
    commands: dict[str, ParserTree] = {}
    word = ""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands = {name: parser_tree(inner, helps.get(name, "")) for name, inner in action.choices.items()}
            word = str(action.metavar) if action.required else f"[{action.metavar}]"
        elif action.help != argparse.SUPPRESS:
            arguments.append(action)
    return ParserTree(
        help=help_text,
        description=parser.description or help_text,
        arguments=tuple(arguments),
        commands=commands,
        command_word=word,
    )
