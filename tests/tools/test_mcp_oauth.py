"""Logins at remote MCP servers against a loopback authorization server, and each attack on them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench, outcome
from tests.fakes.oauth_server import OAuthServer, visit
from tests.patience import PATIENCE_S
from tui.domain.errors import ToolError
from tui.domain.forms import Form, FormAnswer
from tui.tools.mcp.addresses import CheckedAddresses
from tui.tools.mcp.logins import SavedLogins, read_login
from tui.tools.mcp.redirect import RedirectServer, read_redirect

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")

User = Callable[[Form, "Stage"], Awaitable[None]]
NEEDED = "it needs a login: `/mcp login remote`"


@dataclass
class Kept:
    """The place for logins, and the secrets that redactors know."""

    rows: dict[str, tuple[str, str]] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    def logins(self) -> SavedLogins:
        def save(name: str, address: str, text: str) -> str:
            self.rows[name] = (address, text)
            return "here"

        return SavedLogins(
            load=lambda name, address: self.rows[name][1] if self.rows.get(name, ("",))[0] == address else None,
            save=save,
            forget=lambda name: self.rows.pop(name, None) and None,
            learn=self.known.add,
        )


@dataclass
class Stage:
    server: OAuthServer
    bench: Bench
    kept: Kept
    shown: list[Form] = field(default_factory=list)

    async def log_in(self) -> str:
        return await asyncio.wait_for(self.bench.toolbox.mcp.log_in("remote"), PATIENCE_S)

    async def who(self) -> str:
        return outcome(await self.bench.call("mcp_remote__who", "once"))[1]

    def state(self) -> str:
        return self.bench.toolbox.servers()[0].state


async def browses(form: Form, stage: Stage) -> None:
    """The browser is on this machine."""
    await visit(stage.server.browse(form.address))


async def pastes(form: Form, stage: Stage) -> None:
    """The browser is on another machine: the user copies the address of the page that it cannot open."""
    values = {"address": stage.server.browse(form.address)}
    await stage.bench.toolbox.mcp.forms.answer(form.id, FormAnswer(action="accept", values=values))


async def gives_up(form: Form, stage: Stage) -> None:
    await stage.bench.toolbox.mcp.forms.answer(form.id, FormAnswer(action="decline"))


@asynccontextmanager
async def _stage(
    around: Path, attack: str = "", user: User = browses, kept: Kept | None = None, **options: object
) -> AsyncIterator[Stage]:
    kept = kept or Kept()
    async with OAuthServer(attack=attack) as server:
        row = {"url": server.address, "start_timeout": 50, **options}
        bench = open_bench(around, mcp={"servers": {"remote": row}}, logins=kept.logins())
        stage = Stage(server, bench, kept)
        forms, heard = bench.toolbox.mcp.forms, asyncio.Event()
        forms.heard = heard.set

        async def answers() -> None:
            while True:
                await heard.wait()
                heard.clear()
                for form in forms.waiting():
                    if form not in stage.shown:
                        stage.shown.append(form)
                        await user(form, stage)

        task = asyncio.create_task(answers())
        try:
            yield stage
        finally:
            task.cancel()
            await asyncio.wait({task})
            await bench.toolbox.close()


async def test_a_server_that_wants_a_login_says_so_and_works_after_it(tmp_path: Path) -> None:
    async with _stage(tmp_path) as s:
        await s.bench.toolbox.ready()
        assert s.state() == NEEDED
        assert await s.log_in() == "You are logged in at remote: 1 tool."
        assert s.state() == "ready"
        assert "you, with access-" in await s.who()
        (form,) = s.shown
        assert form.is_login
        assert form.message == (
            f"Log in to the MCP server remote at 127.0.0.1. The tokens are used for {s.server.address} only."
        )
        (client,) = s.server.clients.values()
        assert (client["client_name"], client["token_endpoint_auth_method"]) == ("ponder", "none")
        assert s.bench.toolbox.mcp.forms.waiting() == ()


async def test_the_address_can_be_pasted_from_another_machine(tmp_path: Path) -> None:
    async with _stage(tmp_path, user=pastes) as s:
        assert await s.log_in() == "You are logged in at remote: 1 tool."


async def test_a_login_can_be_given_up(tmp_path: Path) -> None:
    async with _stage(tmp_path, user=gives_up) as s:
        with pytest.raises(ToolError, match="was given up"):
            await s.log_in()
        assert s.kept.rows == {}


async def test_tokens_are_saved_for_the_address_and_known_to_redactors(tmp_path: Path) -> None:
    kept = Kept()
    async with _stage(tmp_path, kept=kept) as s:
        await s.log_in()
        address, text = kept.rows["remote"]
        login = read_login(text, s.server.address)
        assert login is not None
        assert address == login.address == s.server.address
        assert {login.access_token, login.refresh_token} <= kept.known
        assert read_login(text, s.server.address + "x") is None
    kept.known.clear()
    async with _stage(tmp_path, kept=kept) as other:  # the same name, and another port
        await other.bench.toolbox.ready()
        assert other.state() == NEEDED
        assert set(other.server.seen_tokens) == {""}
        assert kept.known == set()


async def test_a_saved_login_is_used_and_renewed_when_it_ends(tmp_path: Path) -> None:
    kept = Kept()
    async with _stage(tmp_path, kept=kept) as s:
        s.server.lifetime = 1  # so it ends at once
        await s.log_in()
        first = json.loads(kept.rows["remote"][1])["access_token"]
        assert "you, with access-" in await s.who()
        second = json.loads(kept.rows["remote"][1])["access_token"]
        assert first != second
        assert second in kept.known
        assert len(s.shown) == 1  # nobody was asked again


async def test_a_token_that_was_revoked_elsewhere_is_renewed_once_and_then_asks_for_a_login(tmp_path: Path) -> None:
    async with _stage(tmp_path) as s:
        await s.log_in()
        s.server.tokens.clear()
        assert "you, with access-" in await s.who()
        s.server.tokens.clear()
        s.server.renewals.clear()
        assert NEEDED in await s.who()


async def test_requests_at_the_same_time_renew_once(tmp_path: Path) -> None:
    async with _stage(tmp_path) as s:
        await s.log_in()
        s.server.tokens.clear()
        before = s.server.asked.count("POST /token")
        s.bench.user.answers = ["session"]
        assert "you, with" in await s.who()
        s.server.tokens.clear()
        s.bench.user.answers = ["once"] * 4
        client = await s.bench.toolbox.mcp.servers[0].up()
        results = await asyncio.gather(*(client.call_tool("who", {}) for _ in range(4)))
        assert len({str(result.content) for result in results}) == 1
        assert s.server.asked.count("POST /token") == before + 2


async def test_logging_out_revokes_and_forgets(tmp_path: Path) -> None:
    async with _stage(tmp_path) as s:
        await s.log_in()
        login = json.loads(s.kept.rows["remote"][1])
        message = await s.bench.toolbox.mcp.log_out("remote")
        assert message == "You are logged out of remote, and the tokens are revoked."
        assert s.server.revoked == [login["refresh_token"], login["access_token"]]
        assert s.kept.rows == {}
        await s.bench.toolbox.ready()
        assert s.state() == NEEDED
        assert await s.bench.toolbox.mcp.log_out("remote") == "You are not logged in at remote."


async def test_a_server_without_revocation_says_that_it_is_only_forgotten(tmp_path: Path) -> None:
    async with _stage(tmp_path, "no revocation") as s:
        await s.log_in()
        assert "has no way to revoke it" in await s.bench.toolbox.mcp.log_out("remote")
        assert s.kept.rows == {}


async def test_a_client_that_was_registered_by_hand_is_used(tmp_path: Path) -> None:
    oauth = {"client_id": "mine", "client_secret": "a secret of mine", "scope": "write"}
    async with _stage(tmp_path, "no registration", oauth=oauth) as s:
        s.server.clients["mine"] = {"redirect_uris": _Any()}
        await s.log_in()
        assert "POST /register" not in s.server.asked
        assert "scope=write" in s.shown[0].address
        assert "a secret of mine" in s.kept.known


class _Any(list[str]):
    def __contains__(self, item: object) -> bool:
        return True


async def test_an_issuer_that_does_not_name_itself_is_accepted_if_it_never_does(tmp_path: Path) -> None:
    async with _stage(tmp_path, "plain") as s:
        assert "logged in" in await s.log_in()


async def test_a_server_without_metadata_of_its_own_is_its_own_issuer(tmp_path: Path) -> None:
    async with _stage(tmp_path, "silent") as s:
        assert "logged in" in await s.log_in()


async def test_an_old_server_without_any_metadata_is_asked_at_the_paths_of_its_time(tmp_path: Path) -> None:
    async with _stage(tmp_path, "old") as s:
        assert await s.log_in() == "You are logged in at remote: 1 tool."
        assert "you, with access-" in await s.who()
        assert "It does not describe its login: the addresses of older servers are used." in s.shown[0].message
    async with _stage(tmp_path, "old without registration") as s:
        with pytest.raises(ToolError, match="registers no clients"):
            await s.log_in()
        assert s.shown == []


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        ("wrong issuer", "says that it is another one"),
        ("wrong resource", "says that it is https://bank.example.com/mcp"),
        ("metadata elsewhere", "names metadata on another host"),
        ("private issuer", "is an address that is never used"),
        ("unencrypted issuer", "is not encrypted"),
        ("private token endpoint", "is an address that is never used"),
        ("no proof", "does not protect codes by PKCE"),
        ("no registration", "registers no clients"),
        ("redirected oauth-authorization-server", "does not describe how to log in"),
    ],
)
async def test_a_login_that_looks_wrong_never_begins(tmp_path: Path, attack: str, told: str) -> None:
    async with _stage(tmp_path, attack) as s:
        with pytest.raises(ToolError, match=told):
            await s.log_in()
        assert s.shown == []
        assert {"POST /register", "POST /token"}.isdisjoint(s.server.asked)
        assert s.kept.rows == {}


@pytest.mark.parametrize("user", [browses, pastes])
@pytest.mark.parametrize(
    ("attack", "told"),
    [
        ("wrong iss", "iss"),
        ("no iss", "iss"),
        ("refused", r"The login was refused: no\\u\{202E\}"),
        ("expired code", r"gives no token: the code ␛\[31mhas expired"),
        ("stolen code", "gives no token"),
        ("redirected token", "gives no token: status 307"),
    ],
)
async def test_an_answer_that_is_wrong_gives_no_login(tmp_path: Path, attack: str, told: str, user: User) -> None:
    async with _stage(tmp_path, attack, user) as s:
        with pytest.raises(ToolError, match=told):
            await s.log_in()
        assert s.kept.rows == {}
        assert s.server.tokens == set()


async def test_a_wrong_state_is_refused_when_it_is_pasted_and_ignored_from_a_browser(tmp_path: Path) -> None:
    async with _stage(tmp_path, "wrong state", pastes) as s:
        with pytest.raises(ToolError, match="belongs to another login"):
            await s.log_in()
        assert "POST /token" not in s.server.asked

    async def first_wrong(form: Form, stage: Stage) -> None:
        assert (await visit(stage.server.browse(form.address)))[0] == 400
        stage.server.attack = ""
        assert (await visit(stage.server.browse(form.address)))[0] == 200

    async with _stage(tmp_path, "wrong state", first_wrong) as s:
        assert "logged in" in await s.log_in()


async def test_a_code_works_once(tmp_path: Path) -> None:
    """What another program saw of the redirect is worth nothing without the verifier, and nothing a second time."""

    async def twice(form: Form, stage: Stage) -> None:
        address = stage.server.browse(form.address)
        assert (await visit(address))[0] == 200
        with contextlib.suppress(OSError, IndexError):  # it may have stopped listening
            assert (await visit(address))[0] == 400

    async with _stage(tmp_path, user=twice) as s:
        assert "logged in" in await s.log_in()
        assert s.server.asked.count("POST /token") == 1


async def test_the_redirect_server_takes_only_the_end_of_its_login() -> None:
    redirect = RedirectServer("the state")
    await redirect.start(0)
    good = f"{redirect.address}?code=c&state=the+state&iss=i"
    for address, host, method in (
        (good, "evil.example.com", "GET"),
        (good, "", "POST"),
        (good.replace("/callback", "/other"), "", "GET"),
        (good.replace("the+state", "x"), "", "GET"),
        (good + "&state=x", "", "GET"),
        (good.replace("code=c", "code="), "", "GET"),
    ):
        assert (await visit(address, host, method))[0] == 400
    status, page = await visit(good)
    assert (status, "code" in page) == (200, False)
    found = await redirect.result()
    assert (found.code, found.issuer) == ("c", "i")
    assert (await visit(good))[0] == 400  # it is over
    await redirect.close()


@pytest.mark.parametrize(
    "address",
    ["", "x", "http://127.0.0.1:1/callback", "http://[", "https://127.0.0.1:1/callback?code=c&state=s", "http://127.0.0.1:1/?code=c&state=s"],
)  # fmt: skip
def test_what_is_pasted_must_be_the_end_of_the_login(address: str) -> None:
    with pytest.raises(ToolError):
        read_redirect(address, "http://127.0.0.1:1/callback", "s")


PUBLIC = "https://93.184.215.14/mcp"


@pytest.mark.parametrize(
    ("server", "address"),
    [
        (PUBLIC, "http://93.184.215.14/token"),
        (PUBLIC, "https://127.0.0.1/token"),
        (PUBLIC, "https://localhost/token"),
        (PUBLIC, "https://printer.local/token"),
        (PUBLIC, "https://192.168.1.1/token"),
        (PUBLIC, "https://[::1]/token"),
        (PUBLIC, "https://[::ffff:10.0.0.1]/token"),
        (PUBLIC, "https://169.254.169.254/token"),
        (PUBLIC, "https://2130706433/token"),
        (PUBLIC, "https://0x7f000001/token"),
        (PUBLIC, "https://user:pass@example.com/token"),
        (PUBLIC, "file:///etc/passwd"),
        (PUBLIC, "https://[/token"),
        (PUBLIC, "https://example.com:99999/token"),
        ("http://127.0.0.1:1/mcp", "http://169.254.169.254/token"),
        ("http://127.0.0.1:1/mcp", "http://x.metadata.goog/token"),
        ("http://127.0.0.1:1/mcp", "http://metadata.google.internal/token"),
        ("http://127.0.0.1:1/mcp", "http://93.184.215.14/token"),
        ("https://127.0.0.1:1/mcp", "http://127.0.0.1:2/token"),
    ],
)
async def test_addresses_that_a_login_never_uses(server: str, address: str) -> None:
    with pytest.raises(ToolError):
        await CheckedAddresses(server).check(address)


@pytest.mark.parametrize(
    ("server", "address"),
    [
        (PUBLIC, "https://93.184.215.15:8443/token"),
        ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token"),
        ("http://127.0.0.1:1/mcp", "https://93.184.215.14/token"),
        ("https://10.0.0.1/mcp", "https://10.0.0.2/token"),
    ],
)
async def test_addresses_that_a_login_may_use(server: str, address: str) -> None:
    await CheckedAddresses(server).check(address)


async def test_requests_go_to_the_number_that_was_checked_and_a_name_that_moved_is_checked_again() -> None:
    from tui.tools.mcp.transport import login_client  # which needs the SDK

    moving = iter([["127.0.0.1"], ["::1", "127.0.0.1"], ["169.254.169.254"]])

    async def resolver(host: str, port: int) -> list[str]:
        return next(moving) if host == "login.internal" else ["127.0.0.1"]

    async with OAuthServer() as server:
        address = server.url.replace("127.0.0.1", "login.internal")  # a name that only this resolver knows
        async with login_client(CheckedAddresses(server.address, resolver=resolver)) as client:
            assert (await client.get(f"{address}/first")).status_code == 404
            assert (await client.get(f"{address}/second")).status_code == 404  # at its second number
            with pytest.raises(ToolError, match="is an address that is never used"):
                await client.get(f"{address}/third")
        assert server.asked == ["GET /first", "GET /second"]


async def test_streams_are_not_asked_for_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    from tui.tools.mcp.transport import http_client

    monkeypatch.setattr("tui.tools.mcp.transport.STREAMS_EVERY_S", 0.05)
    async with OAuthServer() as server, http_client(None) as client:
        begun = time.monotonic()
        for _ in range(4):
            assert (await client.get(f"{server.url}/stream")).status_code == 404
        assert time.monotonic() - begun >= 3 * 0.05


@pytest.mark.parametrize("attack", ["token of lines", "empty token", "huge token", "deep refusal", "login after #"])
async def test_what_cannot_be_a_login_is_one_sentence(tmp_path: Path, attack: str) -> None:
    async with _stage(tmp_path, attack, pastes) as s:
        with pytest.raises(ToolError, match=r"^`remote` (gives|names)|a message of more than 16 MB$"):
            await s.log_in()
        assert s.kept.rows == {}


async def test_there_is_no_login_where_none_is_needed(tmp_path: Path) -> None:
    servers = {
        "program": {"command": "true"},
        "keyed": {"url": "https://93.184.215.14/mcp", "headers": {"authorization": "Bearer x"}},
    }
    bench = open_bench(tmp_path, mcp={"servers": servers})
    for name, told in (("program", "it is a program"), ("keyed", "its headers log in"), ("other", "no MCP server")):
        with pytest.raises(ToolError, match=told):
            await bench.toolbox.mcp.log_in(name)
    assert bench.toolbox.mcp.with_login() == []
