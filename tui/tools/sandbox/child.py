"""Puts itself into a sandbox and becomes the command. Run as a script of its own: ``child.py SPEC COMMAND...``.

Runs with ``python -I -S``, so it imports nothing of this package. Whatever fails ends it: a command never runs with
less than what the specification says.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from typing import NoReturn

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_SET_SECCOMP, _SET_NO_NEW_PRIVILEGES, _AMBIENT, _CLEAR_ALL = 22, 38, 47, 4
_CAPABILITIES_VERSION = 0x20080522
_FILTER = 2


class RulesetAttr(ctypes.Structure):
    """struct landlock_ruleset_attr."""

    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathBeneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class CapabilityHeader(ctypes.Structure):
    """struct __user_cap_header_struct."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def restrict(libc: ctypes.CDLL, spec: dict[str, object]) -> None:
    """Give up rights; they never come back."""
    _checked(libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    # With its capabilities root could read the memory of other processes, which Landlock then does not prevent.
    libc.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    header = CapabilityHeader(_CAPABILITIES_VERSION, 0)
    _checked(libc.capset(ctypes.byref(header), (ctypes.c_uint32 * 6)()), "capabilities")
    landlock = spec.get("landlock")
    if isinstance(landlock, dict):
        _landlock(libc, landlock)
    code = bytes.fromhex(str(spec["seccomp"]))
    if code:
        program = Program(len(code) // 8, code)
        _checked(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0), "seccomp")


def _landlock(libc: ctypes.CDLL, wanted: dict[str, object]) -> None:
    fs, net, scoped, size, of_files = (int(str(wanted[key])) for key in ("fs", "net", "scoped", "size", "of_files"))
    attr = RulesetAttr(fs, net, scoped)
    ruleset = _checked(
        libc.syscall(_CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), ctypes.c_uint32(0)), "Landlock"
    )
    rules = wanted["rules"]
    for path, rights in rules.items() if isinstance(rules, dict) else ():
        try:
            handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # Nothing is granted where nothing can be opened.
        mode = os.fstat(handle).st_mode
        allowed = rights if stat.S_ISDIR(mode) else rights & of_files
        if allowed and not stat.S_ISLNK(mode):
            rule = PathBeneath(allowed, handle)
            added = libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
            _checked(added, f"Landlock, {path}")
        os.close(handle)
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)), "Landlock")
    os.close(ruleset)


def main() -> NoReturn:
    """Read the specification, restrict this process, become the command."""
    path, *command = sys.argv[1:]
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start-up time
            spec = json.load(file)
        restrict(ctypes.CDLL(None, use_errno=True), spec)
        os.unlink(path)  # noqa: PTH108 - says that the sandbox holds and the command was started
        os.execv(command[0], command)
    except Exception as error:  # noqa: BLE001 - whatever it is, the command must not run
        os.write(2, f"sandbox: {error}\n".encode(errors="replace"))
    os._exit(125)


if __name__ == "__main__":
    main()
