"""Questions beside the open session: to its own model, or to several models at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.app.current_session import CurrentSession, with_level_chosen
from tui.app.engine_settings import engine_settings
from tui.catalog.model_spec import parse_change
from tui.domain.blocks import TextBlock
from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ModelSpec
from tui.engine.settings import EngineSettings
from tui.settings.layers import Layer

if TYPE_CHECKING:
    from tui.engine.session import Session
    from tui.engine.side_turns import SideTurn

FEWEST, MOST = 2, 6
"""Models of one question."""
BLIND = "blind"
"""The word that hides their names."""
EXAMPLE = "For example: `/ask low,high Why is the sky dark?`"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedQuestion:
    """One question to several models."""

    question: str
    specs: tuple[ModelSpec, ...]
    is_blind: bool = False


class SideQuestions:
    """Asks, stops, keeps and chooses side answers."""

    def __init__(self, current: CurrentSession) -> None:
        self._current = current
        self._sessions: dict[str, Session] = {}
        """The session of each answer: another one may be shown meanwhile."""

    async def ask(self, question: str) -> SideTurn:
        """Ask the session's model beside the conversation."""
        [side] = await self._ask(question, ())
        return side

    def several(self, argument: str) -> SharedQuestion:
        """Parse ``[blind] NAME,NAME QUESTION``. A name may be a level of the current model. Raises UsageError."""
        words = argument.split()
        is_blind = bool(words) and words[0].lower() == BLIND
        words = words[1:] if is_blind else words
        names = ""
        while words and (not names or names.endswith(",") or words[0].startswith(",")):
            names += words.pop(0)
        listed = [name for name in names.split(",") if name]
        if not FEWEST <= len(listed) <= MOST:
            raise UsageError(f"/ask takes {FEWEST} to {MOST} models, separated by commas.", advice=EXAMPLE)
        if not words:
            raise UsageError("The question is missing.", advice=EXAMPLE)
        specs = tuple(parse_change(name, self._current.spec, self._current.program.catalog) for name in listed)
        return SharedQuestion(question=" ".join(words), specs=specs, is_blind=is_blind)

    async def ask_several(self, several: SharedQuestion) -> Sequence[SideTurn]:
        """Send the question to all models; blind answers are returned in random order."""
        answerers = [(spec, settings_for(self._current, spec)) for spec in several.specs]
        sides = list(await self._ask(several.question, answerers))
        if not self._current.private:
            self._current.program.user_state.add_prompt(several.question)
        if several.is_blind:
            import random  # only here

            random.SystemRandom().shuffle(sides)
        return sides

    async def stop(self, turn_id: str) -> None:
        """Stop one answer; what arrived stays."""
        await self._current.call(self._sessions[turn_id].side_turns.cancel(turn_id))

    async def drop(self, turn_ids: Sequence[str]) -> None:
        """Stop these answers and forget them, unless they are to be kept."""
        for session in {self._sessions.pop(turn_id) for turn_id in turn_ids if turn_id in self._sessions}:
            await self._current.call(session.side_turns.drop(turn_ids))

    async def keep(self, turn_id: str) -> bool:
        """Keep an answer as a branch; False if it is kept as soon as it has arrived."""
        return await self._current.call(self._sessions[turn_id].side_turns.keep(turn_id))

    async def leave(self, turn_ids: Sequence[str]) -> int:
        """Stop these answers, and keep as branches those that have begun; returns their number."""
        kept = 0
        for session in {self._sessions.pop(turn_id) for turn_id in turn_ids if turn_id in self._sessions}:
            kept += await self._current.call(session.side_turns.leave(turn_ids))
        return kept

    async def choose(self, side: SideTurn, all_of_them: Sequence[str]) -> str:
        """Continue the conversation with this answer and its model; returns a message for the user."""
        session = self._sessions[side.id]
        branches = await self._current.call(session.choose_answer(side.id, all_of_them))
        for turn_id in all_of_them:
            self._sessions.pop(turn_id, None)
        if session is self._current.session and side.spec != self._current.spec:
            await self._current.use(side.spec)
        others = {0: "", 1: " The other answer is a branch."}.get(branches, f" {branches} other answers are branches.")
        return f"Continues with {side.spec.model}.{others}"

    async def _ask(self, question: str, answerers: Sequence[tuple[ModelSpec, EngineSettings]]) -> Sequence[SideTurn]:
        if not question.strip():
            raise UsageError("There is nothing to ask.")
        session = self._current.session
        sides = await self._current.call(session.ask_aside((TextBlock(text=question.strip()),), answerers))
        self._sessions.update({side.id: session for side in sides})
        return sides


def settings_for(current: CurrentSession, spec: ModelSpec) -> EngineSettings:
    """The settings that the session would have with this model and level."""
    layers = current.layers if spec.asked == current.spec.asked else with_level_chosen(current.layers)
    facts = current.program.catalog.find(spec.provider, spec.model)
    layers = layers.with_layer(Layer.MODEL, facts.recommended, facts.id)
    return engine_settings(layers, current.program.catalog, project=current.program.project_text)
