"""The program put together: one of everything, made from the environment and the command line.

Nothing here is heavy to import; sockets, SQL and screens load when they are first needed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.app.calibration_file import CalibrationFile
from tui.app.clock import SystemClock
from tui.app.fallback_prices import fallback_price
from tui.app.ids import new_id
from tui.app.launch_options import LaunchOptions as LaunchOptions
from tui.app.recording_backend import RecordingBackend
from tui.app.user_state import UserState
from tui.bootstrap.tooling import open_tools
from tui.catalog.catalog import Catalog, packaged_catalog, users_catalog
from tui.catalog.model_spec import split_asked
from tui.domain.errors import ConfigError, PonderError
from tui.domain.fast_dataclass import dataclass
from tui.engine.compressor import HistoryCompressor
from tui.engine.planner import RequestPlanner
from tui.engine.ports import Journal, Ports, Toolbox
from tui.engine.refused_parameters import REFUSED_FILE, Endpoint, Refused, RefusedParameters
from tui.engine.thread import EngineThread
from tui.engine.token_meter import TokenMeter
from tui.providers.http.deadlines import Limits
from tui.providers.keys.lookup import Keys
from tui.settings.assign import parse
from tui.settings.config_file import ConfigFile, located, read_config
from tui.settings.layers import Layer, Layers
from tui.settings.paths import Paths, find_paths
from tui.settings.user_files import may_exist

if TYPE_CHECKING:
    from tui.providers.backend import ProviderBackend
    from tui.settings.remembered import RememberedSettings
    from tui.tools.toolbox.lazy import LazyToolbox
    from tui.tools.toolbox.toolbox import Toolbox


CLOSE_WITHIN_S = 0.5
"""Servers that do not say goodbye in this time are left without."""


@dataclass(slots=True)
class SettingsInForce:
    """The one place that the parts of a running program read settings from: a change acts on all of them at once."""

    layers: Layers


@dataclass(slots=True, kw_only=True)
class Program:
    """Everything but the session that is open."""

    paths: Paths
    environment: Mapping[str, str]
    wishes: LaunchOptions
    config: ConfigFile
    in_force: SettingsInForce
    remembered: RememberedSettings | None
    """None without a screen."""
    profile_model: str | None
    planner: RequestPlanner
    calibration: CalibrationFile
    keys: Keys
    backend: RecordingBackend
    engine: EngineThread
    user_state: UserState
    workbench: LazyToolbox | Toolbox
    toolbox: Toolbox
    """The workbench, or what a conversation file brings instead."""
    problems: list[PonderError]
    habits: RefusedParameters | None = None

    @property
    def catalog(self) -> Catalog:
        """What is known now."""
        return self.planner.catalog

    @property
    def layers(self) -> Layers:
        """The settings in force."""
        return self.in_force.layers

    def close(self) -> None:
        """End: connections are closed, the engine stops, what was learned is kept."""
        self.user_state.close()
        if self.remembered is not None:
            self.remembered.close()
        with contextlib.suppress(TimeoutError, RuntimeError):
            self.engine.call(self.backend.aclose()).result(CLOSE_WITHIN_S)
        with contextlib.suppress(TimeoutError, RuntimeError):
            self.engine.call(self.workbench.close()).result(CLOSE_WITHIN_S)
        self.engine.stop()
        self.calibration.keep()

    def ports(self, journal: Journal, *, interactive: bool) -> Ports:
        """What a session needs."""
        return Ports(
            backend=self.backend,
            journal=journal,
            planner=self.planner,
            compressor=HistoryCompressor(self.planner),
            clock=SystemClock(),
            toolbox=self.toolbox,
            new_id=new_id,
            draw=_draw,
            interactive=interactive,
            conceal=self.keys.redactor.clean_content,
            habits=self._habits_of_servers(),
        )

    def _habits_of_servers(self) -> RefusedParameters:
        """One for all sessions: the file is read with the first, before the screen's event loop runs."""
        if self.habits is None:
            self.habits = RefusedParameters(self._refused_before, self._keep_refused)
        return self.habits

    def _refused_before(self) -> Mapping[Endpoint, Refused]:
        if not may_exist(self.paths.cache / REFUSED_FILE):
            return {}
        from tui.app.refused_parameters_file import RefusedParametersFile

        return RefusedParametersFile(self.paths.cache).read()

    def _keep_refused(self, place: Endpoint, refused: Refused) -> None:
        from tui.app.refused_parameters_file import RefusedParametersFile

        RefusedParametersFile(self.paths.cache).keep(place, refused)


def build_program(environment: Mapping[str, str], wishes: LaunchOptions) -> Program:
    """The graph. A broken config is a problem to be told, a wrong command line is an error."""
    paths = find_paths(environment)
    config = read_config(paths.config_file)
    catalog, wrong = users_catalog(packaged_catalog(), config.tables, environment, file=paths.config_file.name)
    problems = [*config.problems, *(located(paths.config_file, problem) for problem in wrong)]
    layers = Layers().with_layer(Layer.CONFIG, config.values)
    remembered = None
    if not wishes.headless:  # there is no screen
        from tui.settings.remembered import RememberedSettings

        remembered = RememberedSettings(paths.state_file)
        layers = layers.with_layer(Layer.SAVED, remembered.values)
    profile_model = None
    if wishes.profile is not None:
        from tui.settings.profiles import load_profile

        profile = load_profile(paths.profiles, wishes.profile)
        layers = layers.with_layer(Layer.PROFILE, profile.values, profile.name)
        profile_model = profile.model
        if profile_model and split_asked(profile_model)[1] is not None:
            layers = replace(layers, level_at=Layer.PROFILE)
    layers = layers.with_layer(Layer.COMMAND_LINE, _assigned(wishes))
    if wishes.asked is not None or (wishes.model and split_asked(wishes.model)[1] is not None):
        layers = replace(layers, level_at=Layer.COMMAND_LINE)
    keys = Keys(paths.credentials_file, environ=environment)
    if "providers" in config.tables or "mcp" in config.tables:
        from tui.providers.configured_secrets import learn_configured

        learn_configured(keys.redactor, catalog.own_providers.values(), config.tables.get("mcp", {}), environment)
    calibration = CalibrationFile(paths.state / "calibration.json")
    scales = TokenMeter(calibration.read(), calibration.heard)
    in_force = SettingsInForce(layers)
    workbench = open_tools(
        paths,
        config,
        wishes,
        environment,
        keys.redactor.clean_content,
        call_limit_s=lambda: _call_limit_s(in_force.layers),
    )
    return Program(
        paths=paths,
        environment=environment,
        wishes=wishes,
        config=config,
        in_force=in_force,
        remembered=remembered,
        profile_model=profile_model,
        planner=RequestPlanner(catalog, scales, keys.account, fallback_price),
        calibration=calibration,
        keys=keys,
        backend=RecordingBackend(lambda: _backend(keys, environment, wishes), lambda: network_limits(in_force.layers)),
        engine=EngineThread(),
        user_state=UserState(paths.state / "memory.json"),
        workbench=workbench,
        toolbox=workbench,
        problems=[*problems, *workbench.problems],
    )


def _draw() -> float:
    import random  # wanted by retries only

    return random.SystemRandom().random()


def _backend(keys: Keys, environment: Mapping[str, str], wishes: LaunchOptions) -> ProviderBackend:
    from tui.providers.open_backend import open_backend

    return open_backend(keys, environ=environment, demo_speed=wishes.demo_speed, watched=not wishes.headless)


def _assigned(wishes: LaunchOptions) -> dict[str, object]:
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


def network_limits(layers: Layers) -> Limits:
    """The settings of ``network`` as requests obey them."""
    limits = Limits(
        connect_s=_seconds(layers, "network.connectTimeout"),
        meaning_s=_seconds(layers, "network.idleTimeout"),
        allow_http=layers.value("network.allowHttp") is True,
    )
    if layers.value("network.headerTimeout") is None:
        return limits
    header_s = _seconds(layers, "network.headerTimeout")
    return replace(limits, header_s=header_s, private_header_s=header_s)


def _call_limit_s(layers: Layers) -> float | None:
    return _seconds(layers, "tools.timeout") or None


def _seconds(layers: Layers, key: str) -> float:
    value = layers.value(key)
    assert isinstance(value, int | float)
    return float(value)
