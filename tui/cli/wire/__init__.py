"""``ponder wire decode|encode``: decode and encode wire formats from the command line."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two subcommands."""
    from tui.cli.wire import decode, encode  # late: ``ponder context`` needs only the second

    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    decoding = actions.add_parser("decode", help="decode recorded response bodies, one JSON line per file")
    decode.add_arguments(decoding)
    decoding.set_defaults(run_action=decode.run)
    encoding = actions.add_parser("encode", help="print the request for a conversation file")
    encode.add_arguments(encoding)
    encoding.set_defaults(run_action=encode.run)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    code: int = args.run_action(args)
    return code
