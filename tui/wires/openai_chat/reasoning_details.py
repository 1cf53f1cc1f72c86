"""Merges ``reasoning_details``, which OpenRouter, Vercel's gateway and MiniMax stream in pieces and want back whole."""

from __future__ import annotations

from tui.wires.json_text import Json, NotJSON, dumps, loads

TEXT_OF_TYPE = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Entry types that are streamed in pieces, and the field with the text."""
REPEATING_FORMATS = frozenset({"MiniMax-response-v1"})
"""Formats whose pieces may repeat the text before them: the vendor's sample does, its servers mostly do not."""


class ReasoningDetails:
    """Merges the pieces of one response into an array.

    A piece continues the previous entry if type, index and id agree and that entry is not signed: a signature covers
    a whole thinking block, so text after it starts another. Other entries are kept as received.
    """

    def __init__(self) -> None:
        self._entries: list[dict[str, object]] = []
        self._pieces: list[list[str]] = []
        self._so_far: str | None = None
        """Text of the open entry, kept only while the server may be repeating it (MiniMax)."""
        self._usual: dict[str, object] | None = None
        """The previous piece with empty text."""
        self._usual_field = "text"

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, details: object) -> str:
        """Add the details of one delta and return the new readable text in them."""
        if details.__class__ is not list:
            return ""
        if len(details) == 1 and (detail := details[0]).__class__ is dict:
            return self._add_one(detail)
        return "".join(self._add_one(detail) for detail in details if isinstance(detail, dict))

    def _add_one(self, detail: dict[str, object]) -> str:
        field = self._usual_field
        piece = detail.get(field)
        if self._usual is not None and piece.__class__ is str:
            # Fast path: nearly every piece differs from the previous one in its text only.
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
        """Return the array to send back."""
        for entry, pieces in zip(self._entries, self._pieces, strict=True):
            field = TEXT_OF_TYPE.get(str(entry.get("type")))
            if field is not None and pieces:
                entry[field] = "".join(pieces)
        return self._entries

    def raw(self) -> str:
        """Return the array as JSON text."""
        return dumps(self.merged())

    def _add_text(self, rest: dict[str, object], piece: str) -> str:
        """Add a piece: its text, and ``rest``, its other fields with the text field empty."""
        if not self._continues(rest, piece):
            self._open(rest, piece)
        else:
            entry = self._entries[-1]
            for key, state in rest.items():
                # The first value of a field counts; a field may also come later, as the signature does.
                if state and not entry.get(key):
                    entry[key] = state
            piece = self._new_text(piece)
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

    def _new_text(self, piece: str) -> str:
        """Return the new text of a piece that may repeat the text before it."""
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
    """Whether the text of a detail is a summary of the thinking."""
    return detail.get("type") == "reasoning.summary"


def details_of(raw: str | None) -> list[object]:
    """Return the array in the raw text of provider state, or an empty list."""
    if not raw:
        return []
    try:
        value = loads(raw)
    except NotJSON:
        return []
    return value if isinstance(value, list) else []
