"""The servers of local models as a window sees them: started at first use, shared, and given up at the end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from pathlib import Path

from tui.domain.digests import sha256
from tui.domain.errors import ErrorKind, PonderError, ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.stream import ModelLoading
from tui.providers.local.keeper import ServerLaunch
from tui.providers.local.memory import ModelSize, available_memory, fitting_window
from tui.providers.local.server_folder import Holder, ServerFolder, ServerState, Stage

LOOK_S = 0.05
TELL_S = 1.0
"""Longest time between two reports of progress, so that the server does not seem silent."""
FORMAT = 1
"""Counts changes of what the keeper writes: windows of different versions do not share servers."""
MOST_STARTS = 3
MAKE_ROOM_S = 3.0
"""How long to wait for servers to end whose memory another one needs."""
NOTICE_S = 1.5
"""How long the keeper may take to notice that its server has ended."""
PACKAGE = "xllamacpp"
SEE_LOG = "`/status` shows the last lines of its log."
PASSED_ON = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ")
PASSED_ON_BEGINNINGS = (
    "LC_",
    "LD_",
    "DYLD_",
    "CUDA_",
    "NVIDIA_",
    "HIP_",
    "ROCR_",
    "HSA_",
    "GGML_",
    "VK_",
    "OMP_",
    "ONEAPI_",
)
"""Variables that the server may need. It gets no others, because some hold keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """The settings ``local.*``."""

    server: str = "own"
    idle_s: float = 0.0
    context: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """The files of a model, and how large it is."""

    path: Path
    mmproj: Path | None = None
    size: ModelSize = ModelSize()


class LocalServers:
    """Starts servers and claims them for this process. For use on one event loop; files are read in threads."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        options: Callable[[], LocalOptions],
        find: Callable[[str], ModelFiles],
        learned: Callable[[str, Mapping[str, object]], None],
    ) -> None:
        """``find`` returns the files of a model by its name; it may read files and raise PonderError.

        ``learned`` gets the name of a model and what its server says about it.
        """
        self._folder = folder
        self._environment = environment
        self._options = options
        self._find = find
        self._learned = learned
        self._claiming = threading.Lock()
        self._held: dict[Path, Holder] = {}
        self._places: dict[str, ServerFolder] = {}
        """Where the server of each model was last."""
        self._used: Counter[str] = Counter()
        """Requests that run, by model."""
        self._known: dict[str, int] = {}
        """The port of each model's server that was asked about the model."""

    async def until_ready(self, model: str) -> AsyncGenerator[ModelLoading | ServerState, None]:
        """Start the server if it does not run, and yield progress; the state of the running server comes last."""
        place, launch, state = await asyncio.to_thread(self._claimed, model)
        loop = asyncio.get_running_loop()
        starts, waited = 0, False
        told_at = loop.time()
        told: float | None = -1.0
        while True:
            stage = state.stage if state is not None else None
            if state is not None and stage is Stage.READY:
                if self._known.get(model) != state.port:
                    self._known[model] = state.port
                    self._learned(model, state.props)
                yield state
                return
            if state is not None and stage is Stage.FAILED and waited:
                raise _error(ErrorKind.OTHER, state.sentence, state.advice)
            starts += state is None
            if starts > MOST_STARTS:
                raise _error(ErrorKind.OTHER, "The process that runs the model ended at once.", SEE_LOG)
            waited = stage in (None, Stage.LOADING)
            share = state.share if state is not None else None
            if share != told or loop.time() - told_at > TELL_S:
                told, told_at = share, loop.time()
                yield ModelLoading(share)
            await asyncio.sleep(LOOK_S)
            state = await asyncio.to_thread(self._looked, place, launch, waited=waited)

    async def ready(self, model: str) -> ServerState:
        """Return the running server of a model, started if need be."""
        async with aclosing(self.until_ready(model)) as steps:
            async for step in steps:
                if isinstance(step, ServerState):
                    return step
        raise AssertionError("the last step is the server")

    async def explained(self, model: str, error: ProviderError) -> ProviderError:
        """Return the error with the reason if it came because the server has ended."""
        place = self._places.get(model)
        if place is None or error.kind not in (ErrorKind.CONNECT, ErrorKind.NETWORK, ErrorKind.TRUNCATED):
            return error
        loop = asyncio.get_running_loop()
        until = loop.time() + NOTICE_S
        while loop.time() < until:
            state = await asyncio.to_thread(place.read)
            if state is not None and state.stage is Stage.FAILED:
                return ProviderError(error.kind, state.sentence, advice=state.advice, retryable=True)
            await asyncio.sleep(LOOK_S)
        return error

    @contextmanager
    def in_use(self, model: str) -> Iterator[None]:
        """While this is entered, the server is neither idle nor given up to make room for another one."""
        self._used[model] += 1
        try:
            yield
        finally:
            self._used[model] -= 1
            place = self._places.get(model)
            if place is not None and place.path in self._held:
                self._held[place.path].use(runs=self._runs(place))

    def _runs(self, place: ServerFolder) -> bool:
        """Whether a request of this process to this server runs."""
        return any(self._used[model] for model, other in list(self._places.items()) if other.path == place.path)

    def _release_unused(self) -> None:
        """Give up the servers that no request of this process uses, and wait a moment for their end."""
        given_up = [path for path in self._held if not self._runs(ServerFolder(path))]
        for path in given_up:
            self._held.pop(path).release()
        pause = threading.Event()
        for path in given_up:
            for _ in range(int(MAKE_ROOM_S / LOOK_S)):
                if not ServerFolder(path).has_keeper():
                    break
                pause.wait(LOOK_S)

    def close(self) -> None:
        """Give up all claims; servers that no other window uses end."""
        with self._claiming:
            while self._held:
                self._held.popitem()[1].release()

    def _claimed(self, model: str) -> tuple[ServerFolder, ServerLaunch, ServerState | None]:
        """Claim the server and look at it; every exception is a ProviderError."""
        try:
            with self._claiming:  # two requests may ask for one model at the same time
                place, launch = self._claim(model)
            return place, launch, self._looked(place, launch, waited=False)
        except ProviderError:
            raise
        except PonderError as error:
            raise _error(ErrorKind.NOT_FOUND, error.message, error.advice) from None
        except OSError as error:
            raise self._unusable(error) from None

    def _looked(self, place: ServerFolder, launch: ServerLaunch, *, waited: bool) -> ServerState | None:
        try:
            return self._state_if_running(place, launch, waited=waited)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> ProviderError:
        return _error(
            ErrorKind.OTHER, f"The model cannot be started: {error.strerror} ({error.filename or self._folder}).", ""
        )

    def _claim(self, model: str) -> tuple[ServerFolder, ServerLaunch]:
        options, files = self._options(), self._find(model)
        program = program_for(options, self._environment)
        place = server_folder(self._folder, files, options, program)
        place.create()
        self._places[model] = place
        available = available_memory()
        if place.path not in self._held:
            if available is not None and available < files.size.smallest:
                self._release_unused()
                available = available_memory()
            self._held[place.path] = place.hold()
        self._held[place.path].use(runs=self._runs(place))
        launch = ServerLaunch(
            folder=str(place.path),
            model=str(files.path),
            mmproj=str(files.mmproj or ""),
            program=program,
            context=options.context or fitting_window(files.size, available),
            idle_s=options.idle_s,
        )
        return place, launch

    def _state_if_running(self, place: ServerFolder, launch: ServerLaunch, *, waited: bool) -> ServerState | None:
        """Return what the keeper says; without a keeper, start one and return None.

        ``waited``: a server that failed meanwhile failed for this caller, too, and is not started again.
        """
        state = place.read()
        if waited and state is not None and state.stage is Stage.FAILED:
            return state
        lock = place.become_keeper()
        if lock is None:
            return place.read() or ServerState(stage=Stage.LOADING)
        try:
            place.forget_state()
            _start_keeper(place, launch, lock, self._environment)
        finally:
            os.close(lock)
        return None


def server_folder(folder: Path, files: ModelFiles, options: LocalOptions, program: str) -> ServerFolder:
    """Return the folder of a model's server. Windows share a server if they would start the same one."""
    name = json.dumps([FORMAT, str(files.path), str(files.mmproj), program, options.context])
    return ServerFolder(folder / sha256(name.encode()).hex()[:16])


def program_for(options: LocalOptions, environment: Mapping[str, str]) -> str:
    """Return the path of the ``llama-server`` to use; "" for a process of ponder's own. Raises ProviderError."""
    if os.name != "posix":
        raise _error(
            ErrorKind.UNSUPPORTED,
            "ponder runs models itself on Linux and macOS only.",
            "Start a `llama-server`, and ask `llama.cpp/NAME`.",
        )
    if options.server == "llama-server":
        from shutil import which

        found = which("llama-server", path=environment.get("PATH", ""))
        if found is None:
            advice = "Install llama.cpp, or use ponder's own: `/set local.server own`."
            raise _error(ErrorKind.UNSUPPORTED, "There is no `llama-server` on the PATH.", advice)
        return found
    from importlib.util import find_spec

    if find_spec(PACKAGE) is None:
        raise _error(
            ErrorKind.UNSUPPORTED, f"The package {PACKAGE} is not installed.", f"`{install_command()}` adds it."
        )
    return ""


def install_command() -> str:
    """The command that adds the package to this installation."""
    if "pipx" in Path(sys.prefix).parts:
        return f"pipx inject ponder-tui {PACKAGE}"
    if "uv" in Path(sys.prefix).parts and "tools" in Path(sys.prefix).parts:
        return f"uv tool install --with {PACKAGE} ponder-tui"
    return "pip install 'ponder-tui[local]'"


def _error(kind: ErrorKind, sentence: str, advice: str) -> ProviderError:
    return ProviderError(kind, sentence, advice=advice, retryable=False)


def _start_keeper(place: ServerFolder, launch: ServerLaunch, lock: int, environment: Mapping[str, str]) -> None:
    """Start the keeper, which leaves this process at once; the lock passes to it."""
    log = place.open_log()
    try:
        subprocess.run(
            (sys.executable, "-P", "-m", "tui.providers.local.keeper"),
            input=json.dumps(asdict(launch)).encode(),
            stdout=log,
            stderr=log,
            cwd="/",
            env=_environment(environment),
            pass_fds=(lock,),
            start_new_session=True,
            check=False,
        )
    finally:
        os.close(log)


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    passed_on = {
        name: value for name, value in environment.items() if name in PASSED_ON or name.startswith(PASSED_ON_BEGINNINGS)
    }
    return {**passed_on, "PYTHONPATH": str(Path(__file__).parents[3]), "GGML_NO_BACKTRACE": "1"}
