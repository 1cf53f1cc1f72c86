"""The inspector's last exchange: the request as it went, its key masked, and what came."""

from __future__ import annotations

from pathlib import Path

from tests.app.stage import house
from tests.narrow import expect_type
from tui.app.recording_backend import LONGEST
from tui.domain.stream import BlockFinished, ImageData, TextDelta


async def test_the_last_exchange_is_what_was_asked_and_what_came(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        assert h.services.chat.last_exchange() is None
        await h.say("Hello")
        last = h.services.chat.last_exchange()
        assert last is not None
        assert expect_type(dict, last.request["body"])["messages"] == [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
        ]
        assert last.events[0].split(" s  ")[1].startswith("response started")
        assert last.events[-1].split(" s  ")[1].startswith("response finished")
        assert last.seconds is not None


async def test_a_key_that_is_not_to_be_kept_is_used_and_not_written(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        said = await h.services.keys.save_key("openai", "sk-canary-0123456789abcdef", keep=False)
        assert said == "The key for OpenAI is used until the program ends."
        provider = h.program.catalog.provider("openai")
        found = h.program.keys.find(provider)
        assert found is not None
        assert found.secret.reveal() == "sk-canary-0123456789abcdef"
        assert h.program.keys.saved() == ()
        assert not h.program.paths.credentials_file.exists()


async def test_of_a_very_long_event_only_the_beginning_is_kept(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.say("Hello")
        exchange = h.program.backend.last_of(h.services.chat.session_id)
        assert exchange is not None
        before = len(exchange.events)
        exchange.record((TextDelta(0, "y" * 5_000_000), ImageData(1, "z" * 5_000_000, None), BlockFinished(0)))
        exchange.record(tuple(TextDelta(0, str(number)) for number in range(100)))
        kept = [event for _, event in exchange.events[before:]]
        assert kept[:3] == [TextDelta(0, "y" * LONGEST), ImageData(1, "z" * LONGEST, None), BlockFinished(0)]
        assert kept[3:] == [TextDelta(0, str(number)) for number in range(100)]
