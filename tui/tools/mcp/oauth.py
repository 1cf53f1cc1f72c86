"""Logins at remote MCP servers by OAuth 2.1: discovery, registration, authorization with PKCE, refresh, revocation.

The SDK's models and checks are used, not its flow: that one begins a login whenever a server answers 401, follows every
address that a server names, and does not renew a saved token. Here a login begins when the user asks for it, addresses
are checked before they are used, and endpoints are saved with the tokens. Imported only if the SDK is installed.
"""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, PKCEParameters
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_client_registration_request,
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    handle_registration_response,
    issuers_match,
    union_scopes,
    validate_authorization_response_iss,
)
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import AnyHttpUrl, AnyUrl, ValidationError

from tui.domain.errors import ToolError
from tui.domain.printable import one_line
from tui.tools.builtin.fetch_url import ProxyFor
from tui.tools.mcp.addresses import CheckedAddresses
from tui.tools.mcp.configuration import OAuthConfig
from tui.tools.mcp.logins import Login, SavedLogins, read_login, written
from tui.tools.mcp.redirect import Redirected, RedirectServer
from tui.tools.mcp.transport import login_client

EARLY_S = 30.0
"""Seconds before its end at which a token is renewed."""
MAX_ADDRESS = 4_000
"""Characters of the address that the user opens."""
FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)
"""What a request raises, with answers that are too large."""
GRANTS = ["authorization_code", "refresh_token"]
_TOKEN = re.compile(r"[!-~]{1,65536}")
"""What a header can hold: the error about another one would be about the header."""
_ACCEPT = {"accept": "application/json, text/event-stream"}
_PROBE = {"jsonrpc": "2.0", "id": 0, "method": "ping"}

M = TypeVar("M", ProtectedResourceMetadata, OAuthMetadata)
ShowAddress = Callable[[str, str, RedirectServer], Awaitable[Redirected]]
"""Shows the user what the login is and the address to open; returns where the browser was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LoginServer:
    """Where to log in."""

    metadata: OAuthMetadata
    resource: str
    scope: str | None
    is_described: bool
    """Whether the metadata comes from the server."""


@dataclass(slots=True)
class ServerAuth(httpx2.Auth):
    """The login at one server: adds the token to its requests, and renews it."""

    name: str
    address: str
    config: OAuthConfig
    logins: SavedLogins
    proxy_for: ProxyFor
    is_needed: bool = False
    """The server refused the last request for want of a login."""
    wanted_scope: str | None = None
    """What a request needed that the token does not allow."""
    _login: Login | None = None
    _is_read: bool = False
    _renewing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the token to the server's own address only."""
        if str(request.url) != str(httpx2.URL(self.address)):
            yield request
            return
        login = await self._current()
        if login is not None:
            request.headers["Authorization"] = f"Bearer {login.access_token}"
        response = yield request
        if response.status_code == 401 and login is not None:
            login = await self._renewed(login)
            if login is not None:
                request.headers["Authorization"] = f"Bearer {login.access_token}"
                response = yield request
        if response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope":
            self.wanted_scope = extract_scope_from_www_auth(response)
            self.is_needed = True
        else:
            self.is_needed = response.status_code == 401

    async def _current(self) -> Login | None:
        """The saved login, renewed if it is about to end."""
        if not self._is_read:
            self._login, self._is_read = await asyncio.to_thread(self._read), True
        login = self._login
        if login is not None and login.expires_at and time.time() > login.expires_at - EARLY_S:
            return await self._renewed(login)
        return login

    def _read(self) -> Login | None:
        login = read_login(self.logins.load(self.name, self.address), self.address)
        for secret in login.secrets() if login is not None else ():
            self.logins.learn(secret)
        return login

    async def _renewed(self, refused: Login) -> Login | None:
        """A new token for one that has ended; None if the user must log in again."""
        async with self._renewing:
            # Another request, or another window, may have renewed it: a refresh token can often be used only once.
            found = await asyncio.to_thread(self._read)
            if found is not None and found.access_token != refused.access_token:
                self._login = found
                return found
            if found is None or not found.refresh_token:
                self._login = None
                return None
            data = {"grant_type": "refresh_token", "refresh_token": found.refresh_token, "resource": found.resource}
            try:
                token = await self._token(found, data)
            except ToolError:
                return None
            return await self._keep(_with_token(found, token))

    async def _keep(self, login: Login) -> Login:
        for secret in login.secrets():
            self.logins.learn(secret)
        await asyncio.to_thread(self.logins.save, self.name, self.address, written(login))
        self._login, self._is_read, self.is_needed = login, True, False
        return login

    async def log_in(self, show: ShowAddress) -> Login:
        """Log in. Raises ToolError."""
        addresses = CheckedAddresses(self.address, self.proxy_for)
        try:
            place = await self._discover(addresses)
            redirect = RedirectServer(secrets.token_urlsafe(32))
            await redirect.start(self.config.callback_port)
            try:
                return await self._authorize(place, redirect, addresses, show)
            finally:
                await redirect.close()
        except (OAuthFlowError, OAuthRegistrationError) as error:
            raise ToolError(f"The login at `{self.name}` failed: {one_line(str(error), 300)}") from None
        except FAILURES as error:
            raise ToolError(f"The login at `{self.name}` failed: {one_line(str(error), 200)}") from None

    async def _discover(self, addresses: CheckedAddresses) -> _LoginServer:
        """Find out who issues tokens for the server."""
        async with login_client(addresses) as client:
            refused = await client.post(self.address, json=_PROBE, headers=_ACCEPT)
            if refused.status_code not in (401, 403):
                raise ToolError(f"The MCP server `{self.name}` does not ask for a login ({refused.status_code}).")
            described = await self._resource_metadata(client, addresses, refused)
            issuer = str(described.authorization_servers[0]) if described is not None else None
            metadata = await self._issuer_metadata(client, addresses, issuer)
        is_described = metadata is not None
        metadata = metadata or _endpoints_of_old_servers(addresses.origin)
        resource = str(described.resource) if described is not None else resource_url_from_server_url(self.address)
        scope = get_client_metadata_scopes(extract_scope_from_www_auth(refused), described, metadata, GRANTS)
        wanted = union_scopes(self.config.scope or scope, self.wanted_scope)
        return _LoginServer(metadata=metadata, resource=resource, scope=wanted, is_described=is_described)

    async def _resource_metadata(
        self, client: httpx2.AsyncClient, addresses: CheckedAddresses, refused: httpx2.Response
    ) -> ProtectedResourceMetadata | None:
        """What the server says about itself; None if it says nothing."""
        named = extract_resource_metadata_from_www_auth(refused)
        if named is not None and not addresses.is_same_origin(named):
            raise ToolError(f"`{self.name}` names metadata on another host ({one_line(named, 100)}). Nothing was sent.")
        for url in build_protected_resource_metadata_discovery_urls(named, self.address):
            found = await _document(client, url, ProtectedResourceMetadata)
            if found is None:
                continue
            ours = resource_url_from_server_url(self.address)
            if not check_resource_allowed(requested_resource=ours, configured_resource=str(found.resource)):
                raise ToolError(
                    f"`{self.name}` says that it is {one_line(str(found.resource), 100)}. Nothing was sent."
                )
            return found
        return None

    async def _issuer_metadata(
        self, client: httpx2.AsyncClient, addresses: CheckedAddresses, issuer: str | None
    ) -> OAuthMetadata | None:
        """The endpoints of the authorization server, checked; None if the MCP server names none and describes none."""
        expected = issuer or addresses.origin
        for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, self.address):
            found = await _document(client, url, OAuthMetadata)
            if found is None:
                continue
            if not issuers_match(str(found.issuer), expected):
                raise ToolError(f"The issuer {one_line(expected, 100)} says that it is another one. Nothing was sent.")
            if "S256" not in (found.code_challenge_methods_supported or ()):
                raise ToolError(f"{one_line(expected, 100)} does not protect codes by PKCE. Nothing was sent.")
            for endpoint in (found.authorization_endpoint, found.token_endpoint, found.revocation_endpoint):
                if endpoint is not None:
                    await addresses.check(str(endpoint))
            return found
        if issuer is None:
            return None
        raise ToolError(f"{one_line(expected, 100)} does not describe how to log in.")

    async def _client(
        self, place: _LoginServer, redirect: str, addresses: CheckedAddresses
    ) -> tuple[OAuthClientInformationFull, OAuthClientMetadata]:
        """The client that the authorization server knows: the user's own, or a newly registered one."""
        asked = OAuthClientMetadata(
            redirect_uris=[AnyUrl(redirect)],
            client_name="ponder",
            scope=place.scope,
            token_endpoint_auth_method="none",
            grant_types=GRANTS,
        )
        if self.config.client_id:
            secret = self.config.client_secret
            method = "client_secret_post" if secret else "none"
            return OAuthClientInformationFull(
                client_id=self.config.client_id, client_secret=secret or None, token_endpoint_auth_method=method
            ), asked
        by_hand = ToolError(
            f"`{self.name}` registers no clients: register ponder there, and set `client_id` in "
            f"`[mcp.servers.{self.name}.oauth]`."
        )
        if place.metadata.registration_endpoint is None:
            raise by_hand
        request = create_client_registration_request(place.metadata, asked, addresses.origin)
        async with login_client(addresses) as client:
            response = await client.send(request)
            if response.status_code == 404 and not place.is_described:
                raise by_hand
            found = await handle_registration_response(response)
        check_registration_usable(found)
        return found, asked

    async def _authorize(
        self, place: _LoginServer, redirect: RedirectServer, addresses: CheckedAddresses, show: ShowAddress
    ) -> Login:
        registered, _ = await self._client(place, redirect.address, addresses)
        proof = PKCEParameters.generate()
        parameters = {
            "response_type": "code",
            "client_id": registered.client_id,
            "redirect_uri": redirect.address,
            "state": redirect.state,
            "code_challenge": proof.code_challenge,
            "code_challenge_method": "S256",
            "resource": place.resource,
            **({"scope": place.scope} if place.scope else {}),
        }
        endpoint = str(place.metadata.authorization_endpoint)
        address = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}"
        if "#" in endpoint or len(address) > MAX_ADDRESS:  # what follows a # does not reach the issuer
            raise ToolError(f"`{self.name}` names an address for the login that cannot be used. Nothing was sent.")
        redirected = await show(address, _explained(self.name, self.address, place), redirect)
        validate_authorization_response_iss(redirected.issuer, place.metadata)
        login = Login(
            address=self.address,
            issuer=str(place.metadata.issuer),
            token_endpoint=str(place.metadata.token_endpoint),
            revocation_endpoint=str(place.metadata.revocation_endpoint or ""),
            resource=place.resource,
            client_id=registered.client_id,
            client_secret=registered.client_secret or "",
            auth_method=registered.token_endpoint_auth_method or "none",
            access_token="",
            refresh_token="",
            scope=place.scope or "",
            expires_at=0.0,
        )
        data = {
            "grant_type": "authorization_code",
            "code": redirected.code,
            "redirect_uri": redirect.address,
            "code_verifier": proof.code_verifier,
            "resource": place.resource,
        }
        return await self._keep(_with_token(login, await self._token(login, data)))

    async def _token(self, login: Login, data: Mapping[str, str]) -> OAuthToken:
        """Ask the token endpoint. Raises ToolError."""
        response = await self._posted(login, login.token_endpoint, data)
        if response.status_code != 200:
            raise ToolError(f"`{self.name}` gives no token: {_refusal(response)}.")
        try:
            token = OAuthToken.model_validate_json(await response.aread())
            if not _TOKEN.fullmatch(token.access_token):
                raise ValueError
        except ValueError:
            raise ToolError(f"`{self.name}` gives a token of a kind that ponder does not know.") from None
        return token

    async def _posted(self, login: Login, endpoint: str, data: Mapping[str, str]) -> httpx2.Response:
        headers, sent = {}, {**data, "client_id": login.client_id}
        if login.auth_method == "client_secret_basic":
            pair = f"{quote(login.client_id, safe='')}:{quote(login.client_secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif login.auth_method == "client_secret_post":
            sent["client_secret"] = login.client_secret
        try:
            async with login_client(CheckedAddresses(self.address, self.proxy_for)) as client:
                return await client.post(endpoint, data=sent, headers=headers)
        except FAILURES as error:
            raise ToolError(f"{one_line(endpoint, 100)} cannot be reached: {one_line(str(error), 200)}") from None

    async def log_out(self) -> str:
        """Forget the login, and ask the server to revoke it; returns a message for the user."""
        login = await asyncio.to_thread(self._read)
        await asyncio.to_thread(self.logins.forget, self.name)
        self._login, self._is_read = None, True
        if login is None:
            return f"You are not logged in at {self.name}."
        if not login.revocation_endpoint:
            return f"The login at {self.name} is forgotten. The server has no way to revoke it."
        refused = [
            token for token in (login.refresh_token, login.access_token) if not await self._revoked(login, token)
        ]
        if refused:
            return f"The login at {self.name} is forgotten, but the server did not revoke it."
        return f"You are logged out of {self.name}, and the tokens are revoked."

    async def _revoked(self, login: Login, token: str) -> bool:
        if not token:
            return True
        try:
            return (await self._posted(login, login.revocation_endpoint, {"token": token})).status_code == 200
        except ToolError:
            return False


def _with_token(login: Login, token: OAuthToken) -> Login:
    return replace(
        login,
        access_token=token.access_token,
        refresh_token=token.refresh_token or login.refresh_token,
        scope=token.scope or login.scope,
        expires_at=time.time() + token.expires_in if token.expires_in is not None else 0.0,
    )


def _refusal(response: httpx2.Response) -> str:
    try:
        row = response.json()
        why = row.get("error_description") or row.get("error") if isinstance(row, dict) else None
    except (ValueError, RecursionError):
        why = None
    return one_line(str(why or f"status {response.status_code}"), 200)


def _endpoints_of_old_servers(origin: str) -> OAuthMetadata:
    """What version 2025-03-26 of the protocol defines for servers without metadata: paths at their own origin.

    Such a server does not say whether it checks PKCE; the version demands it of every client.
    """
    return OAuthMetadata(
        issuer=AnyHttpUrl(origin),
        authorization_endpoint=AnyHttpUrl(f"{origin}/authorize"),
        token_endpoint=AnyHttpUrl(f"{origin}/token"),
        registration_endpoint=AnyHttpUrl(f"{origin}/register"),
    )


def _explained(name: str, address: str, place: _LoginServer) -> str:
    """The host that gets the login, whether it differs from the server's, and whether its addresses are assumed."""
    host, server = urlsplit(str(place.metadata.authorization_endpoint)).hostname or "", urlsplit(address).hostname or ""
    other = "" if host == server else f" This is another host than that of the server, {server}."
    assumed = "" if place.is_described else " It does not describe its login: the addresses of older servers are used."
    return f"Log in to the MCP server {name} at {host}.{other}{assumed} The tokens are used for {address} only."


async def _document(client: httpx2.AsyncClient, url: str, model: type[M]) -> M | None:
    """A metadata document; None if there is none at this address."""
    response = await client.get(url, headers={"accept": "application/json"})
    if response.status_code >= 500 or response.status_code == 429:
        raise ToolError(f"{one_line(url, 100)} answers {response.status_code}.")
    if response.status_code != 200:
        return None
    try:
        return model.model_validate_json(await response.aread())
    except ValidationError:
        return None
