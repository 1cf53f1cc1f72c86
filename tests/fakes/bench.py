"""A real toolbox over a folder of its own, a user whose answers are scripted, and a record of what was asked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui.domain.blocks import ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.tool_run import ToolRun
from tui.tools.mcp.logins import SavedLogins, in_memory
from tui.tools.permissions.permissions import Policy
from tui.tools.sandbox.sandbox import Kernel, this_kernel
from tui.tools.toolbox import Toolbox, ToolEnvironment, build_toolbox


@dataclass(frozen=True)
class Asked:
    """One approval sheet."""

    tool: str
    summary: str
    detail: str
    patterns: tuple[str, ...]
    note: str = ""
    session: str = field(default="", compare=False)


@dataclass
class ScriptedUser:
    """Answers from ``answers``, and ``no`` when there are none left."""

    answers: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)

    async def ask(
        self,
        call: ToolCallBlock,
        summary: str,
        detail: str,
        patterns: tuple[str, ...],
        note: str = "",
        session: str = "",
    ) -> str:
        self.asked.append(Asked(call.name, summary, detail, patterns, note, session))
        return self.answers.pop(0) if self.answers else "no"

    def settle(self, call: ToolCallBlock) -> None:
        """This user answers at once: no question is ever open."""

    def run(self, *, tainted: bool = False, session: str = "", limit_s: float | None = None) -> ToolRun:
        return ToolRun(
            ask=self.ask,
            settle=self.settle,
            progress=self.progress.append,
            tainted=tainted,
            session=session,
            limit_s=limit_s,
        )


@dataclass
class Bench:
    """``folder`` is the working folder; its parent holds what lies outside."""

    folder: Path
    toolbox: Toolbox
    user: ScriptedUser
    permissions_file: Path
    ids: itertools.count[int] = field(default_factory=itertools.count)
    session: str = ""
    limit_s: float | None = None

    async def call(self, tool: str, *answers: str, tainted: bool = False, **arguments: object) -> ToolResultBlock:
        """Run a call; the user says ``answers``."""
        self.user.answers = list(answers)
        self.user.asked = []
        block = ToolCallBlock(call_id=f"c{next(self.ids)}", name=tool, arguments=json.dumps(arguments))
        return await self.toolbox.run(block, self.user.run(tainted=tainted, session=self.session, limit_s=self.limit_s))

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


def open_bench(
    around: Path,
    *,
    policy: Policy | None = None,
    permissions: Mapping[str, object] | None = None,
    mcp: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    outputs: Path | None = None,
    home: Path | None = None,
    kernel: Kernel | None = None,
    redact: Callable[[str], str] = str,
    logins: SavedLogins | None = None,
) -> Bench:
    """A bench whose working folder is ``around/ws``, and the home folder ``around/person`` unless said.

    Without ``kernel`` it has the sandbox of this machine.
    """
    folder = around / "ws"
    folder.mkdir(exist_ok=True)
    file = around / "person" / "config" / "permissions.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    toolbox = build_toolbox(
        ToolEnvironment(
            folder=folder,
            home=home or around / "person",
            environment={"PATH": "/usr/local/bin:/usr/bin:/bin", **(environment or {})},
            permissions_file=file,
            protected=(file.parent,),
            permissions=permissions or {},
            mcp=mcp or {},
            policy=policy or Policy(),
            outputs=outputs,
            redact=redact,
            logins=logins or in_memory(),
            kernel=this_kernel if kernel is None else lambda: kernel,
        )
    )
    return Bench(folder.resolve(), toolbox, ScriptedUser(), file)


def words(result: ToolResultBlock) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))


def outcome(result: ToolResultBlock) -> tuple[bool, str]:
    """Whether it went well, and its text."""
    return not result.failed, words(result)


def pictures(result: ToolResultBlock) -> list[ImageBlock]:
    """The pictures of a result."""
    return [block for block in result.content if isinstance(block, ImageBlock)]
