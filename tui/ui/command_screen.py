"""The operations that commands can perform on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.commands.context import Screen, Step
from tui.domain.errors import UsageError
from tui.domain.messages import Role
from tui.settings.schema import nearest

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


def command_screen(app: PonderApp) -> Screen:
    """The functions for commands. The parts of the application are looked up when a command runs: some exist later."""
    parts = ScreenParts(app)

    def move_cursor(step: int) -> None:
        app.chat.transcript.focus()
        app.chat.transcript.move_cursor(step)

    return Screen(
        toast=app.say,
        open=app.show_view,
        theme_names=app.theming.names,
        use_theme=parts.use_theme,
        toggle_sidebar=parts.toggle_sidebar,
        step_thinking_view=lambda: app.shell.step_thinking_view().value,
        copy=lambda what: app.copying.copy(what),
        draft=parts.draft,
        put_draft=parts.put_draft,
        attach=lambda path: app.shell.attach(path),
        edit_in_editor=lambda: app.editing.in_editor(),
        chosen_turn=parts.chosen_turn,
        edit_turn=parts.edit_turn,
        scroll=parts.scroll,
        move_cursor=move_cursor,
        shift_code=lambda columns: app.chat.transcript.shift_code(columns),
        session_changed=lambda: app.chat.open(),
        quit=lambda: app.exit(return_code=0),
    )


class ScreenParts:
    """The operations that concern several parts of the application."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app

    def use_theme(self, name: str) -> None:
        """Switch to a theme, or list the valid names."""
        if name != "auto" and name not in self._app.theming.names():
            near = nearest(name, list(self._app.theming.names()))
            raise UsageError(f"There is no theme `{name}`.", advice=f"Did you mean {', '.join(near)}?" if near else "")
        self._app.choose_theme(name)

    def toggle_sidebar(self) -> str:
        """Toggle the sidebar; returns the new setting, ``auto`` if that gives the same result at this width."""
        chat = self._app.chat
        shown = not chat.sidebar.display
        chat.sidebar_wish = "auto"
        chat.place_sidebar(chat.size.width)
        if chat.sidebar.display != shown:
            chat.sidebar_wish = "shown" if shown else "hidden"
            chat.place_sidebar(chat.size.width)
        return chat.sidebar_wish

    def draft(self) -> str:
        """The draft, with pasted text written out."""
        composer = self._app.chat.composer
        return composer.chips.written_out(composer.text)

    def put_draft(self, text: str) -> None:
        """Replace the draft."""
        self._app.chat.composer.put(text)
        self._app.chat.composer.focus()

    def chosen_turn(self) -> str | None:
        """The turn under the cursor, else the last finished one."""
        view = self._app.chat.view()
        if view is None or not view.turns:
            return None
        cursor = self._app.chat.transcript.cursor
        if cursor is not None and self._app.chat.transcript.has_focus:
            for turn in view.turns:
                if any(message.id == cursor[0].key for message in turn.messages):
                    return turn.id
        return view.turns[-1].id

    def edit_turn(self, turn_id: str) -> None:
        """Put the turn's prompt into the composer; the next send replaces the turn."""
        view = self._app.chat.view()
        turn = next((turn for turn in view.turns if turn.id == turn_id), None) if view is not None else None
        if turn is None:
            raise UsageError("That turn is gone.")
        prompt = next((message for message in turn.messages if message.role is Role.USER), None)
        self._app.editing.begin(turn_id, prompt.blocks if prompt is not None else ())

    def scroll(self, step: Step) -> None:
        transcript = self._app.chat.transcript
        half = max(1, transcript.size.height // 2)
        moves: dict[str, Callable[[], None]] = {
            "page_up": lambda: transcript.scroll_page_up(animate=False),
            "page_down": lambda: transcript.scroll_page_down(animate=False),
            "half_up": lambda: transcript.scroll_relative(y=-half, animate=False),
            "half_down": lambda: transcript.scroll_relative(y=half, animate=False),
            "up": lambda: transcript.scroll_up(animate=False),
            "down": lambda: transcript.scroll_down(animate=False),
            "home": lambda: transcript.scroll_home(animate=False),
            "end": transcript.follow,
        }
        moves[step]()
