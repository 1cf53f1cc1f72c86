"""``ponder wire decode|encode``: decode and encode wire formats from the command line."""

from __future__ import annotations

import argparse

import tui.cli.devtools.wire_decode as wire_decode
import tui.cli.devtools.wire_encode as wire_encode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two subcommands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    decode = actions.add_parser("decode", help="decode recorded response bodies, one JSON line per file")
    wire_decode.add_arguments(decode)
    encode = actions.add_parser("encode", help="print the request for a conversation file")
    wire_encode.add_arguments(encode)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    return wire_decode.run(args) if args.action == "decode" else wire_encode.run(args)
