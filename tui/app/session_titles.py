"""Titles that a model writes after the first answer, in a request of its own beside the conversation."""

# A module of its own, because it is loaded only if ``ui.titles`` is ``model``.
from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.app.engine_settings import engine_settings
from tui.app.side_questions import settings_for
from tui.domain.blocks import TextBlock
from tui.domain.errors import PonderError
from tui.domain.messages import Role, Turn
from tui.domain.thinking import ThinkingLevel

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tui.app.current_session import CurrentSession
    from tui.domain.thinking import ModelSpec
    from tui.engine.session import Session
    from tui.engine.settings import EngineSettings
    from tui.engine.side_turns import SideTurn

LOG = logging.getLogger(__name__)

INSTRUCTION = (
    "Write a title for the conversation below: at most six words, in the language of its first message, "
    "no quotation marks, no full stop. Answer with the title only."
)
LONGEST_PROMPT, LONGEST_ANSWER = 2_000, 1_000
"""Characters of the first prompt and of its answer that are sent."""
LONGEST_TITLE = 80
"""A longer first line is not a title."""


def begin_title(current: CurrentSession) -> None:
    """Have the title of the new session on the screen written when its first turn has ended. Does not wait."""
    session, spec = current.session, replace(_writer(current), asked=ThinkingLevel.NONE)
    writing = _write(current, current.session_id, session, spec, settings_for(current, spec))
    current.program.engine.call(writing).add_done_callback(_log_failure)


def _writer(current: CurrentSession) -> ModelSpec:
    return engine_settings(current.layers, current.program.catalog).compression_model or current.spec


async def _write(
    current: CurrentSession, name: str, session: Session, spec: ModelSpec, settings: EngineSettings
) -> None:
    """On the engine's thread."""
    await session.idle()
    view = session.glance()
    question = _question(view.turns[0]) if view.turns else ""
    if not question:
        return
    side: SideTurn | None = None
    try:
        [side] = await session.ask_aside((TextBlock(text=question),), [(spec, settings)], apart=True)
        await side.ended()
        title = title_in(_said(side.finished, Role.ASSISTANT)) if side.finished is not None else ""
        if title:
            await current.storage.rename(name, title, by_user=False)
    except PonderError as error:  # the title stays that of the prompt
        LOG.info("no title was written: %s", error.message)
    finally:
        if side is not None:
            await session.side_turns.drop([side.id])
            current.program.planner.forget(side.session)
            current.program.backend.forget(side.session)


def _question(turn: Turn) -> str:
    """What is asked; "" if nothing was answered."""
    answer = _said(turn, Role.ASSISTANT)
    prompt = _said(turn, Role.USER)
    if not answer or not prompt:
        return ""
    said = f"User: {prompt[:LONGEST_PROMPT]}\n\nAssistant: {answer[:LONGEST_ANSWER]}"
    return f"{INSTRUCTION}\n\n<conversation>\n{said}\n</conversation>"


def _said(turn: Turn, role: Role) -> str:
    texts = (
        block.text
        for message in turn.messages
        if message.role is role and not message.superseded
        for block in message.blocks
        if isinstance(block, TextBlock)
    )
    return "\n".join(texts).strip()


def title_in(answer: str) -> str:
    """The title in a model's answer, without the marks that models put around it; "" if there is none."""
    line = next((line for line in answer.splitlines() if line.strip(" #*_`\"'")), "")
    title = line.strip().lstrip("#").strip(" *_`\"'“”„«»").removesuffix(".")
    title = title.removeprefix("Title:").strip(" *_`\"'“”„«»")
    return title if len(title) <= LONGEST_TITLE else ""


def _log_failure(writing: Future[None]) -> None:
    if not writing.cancelled() and (error := writing.exception()) is not None:
        LOG.error("a title could not be written", exc_info=error)
