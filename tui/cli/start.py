"""``ponder`` without a command: the screen, or with ``-p`` one prompt and its answer."""

from __future__ import annotations

import gc
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import argparse

    from tui.domain.errors import PonderError

EXIT_USAGE = 2
WITH_A_PROMPT = {
    "--json": "json",
    "--jsonl": "jsonl",
    "--show-thinking": "show_thinking",
    "--session": "session",
    "--attach": "attach",
}
"""Options that only apply to headless runs."""
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Allocation threshold of the garbage collector. Start-up creates many objects that stay; with Python's default of 700,
collections take a twentieth of the time to the first byte.
"""


def nothing_said() -> argparse.Namespace:
    """The parser's result for an empty command line, without running it: that takes a fiftieth of a start."""
    absent = dict.fromkeys(("command", "prompt", "model", "thinking_budget", "profile", "resume", "session"))
    off = dict.fromkeys(("go_on", "no_tools", "show_thinking", "json", "jsonl"), False)
    given = SimpleNamespace(**absent, **off, assignments=[], allow=[], attach=[])
    return cast("argparse.Namespace", given)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the program without a command."""
    parser.add_argument(
        *("-p", "--prompt"),
        nargs="?",
        const="",
        metavar="TEXT",
        help="print the answer and exit; stdin is read as context, or as the prompt without TEXT",
    )
    parser.add_argument("-m", "--model", metavar="NAME[/LEVEL]", help="the model to ask")
    parser.add_argument("--thinking-budget", metavar="N", help="a budget in tokens, or a level, instead of the name's")
    parser.add_argument("--profile", metavar="NAME", help="load a profile first")
    parser.add_argument(
        "--set", action="append", default=[], dest="assignments", metavar="KEY=VALUE", help="a setting, as with /set"
    )
    parser.add_argument("-c", "--continue", action="store_true", dest="go_on", help="continue the last session")
    parser.add_argument("-r", "--resume", metavar="ID", help="continue a session")
    parser.add_argument("--session", metavar="ID", help="with -p: continue this session")
    parser.add_argument("--no-tools", action="store_true", help="offer the model no tools")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="PATTERN", help="with -p: tools that may run without asking"
    )
    parser.add_argument("--attach", action="append", default=[], metavar="PATH", help="with -p: a file or image")
    parser.add_argument("--show-thinking", action="store_true", help="with -p: print thinking on stderr")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="with -p: one JSON object at the end")
    forms.add_argument("--jsonl", action="store_true", help="with -p: one JSON line for every event")


def run(args: argparse.Namespace) -> int:
    """Start the program; user errors are reported in a sentence with exit code 2."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from tui.app.launch_options import LaunchOptions
    from tui.domain.errors import PonderError, StoreError

    alone = [] if args.prompt is not None else [option for option, name in WITH_A_PROMPT.items() if getattr(args, name)]
    if alone:
        print(f"ponder: `{alone[0]}` belongs to `-p TEXT`, which answers without a screen.", file=sys.stderr)
        return EXIT_USAGE

    try:
        options = LaunchOptions(
            model=args.model,
            asked=args.thinking_budget,
            profile=args.profile,
            assignments=tuple(args.assignments),
            no_tools=args.no_tools,
            headless=args.prompt is not None,
            allow=tuple(args.allow),
        )
        if args.prompt is not None:
            from tui.bootstrap.headless import run_prompt

            return run_prompt(os.environ, options, args)
        from tui.bootstrap.screen import run_screen

        return run_screen(os.environ, options, resume=args.resume, latest=args.go_on)
    except StoreError as problem:
        return _told(problem, 1)
    except PonderError as problem:
        return _told(problem, EXIT_USAGE)


def _told(problem: PonderError, code: int) -> int:
    from tui.cli.messages import print_messages

    print_messages(f"ponder: {problem}", problem.advice)
    return code
