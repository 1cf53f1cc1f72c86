"""The tables ``[mcp.servers.NAME]`` of config.toml, and what a program of one may take from the folder it starts in."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tui.domain.errors import ConfigError
from tui.domain.printable import printable
from tui.settings.user_files import may_exist, with_home
from tui.tools.builtin.network_addresses import NetworkKind, network_kind_of

_NAME = re.compile(r"(?=.{1,32}\Z)[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
"""Without ``__``, which separates the server's name from the tool's."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class OAuthConfig(BaseModel):
    """What a login at a remote server needs, if the server cannot say or arrange it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    client_id: str = ""
    """The id under which ponder was registered by hand; empty registers it at each login."""
    client_secret: str = ""
    """Its secret, if it has one; ``${NAME}`` takes a variable of the environment."""
    scope: str = ""
    """What is asked for, in place of what the server suggests."""
    callback_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """The port of this machine to which the browser returns; 0 is any free one."""


class ServerConfig(BaseModel):
    """One server: a program that is started, or an address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = ""
    """The program to start; it speaks on stdin and stdout."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    """Variables it gets besides PATH, HOME, LANG and the like; ``${NAME}`` takes one of ours."""
    folder: str = ""
    """Where the program starts: `~` and relative paths are possible. The working folder if empty."""
    url: str = ""
    """The address of a streamable HTTP server."""
    headers: Mapping[str, str] = Field(default_factory=dict)
    """Sent with every request; ``${NAME}`` takes a variable of the environment."""
    oauth: OAuthConfig = OAuthConfig()
    enabled: bool = True
    start_timeout: Annotated[float, Field(gt=0, le=120)] = 10.0
    """Seconds until it must answer."""

    @property
    def may_log_in(self) -> bool:
        """Whether the server is remote and its headers do not log in already."""
        return bool(self.url) and not any(name.lower() == "authorization" for name in self.headers)

    @model_validator(mode="after")
    def _check_transport(self) -> ServerConfig:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either `command` or `url`")
        if self.url and not _may_be_reached(self.url):
            raise ValueError("`url` must be https, or http on this machine or network")
        return self


def read_servers(
    table: Mapping[str, object], environment: Mapping[str, str]
) -> tuple[Mapping[str, ServerConfig], list[ConfigError]]:
    """The valid servers, and the errors in the others."""
    servers: dict[str, ServerConfig] = {}
    problems: list[ConfigError] = []
    listed = table.get("servers", {})
    for name, row in listed.items() if isinstance(listed, dict) else ():
        where = f"`[mcp.servers.{name}]`"
        try:
            if not _NAME.fullmatch(name):
                raise ConfigError(f"{where}: a name has letters, digits, `-` and single `_`, 32 at most.", key=name)
            servers[name] = _expanded(ServerConfig.model_validate(row), environment, where)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = ".".join(map(str, first["loc"]))
            problems.append(ConfigError(f"{where}{f' `{key}`' if key else ''}: {first['msg']}.", key=name))
        except ConfigError as problem:
            problems.append(problem)
    unknown = set(table) - {"servers"}
    problems += [ConfigError(f"`[mcp]` has no key `{key}`.", key=key, nearest=("servers",)) for key in unknown]
    return servers, problems


def _expanded(server: ServerConfig, environment: Mapping[str, str], where: str) -> ServerConfig:
    def value(text: str) -> str:
        missing = [name for name in _VARIABLE.findall(text) if name not in environment]
        if missing:
            raise ConfigError(f"{where}: the variable `{missing[0]}` is not set.", key=missing[0])
        return _VARIABLE.sub(lambda found: environment[found[1]], text)

    return server.model_copy(
        update={
            "env": {name: value(text) for name, text in server.env.items()},
            "headers": {name: value(text) for name, text in server.headers.items()},
            "oauth": server.oauth.model_copy(update={"client_secret": value(server.oauth.client_secret)}),
        }
    )


def _may_be_reached(text: str) -> bool:
    try:
        url = urlsplit(text)
        host = url.hostname or ""
    except ValueError:
        return False
    if url.scheme == "https":
        return bool(host)
    return url.scheme == "http" and (host == "localhost" or network_kind_of(host) is NetworkKind.PRIVATE)


_STARTERS = frozenset(("bun", "bunx", "corepack", "deno", "npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg"))
"""Programs that take code or settings from the folder they start in, or from one above."""
_TAKEN = (
    *("node_modules", "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", "pnpm-workspace.yaml"),
    *("bunfig.toml", "deno.json", "deno.jsonc"),
)


def code_in_folder(command: str, folder: Path) -> str:
    """The file of the working folder that a command would run or obey without naming it; empty if there is none."""
    found = shutil.which(command) if PurePath(command).name == command else None
    if found is not None and folder in Path(found).absolute().parents:
        return printable(str(Path(found).absolute().relative_to(folder)), keep_newlines=False)
    if PurePath(command).stem.lower() not in _STARTERS:
        return ""
    home = with_home(Path("~"))
    for place in (folder, *folder.parents):
        if place == home:  # what is there belongs to the user
            return ""
        for name in _TAKEN:
            if may_exist(place / name):
                return name
    return ""


def safe_path(argv: Sequence[str]) -> dict[str, str]:
    """``python -m`` would run a module of this name from the working folder, before the installed one."""
    is_python = re.fullmatch(r"(?:python|pypy)[0-9.]*(?:\.exe)?", PurePath(argv[0]).name, re.IGNORECASE)
    return {"PYTHONSAFEPATH": "1"} if is_python and "-m" in argv else {}
