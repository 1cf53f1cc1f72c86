"""``ponder themes``: the available themes, and errors in those that cannot be used."""

from __future__ import annotations

import argparse
import json
import os

from tui.cli.user_catalog import print_problem
from tui.domain.printable import json_escaped, printable
from tui.settings.paths import find_paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def run(args: argparse.Namespace) -> int:
    """Returns 0 with the list on stdout; broken files are reported on stderr."""
    from tui.ui.theme.theme_files import read_themes  # imports Textual's colours

    folder = find_paths(os.environ).themes
    themes, problems = read_themes(folder)
    for problem in problems:
        print_problem(problem)
    column = max(18, *map(len, themes)) + 2
    for name, read in themes.items():
        kind, place = "dark" if read.theme.dark else "light", "yours" if read.own else "shipped"
        if args.json:
            row = {"name": name, "dark": read.theme.dark, "own": read.own, "description": read.description}
            print(json_escaped(json.dumps(row, ensure_ascii=False)))
        else:
            print(printable(f"{name:{column}}{kind:7}{place:9}{read.description}".rstrip(), keep_newlines=False))
    if not args.json:
        print(printable(f"\nPut your own into {folder}. /theme switches and saves the choice."))
    return 0
