"""The sheets of the screen as lines and numbered choices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui.commands.registry import View
from tui.domain.errors import UsageError
from tui.linear.plain_markdown import plain_lines
from tui.linear.sentences import spoken

if TYPE_CHECKING:
    from tui.linear.app import LinearApp


REPORT = re.compile(r"```\n((?:(?!```).)*)\n```", re.DOTALL)


async def open_view(app: LinearApp, view: View, argument: str) -> None:
    """Show a view."""
    match view:
        case View.TEXT:
            title, _, text = argument.partition("\n")
            app.out.say([f"{title}:", *page_lines(text)])
        case View.HELP | View.PALETTE:
            from tui.linear.help_view import say_help

            say_help(app, argument)
        case View.THEMES:
            raise UsageError("Themes change colours, and this form of ponder has none.")
        case View.MODELS | View.KEY | View.TOOLS:
            await _choices(app, view, argument)
        case View.SESSIONS | View.SETTINGS | View.HISTORY:
            await _lists(app, view, argument)
        case View.INSPECTOR:
            from tui.linear.inspector_view import inspect

            await inspect(app)
        case _:
            await _turns(app, view, argument)


def page_lines(text: str) -> list[str]:
    """The markdown of a page of the program; a page that is one block of code is a report, printed unchanged."""
    report = REPORT.fullmatch(text.strip())
    return spoken(report[1]).split("\n") if report is not None else plain_lines(spoken(text))


async def _choices(app: LinearApp, view: View, argument: str) -> None:
    match view:
        case View.MODELS:
            from tui.linear.model_views import choose_level, choose_model

            await (choose_level(app) if argument == "thinking" else choose_model(app))
        case View.KEY:
            from tui.linear.model_views import choose_key, enter_key

            await (enter_key(app, argument) if argument else choose_key(app))
        case _:
            from tui.linear.tools_view import switch_tools

            await switch_tools(app)


async def _lists(app: LinearApp, view: View, argument: str) -> None:
    match view:
        case View.SESSIONS:
            from tui.linear.sessions_view import choose_session

            await choose_session(app, argument)
        case View.SETTINGS:
            from tui.linear.settings_view import change_settings

            await change_settings(app, argument)
        case _:
            from tui.linear.reading_views import choose_prompt

            await choose_prompt(app)


async def _turns(app: LinearApp, view: View, argument: str) -> None:
    match view:
        case View.FIND | View.OUTLINE:
            from tui.linear import reading_views

            await (reading_views.find if view is View.FIND else reading_views.outline)(app, argument)
        case View.TREE | View.BRANCHES | View.COMPARE:
            from tui.linear import branch_views

            views = {View.TREE: branch_views.tree, View.BRANCHES: branch_views.branches}
            await views.get(view, branch_views.compare_replay)(app, argument)
        case View.ASK | View.ASIDE:
            from tui.linear import side_views

            await (side_views.ask if view is View.ASK else side_views.aside)(app, argument)
        case _:
            raise UsageError(f"The view `{view.value}` is not available line by line.")
