"""The parts of the running program, except the open session."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from tui.app.ids import new_id
from tui.app.launch_options import LaunchOptions
from tui.app.local_models import LocalModels
from tui.app.recording_backend import RecordingBackend
from tui.app.user_state import CalibrationFile, UserState
from tui.catalog.catalog import Catalog
from tui.domain.errors import PonderError
from tui.domain.fast_dataclass import dataclass
from tui.engine.budget import Ledger
from tui.engine.compressor import Compressor
from tui.engine.planner import Planner
from tui.engine.ports import Clock, Journal, Ports
from tui.engine.ports import Toolbox as ToolboxPort
from tui.engine.refused_parameters import REFUSED_FILE, Endpoint, Refused, RefusedParameters
from tui.engine.thread import EngineThread
from tui.providers.keys import Keys
from tui.settings.config_file import ConfigFile
from tui.settings.layers import Layers
from tui.settings.paths import Paths
from tui.settings.user_files import may_exist

if TYPE_CHECKING:
    from tui.app.project_files import ProjectFiles
    from tui.settings.remembered import RememberedSettings
    from tui.tools.lazy_toolbox import LazyToolbox
    from tui.tools.toolbox import Toolbox


class SystemClock:
    """Implements the engine's ``Clock``."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


CLOSE_WITHIN_S = 0.5
"""Time limit for closing connections and servers."""


@dataclass(slots=True)
class SettingsInForce:
    """The current settings, shared by all parts of the program: a change applies to all at once."""

    layers: Layers


@dataclass(slots=True, kw_only=True)
class Program:
    paths: Paths
    environment: Mapping[str, str]
    options: LaunchOptions
    config: ConfigFile
    in_force: SettingsInForce
    remembered: RememberedSettings | None
    """None if headless."""
    profile_model: str | None
    planner: Planner
    calibration: CalibrationFile
    keys: Keys
    backend: RecordingBackend
    engine: EngineThread
    user_state: UserState
    toolbox: LazyToolbox | Toolbox
    local_models: LocalModels
    session_toolbox: ToolboxPort
    """``toolbox``, or the tools of a conversation file."""
    project: ProjectFiles | None
    """The instructions of the working folder; None in a headless run that trusts no folder."""
    problems: list[PonderError]
    theme_names: Callable[[], Iterable[str]]
    refused_parameters: RefusedParameters | None = None
    clock: Clock = field(default_factory=SystemClock)

    @property
    def catalog(self) -> Catalog:
        return self.planner.catalog

    @property
    def layers(self) -> Layers:
        return self.in_force.layers

    @property
    def project_text(self) -> str:
        """What trusted files of the working folder add to the system prompt."""
        return self.project.text if self.project is not None else ""

    def close(self) -> None:
        """Close connections, stop the engine, and save state and calibration."""
        self.keys.stop_commands()
        self.user_state.close()
        if self.remembered is not None:
            self.remembered.close()
        with contextlib.suppress(TimeoutError, RuntimeError):
            self.engine.call(self.backend.aclose()).result(CLOSE_WITHIN_S)
        with contextlib.suppress(TimeoutError, RuntimeError):
            self.engine.call(self.toolbox.close()).result(CLOSE_WITHIN_S)
        self.engine.stop()
        self.calibration.save()

    def ports(
        self, journal: Journal, open_ledger: Callable[[], Ledger], *, interactive: bool, private: bool = False
    ) -> Ports:
        """The ports of a session."""
        return Ports(
            backend=self.backend,
            journal=journal,
            planner=self.planner,
            compressor=Compressor(self.planner),
            clock=self.clock,
            toolbox=self.session_toolbox,
            new_id=new_id,
            draw=_draw,
            interactive=interactive,
            private=private,
            conceal=self.keys.redactor.clean_content,
            refused_parameters=self._read_refused_parameters(),
            open_ledger=open_ledger,
            max_cost=self.options.max_cost,
            end_thinking=self.backend.end_thinking,
        )

    def _read_refused_parameters(self) -> RefusedParameters:
        """Shared by all sessions; the file is read with the first one, before the screen's event loop runs."""
        if self.refused_parameters is None:
            self.refused_parameters = RefusedParameters(self._refused_before, self._keep_refused)
        return self.refused_parameters

    def _refused_before(self) -> Mapping[Endpoint, Refused]:
        if not may_exist(self.paths.cache / REFUSED_FILE):
            return {}
        from tui.app.refused_parameters_file import RefusedParametersFile

        return RefusedParametersFile(self.paths.cache).read()

    def _keep_refused(self, endpoint: Endpoint, refused: Refused) -> None:
        from tui.app.refused_parameters_file import RefusedParametersFile

        RefusedParametersFile(self.paths.cache).keep(endpoint, refused)


def _draw() -> float:
    import random  # only retries need it

    return random.SystemRandom().random()
