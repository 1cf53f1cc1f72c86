"""``ponder acp``: the program as an agent for editors that speak the Agent Client Protocol, on stdin and stdout."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec

from tui.app.launch_options import LaunchOptions
from tui.cli.user_catalog import print_messages, print_problem
from tui.domain.errors import PonderError

MISSING = "ponder: the package for editors is not installed: pip install 'ponder-tui[acp]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("-m", "--model", metavar="NAME[/LEVEL]", help="the model of new sessions")
    parser.add_argument("--profile", metavar="NAME", help="use the settings of a profile")
    parser.add_argument("--no-save", action="store_true", help="store nothing of the conversations")


def run(args: argparse.Namespace) -> int:
    """Serve the editor until it closes stdin; returns the exit code."""
    if find_spec("acp") is None:
        print_messages(MISSING)
        return 2
    from tui.bootstrap.acp import serve_editor

    try:
        return serve_editor(os.environ, LaunchOptions(model=args.model, profile=args.profile, no_save=args.no_save))
    except PonderError as problem:
        print_problem(problem)
        return 2
