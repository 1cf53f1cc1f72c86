"""Leases on open sessions, so that two windows do not write to the same conversation."""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path

from tui.domain.fast_dataclass import dataclass

STALE_AFTER_S = 120.0
"""A holder on another machine that has not renewed its lease for this long counts as gone."""
LAST_PID = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """A process that can hold leases."""

    id: str
    """Unique for every start of the program."""
    pid: int
    host: str
    boot: str
    process_start: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherProcess:
    """The session is open in another process."""

    pid: int
    host: str
    here: bool
    """Whether that process runs on this machine."""


def this_process(identity: str) -> LeaseHolder:
    """The running process, distinguished from other processes with the same pid by its start time."""
    pid = os.getpid()
    return LeaseHolder(id=identity, pid=pid, host=platform.node(), boot=_boot(), process_start=_start_of(pid))


def acquire(connection: sqlite3.Connection, session: int, holder: LeaseHolder, now: float) -> OtherProcess | None:
    """Take or renew the lease; returns None on success, else the other holder."""
    held = held_by_other(connection, session, holder, now)
    if held is None:
        connection.execute(
            "INSERT OR REPLACE INTO lease (session, holder, pid, host, boot, process_start, heartbeat)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session, holder.id, holder.pid, holder.host, holder.boot, holder.process_start, now),
        )
    return held


def held_by_other(connection: sqlite3.Connection, session: int, holder: LeaseHolder, now: float) -> OtherProcess | None:
    """Another live process that has the session open."""
    row = connection.execute(
        "SELECT holder, pid, host, boot, process_start, heartbeat FROM lease WHERE session = ?", (session,)
    ).fetchone()
    if row is None or row[0] == holder.id:
        return None
    _, pid, host, boot, start, heartbeat = row
    if not (isinstance(pid, int) and 0 < pid <= LAST_PID and isinstance(heartbeat, int | float)):
        return None  # A damaged row must not keep a session from being opened.
    here = host == holder.host
    # Signal 0 is a harmless probe on POSIX only; on Windows it interrupts.
    can_ask = here and os.name == "posix"
    alive = boot == holder.boot and _is_running(pid, start) if can_ask else abs(now - heartbeat) < STALE_AFTER_S
    return OtherProcess(pid=pid, host=host, here=here) if alive else None


def release(connection: sqlite3.Connection, session: int, holder: LeaseHolder) -> None:
    connection.execute("DELETE FROM lease WHERE session = ? AND holder = ?", (session, holder.id))


def release_all(connection: sqlite3.Connection, holder: LeaseHolder) -> None:
    connection.execute("DELETE FROM lease WHERE holder = ?", (holder.id,))


def _is_running(pid: int, start: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # The process belongs to another user, so it is running.
    return not start or _start_of(pid) in ("", start)


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start_of(pid: int) -> str:
    """Start time of the process in kernel ticks; "" if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""
