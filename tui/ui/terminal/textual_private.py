"""Everything the program uses of Textual's private names, except in its driver (``tui.ui.terminal.driver``).

Each use has no public equivalent in Textual 8.2; the comment says what it is for. ``tests/architecture`` fails if a
private name is used elsewhere, or if Textual no longer has it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from textual import events, messages
from textual._compositor import ChopsUpdate as ChopsUpdate
from textual._compositor import Compositor
from textual._compositor import LayoutUpdate as LayoutUpdate
from textual._context import active_message_pump
from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.geometry import Offset, Region, Size
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets._toast import ToastRack
from textual.worker import Worker

from tui.ui.terminal.steady_scrollbar import SteadyScrollBar

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from textual.dom import DOMNode
    from textual.driver import Driver
    from textual.message_pump import MessagePump
    from textual.notifications import Notification
    from textual.widgets import OptionList

R = TypeVar("R")


class HookedApp(App[R]):
    """An application with hooks where Textual has none: every painted update, every error, and its own end."""

    def before_painting(self, screen: Screen[object], update: RenderableType | None) -> RenderableType | None:
        """What is painted in place of this update."""
        return update

    def handle_error(self, error: Exception) -> bool:
        """Whether an error of a handler, timer or worker is dealt with, so that the program goes on."""
        return False

    def log_fatal_error(self, error: Exception | None) -> None:
        """The program ends because of this error."""

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, self.before_painting(screen, renderable))

    def _handle_exception(self, error: Exception) -> None:
        if not self.handle_error(error):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would print a traceback with local values here.
        self.log_fatal_error(self._exception)
        self._close_messages_no_wait()


def driver_of(app: App[R]) -> Driver | None:
    """The driver: a program may write to the terminal only through it, in the order of what is painted."""
    return app._driver


def write_to_terminal(app: App[R], sequence: str) -> None:
    """Write an escape sequence that Textual does not know, for example for the clipboard."""
    driver = app._driver
    if driver is not None:
        driver.write(sequence)
        driver.flush()


def set_bindings(node: DOMNode, bindings: Iterable[Binding]) -> None:
    """Replace the bindings of a node: the keys come from ``keys.toml``, not from the class."""
    node._bindings = BindingsMap(bindings)


def add_bindings(node: DOMNode, bindings: Iterable[Binding]) -> None:
    """Add to the bindings of a node; an existing key gets the new binding."""
    node._bindings.key_to_bindings.update(BindingsMap(bindings).key_to_bindings)


def drop_notifications(app: App[R], outdated: Callable[[Notification], bool]) -> None:
    """Remove some toasts; the public method removes all."""
    for notification in list(app._notifications):
        if outdated(notification):
            app._unnotify(notification, refresh=False)
    _show_notifications(app)


def keep_latest_notification(app: App[R]) -> None:
    """Remove all toasts but the last, and warnings and errors that say something else."""
    shown = list(app._notifications)
    outdated = [one for one in shown[:-1] if one.severity == "information" or one.message == shown[-1].message]
    for notification in outdated:
        app._unnotify(notification, refresh=False)
    _show_notifications(app)


def _show_notifications(app: App[R]) -> None:
    # Textual removes only the toast from its holder, which keeps a row: other toasts would stand above it.
    current = {ToastRack._toast_id(notification) for notification in app._notifications}
    for rack in app.screen.query(ToastRack):
        for holder in rack.children:
            if holder.id not in current:
                holder.remove()
    app._refresh_notifications()


def running_pump() -> MessagePump | None:
    """The widget, screen or application whose handler, timer or worker runs now."""
    return active_message_pump.get(None)


def whole_rows(screen: Screen[object], rows: Iterable[int]) -> ChopsUpdate | None:
    """An update that paints these rows in their whole width."""
    compositor, width = screen._compositor, screen.outer_size.width
    compositor._dirty_regions.update(Region(0, y, width, 1) for y in rows)
    return compositor.render_partial_update()


class SparingUpdate(ChopsUpdate):
    """Sends only the columns that changed; Textual also sends empty text for the next widget of each row."""

    def render_segments(self, console: Console) -> str:
        parts: list[str] = []
        for y, first, end in self.spans:
            for stop, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x >= end or stop <= first:
                    continue
                shown = strip if first <= x and stop <= end else strip.crop(0, min(stop, end) - x)
                # Textual makes an object for such a move, which takes longer than sending it.
                parts.append(f"\x1b[{y + 1};{x + 1}H{shown.render(console)}")
        return "".join(parts)


class SparingCompositor(Compositor):
    """Renders only the rows of widgets that changed and that no other widget covers.

    Textual renders everything within the rectangle around all changes, and sends the changes: while an answer streams
    below a panel that also changes, that is the whole screen for a few words. Of the whole screen, it renders every
    container behind its content, too: 230 lines for the 40 of the first screen.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed: Sequence[Region] | None = None
        """What the update that is being rendered is about; None for the whole screen."""

    def render_partial_update(self) -> ChopsUpdate | None:
        self._changed = [*self._dirty_regions]
        try:
            update = super().render_partial_update()
        finally:
            self._changed = None
        return SparingUpdate(update.chops, update.spans, update.chop_ends) if update is not None else None

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        left = [crop or self.size.region] if self._changed is None else self._changed
        for widget, (region, clip) in self.visible_widgets.items():  # from front to back: the first wins
            visible = region.intersection(clip)
            parts = [part for each in left if (part := visible.intersection(each))]
            if parts:
                first, end = min(part.y for part in parts), max(part.bottom for part in parts)
                rows = Region(visible.x, first, visible.width, end - first)
                yield rows, clip, widget.render_lines(rows.translate(-region.offset))
                left = [part for each in left for part in _without(each, visible)]
                if not left:
                    return


def _without(region: Region, covered: Region) -> Iterable[Region]:
    """The parts of a region that another one does not cover."""
    both = region.intersection(covered)
    if not both:
        yield region
        return
    around = (
        Region(region.x, region.y, region.width, both.y - region.y),
        Region(region.x, both.bottom, region.width, region.bottom - both.bottom),
        Region(region.x, both.y, both.x - region.x, both.height),
        Region(both.right, both.y, region.right - both.right, both.height),
    )
    yield from filter(None, around)


class SteadyScreen(Screen[R]):
    """A screen that is laid out once for a size; Textual lays out for each notice of it, four times at the start."""

    _painted_at = 0.0
    """When it was first painted: what widgets asked for before is done."""

    def _screen_resized(self, size: Size) -> None:
        if size != self._compositor.size:
            super()._screen_resized(size)

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        if self._compositor.size:
            return  # the method of the class above is called next
        event.prevent_default()
        # All widgets have just been given their styles; giving them again takes 3 ms.
        event.refresh_styles = False
        for rack in self.query("ToastRack"):
            rack.display = bool(self.app._notifications)  # as Textual does after the first paint, and lays out again
        super()._on_screen_resume(event)
        if self._compositor.size:
            self._painted_at = time.monotonic()
            self._forget_refreshes()

    async def _on_layout(self, message: messages.Layout) -> None:
        if message.time < self._painted_at:
            message.prevent_default()

    async def _on_update(self, message: messages.Update) -> None:
        if message.time < self._painted_at:
            message.prevent_default()

    def _forget_refreshes(self) -> None:
        """Drop what widgets asked for before the first paint and because of it: a second layout and paint of 10 ms."""
        for widget in self.walk_children(Widget, with_self=True):
            widget._repaint_required = False
            if not any(widget.scrollbars_enabled):  # beside a scrollbar, the rest is laid out again
                widget._layout_required = False


def render_sparingly(screen: Screen[R]) -> None:
    """Give a new screen this compositor."""
    screen._compositor = SparingCompositor()


def update_colour_filter(app: App[R]) -> None:
    """Apply ``ansi_theme`` to what is painted; Textual does so only when the theme changes."""
    app._refresh_truecolor_filter(app.ansi_theme)


def move_drag(widget: Widget, by: Offset) -> None:
    """Move the start of a selection that is being dragged, when the widget's lines have moved."""
    dragging = widget.screen._select_state
    if dragging is not None and dragging.start.content_widget is widget and dragging.start.content_offset is not None:
        begun = dragging.start._replace(content_offset=dragging.start.content_offset + by)
        widget.screen.set_reactive(Screen._select_state, dragging._replace(start=begun))


class SteadyScrollView(ScrollView):
    """A view with a scrollbar of ours; Textual creates its own without asking."""

    @property
    def vertical_scrollbar(self) -> SteadyScrollBar:
        if not isinstance(self._vertical_scrollbar, SteadyScrollBar):
            bar = self._vertical_scrollbar = SteadyScrollBar(thickness=self.scrollbar_size_vertical)
            bar.display = False
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar

    def _scroll_update(self, virtual_size: Size) -> None:
        # As Textual's, but without painting the whole bar for each layout, of which every typed key is one.
        self._refresh_scrollbars()
        if self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            bar.update(virtual_size.height, self.container_size.height, round(bar.position))
        self.scroll_x = self.validate_scroll_x(self.scroll_x)
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        if round(old_value) != round(new_value):
            self.refresh_content()

    def refresh_content(self) -> None:
        """Repaint everything but the scrollbar, which knows itself when it looks different."""
        self.refresh(self.scrollable_content_region.reset_offset)

    def set_scrolled_size(self, size: Size, top: int) -> None:
        """Update the scrollbar for a new virtual size and scroll position.

        The public property causes a layout pass, and Textual's own method paints the whole bar.
        """
        self.set_reactive(ScrollView.virtual_size, size)
        self._refresh_scrollbars()
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.update(size.height, self.container_size.height, top)


def option_at(options: OptionList, line: int) -> int | None:
    """The index of the option on a line of the list's content."""
    return options._lines[line][0] if 0 <= line < len(options._lines) else None


def free_finished_workers() -> None:
    """Keep Textual's finished workers from holding themselves.

    A worker holds its task, whose context holds the worker, and a cancelled one holds the traceback of its own frames:
    4 KB for every key that starts or replaces a worker, and for each look at the theme folder.
    """
    run = Worker._run
    if run.__name__ == _run_worker.__name__:
        return

    async def either(worker: Worker[object], app: App[object]) -> None:
        await _run_worker(worker, app, run)

    either.__name__ = _run_worker.__name__
    Worker._run = either  # type: ignore[assignment, method-assign]  # the fault is in the library


async def _run_worker(
    worker: Worker[object], app: App[object], run: Callable[[Worker[object], App[object]], Coroutine[None, None, None]]
) -> None:
    try:
        await run(worker, app)
    finally:
        worker._task = None
        if isinstance(worker._error, asyncio.CancelledError):
            worker._error.__traceback__ = None
