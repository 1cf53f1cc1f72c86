"""Spending limits: before a request is sent, what it may cost at most is compared with what is left.

The ledger holds that amount from before the request is sent until the cost is known, so that neither a crash nor
another window can spend it again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from tui.catalog.facts import Target
from tui.domain.cost import (
    LIMIT_SETTINGS,
    ExceededLimit,
    LimitScope,
    Reservation,
    SpendingLimits,
    first_exceeded,
    money,
)
from tui.domain.errors import BudgetReached, StoreError
from tui.domain.events import ApprovalAsked
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.engine.settings import EngineSettings


class Ledger(Protocol):
    """What requests cost or may cost, shared by all windows. The engine may not import the store."""

    async def reserve(self, reservation: Reservation, limits: SpendingLimits) -> ExceededLimit | None:
        """Record the reservation; if it may exceed a limit, record nothing and return the limit. Raises StoreError."""
        ...

    def settle(self, request: str, dollars: float) -> None:
        """Lower a reservation to what the request cost as far as that is known. Does not wait."""
        ...


class InMemoryLedger:
    """The ledger of a program whose sessions are not stored."""

    def __init__(self) -> None:
        self._entries: dict[str, Reservation] = {}

    async def reserve(self, reservation: Reservation, limits: SpendingLimits) -> ExceededLimit | None:
        others = [entry for entry in self._entries.values() if entry.id != reservation.id]
        spent = {
            LimitScope.TURN: sum(entry.dollars for entry in others if entry.turn == reservation.turn),
            LimitScope.SESSION: sum(entry.dollars for entry in others if entry.session == reservation.session),
            LimitScope.RUN: (total := sum(entry.dollars for entry in others)),
            LimitScope.DAY: total,
        }
        exceeded = first_exceeded(spent, reservation.dollars, limits)
        if exceeded is None:
            self._entries[reservation.id] = reservation
        return exceeded

    def settle(self, request: str, dollars: float) -> None:
        if request in self._entries:
            self._entries[request] = replace(self._entries[request], dollars=dollars)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A request that is about to be sent."""

    id: str
    turn: str
    model: str
    dollars: float | None
    """The most it may cost; None if unknown."""
    requests: int = 1
    """How many are sent at the same time."""


ONCE, RAISE, MODEL, STOP = "once", "session", "model", "no"
Question = Callable[[ApprovalAsked], Awaitable[str]]


class Budget:
    """The limits of one session, and the user's answers about them."""

    def __init__(
        self, session: str, open_ledger: Callable[[], Ledger], ask: Question, *, run_limit: float | None = None
    ) -> None:
        self._session = session
        self._open_ledger = open_ledger
        self._ask = ask
        self._run_limit = run_limit
        self._raised: dict[LimitScope, float] = {}
        self._unpriced: set[str] = set()
        """Models without a known price that the user allowed in this session."""
        self._reserved: set[str] = set()
        self._questions = 0

    @cached_property
    def _ledger(self) -> Ledger:
        """Opened by the first request under a limit."""
        return self._open_ledger()

    def _limits(self, settings: EngineSettings) -> SpendingLimits:
        """The limits in force, with those the user raised."""
        known = {
            LimitScope.RUN: self._run_limit,
            LimitScope.TURN: settings.budget_turn,
            LimitScope.SESSION: settings.budget_session,
            LimitScope.DAY: settings.budget_day,
        }
        return {
            scope: max(limit, self._raised.get(scope, limit)) for scope, limit in known.items() if limit is not None
        }

    async def permit(
        self,
        request: str,
        turn: str,
        target: Target,
        settings: EngineSettings,
        worst_cost: Callable[[], float | None],
        *,
        requests: int = 1,
    ) -> None:
        """Return when the request may be sent; raises BudgetReached if the user does not allow it.

        ``worst_cost`` returns the most it may cost, None if that is unknown; it is only called if there is a limit.
        """
        limits = self._limits(settings)
        if not limits:
            return
        candidate = _Candidate(request, turn, f"{target.provider.id}/{target.facts.id}", worst_cost(), requests)
        if candidate.dollars is None and candidate.model not in self._unpriced:
            await self._ask_without_price(candidate, limits)
        dollars = candidate.dollars or 0.0
        reservation = Reservation(id=request, session=self._session, turn=turn, model=candidate.model, dollars=dollars)
        if not dollars:
            limits = {}  # Nothing can be exceeded, but the request is recorded.
        try:
            while (exceeded := await self._ledger.reserve(reservation, limits)) is not None:
                limits = self._limits(settings) if await self._ask_to_exceed(candidate, dollars, exceeded) else {}
        except StoreError as error:
            await self._ask_without_ledger(candidate, error)
        self._reserved.add(request)

    async def reserve(self, request: str, turn: str, target: Target, dollars: float) -> None:
        """Record what a request may cost at most; it was permitted together with others."""
        model = f"{target.provider.id}/{target.facts.id}"
        reservation = Reservation(id=request, session=self._session, turn=turn, model=model, dollars=dollars)
        with suppress(StoreError):  # The user was asked about this when the requests were permitted.
            await self._ledger.reserve(reservation, {})
        self._reserved.add(request)

    def settle(self, request: str, spent: Callable[[], float | None]) -> None:
        """Replace the reservation of a request that has ended by what it cost as far as that is known."""
        if request in self._reserved:
            self._reserved.discard(request)
            dollars = spent()
            if dollars is not None:
                self._ledger.settle(request, dollars)

    async def _ask_to_exceed(self, candidate: _Candidate, dollars: float, exceeded: ExceededLimit) -> bool:
        """Ask about a limit; True if it was raised, False for this request only."""
        raised = max(2 * exceeded.limit, exceeded.spent + dollars)
        together = f"These {count(candidate.requests, 'request')}" if candidate.requests > 1 else "This request"
        message = f"{together} may cost up to {money(dollars)}; {exceeded.words}."
        answers = (
            (ONCE, "Allow these requests" if candidate.requests > 1 else "Allow this request"),
            (RAISE, f"Raise the limit to {money(raised)} for this session"),
            (STOP, "Stop"),
        )
        setting = LIMIT_SETTINGS[exceeded.scope]
        answer = await self._answer(candidate, message, answers, f"Limit: {setting}")
        if answer == RAISE:
            self._raised[exceeded.scope] = raised
            return True
        if answer == ONCE:
            return False
        raise BudgetReached(
            message,
            advice=f"Raise `{setting}`, or use a model that costs less.",
            scope=exceeded.scope.value,
            limit=exceeded.limit,
            spent=exceeded.spent,
            may_cost=dollars,
        )

    async def _ask_without_price(self, candidate: _Candidate, limits: SpendingLimits) -> None:
        scope, limit = next(iter(limits.items()))
        message = (
            f"The price of {candidate.model} is unknown: the limit of {money(limit)} ({LIMIT_SETTINGS[scope]}) "
            "cannot be checked."
        )
        answers = ((ONCE, "Allow this request"), (MODEL, "Allow this model in this session"), (STOP, "Stop"))
        answer = await self._answer(candidate, message, answers, "")
        if answer == MODEL:
            self._unpriced.add(candidate.model)
        elif answer != ONCE:
            advice = f'Set its price in config.toml, in [models."{candidate.model}"], or remove the limit.'
            raise BudgetReached(message, advice=advice, scope=scope.value, limit=limit)

    async def _ask_without_ledger(self, candidate: _Candidate, error: StoreError) -> None:
        message = f"What was spent is unknown: {error.message}"
        answer = await self._answer(candidate, message, ((ONCE, "Allow this request"), (STOP, "Stop")), "")
        if answer != ONCE:
            raise BudgetReached(message, advice=error.advice or "Remove the limit to send the request.")

    async def _answer(
        self, candidate: _Candidate, message: str, answers: tuple[tuple[str, str], ...], note: str
    ) -> str:
        self._questions += 1
        asked = ApprovalAsked(
            candidate.turn,
            f"budget {candidate.id} {self._questions}",
            "Spending limit",
            message,
            "",
            note=note,
            answers=answers,
        )
        return await self._ask(asked)
