"""``ponder -p``: one question, one answer, no screen."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType

from tui.app.current_session import (
    DEMO,
    CurrentSession,
    first_listed_spec,
    named_model,
    refuse_hidden_limit,
    refuse_hidden_model,
)
from tui.app.launch_options import LaunchOptions
from tui.app.program import Program
from tui.app.provider_availability import ProviderAvailability
from tui.app.session_storage import InMemorySessions, Storage, StoredSession, open_storage
from tui.bootstrap.program import build_program, say_on_stderr
from tui.domain.blocks import Block
from tui.domain.printable import one_line, printable
from tui.domain.thinking import ModelSpec
from tui.headless.run import HeadlessOptions, OutputFormat, ending_signals, piped_text, run_headless
from tui.providers.log_file import open_log

NOT_SAVED = 1
"""The exit code of an answer that could not be saved."""
LONGEST_REASON = 400
SWITCH_S = 0.001
"""Interval for switching threads, so that output is written promptly; Python's default is 5 ms."""


def run_prompt(environment: Mapping[str, str], options: LaunchOptions, args: argparse.Namespace) -> int:
    """Send the prompt, write the answer, and return the exit code."""
    sys.setswitchinterval(SWITCH_S)
    with contextlib.suppress(ValueError):  # only the main thread receives signals
        for number in ending_signals():
            if number is not signal.SIGINT:
                signal.signal(number, _end)
    program = build_program(environment, options)
    refuse_hidden_model(program.config, named_model(program))
    refuse_hidden_limit(program.config, options)
    open_log(program.paths.log_file, program.keys.redactor, environment, screen=False)
    for problem in program.problems if sys.stderr is not None else ():
        sys.stderr.write(printable(f"ponder: {problem.message} {problem.advice}".rstrip()) + "\n")
    availability = ProviderAvailability(program)
    spec = _spec(program, availability)
    run_options = _run_options(options, args, environment)
    # The database opens in its own thread while the rest loads: no request is sent before the prompt is stored.
    storage: Storage = open_storage(program, soon=not options.no_save)
    if isinstance(storage, InMemorySessions) and not options.no_save and sys.stderr is not None:
        sys.stderr.write(f"ponder: NOT SAVED: {program.problems[-1].message} {program.problems[-1].advice}\n")
    try:
        program.engine.start()
        program.engine.call(program.toolbox.ready()).result()
        if sys.stderr is not None:
            sys.stderr.writelines(f"ponder: {line}\n" for line in _unusable_servers(program))
        current = CurrentSession(program, _with_private(storage) if options.no_save else storage, interactive=False)
        storage.when_locked(say_on_stderr)
        stored = _stored(storage, args)
        current.start(spec, stored, private=options.no_save)
        if spec == DEMO and not named_model(program) and stored is None and sys.stderr is not None:
            sys.stderr.write(f"ponder: {_why_demo(availability)}\n")
        program.backend.get_ready(program.planner.target(current.spec))
        if run_options.attachments:
            from tui.app.attachments import refuse_documents

            refuse_documents(run_options.attachments, current.facts)
        shown = args.show_thinking or current.layers.value("reasoning.includeInResponse")
        run_options = replace(run_options, hide_thinking=not shown, level_chosen=current.layers.level_chosen)
        code = run_headless(program.engine, current.session, run_options)
        return code or NOT_SAVED if isinstance(storage, InMemorySessions) and not options.no_save else code
    finally:
        asyncio.run(storage.aclose())
        program.close()


def _unusable_servers(program: Program) -> Iterator[str]:
    """Why MCP servers that are configured and switched on do not answer."""
    for server in program.toolbox.servers():
        from tui.tools.mcp.server import OFF, READY, WAITING  # loaded, because there is a server

        if server.state not in (OFF, READY, WAITING):
            why = ", ".join(filter(None, (server.state, server.detail)))
            yield one_line(f"The MCP server {server.name} is not used: {why}".replace("`", ""), LONGEST_REASON)


def _end(number: int, frame: FrameType | None) -> None:
    """Before and after the turn: end in order, so that MCP servers and temporary folders do not stay."""
    raise SystemExit(128 + number)


def _with_private(storage: Storage) -> Storage:
    from tui.app.private_sessions import StorageWithPrivate

    return StorageWithPrivate(storage)


def _run_options(options: LaunchOptions, args: argparse.Namespace, environment: Mapping[str, str]) -> HeadlessOptions:
    return HeadlessOptions(
        # In a locale without UTF-8, Python escapes argument bytes that it cannot decode; they are UTF-8.
        prompt=os.fsencode(args.prompt).decode("utf-8", "replace"),
        context=piped_text(sys.stdin.buffer if sys.stdin is not None else None),
        attachments=_attachments(options, args.attach, environment),
        output=OutputFormat.JSON if args.json else OutputFormat.JSONL if args.jsonl else OutputFormat.TEXT,
        show_thinking=args.show_thinking,
        answer_schema=options.answer_schema,
        private=options.no_save,
    )


def _spec(program: Program, availability: ProviderAvailability) -> ModelSpec:
    if not named_model(program):
        availability.look_for_keys(stored=False)
        if not availability.ready():
            availability.look_for_saved_keys()
        if not availability.ready():
            availability.merge_cached_lists()
            asyncio.run(availability.look_for_servers())
        if not availability.ready():
            availability.look_for_local_models()
    spec = first_listed_spec(program, availability.ready(), availability.merge_cached_lists, always=True)
    if program.local_models.is_unknown(spec):
        program.local_models.learn(spec.model)
    if availability.has_unasked_server(spec):
        asyncio.run(availability.look_for_servers(spec.provider))
    return spec


def _why_demo(availability: ProviderAvailability) -> str:
    """Why the demo answers, so that its output is not mistaken for a model's."""
    unlisted = availability.without_models()
    if unlisted:
        names = ", ".join(unlisted)
        how = f"name one (-m {unlisted[0]}/MODEL) or fetch its list (ponder models --refresh {unlisted[0]})"
        return f"the demo answers: no model of {names} is known. To ask one, {how}."
    how = "save a key (ponder auth set PROVIDER), start a model server, or name a model (-m PROVIDER/MODEL)"
    return f"the demo answers: no key and no model server was found. To ask a model, {how}."


def _stored(storage: Storage, args: argparse.Namespace) -> StoredSession | None:
    """The session to continue: the named one or the last one."""
    named = args.resume if args.session is None else args.session
    if named is None and not args.go_on:
        return None

    async def find() -> StoredSession | None:
        session = await storage.latest() if named is None else named
        return None if session is None else await storage.load(session)

    return asyncio.run(find())


def _attachments(options: LaunchOptions, names: Sequence[str], environment: Mapping[str, str]) -> tuple[Block, ...]:
    if not names:
        return ()
    from tui.app.attachments import read_attachments

    found = [read_attachments(options.folder, name, environment) for name in names]
    for one in found:
        if one.left_out:
            say_on_stderr(one.left_out)
    return tuple(block for one in found for _, block in one.blocks)
