"""A request contains the one before it byte for byte, so that the provider's prompt cache is read.

Compared are the JSON of the tools, of the system prompt and of the settings, and of every part of every message, in
order. A string as
content counts as one text part, and several user messages in a row as one message, because servers read them so.
Where a format has no parts, the text of the last prompt may go on after a blank line: a prompt without an answer is
followed by the next prompt. What a request adds after an empty answer (``NUDGE``) is not part of the comparison.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from tests.engine.generated_sessions import GeneratedSession, Sent
from tests.store.stage import open_stage
from tests.wires.prompt_cache import CachingServer
from tui.context.legality import NOTED
from tui.domain.messages import Turn, WireName
from tui.engine.step import NUDGE

SEEDS = range(30)
MORE_SEEDS = range(2_500)
RESERVED = range(1_000_000, 1_002_500)
"""Sessions that were not looked at while the code was written."""
Item = tuple[str, str]
"""What an item belongs to, and its text."""


async def as_they_are(session: str, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    return turns


@asynccontextmanager
async def stored(folder: Path) -> AsyncIterator[Callable[[str, tuple[Turn, ...]], Awaitable[tuple[Turn, ...]]]]:
    """Write turns into the real store and read them again."""
    stage = open_stage(folder)

    async def through_the_store(session: str, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
        if turns:
            await stage.keep(session, *turns)
            turns = await stage.conversations.turns(session)
        return turns

    try:
        yield through_the_store
    finally:
        await asyncio.to_thread(stage.database.close)


MESSAGES = ("messages", "contents", "input")
MARK = re.compile(rb',?"cache_control":\{[^}]*\}')


def prompt(sent: Sent, *, with_marks: bool = False) -> tuple[bytes, bytes]:
    """The JSON of everything but the messages, and of the messages."""
    top = orjson.dumps({name: value for name, value in sent.body.items() if name not in MESSAGES})
    messages = orjson.dumps(next(sent.body[name] for name in MESSAGES if name in sent.body))
    return (top, messages) if with_marks else (MARK.sub(b"", top), MARK.sub(b"", messages))


def difference(older: Sent, newer: Sent, *, with_marks: bool = False) -> str:
    """The first difference before the older request's end; "" if there is none."""
    (top, old), (new_top, new) = prompt(older, with_marks=with_marks), prompt(newer, with_marks=with_marks)
    if top != new_top:
        return f"{newer.model}: tools, system prompt or settings were {top!r}, now {new_top!r}"
    end = len(old.rstrip(b'"}]'))
    closing = old[end : old.index(b"}", end) + 1]
    if not older.nudged and new.startswith(old[:end] + closing):
        return ""
    return _first_difference(without_nudge(items(old), nudged=older.nudged), items(new), newer.model)


def _first_difference(before: list[Item], after: list[Item], model: str) -> str:
    for position, old in enumerate(before):
        new = after[position] if position < len(after) else ("nothing", "")
        goes_on = old[0] == new[0] == "user text" and new[1].startswith(f"{old[1]}\n\n")
        if old != new and not (goes_on and position == len(before) - 1):
            return f"{model}, item {position} of {len(before)}:\n  was {old}\n  now {new}"
    return ""


def items(messages: bytes) -> list[Item]:
    """What a server puts before its model, in order."""
    found: list[Item] = []
    for message in orjson.loads(messages):
        role = str(message.get("role", message.get("type")))
        others = {name: value for name, value in message.items() if name not in ("role", "content", "parts")}
        if others and others != {"type": "message"}:
            found.append((f"{role} fields", orjson.dumps(others).decode()))
        found += parts(role, message.get("content", message.get("parts")))
    return found


def parts(role: str, content: object) -> Iterator[Item]:
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in listed if isinstance(listed, list) else ():
        if part.keys() == {"type", "text"}:
            yield f"{role} text", part["text"]
        else:
            yield f"{role} part", orjson.dumps(part).decode()


def without_nudge(found: list[Item], *, nudged: bool) -> list[Item]:
    if not nudged:
        return found
    role, text = found[-1]
    assert NUDGE in text
    if text.endswith(f"\n\n{NUDGE}"):
        return [*found[:-1], (role, text.removesuffix(f"\n\n{NUDGE}"))]
    # Some servers need an answer between a tool's result and the user.
    return found[:-2] if found[-2] == ("assistant text", NOTED) else found[:-1]


def neighbours(sent: list[Sent]) -> Iterator[tuple[Sent, Sent]]:
    return ((older, newer) for older, newer in pairwise(sent) if older.configuration == newer.configuration)


def check(session: GeneratedSession) -> None:
    for older, newer in neighbours(session.sent):
        found = difference(older, newer)
        assert not found, f"{session.wire} seed {session.seed}: {found}"
        # The sentence of a nudge may make a step just long enough for a mark, which goes with it.
        if older.wire is newer.wire is WireName.ANTHROPIC and not older.nudged:
            check_marks(step_marks(older), step_marks(newer))
    check_cache(session)
    last = [sent for sent in session.sent if sent.configuration == session.configuration][-1:]
    for older in last:
        found = difference(older, session.summary_request())
        assert not found, f"{session.wire} seed {session.seed}, summary: {found}"


def step_marks(sent: Sent) -> list[int]:
    """Which blocks of the messages have marks; the moving mark at the end is none of them."""
    blocks = [block for message in sent.body["messages"] for block in message["content"]]
    return [position for position, block in enumerate(blocks) if "cache_control" in block]


def check_marks(before: list[int], after: list[int]) -> None:
    """Marks stay where they are; the third long step takes the oldest one away."""
    assert after[: len(before)] == before or (len(before) == 2 and after[0] == before[1] and len(after) == 2)


def marked_parts(sent: Sent) -> set[str]:
    contents = [message.get("content") for message in sent.body["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return {part["type"] for part in parts if "cache_control" in part}


def check_cache(session: GeneratedSession) -> None:
    """The server of each request looks back 20 blocks from at most four marks."""
    server, configuration, before = CachingServer(), -1, 0
    for sent in session.sent:
        marks = orjson.dumps(sent.body).count(b'"cache_control"')
        assert marks <= 4
        if sent.wire is WireName.OPENAI_CHAT:
            assert marked_parts(sent) <= {"text"}, f"{session.wire} seed {session.seed}: images take no mark there"
        if not marks:
            continue
        if sent.configuration != configuration:
            server, configuration, before = CachingServer(wire=sent.wire, least=1), sent.configuration, 0
        usage = server.answer(sent.body)
        assert usage.read >= before, f"{session.wire} seed {session.seed}: {usage.read} of {before} were read"
        if not sent.nudged:  # what was written of the sentence at its end is not read again
            before = usage.read + usage.written


async def play(wire: WireName, seeds: range, folder: Path, *, turns: int, stored_every: int) -> int:
    """Check sessions; returns how many pairs of requests were compared.

    One session of ``stored_every`` is written into a real store at its restarts and read again.
    """
    pairs = 0
    async with stored(folder) as restart:
        for seed in seeds:
            session = GeneratedSession(wire, seed, restart if seed % stored_every == 0 else as_they_are)
            await session.play(turns)
            check(session)
            pairs += sum(1 for _ in neighbours(session.sent))
    return pairs


@pytest.mark.one_in(5)
@pytest.mark.parametrize("wire", WireName)
async def test_a_request_begins_with_the_one_before(wire: WireName, tmp_path: Path) -> None:
    assert await play(wire, SEEDS, tmp_path, turns=6, stored_every=10) > 5 * len(SEEDS)


@pytest.mark.minutes
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("wire", WireName)
@pytest.mark.parametrize("seeds", [MORE_SEEDS, RESERVED], ids=["more", "reserved"])
async def test_in_thousands_of_sessions(wire: WireName, seeds: range, tmp_path: Path) -> None:
    assert await play(wire, seeds, tmp_path, turns=8, stored_every=1) > 10 * len(seeds)
