"""The toolbox: all tools, which of them are offered, and running a call."""

from __future__ import annotations

import fnmatch
import json
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

from pydantic import BaseModel, ValidationError

from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import PonderError, ToolError, UsageError
from tui.domain.listing import ServerInfo, ToolInfo
from tui.domain.request import ToolSchema
from tui.domain.tool_run import ToolRun
from tui.tools.builtin.fetch_url import FetchUrl, ProxyFor, no_proxy
from tui.tools.builtin.file_tools import EditFile, ReadFile, SeenFiles, WriteFile
from tui.tools.builtin.search_tools import Glob, Grep, ListDir, find_ripgrep
from tui.tools.builtin.shell import Shell, child_environment
from tui.tools.builtin.workspace import Workspace
from tui.tools.git_folders import named_by_git
from tui.tools.mcp.configuration import read_servers
from tui.tools.mcp.logins import SavedLogins, in_memory
from tui.tools.mcp.servers import McpServers, open_servers
from tui.tools.missing_here import missing_tools, why_missing
from tui.tools.permissions.guarded_paths import guarded_paths, normalized_path
from tui.tools.permissions.permissions import Permissions, Policy, open_permissions
from tui.tools.permissions.ruled_paths import ruled_paths
from tui.tools.permissions.rules import Access
from tui.tools.sandbox.guarded_entries import Guards
from tui.tools.sandbox.sandbox import Kernel, Sandbox, this_kernel
from tui.tools.tool import CallContext, CallResult, PreparedCall, Tool, text_result

BUILT_IN = "built in"
SESSIONS_KEPT = 50
"""Sessions whose files are remembered; an older one has to read again what it wants to replace."""


@dataclass(slots=True)
class Toolbox:
    """Implements the engine's ``Toolbox``."""

    tools: Mapping[str, Tool]
    file_tools: Callable[[], Sequence[Tool]]
    """Makes the tools that remember which files they saw: each session has its own."""
    permissions: Permissions
    mcp: McpServers
    redact: Callable[[str], str]
    """Removes known secrets from what the model gets."""
    disabled: set[str] = field(default_factory=set)
    _of_sessions: OrderedDict[str, Mapping[str, Tool]] = field(default_factory=OrderedDict)

    @property
    def problems(self) -> Sequence[PonderError]:
        """Errors in the user's rules."""
        return self.permissions.problems

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Definitions to offer, always in the same order, so that prompt caches stay valid."""
        return tuple(schema for _, schema in self._all() if schema.name not in self.disabled)

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        """Run one call to its end. Failures become results marked failed; only cancellation raises."""
        try:
            if call.name in missing_tools():
                raise ToolError(why_missing(call.name))
            if call.name in self.disabled:
                raise ToolError(f"The tool `{call.name}` is disabled.")
            prepared = await self._prepared(call, run.session)
            running = CallContext(call, run, self.permissions, self.redact)
            for action in prepared.actions:
                await running.permit(action)
            run.begun()
            result = await prepared.perform(running)
        except ToolError as error:
            result = text_result(error.message, failed=True)
        return self._result(call, result)

    def rows(self, count_tokens: Callable[[ToolSchema], int]) -> Sequence[ToolInfo]:
        """All tools, for lists; ``count_tokens`` counts the tokens of a definition for the current model."""
        return [
            ToolInfo(
                name=schema.name,
                source=source,
                enabled=schema.name not in self.disabled,
                policy=self.permissions.default_verdict(schema.name, self._access(schema.name)),
                tokens=count_tokens(schema),
                description=why_missing(schema.name) if schema.name in missing_tools() else schema.description,
            )
            for source, schema in self._all()
        ]

    def servers(self) -> Sequence[ServerInfo]:
        """MCP servers, for lists."""
        return [replace(row, state=self.redact(row.state), detail=self.redact(row.detail)) for row in self.mcp.rows()]

    def enable(self, name: str, *, enabled: bool) -> None:
        """Offer a tool to models, or not, while the program runs. A server's name means all its tools."""
        names = self._named(name)
        if not names:
            raise UsageError(f"There is no tool `{name}`.")
        if enabled and name in missing_tools():
            raise UsageError(why_missing(name))
        self.disabled = self.disabled - names if enabled else self.disabled | names

    def schemas_if(self, name: str, *, enabled: bool) -> tuple[ToolSchema, ...]:
        """Definitions that would be offered after ``enable``."""
        names = self._named(name)
        disabled = self.disabled - names if enabled else self.disabled | names
        return tuple(schema for _, schema in self._all() if schema.name not in disabled)

    def _named(self, name: str) -> set[str]:
        return {schema.name for source, schema in self._all() if name in (schema.name, source)}

    async def ready(self) -> None:
        """Start the MCP servers; returns within their start limits, whether they started or not."""
        await self.mcp.ready()

    async def close(self) -> None:
        """Stop the MCP servers."""
        await self.mcp.close()

    def _all(self) -> list[tuple[str, ToolSchema]]:
        own = [(BUILT_IN, schema_of(tool)) for tool in self.tools.values()]
        return own + list(self.mcp.schemas().values())

    def _access(self, name: str) -> Access:
        return self.tools[name].access if name in self.tools else Access.MCP

    async def _prepared(self, call: ToolCallBlock, session: str) -> PreparedCall:
        arguments = _parsed(call.arguments)
        tool = self._of_session(session).get(call.name) or self.tools.get(call.name)
        if tool is None:
            return await self.mcp.prepare(call.name, arguments)
        return await tool.prepare(_checked(tool, arguments))

    def _of_session(self, session: str) -> Mapping[str, Tool]:
        """The tools of this session alone."""
        tools = self._of_sessions.get(session)
        if tools is None:
            tools = self._of_sessions[session] = {tool.name: tool for tool in self.file_tools()}
        self._of_sessions.move_to_end(session)
        while len(self._of_sessions) > SESSIONS_KEPT:
            self._of_sessions.popitem(last=False)
        return tools

    def _result(self, call: ToolCallBlock, result: CallResult) -> ToolResultBlock:
        content: list[TextBlock | ImageBlock] = [
            TextBlock(text=self.redact(block.text)) if isinstance(block, TextBlock) else block
            for block in result.content
        ]
        return ToolResultBlock(
            call_id=call.call_id,
            name=call.name,
            content=tuple(content),
            failed=result.failed,
            note=self.redact(result.note),
            diff=self.redact(result.diff),
        )


def schema_of(tool: Tool) -> ToolSchema:
    """The definition of a built-in tool, derived from the model of its arguments."""
    return ToolSchema(name=tool.name, description=tool.description, parameters=parameters_of(tool.arguments))


@cache
def parameters_of(arguments: type[BaseModel]) -> Mapping[str, object]:
    """JSON Schema of the arguments, without fields that only cost tokens."""
    schema = arguments.model_json_schema()
    return {key: _untitled(value) for key, value in schema.items() if key not in ("title", "description")}


def _untitled(value: object) -> object:
    if not isinstance(value, dict):
        return value
    # A property may itself be called `title`: only a title that is a string is removed.
    return {key: _untitled(inner) for key, inner in value.items() if not (key == "title" and isinstance(inner, str))}


def _parsed(text: str) -> Mapping[str, object]:
    """The engine checked that it is an object."""
    arguments: object = json.loads(text or "{}")
    if not isinstance(arguments, dict):
        raise ToolError("The arguments must be a JSON object. Not executed.")
    return arguments


def _checked(tool: Tool, arguments: Mapping[str, object]) -> BaseModel:
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        fields = tool.arguments.model_fields
        taken = ", ".join(name if field.is_required() else f"{name} (optional)" for name, field in fields.items())
        wrong = "; ".join(
            f"`{'.'.join(map(str, problem['loc']))[:80]}`: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:5]
        )
        raise ToolError(f"Wrong arguments: {wrong}. `{tool.name}` takes: {taken}. Not executed.") from None


def _as_it_is(text: str) -> str:
    return text


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
    logins: SavedLogins = field(default_factory=in_memory)
    """Where logins at MCP servers are kept."""
    policy: Policy = field(default_factory=Policy)
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
    run_by_others = (*named_by_git(folder, home), *_folders_of_programs(folder, context.environment))
    guarded = guarded_paths(home, context.environment, run_by_others)
    workspace = Workspace(folder, home, guarded, tuple(path.resolve() for path in context.protected))
    sandbox = Sandbox(
        folder=folder,
        guards=_guards(workspace),
        hidden=lambda: (*guarded.secret.existing(), *guarded.secret.near_home(folder), *workspace.protected),
        ruled=lambda: ruled_paths(permissions.book),
        too_wide=folder == Path(folder.anchor) or folder in home.parents,
        kernel=context.kernel,
    )
    rules = dict(context.permissions)
    environment = child_environment(context.environment, _names(rules.pop("environment", ())))

    def file_tools() -> tuple[ReadFile, WriteFile, EditFile]:
        seen = SeenFiles()
        return ReadFile(workspace, seen), WriteFile(workspace, seen), EditFile(workspace, seen)

    read_file, write_file, edit_file = file_tools()
    tools: tuple[Tool, ...] = (
        read_file,
        ListDir(workspace),
        Glob(workspace),
        Grep(workspace, environment, find_ripgrep(environment, folder)),
        write_file,
        edit_file,
        Shell(workspace, environment, sandbox, context.outputs, context.redact),
        FetchUrl(proxy_for=context.proxy_for),
    )
    permissions = open_permissions(
        folder, context.permissions_file, rules, home=home, policy=context.policy, enforceable=sandbox.strengths
    )
    servers, problems = read_servers(context.mcp, context.environment)
    permissions.problems += problems
    permissions.report_unknown_tools(tool.name for tool in tools)
    return Toolbox(
        tools={tool.name: tool for tool in tools},
        file_tools=file_tools,
        permissions=permissions,
        mcp=open_servers(servers, folder, context.proxy_for, context.redact, context.logins),
        redact=context.redact,
        disabled=set(missing_tools()),
    )


def _folders_of_programs(folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """Folders in which ponder and other programs find what they run, except those around the working folder.

    They need not exist: a command could make one.
    """
    searched = [folder / name for name in environment.get("PATH", "").split(":") if name]
    found = dict.fromkeys(resolved for path in searched if (resolved := _resolved(path)) is not None)
    own = [path for path in (Path(sys.prefix), Path(__file__).parents[1]) if folder in path.resolve().parents]
    around = (folder, *folder.parents)
    return [path for path in (*found, *(path.resolve() for path in own)) if path not in around]


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _guards(workspace: Workspace) -> Guards:
    """The paths in the working folder that a sandboxed command must not change."""
    startup = workspace.guarded.startup
    # The full list is checked only for names with which a pattern can end: a folder scan is 30 times faster.
    may_end = _endings(startup.patterns)
    own = {normalized_path(Path(path.name)) for path in (*startup.named, *workspace.protected)}
    all_is_ours = workspace.is_ours(workspace.root)

    @lru_cache(maxsize=65_536)
    def may_hold(name: str) -> bool:
        normalized = normalized_path(Path(name))
        return all_is_ours or normalized in own or may_end.match(normalized) is not None

    def holds(path: Path) -> bool:
        return startup.fits(path) or workspace.is_ours(path)

    begins = _beginnings(startup.patterns)
    return Guards(holds, may_hold, lambda name: begins.match(normalized_path(Path(name))) is not None)


@cache
def _endings(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Matches names with which a pattern can end."""
    return _one_of({pattern.rstrip("/").rpartition("/")[2] for pattern in patterns})


@cache
def _beginnings(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Matches names of folders with which a pattern continues: `.cargo` of `.cargo/config*`."""
    return _one_of({name for pattern in patterns for name in pattern.rstrip("/").split("/")[:-1]} - {"", "~"})


def _one_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(normalized_path(Path(name))) for name in names))


def _names(listed: object) -> frozenset[str]:
    return frozenset(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else frozenset()
