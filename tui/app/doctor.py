"""The report of ``ponder doctor`` and ``/doctor``: facts about this machine for bug reports, without keys."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata

from tui import __version__
from tui.app.diagnostics import reachability
from tui.app.program import Program
from tui.app.provider_availability import ProviderAvailability
from tui.app.refused_parameters_file import RefusedParametersFile
from tui.domain.fast_dataclass import dataclass
from tui.settings.user_files import may_exist

LIBRARIES = ("textual", "httpx", "pydantic", "orjson")
EXTRAS = {
    "mcp": "mcp",
    "acp": "agent-client-protocol",
    "local": "xllamacpp",
    "images": "pillow",
    "aws": "botocore",
    "google": "google-auth",
    "azure": "azure-identity",
}
"""The package that each extra adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    path: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderReport:
    """A provider with a key or a local server, or one of the best known."""

    provider: str
    title: str
    ready: bool
    detail: str
    reachable: str
    """Empty if no connection was tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    version: str
    python: str
    system: str
    libraries: Mapping[str, str]
    extras: Mapping[str, str]
    """The version of each extra's package; empty if it is not installed."""
    terminal: str
    is_terminal: bool
    config: FileReport
    sessions: FileReport
    log: str
    sandbox: str
    refused_parameters: str
    providers: tuple[ProviderReport, ...]
    others: Mapping[str, tuple[str, ...]]
    """Titles of the other providers, by the reason they cannot be used; "" if they can."""
    problems: tuple[tuple[str, str], ...]
    """Each with advice."""

    def as_json(self) -> dict[str, object]:
        """The report for scripts. Keys are added in later versions, never renamed."""
        problems = [{"message": message, "advice": advice} for message, advice in self.problems]
        return {**asdict(self), "problems": problems}

    def as_markdown(self) -> str:
        rows = [
            f"ponder {self.version}, Python {self.python}, {self.system}",
            *(f"{name} {version}" for name, version in self.libraries.items()),
            *self._extras_rows(),
            f"terminal: {self.terminal}, {'a terminal' if self.is_terminal else 'not a terminal'}",
            f"config: {self.config.path} ({self.config.state})",
            f"sessions: {self.sessions.path} ({self.sessions.state})",
            f"log: {self.log}",
            f"sandbox for commands: {self.sandbox}",
            f"refused parameters: {self.refused_parameters}",
            *(f"{row.title}: {', '.join(filter(None, (row.detail, row.reachable)))}" for row in self.providers),
            *(f"{reason or 'needs no key'}: {', '.join(titles)}" for reason, titles in self.others.items()),
            *(f"problem: {message} {advice}" for message, advice in self.problems),
        ]
        return "\n".join(f"- {row}" for row in rows)

    def _extras_rows(self) -> Iterator[str]:
        there = [f"{EXTRAS[name]} {version}" for name, version in self.extras.items() if version]
        missing = ",".join(name for name, version in self.extras.items() if not version)
        if there:
            yield f"extras: {', '.join(there)}"
        if missing:
            yield f"extras that are not installed: pip install 'ponder-tui[{missing}]'"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


async def sandbox_description() -> str:
    """What commands without a question run in."""
    from tui.tools.sandbox.sandbox import this_kernel

    return (await asyncio.to_thread(this_kernel)).description()


async def doctor_report(
    program: Program, availability: ProviderAvailability, problems: Sequence[tuple[str, str]]
) -> DoctorReport:
    """Look for keys and local servers, check the database, and connect to the hosts of providers with a key."""
    from tui.store.recovery import database_health  # imports SQLite

    await availability.discover()
    paths, environment = program.paths, program.environment
    health = await asyncio.to_thread(database_health, paths.database)
    reached = await reachability(availability.with_keys(), environment)
    return DoctorReport(
        version=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        libraries={name: metadata.version(name) for name in LIBRARIES},
        extras={name: _version(package) for name, package in EXTRAS.items()},
        terminal=f"{environment.get('TERM', 'none')} {environment.get('COLORTERM', '')}".strip(),
        is_terminal=sys.stdout.isatty(),
        config=FileReport(path=str(paths.config_file), state="there" if may_exist(paths.config_file) else "none"),
        sessions=FileReport(path=str(paths.database), state=health),
        log=str(paths.log_file),
        sandbox=await sandbox_description(),
        refused_parameters=RefusedParametersFile(paths.cache).summary(),
        providers=tuple(
            ProviderReport(
                provider=row.provider,
                title=row.title,
                ready=row.ready,
                detail=row.detail,
                reachable=reached.get(row.provider, ""),
            )
            for row in availability.rows()
        ),
        others={reason: tuple(titles) for reason, titles in availability.others().items()},
        problems=tuple(problems),
    )
