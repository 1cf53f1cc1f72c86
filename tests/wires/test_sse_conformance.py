"""The event-stream format, case by case: whole, cut in two anywhere, byte by byte, with empty chunks between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.wires.cuts import byte_by_byte, event_by_event, in_two_everywhere
from tui.wires.framing.sse import SseFramer

Said = str | tuple[str, str]
"""Data of an event without a name, or (name, data)."""
BOM = b"\xef\xbb\xbf"

CASES: dict[str, tuple[bytes, Sequence[Said]]] = {
    "lf": (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
    "cr": (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    "mixed line ends": (b"data: a\r\n\ndata: b\n\rdata: c\r\r\ndata: d\n\r\n", ["a", "b", "c", "d"]),
    "mixed line ends inside an event": (b"event: x\rdata: a\ndata: b\r\n\r\n", [("x", "a\nb")]),
    "bom": (BOM + b"data: a\n\n", ["a"]),
    "two boms, the second belongs to the field name": (BOM + BOM + b"data: a\n\ndata: b\n\n", ["b"]),
    "bom inside a value": (b"data: " + BOM + b"a\n\n", ["\ufeffa"]),
    "comment": (b": hello\n\ndata: a\n: between\n\n", ["a"]),
    "bare colon": (b":\n\n:\ndata: a\n\n", ["a"]),
    "no space after the colon": (b"data:a\n\n", ["a"]),
    "of two spaces one is kept": (b"data:  a\n\n", [" a"]),
    "a tab is kept": (b"data:\ta\n\n", ["\ta"]),
    "data on many lines": (b"data: a\ndata: b\ndata: c\n\n", ["a\nb\nc"]),
    "data without a colon": (b"data\n\n", [""]),
    "empty data": (b"data:\n\n", [""]),
    "two empty data": (b"data\ndata\n\n", ["\n"]),
    "an event name alone": (b"event: x\n\ndata: a\n\n", ["a"]),
    "an id alone": (b"id: 1\n\ndata: a\n\n", ["a"]),
    "retry alone": (b"retry: 1000\n\ndata: a\n\n", ["a"]),
    "blank lines after an id": (b"id: 1\n\n\n\n\ndata: a\n\n\n", ["a"]),
    "event name": (b"event: x\ndata: a\n\nevent: x\ndata: b\n\n", [("x", "a"), ("x", "b")]),
    "an empty event name is none": (b"event: x\nevent:\ndata: a\n\n", ["a"]),
    "a name does not outlive its event": (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), "b"]),
    "unknown field": (b"foo: x\ndata: a\nbar\n\n", ["a"]),
    "field names have a case": (b"Data: x\nDATA: y\ndata: a\n\n", ["a"]),
    "a leading space makes another field": (b" data: x\n\ndata: a\n\n", ["a"]),
    "no empty line at the end": (b"data: a\n\ndata: b\n", ["a"]),
    "no line end at the end": (b"data: a\n\ndata: b", ["a"]),
    "invalid utf-8": (b"data: a\xff\xfeb\n\n", ["a\ufffd\ufffdb"]),
    "truncated utf-8 before the line end": (b"data: \xe6\x8e\n\ndata: b\n\n", ["\ufffd", "b"]),
    "unicode line ends are none": ("data: a\u2028b\u2029c\u0085d\n\n".encode(), ["a\u2028b\u2029c\u0085d"]),
    "control line ends are none": (b"data: a\x0b\x0c\x1c\x1d\x1eb\n\n", ["a\x0b\x0c\x1c\x1d\x1eb"]),
    "nul in data": (b"data: a\x00b\n\n", ["a\x00b"]),
    "nul in an id": (b"id: 1\x002\ndata: a\n\n", ["a"]),
    "junk in retry": (b"retry: soon\ndata: a\n\n", ["a"]),
    "done": (b"data: a\n\ndata: [DONE]\n\n", ["a", "[DONE]"]),
    "nothing": (b"", []),
    "only newlines": (b"\n\n\r\n\r\r\n\n", []),
    "colon in the value": (b"data: a: b:c\n\n", ["a: b:c"]),
    "the end after two carriage returns": (b"data: a\r\r", ["a"]),
    "characters of many bytes": ("data: é推理🧠\n\n".encode(), ["é推理🧠"]),
    "wpt field-parsing": (
        (
            b"data:\x00\ndata:  2\rData:1\ndata\x00:2\ndata:1\r\x00data:4\nda-ta:3\rdata_5\ndata:3\r"
            b"data:\r\n data:32\ndata:4\n\n"
        ),
        ["\x00\n 2\n1\n3\n\n4"],
    ),
    "wpt newlines": (b"data:test\r\ndata\ndata:test\r\n\r\n", ["test\n\ntest"]),
    "wpt field-data": (b"data:\n\ndata\ndata\n\ndata:test\n\n", ["", "\n", "test"]),
    "wpt event-empty": (b"event: \ndata:data\n\n", ["data"]),
    "wpt unknown": (b"data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\n\n", ["test\n"]),
    "wpt null": (b"data:\x00\n\n\n\n", ["\x00"]),
    "wpt comments": (
        b"data:1\r:\x00\n:\r\ndata:2\n:" + b"x" * 2049 + b"\rdata:3\n:data:fail\r:" + b"x" * 99 + b"\ndata:4\n\n",
        ["1\n2\n3\n4"],
    ),
    "wpt bom": (BOM + b"data:1\n\n", ["1"]),
    "wpt bom-2": (BOM + BOM + b"data:1\n\ndata:2\n\ndata:3\n\n", ["2", "3"]),
    "wpt data-before-final-empty-line": (b"retry:1000\ndata:test1\n\nid:test\ndata:test2", ["test1"]),
    "wpt leading-space": (b"data:\ttest\rdata: \ndata:test\n\n", ["\ttest\n\ntest"]),
}


def events(chunks: list[bytes]) -> list[tuple[str, str]]:
    framer = SseFramer()
    frames = [frame for chunk in chunks for frame in framer.feed(chunk)] + framer.finish()
    return [(name, data.decode("utf-8", "replace")) for name, data in frames]


def named(expected: Sequence[Said]) -> list[tuple[str, str]]:
    return [item if isinstance(item, tuple) else ("", item) for item in expected]


@pytest.mark.parametrize("name", CASES)
def test_a_stream_is_read_by_the_rules_however_it_is_cut(name):
    body, expected = CASES[name]

    assert events([body]) == named(expected)
    assert events(byte_by_byte(body)) == named(expected)
    assert events(event_by_event(body)) == named(expected)
    for chunks in in_two_everywhere(body):
        assert events(chunks) == named(expected), chunks


def test_every_event_of_a_stream_in_carriage_returns_comes_at_once():
    assert SseFramer().feed(b"data: a\r\n\r\n") == [("", b"a")]
    assert SseFramer().feed(b"data: a\r\r") == [("", b"a")]


def test_an_unterminated_event_is_no_event_but_can_be_looked_at():
    framer = SseFramer()

    assert framer.feed(b'data: a\n\ndata: {"error"') == [("", b"a")]
    assert framer.finish() == []
    assert framer.unterminated == b'data: {"error"'


def test_plain_json_between_events_is_kept_aside():
    framer = SseFramer()

    assert framer.feed(b'data: a\n\n{\n"error": {}\n}\n\ndata: b\n\n') == [("", b"a"), ("", b"b")]
    assert framer.stray == b'{\n"error": {}\n}'


def test_a_million_comments_at_once_are_read_in_linear_time() -> None:
    """Copied with each comment, they would take an hour."""
    framer = SseFramer()
    assert framer.feed(b":\n\n" * 1_000_000 + b"data: a\n\n") == [("", b"a")]
