"""``ponder --linear``: the program in lines that are only appended."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tui.app.launch_options import LaunchOptions
from tui.app.program import Program
from tui.app.services import AppServices
from tui.bootstrap.interactive import commands_with_prompts, opened
from tui.bootstrap.program import build_program
from tui.domain.errors import UsageError
from tui.linear.app import LinearApp, OnTyped
from tui.linear.line_reader import LineReader
from tui.linear.line_writer import LineWriter
from tui.settings.layers import Layer
from tui.ui.terminal.shutdown import Shutdown

if TYPE_CHECKING:
    from tui.commands.registry import Registry

LOG = logging.getLogger(__name__)
ENDING = ("SIGTERM", "SIGHUP", "SIGQUIT")
"""Signals that save and end the program; ctrl+c stops the answer."""


def run_linear(environment: Mapping[str, str], options: LaunchOptions, *, resume: str | None, latest: bool) -> int:
    """Run the program line by line; returns the exit code."""
    with Shutdown(signals=ENDING, restore=b"") as shutdown:
        try:
            program = build_program(environment, options)
            shutdown.last = program.engine.stop
            with opened(program, shutdown, resume, latest=latest, screen=False) as services:
                code, failure = _converse(program, services, shutdown)
        finally:
            shutdown.finish()
    if failure is not None:
        log = program.paths.log_file
        sys.stderr.write(f"ponder stopped: {type(failure).__name__}. Details are in {log}{os.linesep}")
        return 1
    return code


def _converse(program: Program, services: AppServices, shutdown: Shutdown) -> tuple[int, Exception | None]:
    source = _source()
    typed: list[LineReader] = []

    def make_reader(on_typed: OnTyped) -> LineReader:
        typed.append(LineReader(source, on_typed))
        return typed[0]

    out = LineWriter(_ready(sys.stdout), ends_rows=lambda: bool(typed) and typed[0].echoes)

    def make_commands() -> Registry:
        # Reports drawn with blocks and bars are written with words instead. Not before: checking a value takes long.
        program.in_force.layers = program.layers.with_value(Layer.COMMAND_LINE, "ui.plain", value=True)
        return commands_with_prompts(program, services)

    app = LinearApp(services, out, make_reader, make_commands, lambda text: _copied(program, text))
    before = signal.signal(signal.SIGINT, lambda *_: app.interrupt_from_thread())
    shutdown.register_leave(app.end_from_thread)
    try:
        return asyncio.run(app.run()), None
    except Exception as failure:
        LOG.error("the conversation stopped", exc_info=failure)
        return 1, failure
    finally:
        signal.signal(signal.SIGINT, before)
        out.close()
        if out.is_gone:
            _discard_output()


def _discard_output() -> None:
    """Let the interpreter end cleanly after the reader of its output has gone."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _source() -> io.RawIOBase:
    """The standard input without a buffer: a line is read when it is entered."""
    stdin = sys.stdin
    if isinstance(stdin, io.TextIOWrapper) and isinstance(stdin.buffer, io.BufferedReader):
        raw: io.RawIOBase = stdin.buffer.raw
        return raw
    raise UsageError("The standard input cannot be read by lines.", advice='`ponder -p "question"` works without it.')


def _ready(stream: TextIO | None) -> TextIO:
    """The standard output, which accepts any text."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    return stream


def _copied(program: Program, text: str) -> str:
    """Put a text on the clipboard; returns how, in a few words."""
    from tui.ui.terminal.clipboard import put_on_clipboard  # imports Textual

    is_dumb = program.environment.get("TERM", "dumb") in ("", "dumb")

    def write(sequence: str) -> None:
        if is_dumb or not sys.stdout.isatty():
            raise UsageError("This terminal has no clipboard.", advice="`/export md` writes a file instead.")
        sys.stdout.write(sequence)
        sys.stdout.flush()

    return put_on_clipboard(text, write, program.environment)
