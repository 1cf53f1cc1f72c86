"""Builds the backend and its transport. Heavy modules are imported at first use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from tui.providers.backend import ProviderBackend
from tui.providers.http.deadlines import Limits
from tui.providers.keys.lookup import Keys

if TYPE_CHECKING:
    from tui.providers.http.transport import Transport


def transport_maker(
    *,
    limits: Limits | None = None,
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
    limits: Limits | None = None,
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
