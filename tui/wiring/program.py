"""The program put together: one of everything, made from the environment and the command line.

Nothing here is heavy to import; sockets, SQL and screens load when they are first needed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.catalog.load import Catalog, packaged_catalog
from tui.catalog.provider_rows import ollama_base_url
from tui.domain.errors import ConfigError, PonderError
from tui.engine.folding import ContextCompressor
from tui.engine.ports import Journal, NoTools, Ports, Toolbox
from tui.engine.requests import CataloguePlanner
from tui.engine.scales import CalibratedScales
from tui.engine.thread import EngineThread
from tui.providers.auth import Keys
from tui.providers.opening import open_backend
from tui.providers.patience import Limits
from tui.settings.assign import parse
from tui.settings.config_file import ConfigFile, read_config
from tui.settings.layers import Layer, Layers
from tui.settings.paths import Paths, find_paths
from tui.settings.profiles import load_profile
from tui.settings.schema import Network
from tui.wiring.calibration_file import CalibrationFile
from tui.wiring.clock import SystemClock
from tui.wiring.ids import new_id
from tui.wiring.memory import Memory, read_memory

if TYPE_CHECKING:
    from tui.providers.backend import ProviderBackend


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the command line said."""

    model: str | None = None
    profile: str | None = None
    assignments: Sequence[str] = ()
    """KEY=VALUE words."""
    no_tools: bool = False
    allow: Sequence[str] = ()
    """Tools a headless run may use without asking."""
    folder: Path = field(default_factory=Path.cwd)
    """The working folder: what tools see."""
    demo_speed: float = 1.0


@dataclass(slots=True, kw_only=True)
class Program:
    """Everything but the session that is open."""

    paths: Paths
    environment: Mapping[str, str]
    wishes: Wishes
    config: ConfigFile
    layers: Layers
    profile_model: str | None
    planner: CataloguePlanner
    calibration: CalibrationFile
    keys: Keys
    backend: ProviderBackend
    engine: EngineThread
    memory: Memory
    toolbox: Toolbox
    problems: list[PonderError]

    @property
    def catalog(self) -> Catalog:
        """What is known now."""
        return self.planner.catalog

    def ports(self, journal: Journal, *, interactive: bool) -> Ports:
        """What a session needs."""
        return Ports(
            backend=self.backend,
            journal=journal,
            planner=self.planner,
            compressor=ContextCompressor(self.planner),
            clock=SystemClock(),
            toolbox=self.toolbox,
            new_id=new_id,
            draw=random.SystemRandom().random,
            interactive=interactive,
        )


def build_program(environment: Mapping[str, str], wishes: Wishes) -> Program:
    """The graph. A broken config is a problem to be told, a wrong command line is an error."""
    paths = find_paths(environment)
    config = read_config(paths.config_file)
    problems: list[PonderError] = list(config.problems)
    catalog = _catalog(config, paths, environment, problems)
    layers = Layers().with_layer(Layer.CONFIG, config.values)
    profile_model = None
    if wishes.profile is not None:
        profile = load_profile(paths.profiles, wishes.profile)
        layers = layers.with_layer(Layer.PROFILE, profile.values, profile.name)
        profile_model = profile.model
    layers = layers.with_layer(Layer.COMMAND_LINE, _assigned(wishes))
    keys = Keys(paths.credentials_file, environ=environment)
    calibration = CalibrationFile(paths.state / "calibration.json")
    scales = CalibratedScales(calibration.read(), calibration.heard)
    settings = layers.settings()
    return Program(
        paths=paths,
        environment=environment,
        wishes=wishes,
        config=config,
        layers=layers,
        profile_model=profile_model,
        planner=CataloguePlanner(catalog, scales),
        calibration=calibration,
        keys=keys,
        backend=open_backend(
            keys,
            limits=_limits(settings.network),
            environ=environment,
            demo_speed=wishes.demo_speed,
        ),
        engine=EngineThread(),
        memory=read_memory(paths.state / "memory.json"),
        toolbox=NoTools(),
        problems=problems,
    )


def _assigned(wishes: Wishes) -> dict[str, object]:
    values: dict[str, object] = {}
    for words in wishes.assignments:
        key, equals, value = words.partition("=")
        if not equals:
            raise ConfigError(f"`--set {words}` needs KEY=VALUE.")
        name, meant = parse(key, value)
        values[name] = meant
    if wishes.no_tools:
        values["tools.enabled"] = False
    return values


def _catalog(config: ConfigFile, paths: Paths, environment: Mapping[str, str], problems: list[PonderError]) -> Catalog:
    catalog = packaged_catalog()
    rows = {name: config.tables[name] for name in ("providers", "models") if name in config.tables}
    try:
        catalog = catalog.with_overrides(rows, file=paths.config_file.name)
    except PonderError as problem:
        problems.append(problem)
    host = environment.get("OLLAMA_HOST")
    if host and "ollama" not in catalog.own_providers:
        catalog = catalog.with_base_url("ollama", ollama_base_url(host))
    return catalog


def _limits(network: Network) -> Limits:
    limits = Limits(connect_s=network.connectTimeout, meaning_s=network.idleTimeout)
    if network.headerTimeout is None:
        return limits
    return replace(limits, header_s=network.headerTimeout, private_header_s=network.headerTimeout)
