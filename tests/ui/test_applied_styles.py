"""Style rules that tests look up once are those that Textual would find each time."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

from tests.ui.applied_styles import FLAGS, apply_as_textual, apply_once
from tests.ui.stage import on_stage


def _state(node: DOMNode) -> object:
    parts = {name: dict(styles.base._rules) for name, styles in node._component_styles.items()}
    return dict(node.styles.base._rules), [getattr(node, flag) for flag in FLAGS], parts


def _differences(app: App[int]) -> list[DOMNode]:
    """Widgets of the screen that Textual would style otherwise, in themselves or in one of their parts."""
    found = []
    for node in app.screen.walk_children(with_self=True):
        states = []
        for apply in (apply_once, apply_as_textual):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Stylesheet, "apply", apply)  # which parts are styled by
                app.stylesheet.apply(node)
            states.append(_state(node))
        if states[0] != states[1]:
            found.append(node)
    return found


@pytest.mark.long
async def test_kept_rules_are_those_that_textual_finds_whatever_changes() -> None:
    async with on_stage() as (app, _, pilot):
        assert _differences(app) == []
        app.chat.composer.disabled = True
        app.chat.add_class("-plain")
        await pilot.pause()
        assert _differences(app) == []
        app.theme = "textual-light"  # other rules
        await pilot.pause()
        assert _differences(app) == []
        app.chat.composer.disabled = False
        app.chat.remove_class("-plain")
        await pilot.pause()
        assert _differences(app) == []
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert len(app.screen_stack) > 1
        assert _differences(app) == []
        await pilot.press("down")
        assert _differences(app) == []
