"""``ponder doctor``: what was found on this machine, for bug reports. Keys are named by where they are, never shown."""

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
from tui.cli.user_catalog import say
from tui.domain.errors import PonderError
from tui.domain.printable import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None are needed."""


def run(args: argparse.Namespace) -> int:
    """Print the report; the exit code is 2 if the program cannot be built."""
    try:
        print(printable(_report()))
    except PonderError as problem:
        say(problem)
        return 2
    return 0


def _report() -> str:
    program = build_program(os.environ, LaunchOptions())
    availability = ProviderAvailability(program, key_command="ponder auth set")
    availability.look_for_keys(stored=False)
    storage = InMemorySessions()
    current = OpenSession(program, storage, interactive=False)
    current.start(first_spec(program, availability.ready()))
    return asyncio.run(AppServices(current, availability, storage).doctor())
