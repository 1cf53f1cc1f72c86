"""Deadlines of a response: without a byte, without an event, in total, and after the machine was asleep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.fast_dataclass import dataclass

SLEEP_JUMP_S = 30.0
"""If the wall clock gains this much on the monotonic clock, the machine slept and the connection is dead."""
RESUMED = "resumed"
"""Error code after sleep; such a request is retried at once."""
LOOK_EVERY_S = 5.0
"""Interval at which the two clocks are compared during a wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Limits of time and size; 0 seconds means no limit."""

    connect_s: float = 10.0
    write_s: float = 30.0
    pool_s: float = 5.0
    header_s: float = 120.0
    private_header_s: float = 600.0
    """``header_s`` in private networks, where a server may have to load the model first."""
    idle_s: float = 120.0
    """Longest wait without a byte."""
    meaning_s: float = 300.0
    """Longest wait without an event other than pings."""
    total_s: float = 3600.0
    after_end_s: float = 3.0
    """Longest wait for the end of the body after the end marker."""
    answered_s: float = 10.0
    """Longest wait for a server to read on after it answered during an upload."""
    stream_bytes: int = 64 * 1024 * 1024
    error_bytes: int = 64 * 1024
    allow_http: bool = False
    """Allow plain HTTP to public hosts (``network.allowHttp``)."""


Waiting = asyncio.Future[Exception | None]
"""A wait for bytes: its result is None when bytes came, or the exception to raise when a deadline passed."""


class DeadlineExceeded(Exception):
    """The end marker was seen and the body did not end in time: the response is complete."""


class Deadlines:
    """The deadlines of one response, from the arrival of its headers.

    One timer serves all waits. Bytes and events only move deadlines later, so a timer set for the nearest deadline is
    never late; if it fires early, it is set again. No timer is set or cancelled when bytes come.
    """

    def __init__(
        self,
        limits: RequestLimits,
        server: str,
        *,
        wall: Callable[[], float] = time.time,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._limits = limits
        self._server = server
        self._wall = wall
        self._look_every_s = look_every_s
        self._loop = asyncio.get_running_loop()
        self._began = self._last_event = self._wait_began = self._clocks_compared = self._loop.time()
        self._clock_offset = wall() - self._began
        self._end_by: float | None = None
        self._waiting: Waiting | None = None
        self._timer: asyncio.TimerHandle | None = None

    def event_came(self) -> None:
        """Note that an event other than a ping came."""
        self._last_event = self._loop.time()

    def end_came(self, within_s: float) -> None:
        """Note that the end marker came; the rest of the body may take ``within_s`` seconds."""
        self._end_by = self._loop.time() + within_s
        self.pause()  # this deadline may be nearer than the timer

    def goes_on(self) -> None:
        """Note that the end marker, if there was one, was not the end."""
        if self._end_by is not None:
            self._end_by = None
            self.pause()  # the deadlines that hold again may be nearer than the timer

    @property
    def has_end_come(self) -> bool:
        """Whether the response is complete, whatever happens to the rest of the body."""
        return self._end_by is not None

    def watch(self, waiting: Waiting) -> None:
        """Watch a wait: the nearest deadline ends it with a ProviderError or DeadlineExceeded."""
        self._waiting, self._wait_began = waiting, self._loop.time()
        if self._timer is None:
            self._set_timer()

    def pause(self) -> None:
        """Stop watching until the next wait."""
        self._waiting = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self) -> None:
        self._timer = self._loop.call_at(self._nearest()[0], self._check)

    def _nearest(self) -> tuple[float, str]:
        limits = self._limits
        deadlines = [(max(self._wait_began, self._clocks_compared) + self._look_every_s, "look")]
        if self._end_by is not None:
            deadlines.append((self._end_by, "end"))
            return min(deadlines)
        if limits.idle_s:
            deadlines.append((self._wait_began + limits.idle_s, "idle"))
        if limits.meaning_s:
            deadlines.append((self._last_event + limits.meaning_s, "meaning"))
        if limits.total_s:
            deadlines.append((self._began + limits.total_s, "total"))
        return min(deadlines)

    def _check(self) -> None:
        self._timer = None
        if self._waiting is None or self._waiting.done():
            return  # the next wait sets the timer
        now = self._loop.time()
        deadline, why = self._nearest()
        if now < deadline:
            self._set_timer()
        elif why != "look":
            self._waiting.set_result(self._error_for(why))
        elif self._wall() - now - self._clock_offset > SLEEP_JUMP_S:
            self._waiting.set_result(self._error_for("slept"))
        else:
            self._clocks_compared = now
            self._set_timer()

    def _error_for(self, why: str) -> Exception:
        limits = self._limits
        if why == "slept":
            return ProviderError(
                ErrorKind.NETWORK, f"The computer slept: the connection to {self._server} is lost.", code=RESUMED
            )
        if why == "end":
            return DeadlineExceeded()
        if why == "total":
            return ProviderError(
                ErrorKind.TIMEOUT, f"{self._server} did not finish within {limits.total_s / 60:g} min.", retryable=False
            )
        if why == "meaning":
            return ProviderError(
                ErrorKind.STALLED,
                f"{self._server} keeps the connection open, but sent nothing for {limits.meaning_s:g} s.",
            )
        return ProviderError(ErrorKind.STALLED, f"Nothing came from {self._server} for {limits.idle_s:g} s.")
