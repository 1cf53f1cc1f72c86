"""Serve an editor: one program for each session, because tools work in the session's folder."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from acp import Agent, run_agent, stdio_streams

from tui.acp.agent import PonderAgent
from tui.acp.editor_session import EditorSession
from tui.acp.message_lines import LONGEST, MessageLines
from tui.app.current_session import (
    CurrentSession,
    first_listed_spec,
    named_model,
    refuse_hidden_limit,
    refuse_hidden_model,
)
from tui.app.launch_options import LaunchOptions
from tui.app.private_sessions import StorageWithPrivate
from tui.app.program import Program
from tui.app.provider_availability import ProviderAvailability
from tui.app.services import AppServices
from tui.app.session_storage import Storage, StoredSession, open_storage
from tui.bootstrap.program import build_program
from tui.domain.errors import UsageError
from tui.domain.printable import one_line, printable
from tui.providers.log_file import open_log
from tui.settings.config_file import read_config
from tui.settings.paths import find_paths


def serve_editor(environment: Mapping[str, str], options: LaunchOptions) -> int:
    """Serve until the editor closes stdin; returns the exit code. Raises ConfigError for what cannot be read."""
    # Also said by every session, but few editors show why a session does not open.
    config = read_config(find_paths(environment).config_file)
    refuse_hidden_model(config, options.model or options.profile or "")
    refuse_hidden_limit(config, options)
    asyncio.run(_serve(environment, options))
    return 0


async def _serve(environment: Mapping[str, str], options: LaunchOptions) -> None:
    async def open_session(folder: Path, servers: Mapping[str, object], stored: str | None) -> EditorSession:
        loop = asyncio.get_running_loop()
        opening = loop.run_in_executor(None, _opened, environment, options, folder, servers, stored)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:  # the editor went away meanwhile
            await (await opening).close()
            raise

    agent = PonderAgent(open_session)
    try:
        # A method of the protocol that it does not have is answered as such; the type demands them all.
        reader, writer = await stdio_streams(limit=LONGEST)
        await run_agent(cast("Agent", agent), MessageLines(reader, writer))
    finally:
        await agent.close()


def _opened(
    environment: Mapping[str, str],
    options: LaunchOptions,
    folder: Path,
    servers: Mapping[str, object],
    stored_id: str | None,
) -> EditorSession:
    if not folder.is_absolute() or not _is_folder(folder):
        raise UsageError(f"`{one_line(str(folder), 200)}` is not an absolute path of a folder.")
    program = build_program(environment, replace(options, folder=folder, mcp_servers=servers))
    refuse_hidden_model(program.config, named_model(program))
    refuse_hidden_limit(program.config, options)
    open_log(program.paths.log_file, program.keys.redactor, environment, screen=False)
    for problem in program.problems:
        sys.stderr.write(printable(f"ponder: {problem.message} {problem.advice}".rstrip()) + os.linesep)
    storage: Storage = StorageWithPrivate(open_storage(program))
    program.engine.start()
    try:
        program.engine.call(program.toolbox.ready()).result()
        availability = ProviderAvailability(program, set_key_command="ponder auth set")
        availability.look_for_keys(stored=False)
        availability.look_for_saved_keys()
        current = CurrentSession(program, storage, interactive=True)
        stored = asyncio.run(_load(storage, stored_id)) if stored_id is not None else None
        spec = first_listed_spec(program, availability.ready(), availability.merge_cached_lists, always=True)
        current.start(spec, stored, private=options.no_save)
    except BaseException:
        _end(program, storage)
        raise
    services = AppServices(current, availability, storage)

    async def close() -> None:
        await current.close()
        await asyncio.to_thread(_end, program, storage)

    return EditorSession(services, folder, close)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long
        return False


async def _load(storage: Storage, session: str) -> StoredSession:
    return await storage.load(session)


def _end(program: Program, storage: Storage) -> None:
    asyncio.run(storage.aclose())
    program.close()
