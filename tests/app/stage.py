"""The whole program around the embedded demo, in a folder of its own, without a screen."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.patience import PATIENCE_S
from tui.app.current_session import DEMO, CurrentSession, first_spec, named_model
from tui.app.launch_options import LaunchOptions
from tui.app.private_sessions import StorageWithPrivate
from tui.app.program import Program
from tui.app.provider_availability import ProviderAvailability
from tui.app.services import AppServices
from tui.app.session_storage import InMemorySessions, Storage, StoredSession, open_storage
from tui.bootstrap.program import build_program
from tui.bus import Subscription
from tui.domain.blocks import Block, TextBlock
from tui.domain.events import AppEvent, Stamped, TurnFailed, TurnFinished
from tui.domain.messages import Turn
from tui.domain.usage import MeterReading
from tui.engine.ports import Clock, NoTools
from tui.engine.state import SessionView

FAST = "demo/fast/low"


@dataclass
class House:
    """The services, and what stands behind it."""

    program: Program
    current: CurrentSession
    availability: ProviderAvailability
    services: AppServices

    def view(self) -> SessionView:
        view, subscription = self.services.chat.attach()
        subscription.close()
        return view

    async def meter(self, draft: str = "") -> MeterReading:
        return await self.services.chat.meter_with_draft(draft)

    async def say(self, text: str, *more: Block) -> list[AppEvent]:
        """Submit a prompt; all that was heard until the turn's end."""
        _, subscription = self.services.chat.attach()
        await self.services.chat.submit((TextBlock(text=text), *more))
        return await heard_until(subscription, TurnFinished, TurnFailed)


async def heard_until(subscription: Subscription[Stamped], *kinds: type) -> list[AppEvent]:
    heard: list[AppEvent] = []
    async with asyncio.timeout(PATIENCE_S):
        async for batch in subscription.batches(0):
            heard += [stamped.event for stamped in batch]
            if any(isinstance(event, kinds) for event in heard):
                break
    subscription.close()
    return heard


def config(home: Path, text: str) -> None:
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "config.toml").write_text(text, encoding="utf-8")


@asynccontextmanager
async def house(
    home: Path,
    *,
    environment: Mapping[str, str] | None = None,
    model: str | None = FAST,
    stored: Sequence[Turn] = (),
    tools: bool = False,
    stored_in: Literal["memory", "file"] = "memory",
    reopen: str = "",
    clock: Clock | None = None,
    **options: Any,
) -> AsyncIterator[House]:
    """The program as ``ponder`` starts it, with a session open."""
    around = {"PONDER_HOME": str(home), "HOME": str(home), **(environment or {})}
    launch: dict[str, Any] = {"model": model, "folder": home, "demo_speed": 0.0, **options}
    program = build_program(around, LaunchOptions(**launch))
    program.clock = clock or program.clock
    if not tools:
        program.session_toolbox = NoTools()
    availability = ProviderAvailability(program)
    availability.look_for_keys(stored=False)
    storage: Storage = StorageWithPrivate(open_storage(program) if stored_in == "file" else InMemorySessions())
    program.engine.start()
    try:
        current = CurrentSession(program, storage, interactive=True)
        left = StoredSession(id="left", title="", spec=None, turns=tuple(stored)) if stored else None
        left = await storage.load(reopen) if reopen else left
        spec = first_spec(program, availability.ready())
        if program.local_models.is_unknown(spec):
            program.local_models.learn(spec.model)
        current.chosen_by_default = spec == DEMO and not named_model(program)
        current.start(spec, left, private=program.options.no_save)
        yield House(program, current, availability, AppServices(current, availability, storage))
        await current.close()
    finally:
        await storage.aclose()
        await asyncio.to_thread(program.close)


async def exported(storage: Storage, session: str, form: Literal["md", "json", "html"], parts: str) -> str:
    """What an export of a session writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        await storage.export_to(path, session, form, parts)
        return path.read_text(encoding="utf-8")
