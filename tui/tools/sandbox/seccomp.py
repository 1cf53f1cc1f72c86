"""Seccomp: builds the filter for system calls that Landlock and bubblewrap do not cover.

Landlock does not cover Unix sockets with a path (before version 9), UDP (before 10), modes, owners and extended
attributes. Unix sockets lead to daemons (docker, systemd, an ssh agent) that can do anything for the user.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
ALLOW = 0x7FFF0000
REFUSE = 0x00050000
"""SECCOMP_RET_ERRNO; the error number is in the low bits."""
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
_SET_SECCOMP, _FILTER_MODE = 22, 2
_O_TRUNC, _O_ACCMODE = 0x200, 0x3
_MAKES_A_FILE = 0x40 | 0x400000
"""O_CREAT and the bit of O_TMPFILE: only with one of them the kernel reads the mode."""
_SET_ID = 0o6000
"""A file with such a bit runs with the rights of its owner or group, whoever starts it."""
_WITH_MODE = {
    "open": (1, 2),
    "openat": (2, 3),
    "creat": (None, 1),
    "mknod": (None, 1),
    "mknodat": (None, 2),
    "chmod": (None, 1),
    "fchmod": (None, 1),
    "fchmodat": (None, 2),
    "fchmodat2": (None, 2),
}
"""The calls that set the mode of a file: the arguments with the flags, if there are any, and with the mode."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX inject input into a terminal."""
_SET_ATTRIBUTES = (0x40086602, 0x401C5820)
"""FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR work without write permission."""
_OWNERS = (8, 10, 15)
"""F_SETOWN, F_SETSIG and F_SETOWN_EX: any process of the user gets any signal when something can be read."""
_SOCKET_OWNERS = (0x8901, 0x8902)
"""FIOSETOWN and SIOCSPGRP, the same for sockets."""
_NEW_USER = 0x10000000
"""CLONE_NEWUSER: in a user namespace of its own, a command has rights over the kernel that it has not outside of it."""
AF_INET, AF_INET6, AF_NETLINK = 2, 10, 16

# Numbers on x86_64 and on aarch64, which uses the generic table. None: the call does not exist.
NUMBERS: Mapping[str, tuple[int | None, int | None]] = {
    "socket": (41, 198),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "creat": (85, None),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "truncate": (76, 45),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "unshare": (272, 97),
    "clone": (56, 220),
    "clone3": (435, 435),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "prlimit64": (302, 261),
}
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

OUT_OF_PROCESS = frozenset(
    (
        *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "io_uring_setup", "io_uring_enter"),
        *("io_uring_register", "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd"),
        *("open_by_handle_at", "mount", "umount2", "pivot_root", "move_mount", "open_tree", "open_tree_attr", "fsopen"),
        *("fsconfig", "fsmount", "fspick", "mount_setattr", "setns", "unshare"),
    )
)
"""Other processes, the kernel's keyrings, and ways around this filter."""
SHARED_MEMORY = frozenset(
    (
        *("shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv"),
        *("msgctl", "mq_open", "mq_unlink"),
    )
)
ATTRIBUTES = frozenset(
    (
        *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr"),
        *("lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat", "removexattrat"),
        "file_setattr",
    )
)
TIMES = frozenset(("utime", "utimes", "futimesat", "utimensat"))
SIGNALS = frozenset(
    ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What to refuse in addition to what is always refused, such as files that run with their owner's rights."""

    refused: frozenset[str]
    sockets: frozenset[int] = frozenset()
    """Socket families that may be created; socket pairs are always allowed."""
    truncation: bool = False
    """Refuse to truncate a file that is not open for writing."""
    limits: bool = False
    """Refuse to set limits of other processes: a CPU time limit can end them like a signal."""
    owners: bool = False
    """Refuse to say which process gets the signals of a file."""


@cache
def works_here() -> bool:
    """Whether the table covers this processor and the kernel accepts filters."""
    if platform.machine() not in _ARCHITECTURES or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    # With support for filters, the kernel answers EFAULT; without, EINVAL.
    return int(libc.prctl(_SET_SECCOMP, _FILTER_MODE, None, 0, 0)) == -1 and ctypes.get_errno() == errno.EFAULT


def program_of(wanted: Filter, machine: str | None = None) -> bytes:
    """The filter in the kernel's binary format."""
    audit, column = _ARCHITECTURES[machine or platform.machine()]
    code = _Code()
    code.load(_ARCHITECTURE)
    code.unless_equal(audit, errno.EPERM)
    code.load(_NUMBER)
    if column == 0:
        code.at_least(_X32, errno.ENOSYS)
    for name in sorted(wanted.refused):
        number = NUMBERS[name][column]
        if number is not None:
            code.equal(number, errno.EPERM)
    # openat2 passes flags and mode in memory, which a filter cannot read; programs fall back to openat.
    code.equal(_number("openat2", column), errno.ENOSYS)
    # The same holds for clone3.
    code.equal(_number("clone3", column), errno.ENOSYS)
    code.call(_number("clone", column), 0, (_NEW_USER,), mask=_NEW_USER)
    code.no_set_id(column)
    if wanted.truncation:
        code.equal(_number("truncate", column), errno.EPERM)
        for name, at in (("open", 1), ("openat", 2)):
            number = NUMBERS[name][column]
            if number is not None:
                code.call(number, at, (_O_TRUNC,), mask=_O_TRUNC | _O_ACCMODE)
    if wanted.limits:
        code.call(_number("prlimit64", column), 0, (0,), otherwise=True)
    if wanted.owners:
        code.call(_number("fcntl", column), 1, _OWNERS)
    owners = _SOCKET_OWNERS if wanted.owners else ()
    code.call(_number("ioctl", column), 1, (*_TERMINAL_INPUT, *_SET_ATTRIBUTES, *owners))
    code.call(_number("socket", column), 0, wanted.sockets, otherwise=True)
    code.out += [(RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in code.out)


def _number(name: str, column: int) -> int:
    number = NUMBERS[name][column]
    if number is None:
        raise KeyError(name)
    return number


class _Code:
    """Builds classic BPF; each group of instructions returns or falls through to the next."""

    def __init__(self) -> None:
        self.out: list[tuple[int, int, int, int]] = []

    def load(self, offset: int) -> None:
        self.out.append((LOAD, 0, 0, offset))

    def equal(self, value: int, error: int) -> None:
        self.out += [(JUMP_EQUAL, 0, 1, value), (RETURN, 0, 0, REFUSE | error)]

    def unless_equal(self, value: int, error: int) -> None:
        self.out += [(JUMP_EQUAL, 1, 0, value), (RETURN, 0, 0, REFUSE | error)]

    def at_least(self, value: int, error: int) -> None:
        self.out += [(JUMP_AT_LEAST, 0, 1, value), (RETURN, 0, 0, REFUSE | error)]

    def no_set_id(self, column: int) -> None:
        """Refuse calls that make or change a file so that it runs with the rights of its owner or group."""
        for name, (flags_at, mode_at) in _WITH_MODE.items():
            number = NUMBERS[name][column]
            if number is not None:
                self._no_set_id(number, flags_at, mode_at)

    def _no_set_id(self, number: int, flags_at: int | None, mode_at: int) -> None:
        inner = [
            (LOAD, 0, 0, _ARGUMENTS + 8 * mode_at),
            (AND, 0, 0, _SET_ID),
            (JUMP_EQUAL, 1, 0, 0),
            (RETURN, 0, 0, REFUSE | errno.EPERM),
            (LOAD, 0, 0, _NUMBER),  # for what comes next
        ]
        if flags_at is not None:
            without = (JUMP_EQUAL, len(inner) - 1, 0, 0)
            inner = [(LOAD, 0, 0, _ARGUMENTS + 8 * flags_at), (AND, 0, 0, _MAKES_A_FILE), without, *inner]
        self.out += [(JUMP_EQUAL, 0, len(inner), number), *inner]

    def call(
        self, number: int, argument: int, values: Iterable[int], *, mask: int = 0, otherwise: bool = False
    ) -> None:
        """Refuse a call by the low half of an argument: with one of the values, or ``otherwise`` with any other."""
        inner: list[tuple[int, int, int, int]] = [(LOAD, 0, 0, _ARGUMENTS + 8 * argument)]
        if mask:
            inner.append((AND, 0, 0, mask))
        refuse, allow = (RETURN, 0, 0, REFUSE | errno.EPERM), (RETURN, 0, 0, ALLOW)
        for value in sorted(values):
            inner += [(JUMP_EQUAL, 0, 1, value), allow if otherwise else refuse]
        inner.append(refuse if otherwise else allow)
        self.out += [(JUMP_EQUAL, 0, len(inner), number), *inner]
