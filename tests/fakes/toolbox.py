"""Two trivial tools, and one for every way a tool can misbehave."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.request import ToolSchema
from tui.domain.tool_run import ToolRun
from tui.engine.approvals import is_yes

NAMES = ("echo", "add", "slow", "raises", "asks", "stubborn")


@dataclass
class FakeToolbox:
    """``running`` is how many run now, ``most`` the most that ever did."""

    ran: list[ToolCallBlock] = field(default_factory=list)
    tainted: list[bool] = field(default_factory=list)
    """Whether each call was said to be made with untrusted content in the conversation."""
    running: int = 0
    most: int = 0

    def schemas(self) -> tuple[ToolSchema, ...]:
        return tuple(ToolSchema(name=name, description=name, parameters={"type": "object"}) for name in NAMES)

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        self.ran.append(call)
        self.tainted.append(run.tainted)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._do(call, json.loads(call.arguments), run)
        finally:
            self.running -= 1

    async def _do(self, call: ToolCallBlock, args: dict[str, object], run: ToolRun) -> ToolResultBlock:
        match call.name:
            case "echo" if run.tainted:
                return result(call, "this conversation has untrusted text")
            case "slow":
                await asyncio.sleep(float(str(args.get("seconds", 1))))
            case "stubborn":
                await _uncancellable(10)
            case "raises" if args.get("cancelled"):
                raise asyncio.CancelledError
            case "raises":
                raise KeyError("no such thing")
            case "asks" if not is_yes(await run.ask(call, "May I?", "the whole command", ("always",), "", "")):
                return result(call, "Denied by the user.", failed=True)
            case "add":
                return result(call, str(sum(int(str(value)) for value in args.values())))
            case _:
                pass
        return result(call, str(args.get("say", "done")))


async def _uncancellable(seconds: float) -> None:
    until = asyncio.get_running_loop().time() + seconds
    while (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


def result(call: ToolCallBlock, text: str, *, failed: bool = False) -> ToolResultBlock:
    return ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text=text),), failed=failed)
