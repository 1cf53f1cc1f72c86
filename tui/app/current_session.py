"""The session on the screen: start, replace and close it; model and settings it runs under.

A session that the user leaves while it works continues in the background (``background_sessions``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tui.app.background_sessions import BackgroundSession, BackgroundSessions
from tui.app.engine_settings import engine_settings
from tui.app.ids import new_id
from tui.app.launch_options import LaunchOptions
from tui.app.program import Program
from tui.app.session_storage import Storage, StoredSession
from tui.catalog.facts import ModelFacts, Target
from tui.catalog.model_spec import parse_spec, require_asked, split_asked
from tui.catalog.plan import PLAN_KEYS, default_level, plan, plan_options
from tui.context.estimate import forget_texts
from tui.domain.errors import ConfigError, PonderError, ProviderError, StoreError, UnknownModel, UsageError
from tui.domain.events import Notice, Severity, TitleChanged
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, ThinkingPlan, model_title
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.settings.config_file import ConfigFile
from tui.settings.layers import IN_PLACE_OF_LEVELS, Layer, Layers
from tui.settings.schema import keys

T = TypeVar("T")

DEMO = ModelSpec(provider="demo", model="demo")
"""The model used when none is named and no provider is available."""
SESSION_SECTIONS = ("reasoning", "generation", "context", "budget", "tools")
"""Sections stored with a session. Values set in other sections (display, network) last until the program ends."""

OF_ONE_SESSION = (Layer.MODEL, Layer.PROFILE)
"""Layers that every open session has for itself, besides its own values."""


def _engine_settings(program: Program, layers: Layers, *, interactive: bool) -> EngineSettings:
    schema = program.options.answer_schema
    return engine_settings(
        layers, program.catalog, interactive=interactive, answer_schema=schema, project=program.project_text
    )


class CurrentSession:
    """Holds the session on the screen, with its model and settings, and those that run behind it."""

    def __init__(self, program: Program, storage: Storage, *, interactive: bool) -> None:
        self.program = program
        self.storage = storage
        self.session_id = ""
        self.spec = DEMO
        self.chosen_by_default = False
        """The user named no model: this one was picked."""
        self._interactive = interactive
        self._started = False
        self._shown_notices: set[str] = set()
        program.backend.choices = self._key_choices
        storage.listen(self.show_notice, self.title_changed)
        storage.when_locked(partial(self.show_notice, again=True))
        self._opened: BackgroundSession | None = None
        self._ended = False
        """The session is closed and still shown, until another one replaces it."""
        self.background = BackgroundSessions(program, storage)
        self.switching = asyncio.Lock()
        """Held while the session on the screen is replaced."""

    @property
    def layers(self) -> Layers:
        return self.program.in_force.layers

    @layers.setter
    def layers(self, layers: Layers) -> None:
        self.program.in_force.layers = layers

    @property
    def has_session(self) -> bool:
        """False while the session is closed and no other one has replaced it."""
        return self._opened is not None and not self._ended

    @property
    def session(self) -> Session:
        """The session on the screen; a closed one until the next has replaced it."""
        assert self._opened is not None
        return self._opened.session

    @property
    def private(self) -> bool:
        """Whether nothing of the session on the screen is stored."""
        return self._opened is not None and self._opened.private

    async def call(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the engine thread and wait for its result."""
        return await asyncio.wrap_future(self.program.engine.call(work))

    def _key_choices(self, target: Target, error: ProviderError) -> str:
        from tui.app.provider_keys import key_choices  # loaded only if a key is missing

        return key_choices(self.program, target, error, on_screen=self._interactive)

    def start(self, spec: ModelSpec, stored: StoredSession | None = None, *, private: bool = False) -> None:
        """Open a new session, or a stored one, in place of the one before, which it does not close.

        A headless run drives the session itself.
        """
        before = self.spec, self.layers, self.session_id
        try:
            self._opened = self._start(spec, stored, private=private)
        except BaseException:
            self.spec, self.layers, self.session_id = before
            raise
        self._ended = False
        self.background.mark_seen(self.session_id)
        for notice in self._new_notices():  # reported by the storage meanwhile
            self.session.announce(notice)

    def _start(self, spec: ModelSpec, stored: StoredSession | None, *, private: bool) -> BackgroundSession:
        if stored is not None and not self._started:
            stored = apply_command_line(self.program, stored)
        self._started = True
        self.spec = stored.spec if stored is not None and stored.spec is not None else spec
        layers = self.layers.with_layer(Layer.MODEL, self.facts.recommended, self.facts.id)
        restored, lost = self._restored_settings(stored.settings if stored is not None else {})
        self.layers = layers.with_layer(Layer.SESSION, {**_of_the_run(layers), **restored})
        self._find_level(stored)
        self.session_id = stored.id if stored is not None else new_id()
        private = private or self.storage.is_private(self.session_id)
        if private:
            from tui.providers.log_file import omit_texts

            omit_texts()
            self.storage.begin_private(self.session_id)
        opening = Opening(
            session=self.session_id,
            spec=self.spec,
            settings=_engine_settings(self.program, self.layers, interactive=self._interactive),
            turns=stored.turns if stored is not None else (),
            compression=stored.compression if stored is not None else None,
            summaries=stored.summaries if stored is not None else (),
            elsewhere=stored.elsewhere if stored is not None else (),
            title=stored.title if stored is not None else "",
            queue=stored.queue if stored is not None else (),
            values={name: self.layers.value(name) for name in keys()},
            notices=self._new_notices(stored.notice if stored is not None else "", lost),
        )
        journal = self.storage.journal(self.session_id, str(self.spec))
        ports = self.program.ports(journal, self.storage.ledger, interactive=self._interactive, private=private)
        session = Session(ports, opening)
        life = self.program.engine.call(session.run()) if self._interactive else None
        return BackgroundSession(
            id=self.session_id, session=session, spec=self.spec, layers=self.layers, life=life, private=private
        )

    # Sessions side by side

    async def replace(self, spec: ModelSpec, stored: StoredSession | None = None, *, private: bool = False) -> None:
        """Put a new or stored session on the screen; the one before continues in the background while it works."""
        shown = stored.spec if stored is not None and stored.spec is not None else spec
        if self.program.local_models.is_unknown(shown):
            with contextlib.suppress(PonderError):  # reported when it is asked
                await asyncio.to_thread(self.program.local_models.learn, shown.model)
        left = self._leave()
        self.start(spec, stored, private=private)
        await self.background.set_aside(left)

    async def bring_back(self, session: str) -> bool:
        """Put a session of the background on the screen; False if it is not open here."""
        opened = self.background.take(session)
        if opened is None:
            await self.background.wait_until_closed(session)
            return False
        left = self._leave()
        self._opened, self._ended = opened, False
        self.session_id, self.spec = opened.id, opened.spec
        self.background.mark_seen(opened.id)
        before = opened.layers
        # Its own values, above what holds for the whole program and may have changed meanwhile.
        layers = replace(
            self.layers,
            values={**self.layers.values, **{name: before.values.get(name, {}) for name in OF_ONE_SESSION}},
            names={**self.layers.names, **{name: before.names.get(name, "") for name in OF_ONE_SESSION}},
            level_at=before.level_at,
        )
        own = {name: value for name, value in before.values.get(Layer.SESSION, {}).items() if _belongs_to_session(name)}
        self.layers = layers.with_layer(Layer.SESSION, {**_of_the_run(self.layers), **own})
        settings = _engine_settings(self.program, self.layers, interactive=self._interactive)
        try:
            await self.call(opened.session.assign(settings, changed_values(before, self.layers)))
        finally:
            await self.background.set_aside(left)
        return True

    def _leave(self) -> BackgroundSession | None:
        """The session on the screen, with what it needs when the user comes back."""
        opened = self._opened if not self._ended else None
        if opened is not None:
            opened.spec, opened.layers = self.spec, self.layers
        if not self.background.all():
            forget_texts()
        return opened

    def session_of(self, session: str) -> Session:
        """An open session by its id; raises UsageError if it is not open."""
        if session in ("", self.session_id):
            return self.session
        opened = self.background.get(session)
        if opened is None:
            raise UsageError("That session is no longer open.")
        return opened.session

    def show_notice(self, sentence: str, *, again: bool = False) -> None:
        """Show a notice of the storage, once or each time. Before a session is open, the first one shows it."""
        if self._opened is not None and (again or sentence not in self._shown_notices):
            self._shown_notices.add(sentence)
            self.session.announce(Notice(Severity.WARNING, sentence))

    def title_changed(self, session: str, title: str) -> None:
        """Publish a new title if the session is open."""
        opened = self._opened if session == self.session_id else self.background.get(session)
        if opened is not None:
            opened.session.announce(TitleChanged(title))

    async def close_shown(self) -> None:
        """End the session on the screen; its turns are saved. It stays shown until another one replaces it."""
        opened = self._opened
        if opened is None or opened.life is None or self._ended:
            return
        self._ended = True
        await self.call(opened.session.close())
        await self.background.closed(opened)

    async def close(self) -> None:
        """End all sessions; what they have of their answers is saved."""
        await self.background.begin_closing()
        await self.close_shown()
        await self.background.wait_until_all_closed()
        forget_texts()

    @property
    def facts(self) -> ModelFacts:
        return self.program.catalog.find(self.spec.provider, self.spec.model)

    def planned(
        self, spec: ModelSpec, layers: Layers | None = None, *, context_tokens: int | None = None
    ) -> ThinkingPlan:
        """The thinking plan that this model and level, and these settings, would lead to."""
        layers = layers if layers is not None else self.layers
        facts = self.program.catalog.find(spec.provider, spec.model)
        values = {name: layers.for_plan(name) for name in PLAN_KEYS}
        options = plan_options(values, context_tokens=context_tokens, overriding_source=layers.overriding_source())
        asked = spec.asked if spec.asked is not None else self.asked
        return plan(facts, self.program.catalog.provider(spec.provider), asked, **options)

    @property
    def asked(self) -> Asked:
        """The level or budget in use."""
        return self.spec.asked if self.spec.asked is not None else ThinkingLevel.MED

    def _find_level(self, stored: StoredSession | None) -> None:
        """Choose a level if the model name had none. A stored level overrides config.toml, not the command line."""
        unsaid = default_level({name: self.layers.value(name) for name in ("reasoning.enabled", *IN_PLACE_OF_LEVELS)})
        left = stored is not None and stored.spec is not None
        if left and self.spec.asked not in (None, unsaid):
            self.layers = replace(self.layers, level_at=max(self.layers.level_at, Layer.PROFILE))
        elif self.spec.asked is None:
            self.spec = replace(self.spec, asked=unsaid)

    async def apply(self, layers: Layers, changed: Mapping[str, object]) -> ThinkingPlan:
        """Use other settings from the next turn on; returns the new thinking plan."""
        settings = _engine_settings(self.program, layers, interactive=self._interactive)
        with self.changed_to(self.spec, layers):
            return await self.call(self.session.assign(settings, changed))

    @contextlib.contextmanager
    def changed_to(self, spec: ModelSpec, layers: Layers | None = None) -> Iterator[None]:
        """Set model and settings; restore them if the session refuses.

        The session publishes the change inside: a follower that reads them when it gets the event finds the new ones.
        """
        before = self.spec, self.layers
        self.spec, self.layers = spec, layers if layers is not None else self.layers
        try:
            yield
        except BaseException:
            self.spec, self.layers = before
            raise

    async def use(self, spec: ModelSpec, *, remember: bool = True, of_profile: bool = False) -> str:
        """Use another model or level; returns a message for the user."""
        before = self.layers
        level_said = spec.asked is not None and not of_profile and before.overriding_source()
        layers = with_level_chosen(before) if level_said else before
        spec = spec if spec.asked is not None else replace(spec, asked=self.spec.asked)
        layers = with_model_chosen(layers, self.program.catalog.find(spec.provider, spec.model))
        settings = _engine_settings(self.program, layers, interactive=self._interactive)
        with self.changed_to(spec, layers):
            plan = await self.call(self.session.set_model(spec, settings, changed_values(before, layers)))
        aside = [
            f"`{name}` is set aside: the level was said later"
            for name in IN_PLACE_OF_LEVELS
            if before.for_plan(name) is not None and layers.for_plan(name) is None
        ]
        if remember:
            self.chosen_by_default = False
            self.program.user_state.add_recent(str(spec))
            await self.save_settings()
        return describe_model(self, plan, *aside)

    async def choose_level(self) -> None:
        """Drop settings that replace levels: the user has chosen a level."""
        layers = with_level_chosen(self.layers)
        await self.apply(layers, changed_values(self.layers, layers))

    def session_settings(self) -> dict[str, object]:
        """The values set in this session that are stored with it."""
        values = self.layers.values.get(Layer.SESSION, {})
        return {name: value for name, value in values.items() if _belongs_to_session(name)}

    async def save_settings(self) -> None:
        """Store model, level and settings for the next time the session is opened."""
        try:
            await self.storage.save_settings(self.session_id, self.spec, self.session_settings())
        except StoreError as error:
            self.show_notice(f"The model and settings of this session are not saved: {error.message}")

    def _restored_settings(self, settings: Mapping[str, object]) -> tuple[dict[str, object], str]:
        """Values of a stored session that the command line does not override, and a notice about invalid ones."""
        if not settings:
            return {}, ""
        from tui.settings.schema import checked_value

        overruled = self.layers.values.get(Layer.COMMAND_LINE, {})
        found: dict[str, object] = {}
        lost: list[str] = []
        for name, value in settings.items():
            try:
                if name not in overruled and _belongs_to_session(name):
                    found[name] = checked_value(keys()[name], value)
                    if name == "context.compressionModel" and isinstance(value, str):
                        parse_spec(value, self.program.catalog)
            except (PonderError, KeyError):  # stored by another version, or the model is gone
                found.pop(name, None)
                lost.append(name)
        return found, f"What this session had set cannot be any more: {', '.join(lost)}." if lost else ""

    def _new_notices(self, *notices: str) -> tuple[Notice, ...]:
        """Storage notices not shown yet, and notices about this session."""
        sentences = [sentence for sentence in self.storage.notices if sentence not in self._shown_notices]
        self._shown_notices.update(sentences)
        return tuple(Notice(Severity.WARNING, sentence) for sentence in (*sentences, *notices) if sentence)


def describe_model(current: CurrentSession, plan: ThinkingPlan, *more: str) -> str:
    """One line: model, API, thinking in force, and all warnings."""
    provider = current.program.catalog.provider(current.spec.provider)
    head = f"{provider.title} · {model_title(current.facts.id)} · {current.facts.wire}"
    return " — ".join((head, plan.summary, *plan.warnings, *more))


def add_notice(session: Session, sentence: str) -> None:
    """Add a notice about model and thinking to the conversation."""
    warned = session.view().plan.warnings
    session.announce(Notice(Severity.WARNING if warned else Severity.INFO, sentence))


def changed_values(before: Layers, after: Layers) -> Mapping[str, object]:
    """The settings whose value differs."""
    return {name: after.value(name) for name in keys() if after.value(name) != before.value(name)}


def with_model_chosen(layers: Layers, facts: ModelFacts) -> Layers:
    """The layers after a model was chosen: with the settings recommended for it."""
    return layers.with_layer(Layer.MODEL, facts.recommended, facts.id)


def with_level_chosen(layers: Layers) -> Layers:
    """The layers after a level was chosen in the session."""
    for name in IN_PLACE_OF_LEVELS:
        layers = layers.without(Layer.SESSION, name)
    return replace(layers, level_at=Layer.SESSION)


def _of_the_run(layers: Layers) -> dict[str, object]:
    """Values set in the session layer that hold for all sessions until the program ends."""
    values = layers.values.get(Layer.SESSION, {})
    return {name: value for name, value in values.items() if not _belongs_to_session(name)}


def _belongs_to_session(name: str) -> bool:
    return name.partition(".")[0] in SESSION_SECTIONS


def apply_command_line(program: Program, stored: StoredSession) -> StoredSession:
    """Override the stored model, level and settings with those of the command line."""
    options = program.options
    spec = stored.spec
    if options.model:
        named = parse_spec(options.model, program.catalog)
        spec = named if named.asked is not None or spec is None else replace(named, asked=spec.asked)
        if options.asked is not None:
            spec = replace(spec, asked=require_asked(options.asked))
    elif program.profile_model:
        spec = None
    elif options.asked is not None and spec is not None:
        spec = replace(spec, asked=require_asked(options.asked))
    profile = program.layers.values.get(Layer.PROFILE, {}) if options.profile is not None else {}
    settings = {name: value for name, value in stored.settings.items() if name not in profile}
    return replace(stored, spec=spec, settings=settings)


def first_spec(program: Program, ready: list[ModelSpec]) -> ModelSpec:
    """The first model: the named one, else the one used last, else an available one, else the demo."""
    spec, asked = _first_model(program, ready), program.options.asked
    return spec if asked is None else replace(spec, asked=require_asked(asked))


def first_listed_spec(
    program: Program, ready: list[ModelSpec], merge_cached_lists: Callable[..., None], *, always: bool
) -> ModelSpec:
    """Return ``first_spec``, reading the cached lists if the model is unknown and its name ends like a level.

    The end may belong to the name: only the list tells. ``always`` reads the list of every unknown model's provider.
    """
    try:
        spec = first_spec(program, ready)
    except UnknownModel:
        merge_cached_lists()
        return first_spec(program, ready)
    ends_like_level = split_asked(named_model(program))[1] is not None
    if (always or ends_like_level) and not program.catalog.find(spec.provider, spec.model).known:
        merge_cached_lists(spec.provider)
        return first_spec(program, ready)
    return spec


def named_model(program: Program) -> str:
    """The model named on the command line, in a profile or in config.toml; "" if none."""
    return program.options.model or program.profile_model or program.layers.settings().model or ""


def refuse_hidden_model(config: ConfigFile, named: str) -> None:
    """Raise ConfigError if config.toml may name a model that could not be read: another one must not answer for it.

    ``named`` is the model that answers all the same; "" if none is named elsewhere.
    """
    if config.hides_model is not None and not named:
        raise _nothing_sent(config.hides_model, "name a model (-m PROVIDER/MODEL)")


def refuse_hidden_limit(config: ConfigFile, options: LaunchOptions) -> None:
    """Raise ConfigError if config.toml sets a spending limit that could not be read, and the command line sets none."""
    given = options.max_cost is not None or any(one.startswith("budget.") for one in options.assignments)
    if config.hides_limit is not None and not given:
        raise _nothing_sent(config.hides_limit, "set a limit (--max-cost DOLLARS)")


def _nothing_sent(hidden: ConfigError, otherwise: str) -> ConfigError:
    problem = ConfigError(hidden.message, file=hidden.file, line=hidden.line, column=hidden.column, key=hidden.key)
    problem.advice = f"{hidden.advice} Nothing was sent: correct it, or {otherwise}.".lstrip()
    return problem


def _first_model(program: Program, ready: list[ModelSpec]) -> ModelSpec:
    name = named_model(program)
    if name:
        return parse_spec(name, program.catalog)
    for name in program.user_state.recent:
        try:
            spec = parse_spec(name, program.catalog)
        except PonderError:
            continue
        if any(spec.provider == other.provider for other in ready):
            return spec
    return ready[0] if ready else DEMO
