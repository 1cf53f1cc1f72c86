"""Keeps the server of one model: starts it, says how far it is, and ends it when no window needs it.

A process of its own (``python -m tui.providers.local.keeper``), because windows share the server and any of them may
end first. It holds the lock ``alive`` of the folder, which the window that started it has passed on.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tui.domain.fast_dataclass import dataclass
from tui.providers.local.failures import why_it_ended
from tui.providers.local.server_api import is_healthy, properties
from tui.providers.local.server_folder import ServerFolder, ServerState, Stage

WHILE_LOADING_S = 0.05
WHILE_READY_S = 0.5
END_S = 3.0
"""How long the server may take to end before it is killed."""
LONGEST_LOG = 4_000_000
_END_WITH_PARENT = 1
_LISTENS = re.compile(r"listening on http://[\w.]+:(\d+)|is listening, hostname: [\w.]+, port: (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLaunch:
    """How a window asks the keeper to start the server."""

    folder: str
    model: str
    mmproj: str
    """File with which the model sees images; "" if there is none."""
    program: str
    """Path of a ``llama-server``; "" for a process of ponder's own."""
    context: int
    """Context window in tokens; 0 for the model's."""
    idle_s: float
    """Time without requests after which the server ends; 0 for never."""


class Keeper:
    """One server and what is known about it."""

    def __init__(self, launch: ServerLaunch) -> None:
        self._launch = launch
        self._folder = ServerFolder(Path(launch.folder))
        import secrets  # loads OpenSSL

        key = secrets.token_urlsafe(32)
        self._server = self._start(key)
        self._state = ServerState(
            stage=Stage.LOADING, model=launch.model, keeper=os.getpid(), process=self._server.pid, key=key
        )
        self._folder.write(self._state)

    def _start(self, key: str) -> subprocess.Popen[bytes]:
        launch = self._launch
        if launch.program:
            return _spawn(_llama_server(launch), self._folder, b"", {**os.environ, "LLAMA_API_KEY": key})
        asked = {"model": launch.model, "mmproj": launch.mmproj, "context": launch.context, "key": key}
        command = (sys.executable, "-P", "-m", "tui.providers.local.model_process")
        return _spawn(command, self._folder, json.dumps(asked).encode(), os.environ)

    def run(self) -> None:
        """Watch the server and its holders until one of them is gone."""
        try:
            while not self._has_ended():
                if self._state.stage is Stage.LOADING:
                    self._look_for_port()
                else:
                    self._folder.shorten_log(LONGEST_LOG)
                if self._is_unneeded() and self._leave():
                    return
        finally:
            self._end_server()

    def _tell(self, **changes: object) -> None:
        self._state = replace(self._state, **changes)  # type: ignore[arg-type]  # fields of ServerState by name
        self._folder.write(self._state)

    def _has_ended(self) -> bool:
        """Wait a moment; whether the server has ended by itself."""
        loaded = self._state.stage is Stage.READY
        try:
            status = self._server.wait(WHILE_READY_S if loaded else WHILE_LOADING_S)
        except subprocess.TimeoutExpired:
            return False
        sentence, advice = why_it_ended(status, self._folder.log_lines(), loaded=loaded)
        self._tell(stage=Stage.FAILED, was_ready=loaded, sentence=sentence, advice=advice, port=0, key="")
        return True

    def _look_for_port(self) -> None:
        found = [match for line in self._folder.log_lines() if (match := _LISTENS.search(line))]
        port = int(found[-1][1] or found[-1][2]) if found else 0
        if port and is_healthy(port):
            self._tell(stage=Stage.READY, port=port, share=1.0, props=properties(port, self._state.key))
            return
        share = _share_loaded(self._server.pid, self._launch.model)
        if share is not None and share != self._state.share:
            self._tell(share=share)

    def _is_unneeded(self) -> bool:
        uses = self._folder.last_uses()
        if not uses:
            return True  # the window that started this had claimed it before
        idle_s = self._launch.idle_s
        return bool(idle_s) and self._state.stage is not Stage.LOADING and time.time() - max(uses) > idle_s

    def _leave(self) -> bool:
        """Say that the server ends; False if a window has claimed it meanwhile, which may have read that it is ready.

        A window claims first and reads then, so one of the two sees the other.
        """
        before = self._state.stage
        self._tell(stage=Stage.ENDED)
        if self._is_unneeded():
            return True
        self._tell(stage=before)
        return False

    def _end_server(self) -> None:
        if self._server.poll() is not None:
            return
        self._server.terminate()
        try:
            self._server.wait(END_S)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()


def _llama_server(launch: ServerLaunch) -> Sequence[str]:
    command = [launch.program, "--model", launch.model, "--host", "127.0.0.1", "--port", "0", "--jinja"]
    command += ["--mmproj", launch.mmproj] if launch.mmproj else []
    command += ["--ctx-size", str(launch.context)] if launch.context else []
    return command


def _spawn(
    command: Sequence[str], folder: ServerFolder, said: bytes, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    log = folder.open_log()
    try:
        server = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            # There is no other thread, so code may run between fork and exec.
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )
    finally:
        os.close(log)
    assert server.stdin is not None  # a pipe
    with suppress(BrokenPipeError), server.stdin as pipe:
        pipe.write(said)
    return server


def _end_with_parent() -> None:
    """Have the kernel kill the server when the keeper is killed."""
    import ctypes

    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)


def _share_loaded(process: int, model: str) -> float | None:
    """How much of the file the server has in memory, or has read; None where the system does not say."""
    try:
        size = Path(model).stat().st_size
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(min(0.99, pages * os.sysconf("SC_PAGE_SIZE") / max(size, 1)), 2)


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Read how to start the server from the standard input and keep the server."""
    signal.signal(signal.SIGTERM, _stop)
    launch = ServerLaunch(**json.load(sys.stdin))
    sys.stdin.close()
    if os.fork():
        os._exit(0)  # the window does not have to wait for a child
    Keeper(launch).run()


if __name__ == "__main__":
    main()
