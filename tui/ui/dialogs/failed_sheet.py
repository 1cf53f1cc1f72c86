"""The boundary of a sheet: one that raises is closed and says so, the chat behind it stays."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from textual._context import active_message_pump
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.worker import WorkerFailed

from tui.domain.events import Severity
from tui.ui.dialogs.sheet import Sheet

if TYPE_CHECKING:
    from tui.ui.app import PonderApp

LOG = logging.getLogger(__name__)


def close_broken_sheet(app: PonderApp, error: Exception) -> bool:
    """Close the sheet the error comes from; False when it comes from elsewhere and is everybody's business."""
    sheet = _sheet_at_work()
    if sheet is None:
        return False
    if isinstance(error, NoMatches) and sheet not in app.screen_stack:
        return True
    cause = error.error if isinstance(error, WorkerFailed) else error
    LOG.error("the sheet %s raised", type(sheet).__name__, exc_info=cause)
    if app.screen is sheet:
        app.pop_screen()
        app.say("That sheet ran into a fault and was closed.", Severity.ERROR, "The log says what happened: /doctor")
    return True


def _sheet_at_work() -> Sheet[object] | None:
    """The sheet whose widget, timer or worker runs just now."""
    pump = active_message_pump.get(None)
    nodes = pump.ancestors_with_self if isinstance(pump, DOMNode) else []
    return next((node for node in nodes if isinstance(node, Sheet)), None)
