"""Builds the toolbox. Only this module lists all tools."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tui.tools.builtin.fetch_url import FetchUrl, ProxyFor, no_proxy
from tui.tools.builtin.file_tools import EditFile, ReadFile, SeenFiles, WriteFile
from tui.tools.builtin.search_tools import Glob, Grep, ListDir, find_ripgrep
from tui.tools.builtin.shell import Shell, child_environment
from tui.tools.builtin.workspace import Workspace
from tui.tools.git_folders import named_by_git
from tui.tools.mcp.servers import open_servers, read_servers
from tui.tools.permissions.guarded_paths import folded, guarded_paths
from tui.tools.permissions.permissions import Policy, open_permissions
from tui.tools.sandbox.guarded_entries import Guards
from tui.tools.sandbox.sandbox import Kernel, Sandbox, this_kernel
from tui.tools.tool import Tool
from tui.tools.toolbox.toolbox import NoForeignTools, Toolbox


def _as_it_is(text: str) -> str:
    return text


def _no_limit() -> float | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnvironment:
    """What the tools need from the program."""

    folder: Path
    """The working folder."""
    home: Path
    environment: Mapping[str, str]
    permissions_file: Path
    protected: tuple[Path, ...] = ()
    """The program's own folders: writing to them always needs permission."""
    permissions: Mapping[str, object] = field(default_factory=dict)
    """``[permissions]`` of config.toml: rules, and ``environment`` with more variables for commands."""
    mcp: Mapping[str, object] = field(default_factory=dict)
    """``[mcp]`` of config.toml."""
    policy: Policy = field(default_factory=Policy)
    call_limit_s: Callable[[], float | None] = _no_limit
    """The engine's time limit for a call in seconds (``tools.timeout``)."""
    redact: Callable[[str], str] = _as_it_is
    proxy_for: ProxyFor = no_proxy
    """Returns the proxy for the URL of a page."""
    outputs: Path | None = None
    """Folder for command outputs that are too long for the model; None keeps only their ends."""
    kernel: Callable[[], Kernel] = this_kernel
    """Detects the sandbox features of this machine."""


def build_toolbox(context: ToolEnvironment) -> Toolbox:
    """Build the toolbox. Raises ConfigError for an invalid ``--allow``."""
    folder, home = context.folder.resolve(), context.home.resolve()
    guarded = guarded_paths(home, context.environment, named_by_git(folder, home))
    workspace = Workspace(folder, home, guarded, tuple(path.resolve() for path in context.protected))
    sandbox = Sandbox(
        folder=folder,
        guards=Guards(_guarded_in(workspace, context.environment), _begins(workspace)),
        hidden=lambda: (*guarded.secret.existing(), *workspace.protected),
        too_wide=folder == Path(folder.anchor) or folder in home.parents,
        kernel=context.kernel,
    )
    rules = dict(context.permissions)
    environment = child_environment(context.environment, _names(rules.pop("environment", ())))
    seen = SeenFiles()
    tools: tuple[Tool, ...] = (
        ReadFile(workspace, seen),
        ListDir(workspace),
        Glob(workspace),
        Grep(workspace, environment, find_ripgrep(environment)),
        WriteFile(workspace, seen),
        EditFile(workspace, seen),
        Shell(workspace, environment, context.call_limit_s, sandbox, context.outputs, context.redact),
        FetchUrl(proxy_for=context.proxy_for),
    )
    permissions = open_permissions(
        folder, context.permissions_file, rules, home=home, policy=context.policy, held=sandbox.strengths
    )
    servers, problems = read_servers(context.mcp, context.environment)
    permissions.problems += problems
    permissions.report_unknown_tools(tool.name for tool in tools)
    return Toolbox(
        tools={tool.name: tool for tool in tools},
        permissions=permissions,
        foreign=open_servers(servers, folder, context.proxy_for) if servers else NoForeignTools(),
        redact=context.redact,
    )


def _guarded_in(workspace: Workspace, environment: Mapping[str, str]) -> Callable[[Path], bool]:
    """The paths in the working folder that a sandboxed command must not change."""
    searched = environment.get("PATH", "").split(":")
    # ponder runs these without the sandbox: programs found by name, and ponder itself if it is installed here.
    programs = {folder.resolve() for name in searched if name and (folder := workspace.root / name).exists()}
    programs |= {Path(sys.prefix).resolve(), Path(__file__).resolve().parents[2]}
    programs.discard(workspace.root)
    startup = workspace.guarded.startup
    # The full list is checked only for names with which a pattern can end: a folder scan is 30 times faster.
    endings = {pattern.rstrip("/").rpartition("/")[2] for pattern in startup.patterns} | {p.name for p in startup.named}
    may_end = re.compile("|".join(fnmatch.translate(folded(Path(name))) for name in endings))

    @lru_cache(maxsize=65_536)
    def may_fit(name: str) -> bool:
        return may_end.match(folded(Path(name))) is not None

    def guarded(path: Path) -> bool:
        return (may_fit(path.name) and startup.fits(path)) or workspace.is_ours(path) or path in programs

    return guarded


def _begins(workspace: Workspace) -> Callable[[str], bool]:
    """Folder names with which a pattern continues: `.cargo` of `.cargo/config*`."""
    above = {name for pattern in workspace.guarded.startup.patterns for name in pattern.rstrip("/").split("/")[:-1]}
    fits = re.compile("|".join(fnmatch.translate(folded(Path(name))) for name in above if name not in ("", "~")))
    return lambda name: fits.match(folded(Path(name))) is not None


def _names(listed: object) -> frozenset[str]:
    return frozenset(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else frozenset()
