"""Which storage there is: the database, or memory where nothing can be kept at all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.app.session_storage import InMemorySessions, Storage
from tui.domain.errors import StoreError

if TYPE_CHECKING:
    from tui.app.program import Program


def open_storage(program: Program, *, soon: bool = False) -> Storage:
    """The database in the data folder. Whether it can be written shows with the first prompt.

    With ``soon`` it is opened at once, beside the caller: there will be a prompt.
    """
    if not program.paths.data.is_absolute():
        program.problems.append(StoreError("There is no home folder: sessions of this run are not kept."))
        return InMemorySessions()
    from tui.app.sqlite_sessions import SqliteSessions

    store = SqliteSessions(program.paths.database, time.time, program.keys.redactor.clean_content)
    if soon:
        store.open_soon()
    return store
