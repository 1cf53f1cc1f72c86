"""``ponder doctor``: facts about this machine for bug reports. Shows where keys are stored, never the keys."""

from __future__ import annotations

import argparse
import asyncio
import os

from tui.app.launch_options import LaunchOptions
from tui.app.open_session import OpenSession, first_spec
from tui.app.provider_availability import ProviderAvailability
from tui.app.services import AppServices
from tui.app.session_storage import InMemorySessions
from tui.bootstrap.program import build_program
from tui.cli.user_catalog import print_problem
from tui.domain.errors import PonderError
from tui.domain.printable import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""


def run(args: argparse.Namespace) -> int:
    """Returns 0 with the report on stdout; 2 if it could not be made."""
    try:
        print(printable(_report()))
    except PonderError as problem:
        print_problem(problem)
        return 2
    return 0


def _report() -> str:
    program = build_program(os.environ, LaunchOptions())
    availability = ProviderAvailability(program, set_key_command="ponder auth set")
    availability.look_for_keys(stored=False)
    storage = InMemorySessions()
    current = OpenSession(program, storage, interactive=False)
    current.start(first_spec(program, availability.ready()))
    return asyncio.run(AppServices(current, availability, storage).doctor())
