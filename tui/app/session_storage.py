"""Storage of sessions: the interface, and an implementation in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from tui.domain.blocks import TextBlock
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.cost import Paid, cost_of, is_cost_final, left_behind, paid_in
from tui.domain.errors import StoreError, UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import BlockGrowth, Message, Turn
from tui.domain.thinking import ModelSpec
from tui.engine.budget import InMemoryLedger, Ledger
from tui.engine.ports import Journal
from tui.settings.paths import NO_HOME

if TYPE_CHECKING:
    from tui.app.branches_in_memory import BranchesInMemory
    from tui.app.program import Program
    from tui.domain.blocks import Block
    from tui.domain.cost import SpentRequest
    from tui.domain.listing import SessionInfo, TurnInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A stored session, ready to be opened."""

    id: str
    title: str
    spec: ModelSpec | None
    turns: tuple[Turn, ...]
    compression: CompressionView | None = None
    summaries: tuple[SummaryRun, ...] = ()
    """Costs of compression summaries."""
    elsewhere: tuple[Paid, ...] = ()
    """Costs on other branches."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Values set in the session, by setting key, not validated."""
    queue: tuple[tuple[Block, ...], ...] = ()
    """Prompts that were queued when the program ended."""
    notice: str = ""
    """A message for the user about how it was opened."""


class Storage(Protocol):
    """StoredSession sessions."""

    def listen(self, on_notice: Callable[[str], None], on_title: Callable[[str, str], None]) -> None:
        """Report messages about the database, and new titles with the session's id; both from any thread."""
        ...

    def when_locked(self, tell: Callable[[str], None]) -> None:
        """Say a sentence when another program has locked the database and a call waits; from any thread."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages for the user about the database."""
        ...

    def journal(self, session: str, model: str) -> Journal:
        """The journal an open session writes to."""
        ...

    def ledger(self) -> Ledger:
        """What requests cost, for spending limits."""
        ...

    def is_private(self, session: str) -> bool:
        """Whether nothing of the session is stored because the user has asked for that."""
        ...

    def begin_private(self, session: str) -> None:
        """Keep a new session in memory until the program ends."""
        ...

    async def spent_since(self, moment: float) -> Sequence[SpentRequest]:
        """The requests of all sessions since a Unix time, oldest first."""
        ...

    async def load(self, session: str) -> StoredSession:
        """Load a session. If another window has it open, this returns a fork."""
        ...

    async def save_settings(self, session: str, spec: ModelSpec, settings: Mapping[str, object]) -> None:
        """Store the model and settings of a session."""
        ...

    async def release(self, session: str) -> None:
        """Release a session: it is no longer open here."""
        ...

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        """Copy the turns before this one (and this one if ``keep``) to a new session; returns its id."""
        ...

    async def siblings(self, session: str, turn_id: str) -> Sequence[str]:
        """The turns with the same parent, including this one, oldest first."""
        ...

    async def sibling_turns(self, session: str, turn_id: str) -> Sequence[Turn]:
        """The turns with the same parent, including this one, oldest first, with their messages."""
        ...

    async def sibling_places(self, session: str) -> Mapping[str, tuple[int, int]]:
        """The turns with siblings: the place of each among them, counted from 1, and their number."""
        ...

    async def turn_tree(self, session: str) -> Sequence[TurnInfo]:
        """All turns on all branches, each after the one before it."""
        ...

    async def activate(self, session: str, turn_id: str) -> StoredSession:
        """Switch to the branch of this turn and load it."""
        ...

    async def latest(self) -> str | None:
        """The id of the session used last."""
        ...

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Pinned sessions, then the newest; with a query only matches."""
        ...

    async def preview(self, session: str) -> str:
        """The first and last text of a session, as markdown."""
        ...

    async def turns(self, session: str) -> Sequence[Turn]:
        """All turns of a session."""
        ...

    async def rename(self, session: str, title: str, *, by_user: bool = True) -> None:
        """Set the title; one that a model wrote does not replace the user's."""
        ...

    async def pin(self, session: str, *, pinned: bool) -> None: ...

    async def delete(self, session: str) -> None:
        """Delete a session; ``undelete`` restores it."""
        ...

    async def undelete(self, session: str) -> None:
        """Restore a deleted session."""
        ...

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        """Write to a file; ``parts`` is answers, thinking or all. Keys are redacted. Raises OSError."""
        ...

    async def import_file(self, path: Path) -> str:
        """Import a file; returns the new session's id."""
        ...

    async def aclose(self) -> None:
        """Write everything and close."""
        ...


class InMemorySessions:
    """Sessions in memory, for when nothing can be written."""

    def __init__(self) -> None:
        self._sessions: dict[str, _InMemorySession] = {}
        self.notices: tuple[str, ...] = ()
        self._ledger = InMemoryLedger()

    def listen(self, on_notice: Callable[[str], None], on_title: Callable[[str, str], None]) -> None:
        """Has no effect: there are no events."""

    def when_locked(self, tell: Callable[[str], None]) -> None:
        """Has no effect: there is no database."""

    def ledger(self) -> Ledger:
        return self._ledger

    def is_private(self, session: str) -> bool:
        return False

    def begin_private(self, session: str) -> None:
        """Has no effect: everything is in memory."""

    async def spent_since(self, moment: float) -> Sequence[SpentRequest]:
        """All requests. Their times are not kept; they count as made now."""
        from tui.domain.cost import SpentRequest

        return [
            SpentRequest(
                session=name,
                title="not saved",
                model=f"{paid.origin.provider}/{paid.origin.model}",
                created=time.time(),
                cost=paid.cost,
                final=is_cost_final(paid),
                reserved=None,
                usage=paid.usage,
            )
            for name, kept in self._sessions.items()
            for paid in (*kept.elsewhere, *paid_in(kept.turns), *kept.summaries)
            if paid.origin is not None
        ]

    def journal(self, session: str, model: str) -> Journal:
        return self._sessions.setdefault(session, _InMemorySession())

    async def load(self, session: str) -> StoredSession:
        kept = self._sessions.get(session)
        if kept is None:
            raise UsageError("That session is no longer stored.")
        return StoredSession(
            id=session,
            title=kept.title,
            spec=kept.spec,
            turns=tuple(kept.turns),
            compression=kept.view,
            summaries=tuple(kept.summaries),
            elsewhere=tuple(kept.elsewhere),
            settings=kept.settings,
            queue=kept.queue,
        )

    async def save_settings(self, session: str, spec: ModelSpec, settings: Mapping[str, object]) -> None:
        kept = self._sessions.setdefault(session, _InMemorySession())
        kept.spec, kept.settings = spec, dict(settings)

    async def release(self, session: str) -> None:
        """Has no effect: there is no other window."""

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        from tui.app.ids import new_id

        source = await self.load(session)
        end = next(number for number, turn in enumerate(source.turns) if turn.id == turn_id) + keep
        name = new_id()
        self._sessions[name] = copy = _InMemorySession(list(source.turns[:end]))
        copy.spec, copy.settings = source.spec, source.settings
        return name

    async def siblings(self, session: str, turn_id: str) -> Sequence[str]:
        return [turn.id for turn in self._branches(session).siblings(turn_id)]

    async def sibling_turns(self, session: str, turn_id: str) -> Sequence[Turn]:
        return self._branches(session).siblings(turn_id)

    async def sibling_places(self, session: str) -> Mapping[str, tuple[int, int]]:
        return self._branches(session).places()

    async def turn_tree(self, session: str) -> Sequence[TurnInfo]:
        return self._branches(session).tree()

    async def activate(self, session: str, turn_id: str) -> StoredSession:
        self._branches(session).activate(turn_id)
        return await self.load(session)

    def _branches(self, session: str) -> BranchesInMemory:
        if session not in self._sessions:
            raise UsageError("That session is no longer stored.")
        return self._sessions[session].branches

    async def latest(self) -> str | None:
        """None: there are no earlier sessions."""
        return None

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Newest first; a query matches the prompts and the answers."""
        from tui.domain.listing import SessionInfo

        rows = []
        for name, kept in self._sessions.items():
            if not kept.has_prompt or not kept.contains(query):
                continue
            cost = cost_of((*kept.elsewhere, *paid_in(kept.turns), *kept.summaries))
            row = SessionInfo(
                id=name,
                title=kept.title or kept.first_words(),
                model=kept.spec.model if kept.spec is not None else "",
                turns=len(kept.turns),
                cost=None,
                updated=kept.updated,
                private=True,
            )
            rows.append(replace(row, cost=cost.dollars, unpriced=cost.unknown))
        return sorted(rows, key=lambda row: -row.updated)[:limit]

    async def preview(self, session: str) -> str:
        kept = self._sessions.get(session)
        if kept is None or not kept.turns:
            return ""
        from tui.store.export import preview  # loaded with the list of sessions

        ends = kept.turns if len(kept.turns) <= 2 else [kept.turns[0], kept.turns[-1]]
        return preview(ends, left_out=len(kept.turns) - len(ends))

    async def turns(self, session: str) -> Sequence[Turn]:
        return (await self.load(session)).turns

    async def rename(self, session: str, title: str, *, by_user: bool = True) -> None:
        if session in self._sessions and (by_user or not self._sessions[session].title):
            self._sessions[session].title = title

    async def pin(self, session: str, *, pinned: bool) -> None:
        """Has no effect."""

    async def delete(self, session: str) -> None:
        self._sessions.pop(session, None)

    async def undelete(self, session: str) -> None:
        raise UsageError("Sessions are not being saved, so nothing can be restored.")

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        raise UsageError("Sessions are not being saved, so there is nothing to export.")

    async def import_file(self, path: Path) -> str:
        raise UsageError("Sessions are not being saved, so nothing can be imported.")

    async def aclose(self) -> None:
        """Has no effect."""


class _InMemorySession:
    """A journal that keeps turns in memory."""

    def __init__(self, turns: list[Turn] | None = None) -> None:
        from tui.app.branches_in_memory import BranchesInMemory  # most programs store their sessions

        self.branches = BranchesInMemory(turns or ())
        self.runs: list[SummaryRun] = []
        """Costs of summaries, and of side answers that were not kept."""
        self.view: CompressionView | None = None
        self.spec: ModelSpec | None = None
        self.settings: Mapping[str, object] = {}
        self.title = ""
        self.updated = time.time()
        self.queue: tuple[tuple[Block, ...], ...] = ()
        self._begun: Turn | None = None

    @property
    def has_prompt(self) -> bool:
        """Whether a prompt was sent."""
        return bool(self.turns) or self._begun is not None

    def contains(self, query: str) -> bool:
        """Whether all words of a query occur in its texts."""
        if not query.strip():
            return True
        text = " ".join((self.title, *_texts_of(self.turns), *_texts_of([self._begun] if self._begun else []))).lower()
        return all(word in text for word in query.lower().split())

    def first_words(self) -> str:
        """The beginning of the first prompt."""
        first = self.turns[0] if self.turns else self._begun
        return next((text.strip() for text in _texts_of([first] if first is not None else []) if text.strip()), "")

    @property
    def turns(self) -> list[Turn]:
        """The active path."""
        return self.branches.path

    @property
    def summaries(self) -> list[SummaryRun]:
        """Costs of summaries on the active path."""
        here = {turn.id for turn in self.turns}
        return [run for run in self.runs if run.turn in here]

    @property
    def elsewhere(self) -> list[Paid]:
        """Costs beside the active path."""
        here = {turn.id for turn in self.turns}
        return list(left_behind(self.branches.others(), self.runs, here))

    async def turn_started(self, session: str, turn: Turn) -> None:
        self._begun, self.updated = turn, time.time()

    async def checkpoint(self, session: str, turn_id: str, message: Message) -> None:
        """Has no effect."""

    async def grown(
        self, session: str, turn_id: str, message: Message, grown: Sequence[BlockGrowth], *, whole: bool
    ) -> bool:
        return True

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        """Has no effect."""

    async def turn_finished(self, session: str, turn: Turn) -> None:
        self.branches.append(turn)
        self._begun, self.updated = None, time.time()

    async def history_replaced(self, session: str, turns: Sequence[Turn]) -> None:
        self.branches.replace(turns)

    async def compressed(self, session: str, view: CompressionView | None) -> None:
        self.view = view

    async def summary_run(self, session: str, run: SummaryRun) -> None:
        self.runs.append(run)

    async def turn_kept(self, session: str, turn: Turn, after: str | None) -> None:
        names = {message.id for message in turn.messages}
        self.runs = [run for run in self.runs if run.id not in names]
        self.branches.add(turn, after)

    async def queued(self, session: str, prompts: Sequence[Sequence[Block]]) -> None:
        self.queue = tuple(tuple(blocks) for blocks in prompts)

    async def still_open(self, session: str) -> None:
        """Has no effect."""


def _texts_of(turns: Sequence[Turn]) -> list[str]:
    blocks = [block for turn in turns for message in turn.messages for block in message.blocks]
    return [block.text for block in blocks if isinstance(block, TextBlock)]


def open_storage(program: Program, *, soon: bool = False) -> Storage:
    """The database in the data folder, or memory if there is no home folder. Write errors show with the first prompt.

    ``soon`` opens the file at once, in another thread.
    """
    if program.paths.data == NO_HOME or not program.paths.data.is_absolute():
        sentence = "No home folder was found: sessions of this run are not saved."
        program.problems.append(StoreError(sentence, advice="Set PONDER_HOME to a folder you can write."))
        return InMemorySessions()
    from tui.app.sqlite_sessions import SqliteSessions

    return SqliteSessions(program.paths.database, time.time, program.keys.redactor.clean_content, soon=soon)
