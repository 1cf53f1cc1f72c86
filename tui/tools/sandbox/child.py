"""Restricts its own process and then executes the command. Run as a script: ``child.py SPEC PONDER COMMAND...``.

``SPEC`` is the file of the restrictions; without one the command is only ended with ponder, whose process id follows.
Runs with ``python -I -S`` and imports nothing of this package. Any failure ends it: a command never runs with
weaker restrictions than the specification demands.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import sys
import time
from typing import NoReturn

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_SET_SECCOMP, _SET_NO_NEW_PRIVILEGES, _AMBIENT, _CLEAR_ALL = 22, 38, 47, 4
_CAPABILITIES_VERSION = 0x20080522
_FILTER = 2
_END_WITH_PARENT, _SET_DUMPABLE, _ADOPT = 1, 4, 36
GRACE_S = 0.3
"""Seconds between SIGTERM and SIGKILL; ponder itself waits half a second."""
KILL_ALL_WITHIN_S = 5.0


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
    """Drop privileges permanently."""
    _checked(libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    # With its capabilities, root could read the memory of other processes, which Landlock does not prevent.
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
            continue  # A path that cannot be opened gets no rule.
        mode = os.fstat(handle).st_mode
        allowed = rights if stat.S_ISDIR(mode) else rights & of_files
        if allowed and not stat.S_ISLNK(mode):
            rule = PathBeneath(allowed, handle)
            added = libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
            _checked(added, f"Landlock, {path}")
        os.close(handle)
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)), "Landlock")
    os.close(ruleset)


def end_with_ponder(libc: ctypes.CDLL, ponder: int) -> None:
    """Continue as the child of a process that ends all its descendants, whatever their session and group.

    It does so when the command ends, and when ponder is killed. bubblewrap does this with a process namespace. The
    watching process is outside the sandbox and cannot be reached from it.
    """
    _checked(libc.prctl(_ADOPT, 1, 0, 0, 0), "adopt")
    watcher = os.getpid()
    child = os.fork()
    if child == 0:
        _checked(libc.prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0), "end with the parent")
        if os.getppid() != watcher:  # it ended before the kernel knew what to do then
            os._exit(125)
        return
    signal.signal(signal.SIGTERM, lambda *_: signal.setitimer(signal.ITIMER_REAL, GRACE_S))
    signal.signal(signal.SIGALRM, lambda *_: _end_at_once())
    _checked(libc.prctl(_END_WITH_PARENT, signal.SIGALRM, 0, 0, 0), "end with ponder")
    if os.getppid() != ponder:  # as above
        _end_at_once()
    pid, status = os.wait()
    while pid != child:
        pid, status = os.wait()
    _end_children()
    if os.WIFSIGNALED(status):
        # End by the same signal, so that the caller sees how the command ended, but without a core dump.
        libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _end_at_once() -> None:
    _end_children()
    os.kill(os.getpid(), signal.SIGKILL)


def _end_children() -> None:
    """Children of killed processes become children of this process; repeat until none are left."""
    until = time.monotonic() + KILL_ALL_WITHIN_S
    while time.monotonic() < until:
        killed = [_killed(pid) for pid in _children()]
        if not any(killed):  # what is left is another user's
            return
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        return False
    except ProcessLookupError:
        pass
    return True


def _children() -> list[int]:
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would double the start-up time
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - the same
                    parent = file.read().rpartition(b")")[2].split()[1]
            except (OSError, IndexError):
                continue
            if int(parent) == os.getpid():
                found.append(int(name))
    return found


def _execute(command: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores these signals, and the command would inherit that.
    os.execv(command[0], command)


def main() -> NoReturn:
    """Read the specification, restrict this process, execute the command."""
    path, ponder, *command = sys.argv[1:]
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if not path:
            end_with_ponder(libc, int(ponder))
            _execute(command)
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start-up time
            spec = json.load(file)
        if "landlock" in spec:
            end_with_ponder(libc, int(ponder))
        restrict(libc, spec)
        os.unlink(path)  # noqa: PTH108 - says that the sandbox holds and the command was started
        _execute(command)
    except Exception as error:  # noqa: BLE001 - whatever it is, the command must not run
        os.write(2, f"sandbox: {error}\n".encode(errors="replace"))
    os._exit(125)


if __name__ == "__main__":
    main()
