"""Maps views to screens and handles the results the screens return."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.commands.registry import CommandScope, View
from tui.domain.search_terms import SearchTerms
from tui.ui.transcript.section import Speaker
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.domain.events import ApprovalAsked
    from tui.domain.listing import SessionInfo
    from tui.ui.app import PonderApp
    from tui.ui.transcript.blocks import Renderable

MOST_RECENT = 3
"""Commands that the palette lists as recent."""


async def open_view(app: PonderApp, view: View, argument: str) -> None:
    """Open a view. Screens are imported here, so that the first screen does not load the others."""
    match view:
        case View.MODELS:
            _models(app, thinking=argument == "thinking")
        case View.SESSIONS:
            _sessions(app, argument)
        case View.PALETTE:
            _palette(app)
        case View.HISTORY:
            _history(app)
        case View.THEMES:
            _themes(app)
        case View.OUTLINE:
            _outline(app, only_thinking=argument == "thinking")
        case View.APPROVAL:
            _approval(app, argument)
        case View.TREE | View.BRANCHES | View.COMPARE | View.ASK | View.ASIDE:
            await _turns(app, view, argument)
        case _:
            _page(app, view, argument)


def _page(app: PonderApp, view: View, argument: str) -> None:
    """Open a screen that returns no result."""
    match view:
        case View.INSPECTOR:
            from tui.ui.dialogs.inspector import Inspector

            composer = app.chat.composer
            cursor = app.chat.transcript.cursor if app.chat.transcript.has_focus else None
            answer = cursor[0].key if cursor is not None and cursor[0].speaker is Speaker.MODEL else ""
            app.push_screen(Inspector(app.services.chat, composer.chips.written_out(composer.text), answer))
        case View.SETTINGS:
            from tui.ui.dialogs.settings import SettingsSheet

            app.push_screen(SettingsSheet(app.services.settings, argument))
        case View.KEY:
            _keys(app, argument)
        case View.TOOLS:
            from tui.ui.dialogs.tools import Tools

            app.push_screen(Tools(app.services.tools))
        case View.TEXT:
            from tui.ui.dialogs.help import TextPage

            title, _, text = argument.partition("\n")
            app.push_screen(TextPage(title, text))
        case View.FIND:
            _find(app, argument)
        case _:
            _help(app, argument)


def _keys(app: PonderApp, provider: str) -> None:
    """Ask for the key of a provider; without one, list all."""
    if provider:
        from tui.ui.dialogs.key_dialog import KeyDialog

        app.push_screen(KeyDialog(provider, app.services.keys.key_hint(provider)))
    else:
        from tui.ui.dialogs.key_list import KeyList

        app.push_screen(KeyList())


def _help(app: PonderApp, argument: str) -> None:
    from tui.ui.dialogs.help import Help

    chat = app.chat
    focus = CommandScope.COMPOSER if chat.composer.has_focus else CommandScope.ANYWHERE
    if chat.transcript.has_focus:
        focus = CommandScope.TRANSCRIPT
    keys = argument == "keys"
    app.push_screen(Help(focus, "" if keys else argument, only_keys=keys))


def _find(app: PonderApp, argument: str) -> None:
    from tui.ui.dialogs.find import FindBar

    view = app.chat.view()
    if view is not None:
        app.push_screen(FindBar(view, SearchTerms(argument.strip())))


def _models(app: PonderApp, *, thinking: bool) -> None:
    if thinking and app.chat.sidebar.display:
        app.chat.sidebar.thinking.focus()
        return
    from tui.ui.dialogs.model_sheet import ModelSheet

    view = app.chat.view()
    if view is not None:
        app.push_screen(ModelSheet(view, thinking=thinking))


def _sessions(app: PonderApp, query: str) -> None:
    from tui.ui.dialogs.sessions import Sessions

    sheet = Sessions(app.services, query)

    async def opened(chosen: str | None) -> None:
        row = sheet.row(chosen)
        if chosen is None:
            return
        if chosen == app.services.chat.session_id:
            _show_hit(app, row)
            return
        word, _, session = chosen.partition(" ")
        if chosen == "new":
            await app.services.chat.new_session()
        else:
            turn = row.hit_turn if row is not None else None
            await app.services.chat.open_session(session if word == "fork" and session else chosen, turn or "")
        app.chat.when_shown = None if word == "fork" else partial(_show_hit, app, row)
        app.chat.open()
        if word == "fork" and session:
            view = app.services.chat.view()
            if view.turns:
                await app.services.chat.open_session(await app.services.chat.fork(view.turns[-1].id))
                app.chat.open()
        app.chat.composer.focus()

    async def guarded(chosen: str | None) -> None:
        await app.ui_services.run_showing_errors(lambda: opened(chosen))
        app.chat.ask_again()

    app.push_screen(sheet, guarded)


def _show_hit(app: PonderApp, row: SessionInfo | None) -> None:
    """Repeat the session search in the opened conversation, starting at its match."""
    view = app.chat.view()
    if row is None or row.hit_message is None or not row.hit_terms or view is None:
        return
    from tui.ui.dialogs.find import FindBar
    from tui.ui.transcript.search_hits import NearestHit

    turn = next((turn for turn in view.turns if turn.id == row.hit_turn), None)
    messages = (row.hit_message, *(message.id for message in turn.messages)) if turn is not None else ()
    before, _, after = row.snippet.strip("…").partition("\x03")
    near = NearestHit(messages, before.replace("\x02", ""), after.replace("\x02", "").replace("\x03", ""))
    app.push_screen(FindBar(view, SearchTerms(" ".join(row.hit_terms), row.hit_terms), near))


def _palette(app: PonderApp) -> None:
    from tui.ui.dialogs.filter_sheet import Palette

    async def chosen(command: str | None) -> None:
        if command is None:
            return
        row = app.registry.by_id(command)
        recent = app.ui_services.recent_commands
        recent[:] = [command, *(other for other in recent if other != command)][:MOST_RECENT]
        if row.argument is not None and row.argument.required:
            app.chat.composer.put(f"/{row.slash} ")
            app.chat.composer.focus()
        else:
            await app.ui_services.run_id(command)

    app.push_screen(Palette(), chosen)


def _history(app: PonderApp) -> None:
    from tui.ui.dialogs.filter_sheet import HistorySearch

    def chosen(prompt: str | None) -> None:
        if prompt is not None:
            app.chat.composer.recall(prompt)
            app.chat.composer.focus()

    app.push_screen(HistorySearch(app.chat.composer.past.prompts), chosen)


def _outline(app: PonderApp, *, only_thinking: bool) -> None:
    from tui.domain.errors import UsageError
    from tui.ui.dialogs.outline import (
        Outline,
        OutlineRow,
        ThinkingOutline,
        here_in,
        last_thinking,
        places_of,
        places_of_thinking,
        position_in,
    )
    from tui.ui.markdown.occurrences import Occurrence
    from tui.ui.transcript.search_hits import bring_into_view

    transcript = app.chat.transcript
    at = last_thinking(transcript.column) if only_thinking else position_in(transcript)
    places = places_of_thinking(transcript.column, at) if at is not None else []
    here, sheet = 0, ThinkingOutline if places else Outline
    if not places and not only_thinking:
        places = places_of(transcript.column)
        here = here_in(places, at or (0, 0))
    if not places:
        raise UsageError("There is no thinking to list." if only_thinking else "There is nothing to list yet.")

    def chosen(place: OutlineRow | None) -> None:
        if place is None:
            return

        def find(block: Renderable, width: int) -> Occurrence:
            return block.find_entry(place.entry, width) if place.entry is not None else Occurrence(0)

        transcript.focus()
        bring_into_view(transcript, place.section, place.block, find)

    app.push_screen(sheet(places, here), chosen)


def _themes(app: PonderApp) -> None:
    from tui.ui.dialogs.theme_picker import ThemePicker

    async def save(name: str) -> None:
        app.say(await app.services.settings.assign("ui.theme", name))

    def chosen(name: str | None) -> None:
        if name is not None:
            app.choose_theme(name)
            start_work(app, lambda: app.ui_services.run_showing_errors(lambda: save(name)))

    app.push_screen(ThemePicker(), chosen)


def _approval(app: PonderApp, call_id: str) -> None:
    from tui.ui.dialogs.approval import Approval, AskingSession
    from tui.ui.dialogs.sessions import Sessions

    shown = app.chat.view()
    if shown is None or any(isinstance(screen, Sessions) for screen in app.screen_stack):
        return  # the list shows that it asks, and asks again when it is closed
    asker = AskingSession(shown.session, app.services.tools.folder)

    def waiting() -> Sequence[ApprovalAsked]:
        view = app.chat.view()
        return view.approvals if view is not None and view.session == asker.session else ()

    open_already = any(
        isinstance(screen, Approval) and not screen.over and screen.session == asker.session
        for screen in app.screen_stack
    )
    if not open_already and any(asked.call_id == call_id for asked in waiting()):
        app.push_screen(Approval(waiting, asker=asker))


async def _turns(app: PonderApp, view: View, argument: str) -> None:
    """Open a view of turns on other branches, or beside the conversation."""
    match view:
        case View.TREE:
            await _tree(app)
        case View.BRANCHES:
            from tui.ui.dialogs.ask import CompareBranches

            turns = await app.services.branches.answers(argument)
            app.push_screen(CompareBranches(turns, argument), partial(_opened_showing_errors, app))
        case View.COMPARE:
            await _compare_replay(app, *argument.split())
        case View.ASK:
            from tui.ui.dialogs.ask import Ask

            app.push_screen(Ask(app.services.side, app.services.side.several(argument)))
        case _:
            from tui.ui.dialogs.aside import Aside

            app.push_screen(Aside(app.services.side, argument))


async def _compare_replay(app: PonderApp, session: str, turn_id: str) -> None:
    """Show a turn of another session beside the turn of this one that repeats it."""
    from tui.domain.thinking import model_title
    from tui.ui.dialogs.compare import CompareReplay, ReplayedTurn

    turns = await app.services.library.turns(session)
    place = next(place for place, turn in enumerate(turns) if turn.id == turn_id)

    replayed = ReplayedTurn(app.services.chat, place)

    async def go_on(chosen: str | None) -> None:
        name = model_title(replayed.spec.model)
        if chosen == "replay":
            app.say(f"Continuing with {name}, in a session of its own.")
            return
        await app.services.chat.open_session(session)
        app.chat.open()
        app.say(f"Back in the original. The answer of {name} is in the sessions.")

    async def closed(chosen: str | None) -> None:
        await app.ui_services.run_showing_errors(lambda: go_on(chosen))

    app.push_screen(CompareReplay(turns[place], replayed), closed)


async def _tree(app: PonderApp) -> None:
    from tui.ui.dialogs.turn_tree import TurnTreeSheet

    here = app.ui_services.context().screen.chosen_turn()
    sheet = TurnTreeSheet(await app.services.branches.tree(), _path(app), here)
    app.push_screen(sheet, partial(_opened_showing_errors, app))


def _path(app: PonderApp) -> list[str]:
    view = app.services.chat.view()
    return [turn.id for turn in (*view.turns, view.open_turn) if turn is not None]


async def _opened_showing_errors(app: PonderApp, turn_id: str | None) -> None:
    await app.ui_services.run_showing_errors(lambda: _open_turn(app, turn_id))


async def _open_turn(app: PonderApp, turn_id: str | None) -> None:
    """Make the path through this turn the current one, and show the turn."""
    from tui.domain.errors import UsageError

    if turn_id is None:
        return
    if turn_id in _path(app):
        app.chat.transcript.focus()
        app.chat.put_cursor_on(turn_id)
        return
    if app.services.chat.view().open_turn is not None:
        raise UsageError("Branches cannot be switched while a turn is running.", advice="Esc stops it.")
    await app.services.branches.open(turn_id)
    app.chat.transcript.focus()
    app.ui_services.context().screen.show_turn(turn_id)
