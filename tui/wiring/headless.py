"""``ponder -p``: one question, one answer, no screen."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tui.catalog.spec import require_asked
from tui.domain.blocks import Block
from tui.domain.thinking import ModelSpec
from tui.headless.run import HeadlessOptions, Output, piped_text, run_headless
from tui.providers.log import open_log
from tui.wiring.findings import Findings
from tui.wiring.open_session import OpenSession, first_spec
from tui.wiring.program import Program, build_program
from tui.wiring.storage import Storage, Stored
from tui.wiring.stores import open_storage
from tui.wiring.wishes import Wishes


def run_prompt(environment: Mapping[str, str], wishes: Wishes, args: argparse.Namespace) -> int:
    """Ask, write the answer, return the exit code."""
    program = build_program(environment, wishes)
    open_log(program.paths.log_file, program.keys.redactor, environment, screen=False)
    for problem in program.problems if sys.stderr is not None else ():
        sys.stderr.write(f"ponder: {problem.message} {problem.advice}".rstrip() + "\n")
    findings = Findings(program)
    findings.look_for_keys(stored=False)
    if not findings.ready() and not (wishes.model or program.profile_model or program.layers.settings().model):
        findings.look_for_keys(stored=True)
    storage: Storage = open_storage(program)
    options = HeadlessOptions(
        # Under a locale without UTF-8, Python leaves bytes it could not read in the argument; they were UTF-8.
        prompt=os.fsencode(args.prompt).decode("utf-8", "replace"),
        context=piped_text(sys.stdin.buffer if sys.stdin is not None else None),
        attachments=_attachments(wishes, args.attach),
        output=Output.JSON if args.json else Output.JSONL if args.jsonl else Output.TEXT,
        show_thinking=args.show_thinking,
    )
    program.engine.start()
    program.engine.call(program.workbench.ready()).result()
    try:
        current = OpenSession(program, storage, interactive=False)
        stored = asyncio.run(_stored(storage, args))
        if stored is not None and (wishes.model or wishes.asked):
            stored = replace(stored, spec=_other_spec(wishes, stored))
        current.start(_spec(program, findings), stored)
        return run_headless(program.engine, current.session, options)
    finally:
        asyncio.run(storage.aclose())
        program.close()


def _spec(program: Program, findings: Findings) -> ModelSpec:
    spec = first_spec(program, findings.ready())
    if not program.catalog.find(spec.provider, spec.model).known:
        findings.lay_cached_lists(spec.provider)  # only who asks for the unknown pays for reading
    return spec


async def _stored(storage: Storage, args: argparse.Namespace) -> Stored | None:
    """The session to go on with: by its id, or the last one."""
    session = args.session or args.resume or (await storage.latest() if args.go_on else None)
    return await storage.load(session) if session else None


def _other_spec(wishes: Wishes, stored: Stored) -> ModelSpec | None:
    """What the command line said of model and level goes before what the session was left with."""
    if wishes.model or wishes.asked is None or stored.spec is None:
        return None
    return replace(stored.spec, asked=require_asked(wishes.asked))


def _attachments(wishes: Wishes, names: Sequence[str]) -> tuple[Block, ...]:
    if not names:
        return ()
    from tui.wiring.attachments import read_attachment

    return tuple(read_attachment(wishes.folder, name) for name in names)
