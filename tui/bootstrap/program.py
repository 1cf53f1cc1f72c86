"""Build the program from the environment and the command line.

Imports here are cheap: sockets, SQL and the screen load when they are first needed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.engine_settings import network_limits
from tui.app.launch_options import LaunchOptions
from tui.app.local_models import LocalModels
from tui.app.program import Program, SettingsInForce
from tui.app.recording_backend import RecordingBackend
from tui.app.user_state import CalibrationFile, UserState
from tui.catalog.catalog import packaged_catalog, users_catalog
from tui.catalog.model_spec import split_asked
from tui.domain.errors import ConfigError
from tui.domain.printable import printable
from tui.engine.planner import Planner
from tui.engine.thread import EngineThread
from tui.engine.token_meter import TokenMeter
from tui.providers.keys import Keys
from tui.settings.config_file import ConfigFile, located, read_config
from tui.settings.layers import Layer, Layers
from tui.settings.paths import Paths, find_paths, protect_folders
from tui.settings.schema import parse
from tui.settings.user_files import may_exist
from tui.tools.lazy_toolbox import LazyToolbox

if TYPE_CHECKING:
    from tui.app.project_files import ProjectFiles
    from tui.catalog.catalog import Catalog
    from tui.providers.backend import ProviderBackend
    from tui.providers.redaction import Redactor
    from tui.tools.toolbox import Toolbox


def build_program(environment: Mapping[str, str], options: LaunchOptions) -> Program:
    """Build all parts. An invalid config.toml becomes a problem of the program; an invalid command line raises."""
    paths = find_paths(environment)
    unprotected = protect_folders(paths)
    config = _with_servers(read_config(paths.config_file), options.mcp_servers)
    catalog, wrong = users_catalog(packaged_catalog(), config.tables, environment, file=paths.config_file.name)
    problems = [*unprotected, *config.problems, *(located(paths.config_file, problem) for problem in wrong)]
    layers = Layers().with_layer(Layer.CONFIG, config.values)
    remembered = None
    if not options.headless:  # a run without a screen has no saved display settings
        from tui.settings.remembered import RememberedSettings

        remembered = RememberedSettings(paths.state_file)
        problems += remembered.problems
        layers = layers.with_layer(Layer.SAVED, remembered.values)
    profile_model = None
    if options.profile is not None:
        from tui.settings.profiles import load_profile

        profile = load_profile(paths.profiles, options.profile)
        layers = layers.with_layer(Layer.PROFILE, profile.values, profile.name)
        profile_model = profile.model
        if profile_model and split_asked(profile_model)[1] is not None:
            layers = replace(layers, level_at=Layer.PROFILE)
    layers = layers.with_layer(Layer.COMMAND_LINE, _assigned(options))
    if options.asked is not None or (options.model and split_asked(options.model)[1] is not None):
        layers = replace(layers, level_at=Layer.COMMAND_LINE)
    keys = Keys(paths.credentials_file, environ=environment)
    if "providers" in config.tables or "mcp" in config.tables:
        from tui.providers.configured_secrets import learn_configured

        learn_configured(keys.redactor, catalog.own_providers.values(), config.tables.get("mcp", {}), environment)
    calibration = CalibrationFile(paths.state / "calibration.json")
    token_meter = TokenMeter(calibration.read(), calibration.update)
    in_force = SettingsInForce(layers)
    redact = _redact_for_tools(keys.redactor, catalog, environment)
    toolbox = open_tools(paths, config, options, environment, redact, keys.redactor)
    user_state = UserState(paths.state / "memory.json")
    planner = Planner(catalog, token_meter, keys.account)
    local_models = LocalModels(paths, environment, lambda: in_force.layers, planner.change_catalog)
    return Program(
        paths=paths,
        environment=environment,
        options=options,
        config=config,
        in_force=in_force,
        remembered=remembered,
        profile_model=profile_model,
        planner=planner,
        calibration=calibration,
        keys=keys,
        backend=RecordingBackend(
            lambda: _backend(keys, environment, options, local_models), lambda: network_limits(in_force.layers)
        ),
        engine=EngineThread(),
        user_state=user_state,
        project=_project(options, user_state, environment),
        toolbox=toolbox,
        local_models=local_models,
        session_toolbox=toolbox,
        problems=[*problems, *toolbox.problems],
        theme_names=lambda: _theme_names(paths),
    )


def say_on_stderr(sentence: str) -> None:
    """A sentence for the user where there is no screen, or not yet."""
    out = sys.__stderr__  # around the screen, this is the terminal, and the other one the log
    if out is not None:
        with contextlib.suppress(OSError):  # a full disk behind it
            out.write(printable(f"ponder: {sentence}") + ("\r\n" if out.isatty() else "\n"))
            out.flush()


def _with_servers(config: ConfigFile, servers: Mapping[str, object]) -> ConfigFile:
    """The configuration with further MCP servers. The user's own keep their names."""
    if not servers:
        return config
    mcp = config.tables.get("mcp", {})
    own = mcp.get("servers")
    both = {**servers, **(own if isinstance(own, dict) else {})}
    return replace(config, tables={**config.tables, "mcp": {**mcp, "servers": both}})


def _project(options: LaunchOptions, user_state: UserState, environment: Mapping[str, str]) -> ProjectFiles | None:
    if options.headless and not user_state.trusted:
        return None
    from tui.app.project_files import ProjectFiles

    project = ProjectFiles(options.folder, user_state, environment)
    project.read()
    return project


def _backend(
    keys: Keys, environment: Mapping[str, str], options: LaunchOptions, local_models: LocalModels
) -> ProviderBackend:
    from tui.providers.backend import ProviderBackend, transport_maker

    make = transport_maker(environ=environment, demo_speed=options.demo_speed, watched=not options.headless)
    return ProviderBackend(keys, make, open_local=local_models.open_servers)


def _theme_names(paths: Paths) -> Iterable[str]:
    from tui.ui.theme.theme_files import read_themes  # imports Textual

    return read_themes(paths.themes)[0]


def _assigned(options: LaunchOptions) -> dict[str, object]:
    values: dict[str, object] = {}
    for assignment in options.assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"`--set {assignment}` needs KEY=VALUE.")
        name, meant = parse(key, value)
        values[name] = meant
    if options.no_tools:
        values["tools.enabled"] = False
    return values


def _redact_for_tools(redactor: Redactor, catalog: Catalog, environment: Mapping[str, str]) -> Callable[[str], str]:
    """Removes keys from what tools return, also those in the environment for providers that nothing was asked of."""
    learned = False

    def redact(text: str) -> str:
        nonlocal learned
        if not learned:
            from tui.providers.configured_secrets import learn_environment

            learn_environment(redactor, catalog.providers().values(), environment)
            learned = True
        return redactor.clean_content(text)

    return redact


def open_tools(
    paths: Paths,
    config: ConfigFile,
    options: LaunchOptions,
    environment: Mapping[str, str],
    redact: Callable[[str], str],
    redactor: Redactor,
) -> LazyToolbox | Toolbox:
    """Open the toolbox: lazily for built-in tools only, at once if rules or MCP servers are configured.

    Raises ConfigError for an invalid ``--allow``.
    """

    def build() -> Toolbox:
        from tui.providers.mcp_logins import McpLogins
        from tui.tools.mcp.logins import SavedLogins
        from tui.tools.permissions.permissions import Policy
        from tui.tools.toolbox import ToolEnvironment, build_toolbox

        kept = McpLogins(paths.credentials_file, redactor)
        return build_toolbox(
            ToolEnvironment(
                folder=options.folder,
                home=Path(environment.get("HOME") or "/"),
                environment=environment,
                permissions_file=paths.permissions_file,
                protected=(paths.config, paths.data, paths.state, paths.cache),
                permissions=config.tables.get("permissions", {}),
                mcp=config.tables.get("mcp", {}),
                policy=Policy(
                    interactive=not options.headless,
                    allow=tuple(options.allow),
                    rules_are_known=config.rules_are_known,
                ),
                redact=redact,
                logins=SavedLogins(load=kept.load, save=kept.save, forget=kept.forget, learn=kept.learn),
                proxy_for=lambda url: proxy_of(url, environment),
                outputs=paths.state / "tool-output",
            )
        )

    at_once = (
        options.allow or "permissions" in config.tables or "mcp" in config.tables or may_exist(paths.permissions_file)
    )
    return build() if at_once else LazyToolbox(build)


def proxy_of(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that requests to a provider at this URL would use."""
    from urllib.parse import urlsplit

    from tui.providers.http.address import checked_url, proxy_for

    proxy = proxy_for(checked_url(url, plain_http=(urlsplit(url).hostname or "",)), environment)
    return proxy.geturl() if proxy is not None else None
