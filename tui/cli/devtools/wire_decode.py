"""``ponder wire decode``: recorded response bodies to one JSON line each, or to their events."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

from tui.catalog.quirks import Quirks
from tui.cli.devtools.recording_report import (
    Recording,
    Report,
    as_recorded,
    decoded,
    event_line,
    fault_line,
    report,
    unexpected,
)
from tui.cli.messages import print_messages
from tui.domain.errors import UnknownModel
from tui.domain.messages import WireName
from tui.wires.registry import wire_named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.description = (
        "Decode recorded response bodies. Text and thinking are counted and hashed as they stand in the bytes: "
        "<think> tags in the text stay text (--events splits them as the screen would)."
    )
    parser.add_argument("wire", choices=[name.value for name in WireName], metavar="WIRE", help=", ".join(WireName))
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recorded response body")
    parser.add_argument("--provider", metavar="P", help="decode with the quirks of this provider")
    parser.add_argument("--status", type=int, default=200, metavar="N", help="the HTTP status of the response")
    parser.add_argument("--content-type", metavar="T", help="the content type of the response")
    parser.add_argument("--events", action="store_true", help="print the events instead, one JSON line each")


def run(args: argparse.Namespace) -> int:
    """Returns 0 if every file could be read, whatever its content; 2 otherwise."""
    quirks = _quirks_of(args.provider)
    unreadable = False
    for file in args.files:
        try:
            body = file.read_bytes()
        except OSError as error:
            print_messages(f"ponder: cannot read {file}: {error.strerror or error}")
            unreadable = True
            continue
        for line in _lines(args, quirks, body):
            print(json.dumps({"file": str(file), **line}))
    return 2 if unreadable else 0


def _lines(args: argparse.Namespace, quirks: Quirks, body: bytes) -> Iterator[Report]:
    name = WireName(args.wire)
    try:
        recording = decoded(
            wire_named(name),
            quirks if args.events else as_recorded(quirks),
            body,
            status=args.status,
            content_type=args.content_type,
        )
    except Exception as error:  # noqa: BLE001 - top of the CLI: one bad file must not hide the others
        recording = Recording((), unexpected(error), complete=False)
    if not args.events:
        yield report(name, recording)
        return
    yield from map(event_line, recording.events)
    if recording.fault is not None:
        yield fault_line(recording.fault)


def _quirks_of(provider: str | None) -> Quirks:
    """The provider's quirks. An unknown provider may be a typing error, so it is reported."""
    if provider is None:
        return Quirks()
    from tui.cli.user_catalog import user_catalog  # reads files, so only if a provider is named

    try:
        return user_catalog(os.environ).catalog.provider(provider).quirks
    except UnknownModel as problem:
        print_messages(f"ponder: {problem.message} Read as plainly as the wire is. {problem.advice}".rstrip())
        return Quirks()
