"""``ponder doctor``: facts about this machine for bug reports. Shows where keys are stored, never the keys."""

from __future__ import annotations

import argparse
import asyncio
import json
import os

from tui.app.current_session import CurrentSession, first_spec
from tui.app.doctor import DoctorReport, doctor_report
from tui.app.launch_options import LaunchOptions
from tui.app.provider_availability import ProviderAvailability
from tui.app.services import AppServices
from tui.app.session_storage import InMemorySessions
from tui.bootstrap.program import build_program
from tui.cli.user_catalog import print_problem
from tui.domain.errors import PonderError
from tui.domain.printable import json_escaped, printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(args: argparse.Namespace) -> int:
    """Returns 0 with the report on stdout; 2 if it could not be made."""
    try:
        report = _report()
    except PonderError as problem:
        print_problem(problem)
        return 2
    print(
        json_escaped(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
        if args.json
        else printable(report.as_markdown())
    )
    return 0


def _report() -> DoctorReport:
    program = build_program(os.environ, LaunchOptions())
    availability = ProviderAvailability(program, set_key_command="ponder auth set")
    availability.look_for_keys(stored=False)
    storage = InMemorySessions()
    current = CurrentSession(program, storage, interactive=False)
    current.start(first_spec(program, availability.ready()))
    problems = AppServices(current, availability, storage).problems()
    return asyncio.run(doctor_report(program, availability, problems))
