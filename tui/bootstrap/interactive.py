"""What the screen and the line-by-line form of the program have in common when they start and end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from tui.domain.errors import PonderError, StoreError

if TYPE_CHECKING:
    from tui.app.current_session import CurrentSession
    from tui.app.program import Program
    from tui.app.services import AppServices
    from tui.app.session_storage import Storage, StoredSession
    from tui.commands.registry import Registry
    from tui.domain.thinking import ModelSpec
    from tui.ui.terminal.shutdown import Shutdown


@contextmanager
def opened(
    program: Program, shutdown: Shutdown, resume: str | None, *, latest: bool, screen: bool
) -> Iterator[AppServices]:
    """The program with its engine, its storage and an open session, until the end."""
    from tui.app.current_session import DEMO, CurrentSession, first_listed_spec, named_model
    from tui.app.private_sessions import StorageWithPrivate
    from tui.app.provider_availability import ProviderAvailability
    from tui.app.services import AppServices
    from tui.app.session_storage import open_storage
    from tui.bootstrap.program import say_on_stderr
    from tui.providers.log_file import open_log

    open_log(program.paths.log_file, program.keys.redactor, program.environment, screen=screen)
    availability = ProviderAvailability(program)
    availability.look_for_keys(stored=False)
    storage: Storage = StorageWithPrivate(open_storage(program))
    program.engine.start()
    program.engine.keep_going_without_threads()
    program.engine.call(program.toolbox.ready())
    current = CurrentSession(program, storage, interactive=True)
    storage.when_locked(say_on_stderr)  # there is no screen yet
    try:
        shutdown.leave_if_signalled()
        continues = resume is not None or latest
        stored = asyncio.run(_find_stored(program, storage, resume, latest=latest)) if continues else None
        spec = first_listed_spec(program, availability.ready(), availability.merge_cached_lists, always=False)
        _learn_local(program, stored.spec if stored is not None and stored.spec is not None else spec)
        current.chosen_by_default = spec == DEMO and not named_model(program)
        current.start(spec, stored, private=program.options.no_save)
        storage.when_locked(partial(current.show_notice, again=True))
        shutdown.leave_if_signalled()
        yield AppServices(current, availability, storage)
    finally:
        storage.when_locked(say_on_stderr)
        try:
            asyncio.run(_end_sessions(current, storage))
        finally:
            program.close()


def _learn_local(program: Program, spec: ModelSpec) -> None:
    """Read what the file of a local model says; one that was named for this start must be usable."""
    if not program.local_models.is_unknown(spec):
        return
    try:
        program.local_models.learn(spec.model)
    except PonderError as error:
        if program.options.model:
            raise
        program.problems.append(error)


async def _end_sessions(current: CurrentSession, storage: Storage) -> None:
    """Save the sessions before the engine stops."""
    await current.close()
    await storage.aclose()


async def _find_stored(program: Program, storage: Storage, resume: str | None, *, latest: bool) -> StoredSession | None:
    """The session to continue: the named one, the last one, or none."""
    if resume is not None:
        return await storage.load(resume)
    if not latest:
        return None
    try:
        session = await storage.latest()
        return await storage.load(session) if session is not None else None
    except StoreError as error:  # a new session can still be used
        program.problems.append(error)
        return None


def commands_with_prompts(program: Program, services: AppServices) -> Registry:
    """The program's commands and those of prompt templates. What cannot be used becomes a problem of the program."""
    from tui.commands.builtin import registry

    commands = registry()
    if services.project.may_have_prompts:
        from tui.commands.builtin.project import PROMPT, template_commands

        templates = services.project.read_templates(commands.slash_words)
        commands = commands.with_commands(PROMPT, template_commands(templates))
        program.problems.extend(PonderError(problem) for problem in templates.problems)
    if offer := services.project.offer():
        program.problems.append(PonderError(offer, advice="`/trust show` prints it."))
    return commands
