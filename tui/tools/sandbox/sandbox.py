"""The sandbox of this machine: detects what it supports, and runs commands in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tui.tools.builtin.processes import proc_is_there
from tui.tools.permissions.ruled_paths import RuledPaths
from tui.tools.permissions.rules import Strength
from tui.tools.sandbox import landlock, seccomp, wrappers
from tui.tools.sandbox.guarded_entries import Entries, Guards, SetAsideResult, guarded_entries, set_aside

CHILD = Path(__file__).with_name("child.py")
MOST_MOUNTS = 500
"""Paths up to which bubblewrap is used: it takes a while for each, and its command line has a limit."""
_KERNEL_FOLDERS = (("dev",), ("proc",), ("sys",))
_REFUSALS = (
    r"permission denied|operation not permitted|read-only file system|network is unreachable|invalid cross-device link"
    r"|temporary failure in name resolution|name or service not known|device or resource busy"
)
_REFUSED = re.compile(
    _REFUSALS + r"|could not resolve|cannot connect to|unable to connect|failed to connect"
    r"|EACCES|EPERM|EROFS|ENETUNREACH|EAI_AGAIN",
    re.IGNORECASE,
)
_REFUSED_ON_THE_WAY = re.compile(rf": (?:{_REFUSALS})\.?$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """The sandbox features of this machine."""

    landlock: int = 0
    """The Landlock version; 0 if it is missing."""
    seccomp: bool = False
    bubblewrap: str | None = None
    seatbelt: bool = False

    @property
    def strengths(self) -> frozenset[Strength]:
        """The strengths that can be enforced completely."""
        able = self.seatbelt or (self.seccomp and (self.landlock > 0 or self.bubblewrap is not None))
        return frozenset({Strength.READ_ONLY, Strength.WRITES_FOLDER}) if able else frozenset()

    def name_for(self, strength: Strength) -> str:
        """The name of the mechanism that enforces a strength."""
        if strength not in self.strengths:
            return "none"
        if self.seatbelt:
            return "seatbelt"
        return "bubblewrap" if self.bubblewrap is not None else f"Landlock {self.landlock}"

    def description(self) -> str:
        """A short description for the user."""
        if not self.strengths:
            return "none (only exact commands can be allowed)"
        return f"{self.name_for(Strength.READ_ONLY)} (ro and rw)"


@cache
def this_kernel() -> Kernel:
    """Detect the features. Blocks for some milliseconds if bubblewrap is installed."""
    if sys.platform == "darwin":
        return Kernel(seatbelt=wrappers.SEATBELT_PROGRAM.exists())
    if sys.platform != "linux":
        return Kernel()
    filters = seccomp.works_here()
    return Kernel(landlock=landlock.kernel_abi(), seccomp=filters, bubblewrap=wrappers.bubblewrap_program())


def ended_with_ponder(argv: Sequence[str]) -> tuple[str, ...]:
    """The command line that runs a command without a sandbox and ends all its processes if ponder is killed.

    Only Linux can do this; elsewhere the command goes on.
    """
    if sys.platform != "linux" or not proc_is_there():
        return tuple(argv)
    return (sys.executable, "-I", "-S", str(CHILD), "", str(os.getpid()), *argv)


@dataclass(slots=True)
class Confined:
    """A command in the sandbox, while it runs and afterwards."""

    strength: Strength
    argv: tuple[str, ...]
    environment: dict[str, str]
    specification: Path | None = None
    """A file that the child deletes once the sandbox is active and the command starts."""
    specification_text: str = ""
    """The content of that file: a command can create a file of the same name, but never saw the content."""
    set_aside: SetAsideResult = field(default_factory=SetAsideResult)
    """Guarded files created by the command; known after it has ended."""
    complete: bool = True
    """Whether everything was found that must be kept from the command. Otherwise it must not run."""

    @property
    def never_started(self) -> bool:
        """Whether setting up the sandbox failed, so that the command did not run."""
        if self.specification is None:
            return False
        try:
            status = self.specification.lstat()
            # Read only in this case: what a command left there may be a pipe, or endless.
            if not stat.S_ISREG(status.st_mode) or status.st_size != len(self.specification_text.encode()):
                return False
            return self.specification.read_bytes() == self.specification_text.encode()
        except OSError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The sandbox for one working folder."""

    folder: Path
    guards: Guards
    """Which paths of the working folder other programs run or read automatically."""
    hidden: Callable[[], Sequence[Path]] = field(default=tuple)
    """Paths that must not be readable either."""
    ruled: Callable[[], RuledPaths] = RuledPaths
    """Paths that the user's rules keep from commands."""
    too_wide: bool = False
    """The working folder is a whole disk or contains the home folder: ``rw`` would not restrict anything."""
    kernel: Callable[[], Kernel] = this_kernel

    def strengths(self) -> frozenset[Strength]:
        """The strengths that can be enforced for this folder."""
        enforceable = self.kernel().strengths
        return enforceable - {Strength.WRITES_FOLDER} if self.too_wide else enforceable

    def name(self) -> str:
        """The name of the mechanism that runs commands."""
        return self.kernel().name_for(Strength.READ_ONLY)

    @asynccontextmanager
    async def confine(
        self, strength: Strength, argv: Sequence[str], environment: Mapping[str, str]
    ) -> AsyncIterator[Confined]:
        """The command line that runs a command in the sandbox; leaving the context cleans up."""
        before = Entries({})
        # Not in a thread: cancellation would leave the folder behind.
        temporary = _temporary_folder()
        try:
            if strength is Strength.WRITES_FOLDER:
                before = await asyncio.to_thread(guarded_entries, self.folder, self.guards)
            ruled = await asyncio.to_thread(self.ruled)
            confined = await asyncio.to_thread(self._confined, strength, argv, temporary, before, ruled)
            confined.complete = before.complete and ruled.complete
            confined.environment = {**environment, **_variables(temporary)}
            try:
                yield confined
            except BaseException:
                # Not in a thread: a second cancellation must not skip it.
                self._set_aside(confined, before)
                raise
            await asyncio.to_thread(self._set_aside, confined, before)
        finally:
            remove_folder(temporary)

    def _set_aside(self, confined: Confined, before: Entries) -> None:
        if confined.strength is Strength.WRITES_FOLDER and confined.complete:
            confined.set_aside = set_aside(self.folder, before, self.guards)

    def _confined(
        self, strength: Strength, argv: Sequence[str], temporary: Path, before: Entries, ruled: RuledPaths
    ) -> Confined:
        kernel = self.kernel()
        if strength not in self.strengths():
            raise RuntimeError(strength)
        writable = self.folder if strength is Strength.WRITES_FOLDER else None
        hidden = self._existing((*self.hidden(), *ruled.unreadable))
        kept = [path for path in self._existing(ruled.unwritable) if self.folder in path.parents]
        carved = tuple(dict.fromkeys((*before.paths, *kept)))
        if kernel.seatbelt:
            guarded = dict.fromkeys((*before.identities, *kept))
            patterns = [wrappers.everything_below(path) for path in guarded]
            above = sorted(wrappers.folders_between(guarded, self.folder))
            profile = wrappers.seatbelt_profile(
                temporary=temporary, writable=writable, guarded=patterns, above=above, hidden=hidden
            )
            return Confined(strength, (str(wrappers.SEATBELT_PROGRAM), "-p", profile, *argv), {})
        spec = temporary / "sandbox.json"
        child = (sys.executable, "-I", "-S", str(CHILD), str(spec), str(os.getpid()), *argv)
        mounts = len(carved) + len(wrappers.folders_between(carved, self.folder)) + len(hidden)
        if kernel.bubblewrap is not None and (mounts <= MOST_MOUNTS or not kernel.landlock):
            text = _specification_text(_inside_bubblewrap())
            spec.write_text(text, encoding="utf-8")
            prefix = wrappers.bubblewrap_arguments(
                kernel.bubblewrap, temporary=temporary, writable=writable, carved=carved, hidden=hidden
            )
            return Confined(strength, (*prefix, *child), {}, spec, text)
        rules = landlock.read_only(kernel.landlock, hidden)
        landlock.grant(rules, self.folder, landlock.READ, tuple(hidden))
        landlock.writable(rules, kernel.landlock, temporary, ())
        landlock.grant(rules, temporary, landlock.READ, ())
        if writable is not None:
            landlock.writable(rules, kernel.landlock, writable, carved)
        text = _specification_text(_by_landlock(kernel.landlock, rules, strength))
        spec.write_text(text, encoding="utf-8")
        return Confined(strength, child, {}, spec, text)

    def _existing(self, paths: Iterable[Path]) -> list[Path]:
        around = {self.folder, *self.folder.parents}
        # A link that leads nowhere, or in a circle, leads to nothing that could be read or written.
        real = dict.fromkeys(path.resolve() for path in paths if path.exists())
        return [path for path in real if path not in around and path.parts[1:2] not in _KERNEL_FOLDERS]


def _specification_text(specification: Mapping[str, object]) -> str:
    return json.dumps({**specification, "nonce": secrets.token_hex(16)})


def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="ponder-")).resolve()


def looks_refused(output: str, *, failed: bool) -> bool:
    """Whether the output reports an error that a sandbox causes.

    The output of a successful command may quote such words from a file, so only the form of an error message counts.
    """
    return (_REFUSED if failed else _REFUSED_ON_THE_WAY).search(output) is not None


def _variables(temporary: Path) -> dict[str, str]:
    # Git refreshes its index even in read-only commands; this setting disables that.
    return {"TMPDIR": str(temporary), "TMP": str(temporary), "TEMP": str(temporary), "GIT_OPTIONAL_LOCKS": "0"}


def _inside_bubblewrap() -> dict[str, object]:
    # The network namespace has only a loopback interface, so test servers work.
    families = frozenset({seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK})
    wanted = seccomp.Filter(refused=seccomp.OUT_OF_PROCESS, sockets=families)
    return {"seccomp": seccomp.program_of(wanted).hex()}


def filter_beside_landlock(abi: int, strength: Strength) -> seccomp.Filter:
    """The system calls to refuse because this Landlock version does not cover them."""
    refused = seccomp.OUT_OF_PROCESS | seccomp.SHARED_MEMORY | seccomp.ATTRIBUTES
    if strength is Strength.READ_ONLY:
        refused |= seccomp.TIMES
    has_scopes = abi >= landlock.SCOPE_ABI
    if not has_scopes:
        refused |= seccomp.SIGNALS
    truncates = abi < landlock.TRUNCATE_ABI
    return seccomp.Filter(refused=refused, truncation=truncates, limits=True, owners=not has_scopes)


def _by_landlock(abi: int, rules: landlock.Rules, strength: Strength) -> dict[str, object]:
    ruleset = landlock.ruleset_of(abi)
    wanted = {"fs": ruleset.fs, "net": ruleset.net, "scoped": ruleset.scoped, "size": ruleset.size}
    program = seccomp.program_of(filter_beside_landlock(abi, strength))
    of_files = int(landlock.OF_FILES)
    return {"seccomp": program.hex(), "landlock": {**wanted, "of_files": of_files, "rules": rules}}


def remove_folder(folder: Path) -> None:
    """Remove a folder whose processes have ended. What cannot be removed stays; nothing is raised.

    ``shutil.rmtree`` recurses, so a thousand nested folders end it, and it keeps folders without permissions. Here a
    nested folder is moved to the top before it is emptied.
    """
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(place) as listed:
            for entry in list(listed):
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        Path(entry.path).unlink()
                        continue
                    # A folder without permissions can neither be listed nor moved.
                    Path(entry.path).chmod(0o700)
                    waiting.append(Path(entry.path).rename(folder / secrets.token_hex(16)))
        if place != folder:
            with contextlib.suppress(OSError):
                place.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()
