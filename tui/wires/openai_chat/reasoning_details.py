"""``reasoning_details``: the array OpenRouter, the Vercel gateway and MiniMax stream in pieces and want back whole."""

from __future__ import annotations

from tui.wires.json_text import NotJSON, dumps, loads
from tui.wires.read import Json

TEXT_OF_TYPE = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Types that stream in pieces, and the field that does."""
REPEATING_FORMATS = frozenset({"MiniMax-response-v1"})
"""Formats whose pieces may repeat all before them: the vendor's own sample says so, its servers mostly do not."""


class ReasoningDetails:
    """Pieces in, the merged array out.

    A piece continues the entry before it when type, index and id agree and that entry is not signed yet: a
    signature covers a whole thinking block, so words after it begin another. Everything else is kept as it came.
    """

    def __init__(self) -> None:
        self._entries: list[dict[str, object]] = []
        self._pieces: list[list[str]] = []
        self._so_far: str | None = None
        """Text of the open entry, kept only while a server may be repeating itself (MiniMax)."""
        self._usual: dict[str, object] | None = None
        """The last piece, its text emptied."""
        self._usual_field = "text"

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, details: object) -> str:
        """Take the details of one delta; the readable text that is new in them."""
        if details.__class__ is not list:
            return ""
        if len(details) == 1 and (detail := details[0]).__class__ is dict:
            return self._add_one(detail)
        return "".join(self._add_one(detail) for detail in details if isinstance(detail, dict))

    def _add_one(self, detail: dict[str, object]) -> str:
        field = self._usual_field
        piece = detail.get(field)
        if self._usual is not None and piece.__class__ is str:
            # Nearly every piece differs from the one before in its text alone.
            detail[field] = ""
            if detail == self._usual:
                self._pieces[-1].append(piece)
                return piece
            detail[field] = piece
        return self._add_any(detail)

    def _add_any(self, detail: dict[str, object]) -> str:
        field = TEXT_OF_TYPE.get(type_) if (type_ := detail.get("type")).__class__ is str else None
        if field is None:
            self._open(detail, "")
            return ""
        piece = detail.get(field)
        if piece.__class__ is str:
            detail[field] = ""
        self._usual_field = field
        return self._add_text(detail, piece if piece.__class__ is str else "")

    def merged(self) -> list[dict[str, object]]:
        """The array as it goes back."""
        for entry, pieces in zip(self._entries, self._pieces, strict=True):
            field = TEXT_OF_TYPE.get(str(entry.get("type")))
            if field is not None and pieces:
                entry[field] = "".join(pieces)
        return self._entries

    def raw(self) -> str:
        """The same as JSON text, for a seal."""
        return dumps(self.merged())

    def _add_text(self, rest: dict[str, object], piece: str) -> str:
        """A piece's words, and the rest of it: its text field is empty by now."""
        if not self._continues(rest, piece):
            self._open(rest, piece)
        else:
            entry = self._entries[-1]
            for key, state in rest.items():
                # Whatever came first stays, but for what was still missing: the signature comes last.
                if state and not entry.get(key):
                    entry[key] = state
            piece = self._unrepeated(piece)
            if piece:
                self._pieces[-1].append(piece)
        settled = self._so_far is None and not self._entries[-1].get("signature")
        self._usual = rest if settled else None
        return piece

    def _continues(self, rest: dict[str, object], piece: str) -> bool:
        last = self._entries[-1] if self._entries else None
        if last is None or last.get("type") != rest.get("type") or (last.get("signature") and piece):
            return False
        return all(last.get(key) is None or rest.get(key) is None or last[key] == rest[key] for key in ("index", "id"))

    def _unrepeated(self, piece: str) -> str:
        """What is new in a piece that may repeat everything before it."""
        if self._so_far is None:
            return piece
        if piece.startswith(self._so_far):
            piece, self._so_far = piece[len(self._so_far) :], piece
        elif piece:
            self._so_far = None
        return piece

    def _open(self, detail: dict[str, object], piece: str) -> None:
        self._entries.append(dict(detail))
        self._pieces.append([piece] if piece else [])
        repeats = piece and str(detail.get("format")) in REPEATING_FORMATS
        self._so_far = piece if repeats else None
        self._usual = None


def is_summary(detail: Json) -> bool:
    """Whether the words of a detail sum the thinking up rather than being it."""
    return detail.get("type") == "reasoning.summary"


def details_of(raw: str | None) -> list[object]:
    """The array in a seal; empty where there is none."""
    if not raw:
        return []
    try:
        value = loads(raw)
    except NotJSON:
        return []
    return value if isinstance(value, list) else []
