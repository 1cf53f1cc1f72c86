"""Landlock: the access rights of each kernel version, and rules that exclude parts of the file system.

Landlock can only grant. To exclude something below a folder, the folder's entries are granted one by one instead of
the folder itself; as a consequence, no new entries can be created directly in it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import cache
from os import scandir
from pathlib import Path

CREATE_RULESET = 444
"""System call number, the same on every architecture."""
_VERSION = 1


class Right(IntFlag):
    """LANDLOCK_ACCESS_FS_*."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15
    RESOLVE_UNIX = 1 << 16


_FIRST = Right((1 << 13) - 1)
_SINCE = {2: Right.REFER, 3: Right.TRUNCATE, 5: Right.IOCTL_DEV, 9: Right.RESOLVE_UNIX}
NETWORK_ABI, SCOPE_ABI, TRUNCATE_ABI = 4, 6, 3
_TCP = 0b11
"""LANDLOCK_ACCESS_NET_BIND_TCP and CONNECT_TCP."""
_UDP = 0b1100
_UDP_ABI = 10
_SCOPES = 0b11
"""LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and SIGNAL."""

READ = Right.READ_FILE | Right.EXECUTE
WRITE = (
    Right.WRITE_FILE
    | Right.REMOVE_DIR
    | Right.REMOVE_FILE
    | Right.MAKE_DIR
    | Right.MAKE_REG
    | Right.MAKE_SOCK
    | Right.MAKE_FIFO
    | Right.MAKE_SYM
    | Right.REFER
    | Right.TRUNCATE
)
OF_FILES = Right.EXECUTE | Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE | Right.IOCTL_DEV
"""Rights that are valid for a file as opposed to a folder."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""Devices that are always writable."""


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The arguments of ``landlock_create_ruleset``."""

    fs: int
    net: int
    scoped: int

    @property
    def size(self) -> int:
        """Size of the structure in bytes: an older kernel rejects fields it does not know."""
        return 24 if self.scoped else 16 if self.net else 8


def rights_of(abi: int) -> Right:
    """All file system rights of this version."""
    known = _FIRST
    for since, right in _SINCE.items():
        if abi >= since:
            known |= right
    return known


def ruleset_of(abi: int) -> Ruleset:
    """All restrictions that this version supports."""
    net = (_TCP if abi >= NETWORK_ABI else 0) | (_UDP if abi >= _UDP_ABI else 0)
    return Ruleset(fs=int(rights_of(abi)), net=net, scoped=_SCOPES if abi >= SCOPE_ABI else 0)


@cache
def kernel_abi() -> int:
    """The Landlock version of this kernel; 0 if it is missing."""
    if sys.platform != "linux":
        return 0
    found = ctypes.CDLL(None, use_errno=True).syscall(
        CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)
    )
    return max(0, int(found))


Rules = dict[str, int]
"""Rights by path. A rule for a folder applies to everything below it."""


def read_only(abi: int, hidden: Iterable[Path]) -> Rules:
    """Allow reading and executing everything except hidden paths; file names can be listed everywhere."""
    rules: Rules = {}
    grant(rules, Path("/"), Right.READ_DIR & rights_of(abi), ())
    # /dev contains terminals: a process that reads one takes the user's input.
    grant(rules, Path("/"), READ, (*hidden, Path("/dev")))
    for device in DEVICES:
        writes = Right.WRITE_FILE | Right.TRUNCATE | Right.IOCTL_DEV
        grant(rules, Path(device), (Right.READ_FILE | writes) & rights_of(abi), ())
    return rules


def writable(rules: Rules, abi: int, folder: Path, carved: Iterable[Path]) -> None:
    """Also allow writing to the folder, except for the carved paths."""
    grant(rules, folder, WRITE & rights_of(abi), tuple(carved))


def grant(rules: Rules, path: Path, rights: Right, but: tuple[Path, ...]) -> None:
    """Grant the rights for all of ``path`` except what is in ``but``."""
    depth = len(path.parts)
    _grant(rules, path, int(rights), [out.parts[depth:] for out in but if out.is_relative_to(path)])


def _grant(rules: Rules, path: Path, rights: int, but: Sequence[tuple[str, ...]]) -> None:
    """Grant the rights; ``but`` holds names of ways down from the path, because comparing paths takes much longer."""
    if () in but:
        return
    if not but:
        rules[str(path)] = rules.get(str(path), 0) | rights
        return
    below: dict[str, list[tuple[str, ...]]] = {}
    for name, *rest in but:
        below.setdefault(name, []).append(tuple(rest))
    try:
        with scandir(path) as entries:
            names = [entry.name for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for name in names:
        _grant(rules, path / name, rights, below.get(name, ()))
