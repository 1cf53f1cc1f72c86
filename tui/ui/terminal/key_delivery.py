"""Delivers keys and mouse events to the screen in order, also when thousands arrive at once.

- A key waits until the key or paste before it is handled: keys bound to actions take longer than letters, and would be
  overtaken when many arrive at once (typed early, or over a slow line).
- Many letters at once are one insertion: inserted singly, each would lay out the whole draft again. Many presses of an
  arrow or a deleting key are few movements or deletions (``repeated_keys``), and of many escapes the first are enough.
- Of moves of the mouse that arrived together, only the last is delivered. The same holds for the focus of the terminal,
  because each change of it styles the whole screen anew.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, ScreenStackError
from textual.message import Message
from textual.message_pump import MessagePump
from textual.widget import Widget
from textual.widgets import TextArea

from tui.ui.input.repeated_keys import RepeatedKeys

if TYPE_CHECKING:
    from textual._queue import Queue

STUCK_KEY_S = 0.25
"""How long a key waits for a stuck one before it; escape must work even then."""
LOOK_S = 0.02
QUICK_TURNS = 40
"""Turns of the event loop in which most keys are handled: looking is cheaper than asking every widget on the way."""
LONG_RUN = 16
"""Letters, or presses of one key, that are handled at once if more arrive at once: nobody types so many in one read."""

MANY = 100
"""Keys that arrive at once, of which not each is painted."""
UNPAINTED_S, PAINTING_S = 0.1, 0.02
"""How long such keys are handled without painting, and the pause after it."""

_FOCUS = (events.AppFocus, events.AppBlur)


class RepeatedPresses:
    """Asks a widget, in its turn, to handle many presses of a key; what comes too late is not done."""

    def __init__(self, field: RepeatedKeys, key: str, times: int) -> None:
        self._field, self._key, self._times = field, key, times
        self._handled = 0

    def answer(self) -> None:
        """Handle as many as the widget can."""
        self._handled = self._field.press_repeatedly(self._key, self._times) if self._times else 0

    def close(self) -> int:
        """The presses that were handled; the others must be delivered one by one."""
        self._times = 0
        return self._handled


class KeyDelivery:
    """Takes messages on the thread that reads the terminal and delivers them on the screen's event loop."""

    def __init__(self, app: App[Any], deliver: Callable[[Message], None]) -> None:
        self._app = app
        self._deliver = deliver
        self._order = asyncio.Lock()
        """The thread that reads may be replaced, after a stop, while its last keys are still being delivered."""
        self._is_settled = True
        self._in_a_word = False

    def hand_on(
        self, messages: Iterable[Message], loop: asyncio.AbstractEventLoop, is_over: Callable[[], bool]
    ) -> None:
        """Deliver all; returns when the last is on its way, or the program ends."""
        arrived = [*messages]
        if not arrived:
            return
        delivered = asyncio.run_coroutine_threadsafe(self._deliver_all(arrived), loop)
        while not is_over():
            try:
                delivered.result(LOOK_S)
            except concurrent.futures.TimeoutError:
                continue
            except concurrent.futures.CancelledError:  # the screen has just ended
                pass
            return

    async def _deliver_all(self, messages: Sequence[Message]) -> None:
        async with self._order:
            for is_text, together in groupby(_latest_moves(messages), _is_text):
                if is_text:
                    await self._deliver_text([event for event in together if isinstance(event, events.Key)])
                else:
                    await self._deliver_each([*together])

    async def _deliver_each(self, messages: Sequence[Message]) -> None:
        """Deliver in order. Of many keys at once not each is painted, which would take most of the time."""
        left = [*_runs(messages)]
        left.reverse()
        if len(messages) < MANY or not all(isinstance(event, events.Key) for event in messages):
            while left:
                await self._deliver_next(left)
            return
        while left:
            until = time.monotonic() + UNPAINTED_S
            with self._app.batch_update():
                await self._deliver_next(left)
                while left and time.monotonic() < until:
                    await self._deliver_next(left)
            await asyncio.sleep(PAINTING_S)

    async def _deliver_next(self, left: list[list[Message]]) -> None:
        """Deliver the next message, or handle many presses of a key. ``left`` are runs of equal keys, the next last."""
        run = left.pop()
        if len(run) > LONG_RUN:
            handled = await self._press_repeatedly(run)
            del run[:handled]
            left.append(run)
            if handled:
                return
            # Asking costs as much as a key, so it is not done before each.
            left.extend([event] for event in reversed(run[:LONG_RUN]))
            del run[:LONG_RUN]
            return
        await self._deliver_one(run.pop(0))
        if run:
            left.append(run)

    async def _press_repeatedly(self, run: Sequence[Message]) -> int:
        """Let the focused widget handle all but the last press at once; returns how many it handled."""
        await self._settle()
        field, key = self._app.focused, run[0]
        if not isinstance(field, RepeatedKeys) or not isinstance(key, events.Key):
            return 0
        request = RepeatedPresses(field, key.key, len(run) - 1)
        self._is_settled = False
        if not field.call_later(request.answer):
            return 0
        await self._settle()
        return request.close()

    async def _deliver_text(self, keys: Sequence[events.Key]) -> None:
        """Deliver letters; a long run is inserted at once after its first, which may be a key of its own (``?``)."""
        if len(keys) > LONG_RUN:
            first, *keys = keys
            await self._deliver_one(first)
            await self._settle()
            if self._takes_all(keys):
                run = events.Key(keys[0].key, "".join(key.character or "" for key in keys))
                keys = [run]
        await self._deliver_each(keys)

    def _takes_all(self, keys: Sequence[events.Key]) -> bool:
        """Whether the focused widget would insert each of these."""
        field = self._app.focused
        different = {key.key: key.character for key in keys}
        return isinstance(field, TextArea) and all(field.check_consume_key(*key) for key in different.items())

    async def _deliver_one(self, message: Message) -> None:
        event = self._inside(message)
        if event is None:
            return
        word = self._is_of_a_word(event)
        # Letters of a word go to one field and keep their order without waiting, which keeps typing fast.
        if not (word and self._in_a_word):
            await self._settle()
        self._in_a_word = word
        self._deliver(event)
        self._is_settled = self._is_settled and not isinstance(event, events.Key | events.Paste)

    def _inside(self, event: Message) -> Message | None:
        """The event, unless it is of a mouse outside the screen, where Textual would take the focus away.

        Reports of a window that has become smaller arrive late. A button released outside is released at the edge.
        """
        if not isinstance(event, events.MouseEvent):
            return event
        width, height = self._app.size
        if event.x < width and event.y < height:
            return event
        if not isinstance(event, events.MouseUp):
            return None
        x, y = min(event.x, width - 1), min(event.y, height - 1)
        held = event.button, event.shift, event.meta, event.ctrl
        return events.MouseUp(None, x, y, event.delta_x, event.delta_y, *held, screen_x=x, screen_y=y)

    def _is_of_a_word(self, event: Message) -> bool:
        """Whether this is a letter typed into a text field: those stay in order without waiting."""
        if not isinstance(event, events.Key) or not event.is_printable:
            return False
        character = event.character or ""
        field = self._app.focused
        return (
            field is not None
            and (character.isalnum() or character == " ")
            and field.check_consume_key(event.key, character)
        )

    async def _settle(self) -> None:
        """Wait until the last key is handled, with the messages that it caused, or is stuck."""
        if self._is_settled:
            return
        self._is_settled = True
        for _ in range(QUICK_TURNS):
            if self._busy() is None:
                return
            await asyncio.sleep(0)
        # Twice around: handling the key may post messages to the same widgets, for example an action.
        for _ in range(2 * len(self._way())):
            if (busy := self._busy()) is None or not await _is_reached(busy):
                return

    def _busy(self) -> MessagePump | None:
        return next((pump for pump in self._way() if not _is_idle(pump)), None)

    def _way(self) -> Sequence[MessagePump]:
        """What a key passes: the application, the focused widget, and what contains it."""
        try:
            widget: Widget = self._app.focused or self._app.screen
        except ScreenStackError:
            return [self._app]
        return [self._app, *widget.ancestors_with_self]


def _is_idle(pump: MessagePump) -> bool:
    """Whether it has handled everything: its task waits for the next message."""
    queue: Queue[Message | None] = pump._message_queue
    return queue.empty() and bool(queue.ready_event._waiters)


async def _is_reached(pump: MessagePump) -> bool:
    """Wait until it has handled everything that is queued now; False if it is stuck or being removed."""
    reached = asyncio.Event()
    if not pump.call_later(reached.set):
        return False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STUCK_KEY_S):
            await reached.wait()
    for _ in range(QUICK_TURNS):  # if the whole program had to wait for a processor, nothing is stuck
        if reached.is_set():
            break
        await asyncio.sleep(0)
    return reached.is_set()


def _is_text(event: Message) -> bool:
    return isinstance(event, events.Key) and event.is_printable and len(event.character or "") == 1


def _runs(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Neighbouring presses of one key together; other messages alone. Of many escapes the first are enough."""
    for name, together in groupby(messages, lambda event: event.key if isinstance(event, events.Key) else id(event)):
        run = [*together]
        yield run[:LONG_RUN] if name == "escape" else run


def _latest_moves(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages without moves of the mouse, and of the focus, that another one follows at once."""
    for event, following in zip(messages, [*messages[1:], None], strict=True):
        moved_on = isinstance(event, _FOCUS) and isinstance(following, _FOCUS)
        if not moved_on and not (type(event) is events.MouseMove and _is_same_drag(event, following)):
            yield event


def _is_same_drag(move: events.MouseMove, following: Message | None) -> bool:
    return type(following) is events.MouseMove and (move.button, move.shift, move.meta, move.ctrl) == (
        following.button,
        following.shift,
        following.meta,
        following.ctrl,
    )
