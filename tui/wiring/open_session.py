"""The session that is open: started, replaced, closed; and the settings it runs under."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import TypeVar

from tui.catalog.facts import ModelFacts
from tui.catalog.spec import parse_spec, require_asked
from tui.context.estimate import forget_texts
from tui.domain.errors import PonderError, StoreError
from tui.domain.events import Notice, Severity, TitleChanged
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel
from tui.engine.session import Opening, Session
from tui.settings.layers import Layer, Layers
from tui.settings.schema import keys
from tui.wiring.engine_settings import engine_settings
from tui.wiring.ids import new_id
from tui.wiring.program import Program
from tui.wiring.storage import Storage, Stored

T = TypeVar("T")

DEMO = ModelSpec(provider="demo", model="demo", asked=ThinkingLevel.MED)
"""Who answers when nothing was found and nobody was asked for."""
CLOSE_WITHIN_S = 2.0


class OpenSession:
    """One session at a time, with its layers of settings."""

    def __init__(self, program: Program, storage: Storage, *, interactive: bool) -> None:
        self.program = program
        self.storage = storage
        self.layers: Layers = program.layers
        self.session_id = ""
        self.spec = DEMO
        self.chosen_by_default = False
        """Nobody asked for this model; it was what there was."""
        self._interactive = interactive
        self._told: set[str] = set()
        storage.listen(self)
        self._session: Session | None = None
        self._life: concurrent.futures.Future[None] | None = None

    @property
    def session(self) -> Session:
        """The one that is open."""
        assert self._session is not None
        return self._session

    async def call(self, work: Coroutine[object, object, T]) -> T:
        """Have the engine do something, and wait for it."""
        return await asyncio.wrap_future(self.program.engine.call(work))

    def start(self, spec: ModelSpec, stored: Stored | None = None) -> None:
        """Open a new session, or a stored one. A headless run gives it life by itself."""
        self.spec = self._with_level(stored.spec if stored is not None and stored.spec is not None else spec)
        self.layers = self.layers.with_layer(Layer.MODEL, self.facts.recommended, self.facts.id)
        self.session_id = stored.id if stored is not None else new_id()
        opening = Opening(
            session=self.session_id,
            spec=self.spec,
            settings=engine_settings(self.layers.settings(), self.program.catalog),
            turns=stored.turns if stored is not None else (),
            view=stored.view if stored is not None else None,
            title=stored.title if stored is not None else "",
            values=self.values(),
            notices=self._untold(stored.notice if stored is not None else ""),
        )
        journal = self.storage.journal(self.session_id, str(self.spec))
        self._session = Session(self.program.ports(journal, interactive=self._interactive), opening)
        if self._interactive:
            self._life = self.program.engine.call(self._session.run())

    def told(self, sentence: str) -> None:
        """The storage says something; before there is a session, the first one will."""
        if self._session is not None and sentence not in self._told:
            self._told.add(sentence)
            self._session.announce(Notice(Severity.WARNING, sentence))

    def renamed(self, session: str, title: str) -> None:
        """The title on the screen follows."""
        if self._session is not None and session == self.session_id:
            self._session.announce(TitleChanged(title))

    async def close(self) -> None:
        """End it; what it did is kept."""
        if self._session is None or self._life is None:
            return
        await self.call(self._session.close())
        try:
            await asyncio.wait_for(asyncio.wrap_future(self._life), CLOSE_WITHIN_S)
        except TimeoutError:
            self._life.cancel()
        self._session = self._life = None
        forget_texts()
        with contextlib.suppress(StoreError):  # nobody waits for a place that cannot be written
            await self.storage.leave(self.session_id)

    @property
    def facts(self) -> ModelFacts:
        """What is known of the model in use."""
        return self.program.catalog.find(self.spec.provider, self.spec.model)

    def values(self) -> dict[str, object]:
        """Every setting that is in force."""
        return {name: self.layers.value(name) for name in keys()}

    async def apply(self, layers: Layers, changed: Mapping[str, object]) -> None:
        """Run under other settings from the next turn on."""
        settings = engine_settings(layers.settings(), self.program.catalog)
        self.layers = layers
        await self.call(self.session.assign(settings, changed))

    async def use(self, spec: ModelSpec, *, remember: bool = True) -> str:
        """Ask another model or at another level; the sentence for the user."""
        spec = spec if spec.asked is not None else replace(spec, asked=self.spec.asked)
        plan = await self.call(self.session.set_model(spec))
        self.spec = spec
        before = self.layers
        layers = before.with_layer(Layer.MODEL, self.facts.recommended, self.facts.id)
        changed = {name: layers.value(name) for name in keys() if layers.value(name) != before.value(name)}
        await self.apply(layers, changed)
        if remember:
            self.chosen_by_default = False
            self.program.memory.used(str(spec))
            self.program.memory.keep()
            await self.storage.remember(self.session_id, spec)
        provider = self.program.catalog.provider(spec.provider)
        head = f"{provider.title} · {self.facts.id} · {self.facts.wire}"
        return " — ".join((head, plan.summary, *plan.warnings))

    def _untold(self, notice: str) -> tuple[Notice, ...]:
        """What the storage said before anybody could hear it, and what is to be said of this session."""
        sentences = [sentence for sentence in self.storage.notices if sentence not in self._told]
        self._told.update(sentences)
        return tuple(Notice(Severity.WARNING, sentence) for sentence in (*sentences, notice) if sentence)

    def _with_level(self, spec: ModelSpec) -> ModelSpec:
        asked: Asked = spec.asked if spec.asked is not None else ThinkingLevel.MED
        return replace(spec, asked=asked)


def first_spec(program: Program, ready: list[ModelSpec]) -> ModelSpec:
    """The model to begin with: asked for, configured, used last, found; else the demo. At the level asked for."""
    spec, asked = _first_model(program, ready), program.wishes.asked
    return spec if asked is None else replace(spec, asked=require_asked(asked))


def _first_model(program: Program, ready: list[ModelSpec]) -> ModelSpec:
    configured = program.layers.settings().model
    for name in (program.wishes.model, program.profile_model, configured):
        if name:
            return parse_spec(name, program.catalog)
    for name in program.memory.recent:
        try:
            spec = parse_spec(name, program.catalog)
        except PonderError:
            continue
        if any(spec.provider == other.provider for other in ready):
            return spec
    return ready[0] if ready else DEMO
