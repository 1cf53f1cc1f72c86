"""What fault tests share: a way from a wire's name to the real backend, and a key that must never be seen."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.faultserver.server import FaultServer
from tests.key_canary import CANARY
from tests.narrow import text_of
from tests.patience import PATIENCE_S
from tui.catalog.facts import AuthStyle, ModelFacts, ProviderFacts, Target, ThinkingControls
from tui.domain.assemble import Assembler
from tui.domain.blocks import TextBlock
from tui.domain.errors import ProviderError
from tui.domain.messages import Origin, Role, WireName
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
from tui.domain.stream import StreamEvent
from tui.domain.thinking import PlanState, ThinkingLevel, ThinkingPlan
from tui.providers.backend import ProviderBackend
from tui.providers.http.deadlines import RequestLimits
from tui.providers.http.transport import Transport
from tui.providers.keys import Keys

WIRES = ("anthropic", "openai-responses", "openai-chat", "chat-openrouter", "gemini", "gemini-array", "ollama")
BRISK = RequestLimits(
    connect_s=5.0, write_s=0.6, header_s=1.0, private_header_s=1.0, idle_s=0.6, meaning_s=1.0, total_s=9.0,
    after_end_s=0.2,
)  # fmt: skip
"""Short enough to be waited for, so only for servers that are to be given up: a busy machine pauses as long."""
PATIENT = RequestLimits(
    connect_s=60.0, write_s=60.0, header_s=60.0, private_header_s=60.0, idle_s=60.0, meaning_s=60.0, total_s=120.0,
    after_end_s=0.2,
)  # fmt: skip


@dataclass
class Outcome:
    """What one request came to."""

    events: list[StreamEvent] = field(default_factory=list)
    error: ProviderError | None = None

    @property
    def blocks(self) -> Assembler:
        assembler = Assembler()
        for event in self.events:
            assembler.feed(event)
        return assembler

    def words(self, kind: str) -> str:
        return "".join(text_of(block) for block in self.blocks.blocks() if block.kind == kind)

    @property
    def text(self) -> str:
        return self.words("text")

    @property
    def thinking(self) -> str:
        return self.words("thinking")

    @property
    def complete(self) -> bool:
        return self.blocks.stop is not None


def plan(fields: Mapping[str, object] | None = None) -> ThinkingPlan:
    return ThinkingPlan(
        asked=ThinkingLevel.HIGH, nominal=None, sent=None, state=PlanState.ON, fields=fields or {}, max_output=8000
    )


def request(text: str = "Hello?", **changes: Any) -> ChatRequest:
    message = OutgoingMessage(role=Role.USER, blocks=(TextBlock(text=text),))
    asked = ChatRequest(model="asked-model", outgoing=Outgoing(messages=(message,)), plan=plan(), max_output=8000)
    return replace(asked, **changes)


def where(wire: str, base_url: str, **changes: Any) -> Target:
    name = WireName({"gemini-array": "gemini", "chat-openrouter": "openai-chat"}.get(wire, wire))
    auth = {"anthropic": AuthStyle.X_API_KEY, "gemini": AuthStyle.X_GOOG_API_KEY}.get(name.value, AuthStyle.BEARER)
    provider = ProviderFacts(
        id="tested", title="Tested", wire=name, base_url=base_url, auth=auth, key_env=("TESTED_API_KEY",)
    )
    facts = ModelFacts(provider="tested", id="asked-model", wire=name, spelling="nothing", controls=ThinkingControls())
    return target(replace(provider, **changes), facts)


def target(provider: ProviderFacts, facts: ModelFacts) -> Target:
    origin = Origin(provider=provider.id, wire=facts.wire, host="127.0.0.1", model=facts.id)
    return Target(provider=provider, facts=facts, origin=origin)


class Client:
    """The real backend."""

    def __init__(self, credentials: Path) -> None:
        self.environ = {"TESTED_API_KEY": CANARY}
        self.keys = Keys(credentials, environ=self.environ, use_keyring=False)
        self.backends: list[ProviderBackend] = []
        self.outcomes: list[Outcome] = []

    def backend(self, limits: RequestLimits = PATIENT, **transport: Any) -> ProviderBackend:
        transport = {"environ": {}, **transport}
        backend = ProviderBackend(self.keys, lambda: Transport(limits=limits, **transport), limits=limits)
        self.backends.append(backend)
        return backend

    async def ask(
        self,
        server: FaultServer | str,
        wire: str = "anthropic",
        *,
        asked: ChatRequest | None = None,
        backend: ProviderBackend | None = None,
        limits: RequestLimits = PATIENT,
        at_most_s: float = PATIENCE_S,
        **changes: Any,
    ) -> Outcome:
        """One request. It ends before any limit that is not the one tested, on a busy machine too."""
        url = server if isinstance(server, str) else server.url
        backend = backend or self.backend(limits)
        outcome = Outcome()
        self.outcomes.append(outcome)
        async with asyncio.timeout(at_most_s):
            try:
                async for batch in backend.stream(where(wire, url, **changes), asked or request()):
                    outcome.events.extend(batch)
            except ProviderError as error:
                outcome.error = error
        return outcome


@pytest.fixture
async def client(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Client]:
    caplog.set_level(logging.DEBUG)
    client = Client(tmp_path / "credentials.toml")
    yield client
    for backend in client.backends:
        await backend.aclose()
    for outcome in client.outcomes:
        shown = "".join(map(repr, outcome.events))
        if outcome.error is not None:
            shown += "".join(traceback.format_exception(outcome.error)) + repr(vars(outcome.error))
        assert CANARY not in shown
    assert CANARY not in caplog.text
