"""Where sessions are kept, as the rest of the wiring sees it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.cost import Paid, cost_of, left_behind, paid_in
from tui.domain.errors import StoreError, UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Growth, Message, Turn
from tui.domain.thinking import ModelSpec
from tui.engine.ports import Journal

if TYPE_CHECKING:
    from tui.app.program import Program
    from tui.domain.blocks import Block
    from tui.domain.listing import SessionInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored session, ready to be opened."""

    id: str
    title: str
    spec: ModelSpec | None
    turns: tuple[Turn, ...]
    view: CompressionView | None = None
    summaries: tuple[SummaryRun, ...] = ()
    """What was paid for summaries in it."""
    elsewhere: tuple[Paid, ...] = ()
    """What was paid on its other branches."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What was set in it, by the user's keys, as it was written down."""
    queue: tuple[tuple[Block, ...], ...] = ()
    """Prompts that waited behind a turn when the program ended."""
    notice: str = ""
    """What the user should hear about how it was opened."""


class Listener(Protocol):
    """Hears what happens to the place, from any thread."""

    def show_notice(self, sentence: str) -> None:
        """Something the user should know: damage that was repaired, a folder that cannot be written."""
        ...

    def title_changed(self, session: str, title: str) -> None:
        """A session has another title."""
        ...


class Storage(Protocol):
    """Sessions, kept."""

    def listen(self, listener: Listener) -> None:
        """Tell this one from now on."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should hear about the place."""
        ...

    def journal(self, session: str, model: str) -> Journal:
        """Where a session that is open writes."""
        ...

    async def load(self, session: str) -> Stored:
        """A session as it was left."""
        ...

    async def remember(self, session: str, spec: ModelSpec, settings: Mapping[str, object]) -> None:
        """The model it is used with, and what was set in it."""
        ...

    async def leave(self, session: str) -> None:
        """Not open here any more."""
        ...

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        """A new session with the turns up to this one, it included if ``keep``; its id."""
        ...

    async def siblings(self, session: str, turn_id: str) -> Sequence[str]:
        """The turns at the same place, this one included, oldest first."""
        ...

    async def activate(self, session: str, turn_id: str) -> Stored:
        """The session, gone over to the branch of this turn."""
        ...

    async def latest(self) -> str | None:
        """The session used last."""
        ...

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Newest first."""
        ...

    async def preview(self, session: str) -> str:
        """Its first and last words."""
        ...

    async def turns(self, session: str) -> Sequence[Turn]:
        """All of its turns."""
        ...

    async def rename(self, session: str, title: str) -> None:
        """Another title."""
        ...

    async def pin(self, session: str, *, pinned: bool) -> None:
        """At the top."""
        ...

    async def delete(self, session: str) -> None:
        """Away."""
        ...

    async def undelete(self, session: str) -> None:
        """Back."""
        ...

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        """To a file."""
        ...

    async def bring_in(self, path: Path) -> str:
        """From a file."""
        ...

    async def aclose(self) -> None:
        """All is written."""
        ...


class InMemorySessions:
    """Sessions of this run only: what there is when nothing can be written."""

    def __init__(self) -> None:
        self._sessions: dict[str, _InMemorySession] = {}
        self.notices: tuple[str, ...] = ()

    def listen(self, listener: Listener) -> None:
        """Nothing happens to memory."""

    def journal(self, session: str, model: str) -> Journal:
        """Keeps turns until the program ends."""
        return self._sessions.setdefault(session, _InMemorySession())

    async def load(self, session: str) -> Stored:
        """As it was left."""
        kept = self._sessions.get(session)
        if kept is None:
            raise UsageError("That session is not kept any more.")
        return Stored(
            id=session,
            title="",
            spec=kept.spec,
            turns=tuple(kept.turns),
            view=kept.view,
            summaries=tuple(kept.summaries),
            elsewhere=tuple(kept.elsewhere),
            settings=kept.settings,
        )

    async def remember(self, session: str, spec: ModelSpec, settings: Mapping[str, object]) -> None:
        """Until the program ends."""
        kept = self._sessions.setdefault(session, _InMemorySession())
        kept.spec, kept.settings = spec, dict(settings)

    async def leave(self, session: str) -> None:
        """Nobody else could have it."""

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        """A copy up to there."""
        from tui.app.ids import new_id

        source = await self.load(session)
        end = next(number for number, turn in enumerate(source.turns) if turn.id == turn_id) + keep
        name = new_id()
        self._sessions[name] = copy = _InMemorySession(list(source.turns[:end]))
        copy.spec, copy.settings = source.spec, source.settings
        return name

    async def siblings(self, session: str, turn_id: str) -> Sequence[str]:
        """Other paths are not kept."""
        return (turn_id,)

    async def activate(self, session: str, turn_id: str) -> Stored:
        """There is only one path."""
        return await self.load(session)

    async def latest(self) -> str | None:
        """None is older than this run."""
        return None

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Those of this run."""
        from tui.domain.listing import SessionInfo

        rows = []
        for name, kept in reversed(self._sessions.items()):
            cost = cost_of((*kept.elsewhere, *paid_in(kept.turns), *kept.summaries))
            row = SessionInfo(id=name, title="not saved", model="", turns=len(kept.turns), cost=None, updated=0.0)
            rows.append(replace(row, cost=cost.dollars, unpriced=cost.unknown))
        return rows

    async def preview(self, session: str) -> str:
        """Nothing to show."""
        return ""

    async def turns(self, session: str) -> Sequence[Turn]:
        """All of its turns."""
        return (await self.load(session)).turns

    async def rename(self, session: str, title: str) -> None:
        """Not kept."""

    async def pin(self, session: str, *, pinned: bool) -> None:
        """Not kept."""

    async def delete(self, session: str) -> None:
        """Forget it."""
        self._sessions.pop(session, None)

    async def undelete(self, session: str) -> None:
        """Not possible."""
        raise UsageError("Nothing is kept, so nothing can be brought back.")

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        """Not possible."""
        raise UsageError("Sessions are not being saved, so there is nothing to export.")

    async def bring_in(self, path: Path) -> str:
        """Not possible."""
        raise UsageError("Sessions are not being saved, so nothing can be imported.")

    async def aclose(self) -> None:
        """Nothing to write."""


class _InMemorySession:
    """A journal that keeps turns in memory."""

    def __init__(self, turns: list[Turn] | None = None) -> None:
        self.turns = turns or []
        self.view: CompressionView | None = None
        self.summaries: list[SummaryRun] = []
        self.elsewhere: list[Paid] = []
        self.spec: ModelSpec | None = None
        self.settings: Mapping[str, object] = {}

    async def turn_started(self, session: str, turn: Turn) -> None:
        """Known."""

    async def checkpoint(self, session: str, turn_id: str, message: Message) -> None:
        """Known."""

    async def grown(
        self, session: str, turn_id: str, message: Message, grown: Sequence[Growth], *, whole: bool
    ) -> bool:
        """Known."""
        return True

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        """Known."""

    async def turn_finished(self, session: str, turn: Turn) -> None:
        """Keep it."""
        self.turns.append(turn)

    async def history_replaced(self, session: str, turns: Sequence[Turn]) -> None:
        """Another path."""
        kept = {turn.id for turn in turns}
        self.elsewhere += left_behind(self.turns, self.summaries, kept)
        self.summaries = [run for run in self.summaries if run.turn in kept]
        self.turns = list(turns)

    async def compressed(self, session: str, view: CompressionView | None) -> None:
        """Another look."""
        self.view = view

    async def summary_run(self, session: str, run: SummaryRun) -> None:
        """Paid for."""
        self.summaries.append(run)

    async def queued(self, session: str, prompts: Sequence[Sequence[Block]]) -> None:
        """Not kept."""

    async def still_open(self, session: str) -> None:
        """Nobody else could take it."""


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
