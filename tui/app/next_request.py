"""The desk's view of the session that is open: how it stands, and what would be sent next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.app.open_session import OpenSession
from tui.app.recording_backend import on_the_wire
from tui.bus.bus import Subscription
from tui.commands.context import ExchangeInfo
from tui.domain.errors import PonderError, UsageError
from tui.domain.events import Stamped
from tui.domain.messages import Origin
from tui.domain.usage import MeterReading
from tui.engine.state import SessionView

if TYPE_CHECKING:
    from tui.catalog.facts import Price
    from tui.context.bill import Bill
    from tui.engine.preview import RequestPreview


class NextRequest:
    """The part of ``ChatDesk`` that changes nothing."""

    def __init__(self, current: OpenSession) -> None:
        self._current = current

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """The session as it stands, and what happens from now on."""
        return self._current.session.attach()

    def view(self) -> SessionView:
        """A snapshot of the session."""
        return self._current.session.view()

    @property
    def session_id(self) -> str:
        """The session that is open."""
        return self._current.session_id

    async def preview(self, draft: str) -> RequestPreview:
        """The next request."""
        return await self._current.call(self._current.session.preview(draft))

    def bill(self) -> Bill:
        """What it cost so far."""
        from tui.context.bill import bill_of  # with the page that shows it

        return bill_of(self.view().paid, self._price)

    def _price(self, origin: Origin) -> Price | None:
        try:
            return self._current.program.catalog.find(origin.provider, origin.model).price
        except PonderError:  # a provider that is not configured any more
            return None

    async def wire_preview(self, draft: str) -> Mapping[str, object]:
        """The next request as it goes on the wire, keys masked."""
        preview = await self._current.call(self._current.session.outlook.spoken(draft))
        return on_the_wire(preview.target, preview.request, self._current.program.keys.redactor)

    def last_exchange(self) -> ExchangeInfo | None:
        """What was said last."""
        heard = self._current.program.backend.last
        if heard is None:
            return None
        from tui.app.format_events import format_events

        events = format_events(list(heard.events))
        request = on_the_wire(heard.target, heard.request, self._current.program.keys.redactor)
        return ExchangeInfo(request=request, events=events, seconds=heard.seconds)

    async def count_exactly(self) -> int | None:
        """Input tokens by the provider's own count."""
        preview = await self.preview("")
        if not preview.request.outgoing.messages:
            raise UsageError("There is nothing to count yet.", advice="Ask something first; the meter estimates.")
        count = await self._current.call(self._current.program.backend.count(preview.target, preview.request))
        if count is not None:
            await self._current.call(self._current.session.outlook.counted(preview.request, count))
        return count

    async def weigh(self, draft: str) -> MeterReading:
        """The meter with these words in it."""
        return await self._current.call(self._current.session.outlook.weigh(draft))
