"""The toolbox: all tools, which of them are offered, and running a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from pydantic import BaseModel, ValidationError

from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import PonderError, ToolError, UsageError
from tui.domain.listing import ServerInfo, ToolInfo
from tui.domain.request import ToolSchema
from tui.tools.permissions.permissions import Permissions
from tui.tools.permissions.rules import Access, RequestedAccess, Strength
from tui.tools.tool import Intent, Outcome, Prepared, Run, Tool, text_outcome

BUILT_IN = "built in"


class ForeignTools(Protocol):
    """Tools from MCP servers."""

    def schemas(self) -> Mapping[str, tuple[str, ToolSchema]]:
        """Server name and definition by tool name."""
        ...

    async def prepare(self, name: str, arguments: Mapping[str, object]) -> Prepared:
        """Validate a call. Raises ToolError."""
        ...

    def rows(self) -> Sequence[ServerInfo]:
        """The servers, for lists."""
        ...

    async def ready(self) -> None:
        """Start all configured servers; returns when each has started or failed."""
        ...

    async def close(self) -> None:
        """Stop all servers."""
        ...


class NoForeignTools:
    """Used when no MCP server is configured."""

    def schemas(self) -> Mapping[str, tuple[str, ToolSchema]]:
        return {}

    async def prepare(self, name: str, arguments: Mapping[str, object]) -> Prepared:
        """Always fails: there are no such tools."""
        raise ToolError(f"There is no tool `{name}`.")

    def rows(self) -> Sequence[ServerInfo]:
        return ()

    async def ready(self) -> None:
        """Nothing to start."""

    async def close(self) -> None:
        """Nothing to stop."""


@dataclass(slots=True)
class _Job:
    """One running call."""

    call: ToolCallBlock
    run: Run
    permissions: Permissions
    redact: Callable[[str], str]
    strength: Strength = Strength.FULL
    rule: str = ""

    def progress(self, text: str) -> None:
        self.run.progress(self.redact(text))

    def withholds(self, requested: RequestedAccess, agreed: RequestedAccess) -> bool:
        return self.permissions.withholds(requested, agreed)

    async def permit(self, intent: Intent) -> None:
        grant = await self.permissions.permit(self.call, intent, self.run)
        if grant.strength.rank < self.strength.rank:
            self.strength, self.rule = grant.strength, grant.rule


@dataclass(slots=True)
class Toolbox:
    """Implements the engine's ``Toolbox``."""

    tools: Mapping[str, Tool]
    permissions: Permissions
    foreign: ForeignTools
    redact: Callable[[str], str]
    """Removes known secrets from what the model gets."""
    disabled: set[str] = field(default_factory=set)

    @property
    def problems(self) -> Sequence[PonderError]:
        """Errors in the user's rules."""
        return self.permissions.problems

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Definitions to offer, always in the same order, so that prompt caches stay valid."""
        return tuple(schema for _, schema in self._all() if schema.name not in self.disabled)

    async def run(self, call: ToolCallBlock, run: Run) -> ToolResultBlock:
        """Run one call to its end. Failures become results marked failed; only cancellation raises."""
        try:
            if call.name in self.disabled:
                raise ToolError(f"The tool `{call.name}` is switched off.")
            prepared = await self._prepared(call)
            job = _Job(call, run, self.permissions, self.redact)
            for intent in prepared.intents:
                await job.permit(intent)
            outcome = await prepared.perform(job)
        except ToolError as error:
            outcome = text_outcome(error.message, failed=True)
        return self._result(call, outcome)

    def rows(self, weigh: Callable[[ToolSchema], int]) -> Sequence[ToolInfo]:
        """All tools, for lists; ``weigh`` counts the tokens of a definition for the current model."""
        return [
            ToolInfo(
                name=schema.name,
                source=source,
                enabled=schema.name not in self.disabled,
                policy=self.permissions.standing(schema.name, self._access(schema.name)),
                tokens=weigh(schema),
                description=schema.description,
            )
            for source, schema in self._all()
        ]

    def servers(self) -> Sequence[ServerInfo]:
        """MCP servers, for lists."""
        return [
            replace(row, state=self.redact(row.state), detail=self.redact(row.detail)) for row in self.foreign.rows()
        ]

    def enable(self, name: str, *, enabled: bool) -> None:
        """Offer a tool to models, or not, while the program runs. A server's name means all its tools."""
        names = {schema.name for source, schema in self._all() if name in (schema.name, source)}
        if not names:
            raise UsageError(f"There is no tool `{name}`.")
        self.disabled = self.disabled - names if enabled else self.disabled | names

    async def ready(self) -> None:
        """Start the MCP servers; returns within their start limits, whether they started or not."""
        await self.foreign.ready()

    async def close(self) -> None:
        """Stop the MCP servers."""
        await self.foreign.close()

    def _all(self) -> list[tuple[str, ToolSchema]]:
        own = [(BUILT_IN, schema_of(tool)) for tool in self.tools.values()]
        return own + list(self.foreign.schemas().values())

    def _access(self, name: str) -> Access:
        return self.tools[name].access if name in self.tools else Access.MCP

    async def _prepared(self, call: ToolCallBlock) -> Prepared:
        arguments = _parsed(call.arguments)
        tool = self.tools.get(call.name)
        if tool is None:
            return await self.foreign.prepare(call.name, arguments)
        return await tool.prepare(_checked(tool, arguments))

    def _result(self, call: ToolCallBlock, outcome: Outcome) -> ToolResultBlock:
        content: list[TextBlock | ImageBlock] = [
            TextBlock(text=self.redact(block.text)) if isinstance(block, TextBlock) else block
            for block in outcome.content
        ]
        return ToolResultBlock(call_id=call.call_id, name=call.name, content=tuple(content), failed=outcome.failed)


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
