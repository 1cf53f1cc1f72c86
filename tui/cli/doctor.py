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
    """0 with the findings on stdout; 2 where not even that could be put together."""
    try:
        print(printable(_findings()))
    except PonderError as problem:
        say(problem)
        return 2
    return 0


def _findings() -> str:
    program = build_program(os.environ, LaunchOptions())
    findings = ProviderAvailability(program, key_command="ponder auth set")
    findings.look_for_keys(stored=False)
    storage = InMemorySessions()
    current = OpenSession(program, storage, interactive=False)
    current.start(first_spec(program, findings.ready()))
    return asyncio.run(AppServices(current, findings, storage).doctor())
