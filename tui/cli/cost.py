"""``ponder cost``: what was spent, by day, model or session."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import suppress
from functools import partial

from tui.app.spending_report import DAYS, By, SpendingReport, first_moment, report_object, report_text, spending_report
from tui.cli.user_catalog import print_messages, user_catalog
from tui.domain.errors import PonderError
from tui.domain.printable import json_escaped, printable
from tui.settings.paths import find_paths
from tui.settings.user_files import may_exist
from tui.store.database import LOCKED, Database
from tui.store.spending import spent_since

MOST_DAYS = 36_500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--days", type=_days, default=DAYS, metavar="N", help=f"number of days, including today (default {DAYS})"
    )
    parser.add_argument(
        "--by", choices=("day", "model", "session"), help="what the chart shows (default: one by day and one by model)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def _days(text: str) -> int:
    days = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < days <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return days


def run(args: argparse.Namespace) -> int:
    """Returns 0, also if nothing was spent; 1 if the database cannot be read."""
    catalog = user_catalog(os.environ).catalog
    now = time.time()
    path = find_paths(os.environ).database
    database = Database(path)
    database.when_locked = lambda: print_messages(f"ponder: {LOCKED}")
    try:
        since = partial(spent_since, since=first_moment(args.days, now))
        requests = database.submit_read(since).result() if may_exist(path) else []
    except PonderError as problem:
        print_messages(f"ponder: {problem.message} {problem.advice}".rstrip())
        return 1
    finally:
        database.close()
        for notice in database.notices:
            print_messages(f"ponder: {notice}")

    def make(by: By) -> SpendingReport:
        return spending_report(requests, catalog, by=by, days=args.days, now=now)

    if args.json:
        print(json_escaped(json.dumps(report_object(make(args.by or "day")), ensure_ascii=False)))
    else:
        print(printable(report_text(make, args.by, blocks=_draws_blocks())))
    return 0


def _draws_blocks() -> bool:
    with suppress(UnicodeEncodeError, LookupError):
        "█▏".encode(sys.stdout.encoding or "ascii")
        return True
    return False
