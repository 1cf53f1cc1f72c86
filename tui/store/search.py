"""Full-text search over sessions: query syntax, ranking, filters, snippets."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.listing import SessionInfo
from tui.domain.search_terms import fold, term_pattern
from tui.store.blocks import OF_MESSAGE, read_blocks, searchable_text
from tui.store.fulltext import indexed_text
from tui.store.sessions import info_of

COLUMNS = {
    "prompts": "prompts",
    "prompt": "prompts",
    "answers": "answers",
    "answer": "answers",
    "thinking": "thinking",
    "tools": "tools",
    "tool": "tools",
}
_TERM = re.compile(r'(?:(in|model|after|before):)?(?:"([^"]*)"?|(\S+))', re.IGNORECASE)
LONGEST_QUERY = 10_000
"""Characters."""
MOST_WORDS = 200
"""SQLite refuses statements with many hundreds of conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed search."""

    terms: tuple[str, ...] = ()
    """Words and phrases as typed."""
    last_is_open: bool = False
    """Whether the last term is still being typed and matches as a prefix."""
    columns: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    after: float | None = None
    before: float | None = None

    @property
    def is_empty(self) -> bool:
        return self == Query()

    def expression(self) -> str:
        """The FTS5 query; "" if no term has a letter or digit."""
        phrases = [
            f'"{words}"' + (" *" if self.last_is_open and number == len(self.terms) - 1 else "")
            for number, term in enumerate(self.terms)
            if (words := _indexed(term))
        ]
        wanted = " AND ".join(phrases)
        return f"{{{' '.join(self.columns)}}} : ({wanted})" if wanted and self.columns else wanted


def parse(typed: str) -> Query:
    """Parse a search. Raises UsageError for an invalid filter."""
    terms: list[str] = []
    columns: list[str] = []
    models: list[str] = []
    after = before = None
    is_open = False
    if len(typed) > LONGEST_QUERY:
        raise UsageError(f"A search has at most {LONGEST_QUERY:,} characters.")
    writable = typed.encode("utf-8", "replace").decode()
    for found in _TERM.finditer(writable):
        name, quoted, bare = found.groups()
        value = quoted if quoted is not None else bare
        match (name or "").lower():
            case "in":
                columns.append(_column(value))
            case "model":
                models.append(value)
            case "after":
                after = _day(value)
            case "before":
                before = _day(value)
            case _:
                if value.strip():
                    terms.append(value)
                    is_open = quoted is None and found.end() == len(writable)
    if len(terms) + len(models) > MOST_WORDS:
        raise UsageError(f"A search has at most {MOST_WORDS} words.")
    return Query(
        terms=tuple(terms),
        last_is_open=is_open,
        columns=tuple(dict.fromkeys(columns)),
        models=tuple(models),
        after=after,
        before=before,
    )


def _column(word: str) -> str:
    column = COLUMNS.get(word.lower())
    if column is None:
        raise UsageError(f"`in:{word}` is unknown.", advice="Use in:prompts, in:answers, in:thinking or in:tools.")
    return column


def _day(word: str) -> float:
    """The first second of a day, month or year, in UTC."""
    for form in ("%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            return datetime.strptime(word, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise UsageError(f"`{word}` is not a date.", advice="Write it as 2026-11-18, 2026-11 or 2026.")


def _indexed(term: str) -> str:
    words = indexed_text(term).replace('"', " ")
    return words if any(character.isalnum() for character in words) else ""


RANKED = 5_000
"""Only the newest hits are ranked; for very common words, older ones are ignored."""
COLUMN_ORDER = ("prompts", "answers", "thinking", "tools")
WEIGHTS = "4.0, 2.0, 1.0, 0.5"
"""Weights of the index columns, in their order."""


def found_sessions(connection: sqlite3.Connection, query: Query, limit: int) -> list[SessionInfo]:
    """Matching sessions, best first; matching titles precede all others."""
    best = _hits(connection, query)
    rows: list[SessionInfo] = []
    titled = _titled(connection, query) if query.terms and not query.columns else []
    for session in dict.fromkeys((*titled, *best)):
        if len(rows) == limit:
            break
        row = info_of(connection, session)
        if session in best:
            row = _with_snippet(connection, row, best[session], query)
        rows.append(row)
    return rows


def _hits(connection: sqlite3.Connection, query: Query) -> dict[int, int]:
    """Session to its best message, the best session first."""
    expression = query.expression()
    where, values = _filters(query)
    if expression:
        statement = (
            "SELECT message.session, hit.rowid FROM ("
            "   SELECT words.rowid AS rowid, words.rank AS rank FROM words"
            "   JOIN message ON message.seq = words.rowid JOIN session ON session.seq = message.session"
            f"   WHERE words MATCH ? AND words.rank MATCH 'bm25({WEIGHTS})' AND {where}"
            f"   ORDER BY words.rowid DESC LIMIT {RANKED}"
            ") AS hit JOIN message ON message.seq = hit.rowid ORDER BY hit.rank, hit.rowid DESC"
        )
        rows = connection.execute(statement, (expression, *values))
    elif query.terms:
        return _scan(connection, query)
    else:
        rows = connection.execute(
            "SELECT message.session, message.seq FROM message JOIN session ON session.seq = message.session"
            f" WHERE {where} ORDER BY message.seq DESC LIMIT {RANKED}",
            values,
        )
    best: dict[int, int] = {}
    for session, message in rows:
        best.setdefault(session, message)
    return best


def _scan(connection: sqlite3.Connection, query: Query) -> dict[int, int]:
    """Search the newest messages directly: terms without letters or digits are not in the index."""
    where, values = _filters(query)
    holds = " AND instr(block.text, ?)" * len(query.terms)
    rows = connection.execute(
        "SELECT message.session, message.seq FROM message JOIN session ON session.seq = message.session"
        f" JOIN block ON {OF_MESSAGE} WHERE {where}{holds} ORDER BY message.seq DESC LIMIT 200",
        (*values, *query.terms),
    )
    best: dict[int, int] = {}
    for session, message in rows:
        best.setdefault(session, message)
    return best


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _filters(query: Query) -> tuple[str, list[object]]:
    clauses = ["session.deleted IS NULL"]
    values: list[object] = []
    for model in query.models:
        clauses.append(
            "EXISTS (SELECT 1 FROM message AS answer WHERE answer.turn = message.turn"
            " AND answer.model LIKE ? ESCAPE '\\')"
        )
        values.append(f"%{_escaped(model)}%")
    if query.after is not None:
        clauses.append("message.created >= ?")
        values.append(query.after)
    if query.before is not None:
        clauses.append("message.created < ?")
        values.append(query.before)
    return " AND ".join(clauses), values


def _titled(connection: sqlite3.Connection, query: Query) -> list[int]:
    if query.models or query.after is not None or query.before is not None:
        return []
    terms = [fold(term) for term in query.terms]
    rows = connection.execute("SELECT seq, title FROM session WHERE deleted IS NULL ORDER BY touched DESC")
    return [seq for seq, title in rows if all(term in fold(title) for term in terms)]


def _with_snippet(connection: sqlite3.Connection, row: SessionInfo, message: int, query: Query) -> SessionInfo:
    identity, role, turn = connection.execute(
        "SELECT message.id, message.role, turn.id FROM message JOIN turn ON turn.seq = message.turn"
        " WHERE message.seq = ?",
        (message,),
    ).fetchone()
    by_column = dict(zip(COLUMN_ORDER, searchable_text(role, read_blocks(connection, [message])[message]), strict=True))
    texts = [by_column[column] for column in (query.columns or COLUMN_ORDER)]
    found = snippet(texts, query.terms)
    if not found and not query.terms:
        found = " ".join(next((text for text in texts if text.strip()), "")[:120].split())
    return replace(row, snippet=found, hit_message=identity, hit_turn=turn, hit_terms=query.terms)


BEGIN, END = "\x02", "\x03"
"""Markers around a hit; removed from the text itself."""
WIDTH = 120
CUT = "…"


def snippet(texts: Sequence[str], terms: Sequence[str]) -> str:
    """The passage of the first matching text with the most different terms, hits marked; "" without a hit."""
    best = (0, "")
    for text in texts:
        found = _best_of(text, terms)
        if found[0] > best[0]:
            best = found
    return best[1]


def _best_of(text: str, terms: Sequence[str]) -> tuple[int, str]:
    plain = text.replace(BEGIN, " ").replace(END, " ")
    folded = fold(plain)
    hits = sorted(
        (hit.start(), hit.end(), number)
        for number, term in enumerate(terms)
        if (pattern := term_pattern(term)) is not None
        for hit in _first(pattern, folded, 50)
    )
    if not hits:
        return 0, ""
    chosen, count = hits[0], 0
    for hit in hits:
        different = len({number for start, end, number in hits if hit[0] <= start and end <= hit[0] + WIDTH})
        if different > count:
            chosen, count = hit, different
    return count, _around(plain, chosen[0], [(start, end) for start, end, _ in hits])


def _around(text: str, first: int, hits: Sequence[tuple[int, int]]) -> str:
    start = max(0, first - WIDTH // 4)
    if start:
        space = text.find(" ", start, first)
        start = space + 1 if space >= 0 else start
    stop = min(len(text), start + WIDTH)
    pieces = [CUT if start else ""]
    at = start
    for begin, end in hits:
        if begin < at or end > stop:
            continue
        pieces += [text[at:begin], BEGIN, text[begin:end], END]
        at = end
    pieces += [text[at:stop], CUT if stop < len(text) else ""]
    return " ".join("".join(pieces).split())


def _first(pattern: re.Pattern[str], text: str, limit: int) -> list[re.Match[str]]:
    found = []
    for match in pattern.finditer(text):
        found.append(match)
        if len(found) == limit:
            break
    return found
