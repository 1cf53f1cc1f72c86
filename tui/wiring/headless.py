"""``ponder -p``: one question, one answer, no screen."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping

from tui.headless.run import HeadlessOptions, Output, piped_text, run_headless
from tui.wiring.attachments import read_attachment
from tui.wiring.findings import Findings
from tui.wiring.open_session import OpenSession, first_spec
from tui.wiring.program import Wishes, build_program
from tui.wiring.storage import KeptInMemory, Storage


def run_prompt(environment: Mapping[str, str], wishes: Wishes, args: argparse.Namespace) -> int:
    """Ask, write the answer, return the exit code."""
    program = build_program(environment, wishes)
    for problem in program.problems:
        sys.stderr.write(f"ponder: {problem.message} {problem.advice}".rstrip() + "\n")
    findings = Findings(program)
    findings.look_for_keys(stored=False)
    if not findings.ready() and not (wishes.model or program.profile_model or program.layers.settings().model):
        findings.look_for_keys(stored=True)
    storage: Storage = KeptInMemory()
    options = HeadlessOptions(
        prompt=args.prompt,
        context=piped_text(sys.stdin.buffer),
        attachments=tuple(read_attachment(wishes.folder, name) for name in args.attach),
        output=Output.JSON if args.json else Output.JSONL if args.jsonl else Output.TEXT,
        show_thinking=args.show_thinking,
    )
    program.engine.start()
    try:
        current = OpenSession(program, storage, interactive=False)
        stored = asyncio.run(storage.load(args.session)) if args.session else None
        current.start(first_spec(program, findings.ready()), stored)
        return run_headless(program.engine, current.session, options)
    finally:
        program.engine.stop()
        program.calibration.keep()
