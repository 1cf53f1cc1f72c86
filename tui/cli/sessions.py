"""``ponder sessions list|show|search|export|import|delete``: stored sessions, for scripts and bug reports."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tui.app.ids import new_id
from tui.cli.user_catalog import print_messages
from tui.domain.cost import Cost
from tui.domain.errors import PonderError, UsageError
from tui.domain.listing import SessionInfo
from tui.domain.printable import json_escaped, one_line, printable
from tui.settings.forced_colours import forced_colours
from tui.settings.paths import find_paths
from tui.settings.user_files import write_atomically
from tui.store.database import LOCKED, Database, StoreContext
from tui.store.leases import this_process
from tui.store.library import StoredLibrary
from tui.store.search import BEGIN, END

Form = Literal["md", "json", "html"]
SHORT_ID = 8
"""Final characters of an id shown in lists; enough to identify a session."""
HEADER = f"  {'ID':{SHORT_ID}}  {'CHANGED':16}  {'TURNS':>4}  {'COST':>13}  TITLE, MODEL"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list sessions: pinned ones first, then the newest")
    listing.add_argument("--deleted", action="store_true", help="list deleted sessions that can be restored")
    _add_list_options(listing)
    search = actions.add_parser("search", help="search prompts, answers, thinking and tool results")
    search.add_argument(
        "words",
        nargs="+",
        metavar="WORD",
        help="a word, a quoted phrase, or a filter: in:thinking, model:NAME, after:DATE, before:DATE",
    )
    _add_list_options(search)
    for name, text in (("show", "print a session"), ("export", "write a session to a file or to stdout")):
        action = actions.add_parser(name, help=text)
        action.add_argument("session", metavar="ID", help="an id, its beginning or end, or the whole title")
        action.add_argument("--parts", choices=("answers", "thinking", "all"), help="what to include")
        if name == "export":
            action.add_argument(
                "--format", choices=("md", "json", "html"), default="md", dest="form", help="default: md"
            )
            action.add_argument(
                "-o", "--output", type=Path, metavar="FILE", help="write to a file that only you can read"
            )
    bring = actions.add_parser("import", help="import sessions from JSON exports of ponder, ChatGPT and Claude")
    bring.add_argument("files", nargs="+", type=Path, metavar="FILE", help="an exported file")
    delete = actions.add_parser("delete", help="delete sessions; --undo restores them")
    delete.add_argument("names", nargs="+", metavar="ID", help="an id, its beginning or end, or the whole title")
    how = delete.add_mutually_exclusive_group()
    how.add_argument("--undo", action="store_true", help="restore deleted sessions")
    how.add_argument("--forever", action="store_true", help="delete permanently")


def _add_list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=_limit, default=50, metavar="N", help="maximum number of rows (default 50)")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def _limit(word: str) -> int:
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", word):
        raise argparse.ArgumentTypeError(f"`{one_line(word, 40)}` is not a number of rows")
    return int(word)


def run(args: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if the store failed, 2 if the command line is wrong."""
    paths = find_paths(os.environ)
    database = Database(paths.database)
    database.when_locked = lambda: print_messages(f"ponder: {LOCKED}")
    conceal = _without_keys() if args.action in ("list", "search", "show", "export") else str
    around = StoreContext(holder=this_process(new_id()), now=time.time, new_id=new_id, conceal=conceal)
    library = StoredLibrary(database, around)
    try:
        asyncio.run(_act(library, args, conceal))
    except PonderError as problem:
        _complain(problem)
        return 2 if isinstance(problem, UsageError) else 1
    finally:
        database.close()
        for notice in database.notices:
            print_messages(f"ponder: {notice}")
    return 0


def _complain(problem: PonderError) -> None:
    print_messages(f"ponder: {problem.message} {problem.advice}".rstrip())


def _without_keys() -> Callable[[str], str]:
    """Removes the keys that the program would know. Imports what that needs."""
    from tui.cli.user_catalog import known_keys, user_catalog

    return known_keys(user_catalog(os.environ), os.environ).clean_content


async def _act(library: StoredLibrary, args: argparse.Namespace, conceal: Callable[[str], str]) -> None:
    match args.action:
        case "list":
            rows = await (library.deleted(args.limit) if args.deleted else library.sessions("", args.limit))
            none = "No deleted sessions." if args.deleted else "No sessions yet."
            _print_rows(rows, conceal, as_json=args.json, none=none)
        case "search":
            rows = await library.sessions(" ".join(args.words), args.limit)
            _print_rows(rows, conceal, as_json=args.json, none="No matches.")
        case "show":
            session = await library.resolve(args.session)
            pieces = library.export_pieces(session, "md", args.parts or "thinking")
            await asyncio.to_thread(_write, pieces)
        case "export":
            await _export(library, args)
        case "import":
            await _import(library, args.files)
        case _:
            await _delete(library, args)


async def _import(library: StoredLibrary, files: Sequence[Path]) -> None:
    """Import each file on its own: an invalid one does not stop the others. Returns the last problem."""
    problem: PonderError | None = None
    for path in files:
        try:
            print(printable(await library.import_file(path)))
        except PonderError as found:
            if problem is not None:
                _complain(problem)
            if path.name not in found.message:
                found.message = f"`{path.name}`: {found.message}"
            problem = found
    if problem is not None:
        raise problem


async def _export(library: StoredLibrary, args: argparse.Namespace) -> None:
    form: Form = args.form
    session = await library.resolve(args.session)
    parts = args.parts or ("all" if form == "json" else "answers")
    if args.output is None:
        await asyncio.to_thread(_write, library.export_pieces(session, form, parts), is_json=form == "json")
        return
    if _is_of_ponder(args.output):
        raise UsageError(f"`{args.output}` is one of ponder's own files.", advice="Export to another file.")
    write = _write_to_stream if _is_stream(args.output) else write_atomically
    try:
        await asyncio.to_thread(write, args.output, library.export_pieces(session, form, parts))
    except OSError as fault:
        raise UsageError(f"`{args.output}` cannot be written: {fault.strerror}.") from None


def _is_of_ponder(path: Path) -> bool:
    """Whether the path, links followed, is in one of the program's folders: an export must not replace a file there."""
    paths = find_paths(os.environ)
    own = {folder.resolve() for folder in (paths.config, paths.data, paths.state, paths.cache)}
    try:
        return not own.isdisjoint(path.resolve().parents)
    except (OSError, RuntimeError):  # a loop of links, which writing reports
        return False


def _is_stream(path: Path) -> bool:
    """Whether the path is a pipe or device, such as ``/dev/stdout``: written to, never replaced."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _write_to_stream(path: Path, text: str | Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines([text] if isinstance(text, str) else text)


async def _delete(library: StoredLibrary, args: argparse.Namespace) -> None:
    away = args.undo or args.forever
    for name in args.names:
        session = await library.resolve(name, deleted=away)
        if args.undo:
            await library.undelete(session)
        elif args.forever:
            await library.purge(session)
        else:
            await library.delete(session)
            print_messages(f"Deleted; `ponder sessions delete --undo {name}` restores it.")


def _print_rows(rows: Sequence[SessionInfo], conceal: Callable[[str], str], *, as_json: bool, none: str) -> None:
    """Scripts get only rows; a terminal also gets a header, and a message if there are no rows."""
    if not rows:
        print(none, file=sys.stderr)
    elif not as_json and sys.stdout.isatty():
        print(HEADER)
    for stored in rows:
        row = replace(stored, title=conceal(stored.title), snippet=_concealed(stored.snippet, conceal))
        if as_json:
            found = asdict(row) | {"snippet": row.snippet.replace(BEGIN, "").replace(END, "")}
            del found["hit_terms"]
            print(json.dumps(found))
        else:
            print(_line(row))


def _concealed(snippet: str, conceal: Callable[[str], str]) -> str:
    """A snippet without keys; one with keys also loses its marks, which may be inside a key."""
    plain = snippet.replace(BEGIN, "").replace(END, "")
    clean = conceal(plain)
    return snippet if clean == plain else clean


def _line(row: SessionInfo) -> str:
    when = datetime.fromtimestamp(row.updated, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    cost = Cost(dollars=row.cost, unknown=row.unpriced).amount
    pin = "*" if row.pinned else " "
    title = one_line(row.title, 50) or "Untitled"
    line = (
        f"{pin} {row.id[-SHORT_ID:]:8}  {when}  {row.turns:4}  {cost:>14}  {title}  {one_line(row.model, 40)}".rstrip()
    )
    if not row.snippet:
        return line
    forced = forced_colours(os.environ)
    begin, end = ("\x1b[1m", "\x1b[0m") if forced or (forced is None and sys.stdout.isatty()) else ("", "")
    pieces = enumerate(_pieces(row.snippet))
    marked = "".join(f"{begin}{piece}{end}" if number % 2 else piece for number, piece in pieces)
    return f"{line}\n    {marked}"


def _pieces(snippet: str) -> list[str]:
    """Parts outside and inside hits, alternating, each safe to print."""
    return [printable(piece, keep_newlines=False) for piece in snippet.replace(END, BEGIN).split(BEGIN)]


def _write(pieces: Iterable[str], *, is_json: bool = False) -> None:
    on_terminal, last = sys.stdout.isatty(), ""
    for piece in pieces:
        text = piece
        if is_json:
            text = json_escaped(piece)
        elif on_terminal:  # text for a file is unchanged, control characters for a terminal are escaped
            text = printable(piece)
        sys.stdout.write(text.encode("utf-8", "replace").decode())
        last = text[-1:] or last
    if last != "\n":
        sys.stdout.write("\n")
