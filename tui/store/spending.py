"""The ledger of all requests: what each cost or may have cost. Deleting sessions does not change it."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

from tui.domain.compression import SummaryRun
from tui.domain.cost import (
    ExceededLimit,
    LimitScope,
    Paid,
    Reservation,
    SpendingLimits,
    SpentRequest,
    first_exceeded,
    is_cost_final,
)
from tui.domain.errors import StoreError
from tui.domain.usage import Usage
from tui.store.codec import Unreadable, dumps, loads, message_from, to_object
from tui.store.database import Database
from tui.store.leases import LeaseHolder
from tui.store.open_database import SPENDING_SINCE, version
from tui.store.sessions import LAST_DATE
from tui.store.turns import MOST_COST

LOG = logging.getLogger(__name__)
COUNTED = "CASE WHEN final THEN cost ELSE max(coalesce(cost, 0), coalesce(reserved, 0)) END"
"""Dollars of a request for limits: what it cost, otherwise what it may have cost."""


class StoredLedger:
    """Implements ``tui.engine.budget.Ledger`` for all windows that use the database."""

    def __init__(self, database: Database, holder: LeaseHolder, now: Callable[[], float]) -> None:
        self._database = database
        self._run = holder.id
        self._now = now

    async def reserve(self, reservation: Reservation, limits: SpendingLimits) -> ExceededLimit | None:
        """Compare and record in one transaction, so that no other window spends the same money."""

        def write(connection: sqlite3.Connection) -> ExceededLimit | None:
            now = self._now()
            totals = {scope: self._total(connection, scope, reservation, now) for scope in limits}
            exceeded = first_exceeded(totals, reservation.dollars, limits)
            if exceeded is None:
                connection.execute(
                    "INSERT INTO spending (id, session, turn, model, run, reserved, created)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)"
                    " ON CONFLICT (id) DO UPDATE SET reserved = excluded.reserved WHERE NOT final",
                    (
                        reservation.id,
                        reservation.session,
                        reservation.turn,
                        reservation.model,
                        self._run,
                        reservation.dollars,
                        now,
                    ),
                )
            return exceeded

        return await self._database.run(write)

    def settle(self, request: str, dollars: float) -> None:
        """Lower a reservation. A request that cost nothing is removed unless it has an answer."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE spending SET reserved = ? WHERE id = ? AND NOT final", (dollars, request))
            if not dollars:
                connection.execute(
                    "DELETE FROM spending WHERE id = ? AND NOT final AND cost IS NULL AND usage IS NULL", (request,)
                )

        # A reservation that cannot be lowered counts in full, which is safe.
        with suppress(StoreError):
            self._database.submit(write).add_done_callback(_log_failure)

    def _total(self, connection: sqlite3.Connection, scope: LimitScope, reservation: Reservation, now: float) -> float:
        condition, values = {
            LimitScope.RUN: ("run = ?", (self._run,)),
            LimitScope.TURN: ("session = ? AND turn = ?", (reservation.session, reservation.turn)),
            LimitScope.SESSION: ("session = ?", (reservation.session,)),
            LimitScope.DAY: ("created >= ?", (midnight_before(now),)),
        }[scope]
        (total,) = connection.execute(
            f"SELECT total({COUNTED}) FROM spending WHERE {condition} AND id != ?", (*values, reservation.id)
        ).fetchone()
        return float(total)


def _log_failure(future: Future[None]) -> None:
    if not future.cancelled() and future.exception() is not None:
        LOG.warning("a reservation was not settled: %s", future.exception())


def midnight_before(now: float) -> float:
    """The Unix time at which this day began, in local time."""
    year, month, day, *_ = time.localtime(now)
    return time.mktime((year, month, day, 0, 0, 0, 0, 0, -1))


def record(connection: sqlite3.Connection, session: str, turn: str, paid: Paid, run: str, now: float) -> None:
    """Record the cost of an answer or a summary; repeating it changes nothing."""
    if paid.origin is None:
        return
    usage = None if paid.usage is None else dumps(to_object(paid.usage))
    connection.execute(
        "INSERT INTO spending (id, session, turn, model, run, cost, final, usage, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET cost = excluded.cost, final = excluded.final, usage = excluded.usage WHERE NOT spending.final"
        " AND (spending.cost, spending.usage, spending.final) IS NOT (excluded.cost, excluded.usage, excluded.final)",
        (
            paid.id,
            session,
            turn,
            f"{paid.origin.provider}/{paid.origin.model}",
            run,
            paid.cost,
            is_cost_final(paid) and not (isinstance(paid, SummaryRun) and paid.failure),
            usage,
            now,
        ),
    )


def record_crashed(connection: sqlite3.Connection, message: int) -> None:
    """Record what is stored of the cost of an answer that a crash interrupted."""
    connection.execute(
        "INSERT INTO spending (id, session, turn, model, cost, usage, created)"
        " SELECT message.id, session.id, turn.id, message.model, message.cost,"
        " CASE WHEN json_valid(meta) THEN json_extract(meta, '$.usage') END, message.created"
        " FROM message JOIN turn ON turn.seq = message.turn JOIN session ON session.seq = turn.session"
        " WHERE message.seq = ? AND role = 'assistant' AND message.model IS NOT NULL ON CONFLICT (id) DO UPDATE"
        " SET cost = excluded.cost, usage = excluded.usage WHERE NOT final",
        (message,),
    )


def spent_since(connection: sqlite3.Connection, since: float) -> list[SpentRequest]:
    """Requests since a Unix time, oldest first."""
    if version(connection) < SPENDING_SINCE:
        return []  # An older file in a read-only folder cannot be migrated.
    rows = connection.execute(
        "SELECT spending.session, coalesce(session.title, ''), spending.model, spending.created, spending.cost, final,"
        " reserved, usage FROM spending LEFT JOIN session ON session.id = spending.session"
        " WHERE spending.created >= ? ORDER BY spending.created, spending.seq",
        (since,),
    )
    return [
        SpentRequest(
            session=str(session),
            title=str(title),
            model=str(model),
            created=created,
            cost=_dollars(cost),
            final=bool(final),
            reserved=_dollars(reserved),
            usage=_usage(usage),
        )
        for session, title, model, created, cost, final, reserved, usage in rows
        if isinstance(created, float) and created < LAST_DATE  # else damaged: it belongs to no day
    ]


def _dollars(value: object) -> float | None:
    """A stored amount; None for a damaged one."""
    return value if isinstance(value, float) and 0 <= value < MOST_COST else None


def _usage(text: object) -> Usage | None:
    try:
        found = loads(text) if isinstance(text, str) else None
        return message_from("", "assistant", {"usage": found}, ()).usage if isinstance(found, dict) else None
    except Unreadable:
        return None
