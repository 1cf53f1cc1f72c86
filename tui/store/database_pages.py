"""Reads rows of a damaged database without SQLite, by parsing every page on its own.

SQLite finds rows through the schema on the first page and through interior pages. If one of those is lost, SQL
reaches none of the rows behind it, although they still exist. Format: https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path

Row = list[object]
_HEADER = 100
_LEAF_OF_TABLE = 13
_LEAF_OF_INDEX = 10
_WAL_HEADER = 32
_FRAME_HEADER = 24
_USUAL_SIZE = 4096
_LONGEST = 64 << 20
"""Bytes: a longer row is a misread length."""


class DatabasePages:
    """The pages of a database file, with its write-ahead log applied."""

    def __init__(self, database: Path, log: Path) -> None:
        self._file = _mapped(database)
        found, self._log = _frames(log)
        self.size = found or _page_size(self._file[16:18])
        self.count = max(len(self._file) // self.size, *self._log, 0)

    def page(self, number: int) -> bytes:
        """One page, counted from 1; b"" past the end."""
        inside = self._log.get(number)
        return inside if inside is not None else self._file[(number - 1) * self.size : number * self.size]

    def rows(self) -> Iterator[tuple[int | None, Row]]:
        """All rows of all leaf pages in use, with their rowid (None in tables without one)."""
        free = self._free()
        for number in range(1, self.count + 1):
            if number not in free:
                yield from self._rows_on(number)

    def _free(self) -> set[int]:
        """Pages on the freelist: their rows were deleted."""
        free: set[int] = set()
        trunk = int.from_bytes(self.page(1)[32:36]) if self.page(1).startswith(b"SQLite format 3\0") else 0
        while 0 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            page = self.page(trunk)
            entries = min(int.from_bytes(page[4:8]), self.size // 4 - 2)
            free.update(int.from_bytes(page[8 + 4 * place : 12 + 4 * place]) for place in range(entries))
            trunk = int.from_bytes(page[:4])
        return free

    def _rows_on(self, number: int) -> Iterator[tuple[int | None, Row]]:
        page = self.page(number)
        start = _HEADER if number == 1 else 0
        if len(page) < start + 8 or page[start] not in (_LEAF_OF_TABLE, _LEAF_OF_INDEX):
            return
        is_table = page[start] == _LEAF_OF_TABLE
        cells = int.from_bytes(page[start + 3 : start + 5])
        for place in range(start + 8, min(start + 8 + 2 * cells, len(page) - 1), 2):
            try:
                yield self._cell(page, int.from_bytes(page[place : place + 2]), is_table=is_table)
            except (ValueError, IndexError, struct.error, UnicodeDecodeError):
                continue  # This row is damaged.

    def _cell(self, page: bytes, at: int, *, is_table: bool) -> tuple[int | None, Row]:
        length, at = _varint(page, at)
        key: int | None = None
        if is_table:
            key, at = _varint(page, at)
        return key, _record(self._payload(page, at, length, is_table=is_table))

    def _payload(self, page: bytes, at: int, length: int, *, is_table: bool) -> bytes:
        """The payload of a cell, including its overflow pages."""
        if not 0 < length < _LONGEST:
            raise ValueError("no length")
        most = self.size - 35 if is_table else (self.size - 12) * 64 // 255 - 23
        if length <= most:
            return page[at : at + length]
        least = (self.size - 12) * 32 // 255 - 23
        here = least + (length - least) % (self.size - 4)
        here = here if here <= most else least
        parts = [page[at : at + here]]
        following = int.from_bytes(page[at + here : at + here + 4])
        missing = length - here
        while missing > 0:
            more = self.page(following) if 0 < following <= self.count else b""
            if not more:
                raise ValueError("cut")
            parts.append(more[4 : 4 + missing])
            missing -= len(more) - 4
            following = int.from_bytes(more[:4])
        return b"".join(parts)


def _mapped(path: Path) -> mmap.mmap | bytes:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.fstat(file.fileno()).st_size else b""


def _page_size(field: bytes) -> int:
    size = int.from_bytes(field)
    size = 65536 if size == 1 else size
    return size if 512 <= size <= 65536 and size & (size - 1) == 0 else _USUAL_SIZE


def _frames(log: Path) -> tuple[int, dict[int, bytes]]:
    """The page size and the newest committed version of each page in a write-ahead log."""
    try:
        content = log.read_bytes()
    except OSError:
        return 0, {}
    if len(content) < _WAL_HEADER or content[:3] != b"\x37\x7f\x06":
        return 0, {}
    size, salts = int.from_bytes(content[8:12]), content[16:24]
    if not 512 <= size <= 65536 or size & (size - 1):
        return 0, {}
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    for at in range(_WAL_HEADER, len(content) - size - _FRAME_HEADER + 1, size + _FRAME_HEADER):
        head = content[at : at + _FRAME_HEADER]
        if head[8:16] != salts:
            break  # A frame left from before the last reset of the log.
        number = int.from_bytes(head[:4])
        if 0 < number < 1 << 31:
            pending[number] = content[at + _FRAME_HEADER : at + _FRAME_HEADER + size]
        if int.from_bytes(head[4:8]):
            committed.update(pending)
            pending = {}
    return size, committed


def _record(payload: bytes) -> Row:
    length, at = _varint(payload, 0)
    if length > len(payload):
        raise ValueError("no header")
    kinds = []
    while at < length:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    at = length
    row: Row = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        row.append(value)
    return row


def _value(payload: bytes, at: int, kind: int) -> tuple[object, int]:
    if kind in (0, 8, 9):
        return (None, 0, 1)[(0, 8, 9).index(kind)], at
    size = (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind] if kind < 10 else -1
    if size < 0 or at + size > len(payload):
        raise ValueError("no value")
    content = payload[at : at + size]
    at += size
    if kind == 7:
        return struct.unpack(">d", content)[0], at
    if kind < 7:
        return int.from_bytes(content, signed=True), at
    return (content.decode("utf-8", "replace") if kind % 2 else content), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        byte = data[at + place]
        if place == 8:
            value = value << 8 | byte
            return (value - (1 << 64) if value >> 63 else value), at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("no number")
