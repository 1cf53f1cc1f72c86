"""Actions on the open session: send, cancel, retry, fork, compress, switch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.app.branches import Branches
from tui.app.current_session import CurrentSession
from tui.app.recording_backend import on_the_wire
from tui.bus import Subscription
from tui.catalog.model_spec import parse_change, split_asked
from tui.domain.blocks import Block, TextBlock
from tui.domain.errors import PonderError, ProviderError, UsageError
from tui.domain.events import Stamped
from tui.domain.listing import ExchangeInfo
from tui.domain.messages import Origin
from tui.domain.thinking import ModelSpec
from tui.domain.usage import MeterReading
from tui.engine.state import Phase, SessionView

if TYPE_CHECKING:
    from tui.app.prompt_cache import CacheService
    from tui.context.bill import Bill
    from tui.engine.session import RequestPreview


class ChatService:
    """Sends prompts, stops and repeats turns, previews the next request, and opens sessions."""

    def __init__(self, current: CurrentSession, cache: CacheService) -> None:
        self._current = current
        self._cache = cache

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """A snapshot of the session, and a subscription to its next events."""
        return self._current.session.attach()

    def view(self) -> SessionView:
        return self._current.session.view()

    @property
    def session_id(self) -> str:
        return self._current.session_id

    async def preview(self, draft: str) -> RequestPreview:
        """Preview the next request."""
        return await self._current.call(self._current.session.preview(draft))

    def bill(self) -> Bill:
        """What the conversation has cost, by model; compression summaries are separate rows."""
        from tui.context.bill import bill_of  # loaded with the page that shows it

        def output_rate(origin: Origin) -> float | None:
            from tui.catalog.prices import current_rates  # loaded with the page that shows it

            try:
                facts = self._current.program.catalog.find(origin.provider, origin.model)
            except PonderError:  # the provider is no longer configured
                return None
            return current_rates(facts, time.time()).get("output")

        return bill_of(self.view().paid, output_rate, self._cache.saved_by)

    async def wire_preview(self, draft: str) -> Mapping[str, object]:
        """The next request as it is sent: method, URL, headers, body. Keys are masked."""
        preview = await self._current.call(self._current.session.previewer.preview_as_prompt(draft))
        keys, target = self._current.program.keys, preview.target
        if target.provider.cloud is not None:  # with a key it sends other headers than with a login
            provider = replace(target.provider, base_url=target.provider.base_url_for(target.facts.wire))
            with suppress(ProviderError):  # an unusable key is reported when it is sent
                await asyncio.to_thread(keys.find, provider, recorded_only=True)
        return on_the_wire(target, preview.request, keys)

    def last_exchange(self) -> ExchangeInfo | None:
        """The last request and its events, or None."""
        exchange = self._current.program.backend.last_of(self._current.session_id)
        if exchange is None:
            return None
        from tui.app.format_events import format_events

        events = format_events(list(exchange.events))
        request = on_the_wire(exchange.target, exchange.request, self._current.program.keys)
        return ExchangeInfo(request=request, events=events, seconds=exchange.seconds)

    async def count_exactly(self) -> int | None:
        """Input tokens counted by the provider; None if it cannot count."""
        preview = await self.preview("")
        if not preview.request.outgoing.messages:
            raise UsageError(
                "There is nothing to count yet.", advice="Ask something first. Until then the meter shows an estimate."
            )
        count = await self._current.call(self._current.program.backend.count(preview.target, preview.request))
        if count is not None:
            await self._current.call(self._current.session.previewer.use_count(preview.request, count))
        return count

    @property
    def has_session(self) -> bool:
        """False for a moment while another branch of the session is being opened."""
        return self._current.has_session

    async def meter_with_draft(self, draft: str) -> MeterReading:
        """The meter reading with this draft included."""
        return await self._current.call(self._current.session.previewer.meter(draft))

    async def submit(self, blocks: tuple[Block, ...], *, after_step: bool = False) -> None:
        """Send a prompt, or queue it if a turn is running: for its end, or to go in with the next tool results."""
        state = self._current.program.user_state
        if not self._current.private:
            state.add_prompt("\n".join(block.text for block in blocks if isinstance(block, TextBlock)))
        state.add_recent(str(self._current.spec))
        title_wanted = is_title_wanted(self._current)
        await self._current.call(self._current.session.submit(blocks, after_step=after_step))
        if title_wanted:
            from tui.app.session_titles import begin_title  # rarely needed: titles are the first words by default

            begin_title(self._current)

    async def answer_now(self, note: tuple[Block, ...]) -> None:
        """End the thinking and answer now; a waiting retry is sent now. Raises UsageError if nothing thinks."""
        await self._current.call(self._current.session.answer_now(note))

    async def move_last_queued(self) -> None:
        """Move the last queued prompt from the end of the turn to after this step, or back."""
        await self._current.call(self._current.session.queue.move_last())

    async def cancel(self) -> None:
        """Stop the running turn and pause the queue."""
        await self._current.call(self._current.session.cancel())

    async def resume_queue(self) -> None:
        await self._current.call(self._current.session.queue.resume())

    async def take_last_queued(self, prompt: str = "") -> tuple[Block, ...]:
        """Remove the last queued prompt and return it; () if nothing is queued."""
        return await self._current.call(self._current.session.queue.take_last_queued(prompt))

    async def end_wait(self, *, now: bool) -> None:
        """Send a retry that is awaited ``now``, or agree to a long wait before it."""
        session = self._current.session
        await self._current.call(session.retry_now() if now else session.answer_long_wait(agree=True))

    async def answer_approval(self, call_id: str, answer: str, session: str = "") -> bool:
        """Answer the approval of a tool call; returns False if it is no longer open.

        ``session`` is the one that asked; by default the one on the screen.
        """
        return await self._current.call(self._current.session_of(session).answer_approval(call_id, answer))

    async def retry(self, turn_id: str, name: str = "") -> None:
        """Ask again; ``name`` can be another model or level."""
        spec = self._named(name) if name else None
        await self._choose_level(name)
        with self._current.changed_to(spec or self._current.spec):
            await self._current.call(self._current.session.retry(turn_id, spec))

    async def edit(self, turn_id: str, blocks: tuple[Block, ...]) -> None:
        """Replace the prompt of a turn and send it."""
        await self._current.call(self._current.session.edit(turn_id, blocks))

    async def fork(self, turn_id: str) -> str:
        """Copy the session up to this turn; returns the new session's id."""
        return await self._current.storage.fork(self._current.session_id, turn_id, keep=True)

    async def switch_branch(self, turn_id: str, step: int) -> str:
        """Switch to the next branch at this turn, wrapping around; returns a message for the user."""
        current = self._current
        names = await current.storage.siblings(current.session_id, turn_id)
        if len(names) < 2:
            raise UsageError("There is no other branch here.", advice="Editing a prompt or asking again makes one.")
        position = (names.index(turn_id) + step) % len(names)
        await Branches(current).open(names[position])
        return f"Branch {position + 1} of {len(names)}."

    async def replay(self, turn_id: str, name: str) -> str:
        """The same prompt to another model, in a fork that becomes the open session; the session that was open."""
        current = self._current
        spec = self._named(name)
        await self._choose_level(name)
        view = current.session.view()
        turn = next((turn for turn in view.turns if turn.id == turn_id), None)
        if turn is None:
            raise UsageError("That turn no longer exists.")
        before = current.session_id
        forked = await current.storage.fork(before, turn_id, keep=False)
        stored = replace(await current.storage.load(forked), spec=spec, settings=current.session_settings())
        async with current.switching:
            await current.replace(spec, stored)
        await self.submit(turn.user_blocks)
        return before

    async def compress(self, instruction: str) -> None:
        """Replace finished turns with a summary."""
        await self._current.call(self._current.session.compress_now(instruction))

    async def uncompress(self) -> bool:
        """Undo the last compression; returns False if there is none."""
        return await self._current.call(self._current.session.uncompress())

    async def new_session(self, *, private: bool = False) -> None:
        """Start a new session; the one before continues in the background while it works.

        ``private`` starts one of which nothing is stored, as every new one is after ``ponder --no-save``.
        """
        current = self._current
        async with current.switching:
            await current.replace(current.spec, private=private or current.program.options.no_save)

    async def open_session(self, session: str, turn_id: str = "") -> None:
        """Open a stored session, on the branch of a turn if given, or one that runs in the background.

        The one before goes on in the background while it works.
        """
        current = self._current
        async with current.switching:
            is_shown = session == current.session_id
            if (is_shown and current.session.glance().phase is not Phase.IDLE) or await current.bring_back(session):
                return  # what runs is not loaded: the store has only a part of it
            stored = await current.storage.load(session)
            if turn_id and all(turn.id != turn_id for turn in stored.turns):
                stored = await current.storage.activate(session, turn_id)
            if is_shown:
                await current.close_shown()
            await current.replace(current.spec, stored)

    async def _choose_level(self, name: str) -> None:
        """If the name contains a level, it overrides settings that replace levels."""
        if split_asked(f"model/{name}")[1] is not None:
            await self._current.choose_level()

    def _named(self, name: str) -> ModelSpec:
        return parse_change(name, self._current.spec, self._current.program.catalog)


def is_title_wanted(current: CurrentSession) -> bool:
    """Whether a model should write the title. Not with a spending limit: the user would be asked about a title."""
    settings, view = current.layers.settings(), current.session.glance()
    limits = (settings.budget.turn, settings.budget.session, settings.budget.day)
    is_new = not view.turns and view.open_turn is None and not view.title
    return settings.ui.titles == "model" and is_new and not current.private and not any(limits)
