"""Sends one request to one model and yields the events of the response: key, encoding, transport, decoding.

Failed requests are not retried here. A rejected request is sent again in three cases: the key was replaced in its
source meanwhile, a server configured by the user may expect the key in another header, or the address was not found
and the base URL lacks its version (``/v1``).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.catalog.catalog import effective_quirks
from tui.catalog.cloud_accounts import unfilled, with_account
from tui.catalog.facts import AuthStyle, ProviderFacts, Quirks, Target
from tui.domain.blocks import ThinkingBlock
from tui.domain.errors import ConfigError, ErrorKind, ProviderError
from tui.domain.format_numbers import count
from tui.domain.lazy_regex import lazy_regex
from tui.domain.messages import WireName
from tui.domain.printable import one_line
from tui.domain.request import ChatRequest
from tui.domain.stream import (
    ModelLoading,
    ProviderRemark,
    ResponseFinished,
    ResponseStarted,
    StreamEvent,
    UsageReported,
)
from tui.providers.http.deadlines import RequestLimits
from tui.providers.http.request import HttpRequest, http_request, limits_for, other_header, with_version
from tui.providers.keys import FoundKey, KeyLocation, Keys
from tui.providers.redaction import Secret, config_secrets
from tui.wires.errors.body import page_title
from tui.wires.errors.classify import refusal_of
from tui.wires.framing.body import BodyReader
from tui.wires.json_text import NotJSON, loads
from tui.wires.wire import EncodedRequest, ErrorResponse, wire_named

if TYPE_CHECKING:
    from tui.providers.http.transport import HttpResponse, Transport
    from tui.providers.local.server_folder import ServerState
    from tui.providers.local.servers import LocalServers


from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.providers.http.transport import Transport


SIGNS = (
    (re.compile(rb'"type"\s*:\s*"response\.|"object"\s*:\s*"response"'), WireName.OPENAI_RESPONSES),
    (re.compile(rb'"type"\s*:\s*"message(?:_start)?"'), WireName.ANTHROPIC),
    (re.compile(rb'"candidates"\s*:'), WireName.GEMINI),
    (re.compile(rb'"choices"\s*:'), WireName.OPENAI_CHAT),
    (re.compile(rb'"done"\s*:\s*(?:true|false)'), WireName.OLLAMA),
)


def in_another_format(beginning: bytes, wire: WireName) -> ProviderError | None:
    """Return the error for a response in another known format than ``wire``, or None."""
    found = next((name for sign, name in SIGNS if sign.search(beginning)), wire)
    if found is wire:
        return None
    return ProviderError(
        ErrorKind.NOT_A_STREAM,
        f"The server answers as `{found.value}`, not as `{wire.value}`.",
        advice=f'Set `wire = "{found.value}"` for this provider in `config.toml`.',
    )


LOG = logging.getLogger(__name__)
NOT_TAKEN = "thinking_not_taken"
"""Error code of a rejected request that may have failed because of the thinking in it."""
MOST_CHANGES = 2
"""How often a rejected request is changed and sent again: both the version and the header may be wrong."""
SNIFFED_BYTES = 2000
"""Bytes of a response that are examined for its format."""
CONTROL_PATH = "/chat/completions/control"
CONTROL_WITHIN_S = 3.0
"""How long a server may take to end the thinking in place; it reads requests between two tokens."""
DRAIN_S = 0.2
"""How long to wait for the end of the body after the last event, so that the connection can be reused."""
REFUSED = (400, 401, 403)
"""Statuses with which AWS refuses a signature, for example of another time than its own."""
_LOGIN_ENDED = lazy_regex(r"expired|security token|credential|signature", re.IGNORECASE)
_SAYS_MODEL = lazy_regex(r"(?<![/\w.-])models?\b(?!/)", re.IGNORECASE)
"""Matches the message of a 404 about the model's name; one that only quotes a path is about the base URL."""


class ProviderBackend:
    """Sends requests to any provider. It must be used on one event loop only."""

    def __init__(
        self,
        keys: Keys,
        make_transport: Callable[[], Transport],
        *,
        limits: RequestLimits | None = None,
        open_local: Callable[[], LocalServers] | None = None,
    ) -> None:
        """``open_local`` is called for the first model that ponder runs itself."""
        self._keys = keys
        self._make_transport = make_transport
        self.limits = limits or RequestLimits()
        """The limits; a change applies from the next request."""
        self._transport: Transport | None = None
        self._open_local = open_local or _no_local_servers
        self._local: LocalServers | None = None
        self._found_at: dict[tuple[str, str], ProviderFacts] = {}
        self._warned: set[tuple[str, str, str]] = set()

    def get_ready(self, target: Target) -> None:
        """Import the modules that the first request to this model needs."""
        wire_named(target.facts.wire)
        self._ready_transport().get_ready(target.provider.base_url)

    async def stream(self, target: Target, request: ChatRequest) -> AsyncGenerator[Sequence[StreamEvent], None]:
        """Send a request and yield the events of the response; events that arrive together come in one batch."""
        changes_left = MOST_CHANGES
        try:
            with self._in_use(target):
                server: ServerState | None = None
                if target.provider.starts_models:
                    async with aclosing(self._loading(target)) as steps:
                        async for step in steps:
                            if isinstance(step, ModelLoading):
                                yield (step,)
                            else:
                                server = step
                provider, key = await self._reach(target, server)
                while True:
                    received_any = False
                    try:
                        async with aclosing(self._attempt(target, provider, request, key)) as batches:
                            async for batch in batches:
                                received_any = True
                                yield _unnamed(batch) if target.provider.starts_models else batch
                        return
                    except ProviderError as error:
                        alternative = (
                            None
                            if received_any or not changes_left
                            else await self._alternative(error, target, provider, key)
                        )
                        if alternative is None:
                            _suspect_thinking(error, target, request)
                            raise
                        changes_left, (provider, key) = changes_left - 1, alternative
        except ProviderError as error:
            self._keys.redactor.clean_error(error)
            if target.provider.starts_models:
                raise await self._local_servers().explained(target.facts.id, error) from None
            raise

    async def count(self, target: Target, request: ChatRequest) -> int | None:
        """Return the input tokens as counted by the provider, or None if it cannot count."""
        from tui.providers.token_counting import COUNTERS

        wire, quirks = target.facts.wire, _quirks(target)
        counter = COUNTERS.get(wire)
        if target.provider.cloud is not None:
            return None  # clouds count elsewhere and differently, or not at all
        if counter is None or (wire is WireName.OPENAI_CHAT and not quirks.counts_chat):
            return None
        try:
            provider, key = await self._reach(target)
            encoded = wire_named(wire).encode(request, quirks)
            outgoing = http_request(provider, counter.request(encoded), key, path="count")
            async with self._open(target, outgoing) as answer:
                await _raise_for_status(target, answer, self.limits, encoded)
                return counter.tokens(loads(await answer.read_all(self.limits.error_bytes)))
        except ProviderError as error:
            self._keys.redactor.clean_error(error)
            if error.kind is ErrorKind.NOT_FOUND:
                return None  # a compatible server without this endpoint
            raise

    async def end_thinking(self, target: Target, request: ChatRequest, response_id: str) -> bool:
        """Ask the server to end the thinking of a running response and to answer; False if it cannot."""
        if not _quirks(target).reasoning_control:
            return False
        body = {"id": response_id, "action": "reasoning_end", "model": request.model}
        try:
            provider, key = await self._reach(target)
            asked = http_request(provider, EncodedRequest(path=CONTROL_PATH, body=body), key, path="control")
            async with asyncio.timeout(CONTROL_WITHIN_S), self._open(target, asked) as answer:
                if not 200 <= answer.status < 300:
                    return False  # an older server, or the response is finished
                reply = loads(await answer.read_all(self.limits.error_bytes))
                return isinstance(reply, dict) and reply.get("success") is True
        except (ProviderError, TimeoutError, NotJSON) as error:
            LOG.debug("the thinking was not ended in place: %s", error)
            return False

    async def aclose(self) -> None:
        """Close the connections kept for reuse."""
        if self._transport is not None:
            await self._transport.aclose()
        if self._local is not None:
            await asyncio.to_thread(self._local.close)

    async def _loading(self, target: Target) -> AsyncGenerator[ModelLoading | ServerState, None]:
        """Start the server of the model if it does not run, and yield how far it is; the running server comes last."""
        loading = False
        async with aclosing(self._local_servers().until_ready(target.facts.id)) as steps:
            async for step in steps:
                if isinstance(step, ModelLoading):
                    loading = True
                elif loading:
                    yield ModelLoading(1.0, done=True)
                yield step

    def _in_use(self, target: Target) -> AbstractContextManager[None]:
        return self._local_servers().in_use(target.facts.id) if target.provider.starts_models else nullcontext()

    def _local_servers(self) -> LocalServers:
        if self._local is None:
            self._local = self._open_local()
        return self._local

    async def _reach(self, target: Target, server: ServerState | None = None) -> tuple[ProviderFacts, FoundKey | None]:
        """Return the provider as it is reached now, and its key; ``server`` is the running one of a model's file."""
        provider = self._keys.with_variables(self._provider_for_wire(target))
        if not provider.starts_models:
            key = await self._key(provider, self._keys.require)
            return _placed(provider, key) if provider.cloud is not None else provider, key
        server = server or await self._local_servers().ready(target.facts.id)
        secret = Secret(server.key)
        self._keys.redactor.remember(secret)
        key = FoundKey(secret=secret, location=KeyLocation.UNSAVED, source="made by ponder")
        return replace(provider, base_url=server.base_url), key

    async def _attempt(
        self, target: Target, provider: ProviderFacts, request: ChatRequest, key: FoundKey | None
    ) -> AsyncGenerator[Sequence[StreamEvent], None]:
        encoded = _without_fields(
            wire_named(target.facts.wire).encode(request, _quirks(target)), frozenset(request.without)
        )
        outgoing = http_request(provider, encoded, key)
        async with self._open(target, outgoing, streams=request.stream) as answer:
            LOG.debug(
                "%s %s: %d bytes out, HTTP %d", outgoing.method, outgoing.url, len(outgoing.body or b""), answer.status
            )
            if key is not None and key.signer is not None and answer.status in REFUSED:
                key.signer.clock.compare(answer.headers.get("date", ""))
            await _raise_for_status(target, answer, self.limits, encoded)
            self._found_at[target.provider.id, target.facts.wire] = provider
            for warning in _warnings(answer.headers):
                if (target.facts.provider, target.facts.id, warning) not in self._warned:
                    self._warned.add((target.facts.provider, target.facts.id, warning))
                    yield (ProviderRemark("deprecation", self._keys.redactor.clean(warning)),)
            async with aclosing(_batches(target, answer, self.limits)) as batches:
                async for batch in batches:
                    yield batch

    def _open(
        self, target: Target, request: HttpRequest, *, streams: bool = True
    ) -> AbstractAsyncContextManager[HttpResponse]:
        limits = limits_for(target.provider, self.limits)
        if not streams and limits.header_s:
            # Without streaming, the headers only come when the response is complete.
            limits = replace(limits, header_s=max(limits.header_s, limits.private_header_s))
        return self._ready_transport().open(request, limits=limits)

    def _ready_transport(self) -> Transport:
        if self._transport is None:
            self._transport = self._make_transport()
        return self._transport

    async def _key(self, provider: ProviderFacts, ask: Callable[..., FoundKey | None]) -> FoundKey | None:
        for value in config_secrets(provider):
            self._keys.redactor.remember(Secret(value))
        if provider.auth is AuthStyle.NONE:
            return ask(provider)  # no key source is read, so nothing blocks
        from tui.providers.key_wait import in_thread  # the demo has no key

        try:
            return await in_thread(ask, provider)
        except ConfigError as error:
            raise ProviderError(ErrorKind.NO_KEY, error.message, advice=error.advice) from None

    async def _alternative(
        self, error: ProviderError, target: Target, provider: ProviderFacts, refused_key: FoundKey | None
    ) -> tuple[ProviderFacts, FoundKey | None] | None:
        """Return a changed provider or key to send the request again with, or None if the error is final."""
        if refused_key is not None and refused_key.location is KeyLocation.CLOUD:
            found = await self._other_login(error, provider, refused_key)
            if found is None and error.kind is ErrorKind.AUTH:
                from tui.providers.clouds.failures import log_in_command

                error.advice = f"The {refused_key.source} was refused. Log in again: `{log_in_command(provider)}`."
            return (provider, found) if found is not None else None
        if error.kind is ErrorKind.AUTH and refused_key is not None:
            found = await self._key(provider, self._keys.reread)
            if found is not None and found.secret != refused_key.secret:
                return provider, found
            if provider.auth is target.provider.auth and (other := other_header(provider)) is not None:
                return other, refused_key
            error.advice = f"The key {refused_key.secret} comes from {refused_key.source}. {error.advice}".strip()
        if error.status in (404, 405) and not _SAYS_MODEL.search(error.message):
            versioned = with_version(provider)
            return (versioned, refused_key) if versioned is not None else None
        return None

    async def _other_login(
        self, error: ProviderError, provider: ProviderFacts, refused_key: FoundKey
    ) -> FoundKey | None:
        """Return a login to send the request again with: signed with the right time, or renewed once."""
        if refused_key.signer is not None and refused_key.signer.clock.was_corrected():
            return refused_key
        ended = error.status == 401 or (error.status == 403 and _LOGIN_ENDED.search(error.message) is not None)
        if not ended or refused_key.renewed:
            return None
        found = await self._key(provider, self._keys.reread)
        if found is None or (found.secret, found.others) == (refused_key.secret, refused_key.others):
            return None
        return replace(found, renewed=True)

    def _provider_for_wire(self, target: Target) -> ProviderFacts:
        """Return the provider with the base URL for this model's wire."""
        provider, wire = target.provider, target.facts.wire
        known = self._found_at.get((provider.id, wire))
        base_url = provider.bases.get(wire, provider.base_url)
        if known is not None and known.base_url.startswith(base_url):
            return replace(provider, base_url=known.base_url, wire=wire, auth=known.auth)
        return replace(provider, base_url=base_url, wire=wire)


def _placed(provider: ProviderFacts, key: FoundKey | None) -> ProviderFacts:
    """Return the provider with its address filled by the login; raises ProviderError if something is missing."""
    if key is not None and key.account:
        provider = with_account(provider, {**key.account, **provider.account})
    if unfilled(provider.base_url):
        from tui.providers.clouds.failures import missing_in_address

        raise missing_in_address(provider)
    return provider


def _no_local_servers() -> LocalServers:
    raise ProviderError(ErrorKind.UNSUPPORTED, "Models on this machine cannot be run here.", retryable=False)


def _unnamed(batch: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
    """The events without the name of the model, which is the path of its file."""
    return [replace(event, model=None) if isinstance(event, ResponseStarted) else event for event in batch]


def _suspect_thinking(error: ProviderError, target: Target, request: ChatRequest) -> None:
    """Classify an unexplained rejection by an unknown server as caused by the thinking in the request."""
    if error.kind is not ErrorKind.INVALID_REQUEST or error.status not in (400, 422):
        return
    thinking = any(
        isinstance(block, ThinkingBlock) for message in request.outgoing.messages for block in message.blocks
    )
    if thinking and _quirks(target).thinking_back == "as_received":
        error.kind, error.code = ErrorKind.INVALID_SIGNATURE, NOT_TAKEN


def _without_fields(encoded: EncodedRequest, names: frozenset[str]) -> EncodedRequest:
    if names.isdisjoint(encoded.body):
        return encoded
    return replace(encoded, body={name: value for name, value in encoded.body.items() if name not in names})


def _quirks(target: Target) -> Quirks:
    return effective_quirks(target.provider, target.facts)


async def _raise_for_status(target: Target, answer: HttpResponse, limits: RequestLimits, sent: EncodedRequest) -> None:
    """Raise the wire's ProviderError for an HTTP error status."""
    if not 200 <= answer.status < 300:
        reply = ErrorResponse(
            status=answer.status, headers=answer.headers, body=await answer.first_bytes(limits.error_bytes)
        )
        if page_title(reply.body) is not None:
            raise refusal_of(reply)  # an HTML page comes from a proxy or portal, not from the provider
        from tui.providers.refused_field import name_refused_field

        refusal = wire_named(target.facts.wire).refusal(reply)
        name_refused_field(refusal, sent.body, reply.body[:4000].decode("utf-8", "replace"))
        raise refusal


def _warnings(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield deprecation warnings from the headers, which have no standard name."""
    for name, value in headers.items():
        if "deprecat" not in name and name not in ("warning", "sunset"):
            continue
        if name == "sunset":
            yield f"The provider will switch this off: {one_line(value, 200)}"
        elif " " in value.strip() and name != "deprecation":
            yield one_line(value, 300)
        else:
            yield "The provider says this model or API is deprecated."


async def _batches(
    target: Target, answer: HttpResponse, limits: RequestLimits
) -> AsyncGenerator[Sequence[StreamEvent], None]:
    wire = wire_named(target.facts.wire)
    decoder = wire.decoder(_quirks(target))
    reader = BodyReader(wire, decoder, answer.headers.get("content-type"))
    finished = False
    beginning: bytes | None = b""
    async with aclosing(answer.chunks()) as chunks:
        async for chunk in chunks:
            if finished:
                continue
            batch = reader.feed(chunk)
            beginning = None if beginning is None else _beginning(beginning + chunk, batch)
            if batch:
                answer.deadlines.event_came()
                finished = decoder.complete and any(isinstance(event, ResponseFinished) for event in batch)
                yield batch
            if reader.fault is not None and not finished:
                break
            if finished or (decoder.complete and (batch or not answer.deadlines.has_end_come)):
                answer.deadlines.end_came(DRAIN_S if finished else limits.after_end_s)
            elif not decoder.complete:
                answer.deadlines.goes_on()
    if not finished:
        batch = _closing_events(reader, target, beginning, answer.received)
        if batch:
            yield batch


def _cause(sentence: str) -> str:
    """Return a wire's sentence about a cut stream in the form used after a colon."""
    sentence = sentence.removeprefix("The answer broke off: ")
    return f"{sentence[:1].lower()}{sentence[1:].rstrip('.')}."


def _beginning(so_far: bytes, batch: Sequence[StreamEvent]) -> bytes | None:
    """Return the first bytes of the response, or None once it has an event with content."""
    has_content = any(not isinstance(event, ResponseStarted | UsageReported) for event in batch)
    return None if has_content else so_far[:SNIFFED_BYTES]


def _closing_events(
    reader: BodyReader, target: Target, beginning: bytes | None, received: int
) -> Sequence[StreamEvent]:
    """Return the closing events; ``beginning`` is the start of a response without content so far, else None."""
    try:
        return reader.finish()
    except ProviderError as error:
        if error.kind is ErrorKind.TRUNCATED and received:
            error.message = f"The answer broke off after {count(received, 'byte')}: {_cause(error.message)}"
        if beginning is None or error.kind not in (ErrorKind.TRUNCATED, ErrorKind.BAD_FRAME, ErrorKind.NOT_A_STREAM):
            raise

        raise in_another_format(beginning, target.facts.wire) or error from None


def transport_maker(
    *,
    limits: RequestLimits | None = None,
    environ: Mapping[str, str] | None = None,
    plain_http: Collection[str] = (),
    demo_speed: float = 1.0,
    watched: bool = True,
) -> Callable[[], Transport]:
    """Return a function that makes a transport, including the demo's server."""

    def make() -> Transport:
        from tui.providers.demo.server import DEMO_HOST, DemoServer
        from tui.providers.http.transport import Transport

        demo = DemoServer(speed=demo_speed, watched=watched)
        return Transport(limits=limits, environ=environ, plain_http=plain_http, in_process={DEMO_HOST: demo.answer})

    return make


def open_backend(
    keys: Keys,
    *,
    limits: RequestLimits | None = None,
    environ: Mapping[str, str] | None = None,
    plain_http: Collection[str] = (),
    demo_speed: float = 1.0,
    watched: bool = True,
) -> ProviderBackend:
    """Return the backend for all providers, including the demo. Close it with ``aclose``."""
    make = transport_maker(
        limits=limits, environ=environ, plain_http=plain_http, demo_speed=demo_speed, watched=watched
    )
    return ProviderBackend(keys, make, limits=limits)
