"""shell: a command in the working folder, without a terminal, without the program's own environment, with an end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tui.tools.permissions import offered
from tui.tools.ports import Intent, Job, Outcome, Prepared, on_a_line, said
from tui.tools.processes import Command, Ended, run_to_end
from tui.tools.rules import Access, Wish
from tui.tools.shell_words import offered_prefixes
from tui.tools.workspace import Workspace

DEFAULT_SECONDS = 120
MAX_SECONDS = 600
BEFORE_THE_ENGINE_S = 2.0
"""A call that must end by a limit from outside ends this much earlier, so that its output is not lost."""

_PASSED_ON = frozenset({"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ"})
_FIXED = {"GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "GIT_PAGER": "cat", "DEBIAN_FRONTEND": "noninteractive"}


class ShellArguments(BaseModel):
    """What shell takes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    command: Annotated[str, Field(min_length=1, max_length=100_000, description="Run by the shell with -c.")]
    timeout: Annotated[int, Field(ge=1, le=MAX_SECONDS, description="Seconds until it is killed.")] = DEFAULT_SECONDS


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs a command."""

    workspace: Workspace
    environment: Mapping[str, str]
    limit_s: Callable[[], float | None]
    """What the caller gives a call; None is without limit."""
    outputs: Path | None = None
    """Where outputs go that are too long to be told."""
    name: str = "shell"
    description: str = (
        "Run a shell command in the working folder. There is no terminal and no input: a command that asks fails."
        " stdout and stderr come together, the first and last 32 KB of them. Everything it started is killed when it"
        " ends or after the timeout."
    )
    access: Access = Access.SHELL
    arguments: type[BaseModel] = ShellArguments

    async def prepare(self, arguments: BaseModel) -> Prepared:
        """Say what would be run."""
        if not isinstance(arguments, ShellArguments):
            raise TypeError
        command = arguments.command
        patterns = offered(self.name, offered_prefixes(command))
        intent = Intent(
            wish=Wish(tool=self.name, access=Access.SHELL, target=command),
            summary="Run a command",
            detail=command,
            note=f"in {on_a_line(self.workspace.root)}",
            patterns=patterns,
            session=f"{self.name}(={command})",
        )

        async def perform(job: Job) -> Outcome:
            ended = await run_to_end(self._command(arguments), job.progress)
            return _told(ended)

        return Prepared(intents=(intent,), perform=perform)

    def _command(self, arguments: ShellArguments) -> Command:
        limit = self.limit_s()
        seconds = float(arguments.timeout)
        if limit is not None:
            seconds = min(seconds, max(limit - BEFORE_THE_ENGINE_S, 1.0))
        return Command(
            argv=(shutil.which("bash") or "/bin/sh", "-c", arguments.command),
            folder=self.workspace.root,
            environment=self.environment,
            timeout_s=seconds,
            outputs=self.outputs,
        )


def child_environment(environment: Mapping[str, str], names: frozenset[str] = frozenset()) -> dict[str, str]:
    """What a child sees of our environment: a list of harmless names, and those the user added. Never a key."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_ON or name in names or name.startswith("LC_")
    }
    return {**passed, **_FIXED}


def _told(ended: Ended) -> Outcome:
    text = ended.output.text().rstrip("\n") + (f"\n({ended.kept})" if ended.kept else "")
    if ended.why_killed:
        return said(f"{text}\n(killed with all it had started: {ended.why_killed})".lstrip("\n"), failed=True)
    if ended.code:
        how = f"exit code {ended.code}" if ended.code > 0 else f"ended by signal {-ended.code}"
        return said(f"{text}\n({how})".lstrip("\n"), failed=True)
    return said(text or "(no output, exit code 0)")
