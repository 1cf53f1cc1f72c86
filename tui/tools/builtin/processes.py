"""Runs a program in its own session, without a terminal, and ends all processes it started.

Output is read from a pipe as it arrives. The pipe is closed once the program has ended, so that a grandchild which
keeps the other end open cannot block. Ended means: the process group, the session, all descendants, and (where
/proc exists) every process with the marker that was put into the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tui.domain.errors import ToolError
from tui.domain.format_numbers import count
from tui.tools.cut_text import beginning, without_parts_at_gap

MOST_BYTES = 10 * 1024 * 1024
"""Bytes kept of one output; the rest is dropped."""
MOST_FILES = 20
"""Older outputs are deleted, so that the folder holds at most 200 MB."""


@dataclass(slots=True)
class KeptOutput:
    """Stores a long output in a file, which is created only when the output exceeds what the model gets anyway."""

    folder: Path | None
    shown_bytes: int
    """Bytes the model gets without the file."""
    redact: Callable[[str], str] = str
    """Removes known secrets."""
    path: Path | None = None
    written: int = 0
    _early: bytearray = field(default_factory=bytearray)
    _handle: int | None = None
    _given_up: bool = False

    def add(self, data: bytes) -> None:
        """Append output. If the disk is full, the file is given up and the call continues."""
        if self.folder is None or self._given_up:
            return
        try:
            if self._handle is None:
                self._early += data
                if len(self._early) <= self.shown_bytes:
                    return
                self._handle = self._opened(self.folder)
                data = bytes(self._early)
                self._early.clear()
            room = MOST_BYTES - self.written
            self.written += os.write(self._handle, data[:room]) if room > 0 else 0
        except OSError:
            self._given_up = True

    def close(self) -> None:
        self._early.clear()
        if self._handle is not None:
            os.close(self._handle)
            self._handle, self.folder = None, None

    def remove_secrets(self) -> None:
        """Remove secrets from the file, which is on the disk longer than the output is needed. Blocks."""
        self.close()
        if self.path is None or self.redact is str:
            return
        try:
            text = self.path.read_bytes().decode(errors="surrogateescape")
            clean = self.redact(text)
            if clean != text:
                self.path.write_bytes(clean.encode(errors="surrogateescape"))
        except OSError:
            self.discard()

    def discard(self) -> None:
        """Delete the file, because no message has named it."""
        self.close()
        self._given_up = True
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None

    def notice(self) -> str:
        """A sentence for the model that says where the file is; empty without a file."""
        if self.path is None or not self.written:
            return ""
        how_much = (
            f"The first {count(self.written, 'byte')} of it are" if self.written >= MOST_BYTES else "All of it is"
        )
        return f"{how_much} in `{self.path}`: read_file and grep can look there."

    def _opened(self, folder: Path) -> int:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(folder)
        self.path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.txt"
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _prune(folder: Path) -> None:
    """Names begin with the time, so the oldest come first."""
    outputs = sorted(folder.glob("*.txt"))
    for old in outputs[: max(0, len(outputs) - MOST_FILES + 1)]:
        with contextlib.suppress(OSError):
            old.unlink()


MAX_LINE = 2_000
"""Characters shown of one line."""

_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(slots=True)
class OutputEnds:
    """Keeps the first ``head`` and the last ``tail`` bytes of the output."""

    head: int
    tail: int
    redact: Callable[[str], str] = str
    """Removes known secrets from lines that are cut."""
    produced: int = 0
    _first: bytearray = field(default_factory=bytearray)
    _last: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.produced += len(data)
        room = self.head - len(self._first)
        if room > 0:
            self._first += data[:room]
            data = data[room:]
        self._last += data[-self.tail :] if self.tail else b""
        if len(self._last) > self.tail:
            del self._last[: -self.tail or None]

    def text(self) -> str:
        """Text for the model: long lines and the middle are cut with a notice, binary output is marked."""
        if self.produced <= len(self._first) + len(self._last):
            return _readable(bytes(self._first + self._last), self.redact)
        first, last = bytes(self._first), bytes(self._last)
        if not _is_binary(first.decode(errors="replace")):
            first, last = without_parts_at_gap(first, last)
        missing = self.produced - len(first) - len(last)
        between = f"\n… ({missing:,} of {count(self.produced, 'byte')} omitted here) …\n"
        return _readable(first, self.redact) + between + _readable(last, self.redact)

    def beginning(self) -> bytes:
        """The first bytes, unchanged."""
        return bytes(self._first)

    def last_line(self) -> str:
        """The last line that is not empty, for progress rows."""
        recent = bytes(self._last or self._first)[-4096:].decode(errors="replace")
        return next((line.strip() for line in reversed(recent.splitlines()) if line.strip()), "")


def _readable(data: bytes, redact: Callable[[str], str]) -> str:
    text = data.decode(errors="replace")
    if _is_binary(text):
        return f"(binary output: {count(len(data), 'byte')}, beginning with {data[:32].hex(' ')})"
    return "\n".join(_short(line, redact) for line in text.replace("\r\n", "\n").split("\n"))


def _is_binary(text: str) -> bool:
    return len(_BINARY.findall(text)) + text.count("\ufffd") > max(8, len(text) // 20)


def _short(line: str, redact: Callable[[str], str]) -> str:
    if len(line) <= MAX_LINE:
        return line
    return f"{beginning(line, MAX_LINE, redact)}… ({len(line) - MAX_LINE:,} more characters)"


MARK = "PONDER_TOOL_CALL"
TERM_GRACE_S = 0.5
KILL_GRACE_S = 5.0
DRAIN_S = 0.5
POLL_S = 0.02
MAX_PRODUCED = 256 * 1024 * 1024
"""Bytes after which a program is killed; they are read and dropped, so memory use is constant."""
PROGRESS_EVERY_S = 0.25
_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program to run."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    timeout_s: float
    stdin: bytes | None = None
    """Must fit into a pipe buffer; None for /dev/null."""
    head: int = 32 * 1024
    tail: int = 32 * 1024
    """Bytes kept from each end of the output."""
    outputs: Path | None = None
    """Folder for longer outputs; None keeps only the ends."""
    redact: Callable[[str], str] = str
    """Removes known secrets from longer outputs and lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int | None
    """None if it had to be killed."""
    output: OutputEnds
    why_killed: str = ""
    kept: str = ""
    """A sentence that says where the whole output is."""


async def run_to_end(command: Command, progress: Callable[[str], None] | None = None) -> Ended:
    """Run the program; afterwards none of its processes is alive, even after cancellation."""
    mark = secrets.token_hex(16)
    reading, writing = os.pipe()
    kept = KeptOutput(command.outputs, command.head + command.tail, command.redact)
    output = _Output(reading, OutputEnds(command.head, command.tail, command.redact), kept, progress)
    try:
        pipe = f"pipe:[{os.fstat(reading).st_ino}]"
        try:
            process = await _started(command, writing, mark, pipe)
        except (OSError, ValueError) as error:
            raise ToolError(f"`{command.argv[0]}` cannot be started: {_reason(error)}.") from None
        finally:
            os.close(writing)
        tree = ProcessTree(process.pid, mark, pipe)
        try:
            if process.stdin is not None and command.stdin is not None:
                process.stdin.write(command.stdin)
                process.stdin.close()
            output.start()
            why = await _until_over(process, output, command.timeout_s)
            await tree.end(process)
            await output.drain()
            await asyncio.to_thread(kept.remove_secrets)
        except asyncio.CancelledError:
            kept.discard()
            await tree.end(process)
            raise
        finally:
            tree.kill()
        return Ended(code=None if why else process.returncode, output=output.ends, why_killed=why, kept=kept.notice())
    finally:
        output.close()


async def _started(command: Command, writing: int, mark: str, pipe: str) -> asyncio.subprocess.Process:
    """Start the program. If this is cancelled meanwhile, the program may run already, with children: all are ended."""

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *command.argv,
            stdin=asyncio.subprocess.DEVNULL if command.stdin is None else asyncio.subprocess.PIPE,
            stdout=writing,
            stderr=writing,
            cwd=command.folder,
            env={**command.environment, MARK: mark},
            start_new_session=True,
        )

    starting = asyncio.ensure_future(start())

    def kill(started: asyncio.Future[asyncio.subprocess.Process]) -> None:
        if not started.cancelled() and started.exception() is None:
            ProcessTree(started.result().pid, mark, pipe).kill()

    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(kill)
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await ProcessTree(starting.result().pid, mark, pipe).end(starting.result())
        raise


async def _until_over(process: asyncio.subprocess.Process, output: _Output, timeout_s: float) -> str:
    """Wait for the end; returns why the program must be killed, or ""."""
    try:
        async with asyncio.timeout(timeout_s):
            while process.returncode is None:
                if output.ends.produced > MAX_PRODUCED:
                    return f"it wrote more than {MAX_PRODUCED // 1024 // 1024} MB"
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        return f"it ran longer than {timeout_s:g} s"
    return ""


@dataclass(slots=True)
class _Output:
    """The reading end of the pipe."""

    handle: int
    ends: OutputEnds
    kept: KeptOutput
    progress: Callable[[str], None] | None
    _eof: asyncio.Event = field(default_factory=asyncio.Event)
    _reported: float = 0.0
    _listening: bool = False

    def start(self) -> None:
        os.set_blocking(self.handle, False)
        asyncio.get_running_loop().add_reader(self.handle, self._readable)
        self._listening = True

    async def drain(self) -> None:
        """Read what is left in the pipe, for at most DRAIN_S, because other processes may hold it open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._eof.wait()

    def close(self) -> None:
        self._stop()
        self.kept.close()
        os.close(self.handle)

    def _readable(self) -> None:
        try:
            data = os.read(self.handle, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._stop()
            self._eof.set()
            return
        self.ends.add(data)
        self.kept.add(data)
        now = asyncio.get_running_loop().time()
        if self.progress is not None and now - self._reported >= PROGRESS_EVERY_S:
            self._reported = now
            self.progress(self.ends.last_line())

    def _stop(self) -> None:
        if self._listening:
            asyncio.get_running_loop().remove_reader(self.handle)
            self._listening = False


@dataclass(slots=True)
class ProcessTree:
    """A session leader and all its descendants."""

    leader: int | None
    """None if only the marker is known."""
    mark: str
    pipe: str = ""
    """The output pipe as /proc names it: processes that hold it belong to the tree even without the marker."""

    async def end(self, process: asyncio.subprocess.Process) -> None:
        """Send SIGTERM to all processes, and SIGKILL half a second later."""
        if not self.alive() and process.returncode is not None:
            return
        self._signal(signal.SIGTERM)
        if not await _within(TERM_GRACE_S, lambda: process.returncode is not None and not self.alive()):
            self.kill()
            # A killed process is there until the kernel has taken it down, which a busy machine does later.
            await _within(KILL_GRACE_S, lambda: process.returncode is not None and not self.alive())

    def kill(self) -> None:
        """Send SIGKILL to all processes, twice to catch those started in between."""
        for _ in range(3):
            if not self.alive():
                return
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.leader is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, number)
        for pid in self._members():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def alive(self) -> bool:
        """Whether any process of the tree is alive."""
        if proc_is_there():
            return bool(self._members())
        if self.leader is None:
            return False
        try:
            os.killpg(self.leader, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _members(self) -> set[int]:
        """Living processes of this tree, without zombies."""
        table = _process_table()
        members = {pid for pid, row in table.items() if self.leader in (pid, row.group, row.session)}
        ours = os.getpid()
        members |= {pid for pid in table if pid not in members and pid != ours and self._belongs(pid)}
        grown = True
        while grown:
            children = {pid for pid, row in table.items() if row.parent in members and pid not in members}
            members |= children
            grown = bool(children)
        return members

    def _belongs(self, pid: int) -> bool:
        if _carries(pid, self.mark):
            return True
        return bool(self.pipe) and any(_link(f"/proc/{pid}/fd/{number}") == self.pipe for number in (1, 2))


async def _within(seconds: float, claim: Callable[[], bool]) -> bool:
    """Whether the condition becomes true in time."""
    until = asyncio.get_running_loop().time() + seconds
    while not claim():
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(POLL_S)
    return True


@dataclass(frozen=True, slots=True)
class _Row:
    parent: int
    group: int
    session: int


# Several times a command, four files of every process are looked at, on the loop: `Path` takes twice as long for it.


def _process_table() -> dict[int, _Row]:
    table: dict[int, _Row] = {}
    for name in os.listdir("/proc") if proc_is_there() else ():  # noqa: PTH208
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent, group, session = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()[:4]
            if state not in (b"Z", b"X"):
                table[int(name)] = _Row(int(parent), int(group), int(session))
    return table


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()


def _carries(pid: int, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in _read(f"/proc/{pid}/environ")
    except OSError:
        return False


def proc_is_there() -> bool:
    """Whether /proc exists (Linux)."""
    return Path("/proc/self/stat").exists()


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return ""


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
