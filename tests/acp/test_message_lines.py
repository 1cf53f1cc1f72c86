"""Lines of an editor that are no messages, and what models write into the messages to it."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

pytest.importorskip("acp")
from tui.acp.message_lines import MessageLines
from tui.acp.updates import started


class Written:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.lines.append(data)

    async def drain(self) -> None:
        pass


async def _received(said: bytes) -> tuple[dict[str, Any] | None, list[Any]]:
    reader, written = asyncio.StreamReader(), Written()
    reader.feed_data(said)
    reader.feed_eof()
    message = await MessageLines(reader, cast("asyncio.StreamWriter", written)).receive()
    return message, [json.loads(line)["error"]["code"] for line in written.lines]


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "error": 5}', '{"id": 1, "error": ["x"]}', '{"id": [1], "result": {}}', '{"id": {}, "error": {}}',
        '{"id": 1e400, "method": "initialize"}', '{"id": 1, "method": ["x"]}', '{"id": [1], "method": "initialize"}',
    ],
)  # fmt: skip
async def test_an_answer_or_request_of_another_shape_is_refused_and_the_next_one_read(line: str) -> None:
    """The connection would end with it, or answer with a line that is not JSON."""
    assert await _received(f'{line}\n{{"id": 2, "result": null}}\n'.encode()) == ({"id": 2, "result": None}, [-32600])


@pytest.mark.parametrize(
    "line",
    [
        '{"id": null, "error": null}', '{"id": "a", "error": {"code": 1}}', '{"id": 1, "method": "session/cancel"}',
        '{"method": "session/cancel", "params": {"sessionId": "s"}}', '{"method": "_zed/x", "params": 5}',
    ],
)  # fmt: skip
async def test_messages_are_passed_on(line: str) -> None:
    assert await _received(f"{line}\n".encode()) == (json.loads(line), [])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        *(
            (f'{{"method": "session/cancel", "params": {params}}}', "session/cancel does not name a session")
            for params in ("null", "5", '"s"', "[]", '["s"]', "{}", '{"sessionId": 5}', '{"sessionId": null}')
        ),
        ('{"method": "session/cancel"}', "session/cancel does not name a session"),
        ('{"method": "$/cancel_request", "params": {"id": 1}}', "$/cancel_request is not known"),
    ],
)
async def test_a_notification_that_cannot_be_obeyed_is_ignored_with_a_sentence(
    line: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It has no answer, and the connection would write a traceback."""
    assert await _received(f'{line}\n{{"id": 2, "result": null}}\n'.encode()) == ({"id": 2, "result": None}, [])
    assert [(record.getMessage(), record.exc_info) for record in caplog.records] == [
        (f"ignored a notification of the editor: {why}", None)
    ]


async def test_what_editors_add_for_each_other_is_left_out() -> None:
    said = b'{"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "_meta": {"self": 1}}}\n'
    assert await _received(said) == ({"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}, [])


async def test_half_characters_and_numbers_that_are_none_do_not_spoil_a_line() -> None:
    written = Written()
    lines = MessageLines(asyncio.StreamReader(), cast("asyncio.StreamWriter", written))
    await lines.send({"id": 1, "result": {"\ud800": "\udc00 é\u2028"}})
    await lines.send({"id": float("inf")})
    assert written.lines == ['{"id":1,"result":{"\ufffd":"\ufffd é\u2028"}}\n'.encode(), b'{"id":null}\n']


def _deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("arguments", "raw"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("", {}),
        *((text, text) for text in ('{"\\ud800": 1}', '{"a": NaN}', '{"a": 1e999}', '{"a"', _deep(60), _deep(5_000))),
    ],
)
def test_arguments_that_an_editor_may_not_read_are_text(arguments: str, raw: object) -> None:
    assert started("c", "shell", arguments).model_dump(mode="json")["raw_input"] == raw
