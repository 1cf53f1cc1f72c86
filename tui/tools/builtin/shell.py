"""shell: runs a command in the working folder, without a terminal, with a reduced environment and a time limit."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tui.domain.errors import ToolError
from tui.domain.format_numbers import count
from tui.domain.printable import printable
from tui.tools.builtin.processes import Command, Ended, run_to_end
from tui.tools.builtin.workspace import Workspace
from tui.tools.permissions.permissions import IntendedAction
from tui.tools.permissions.rules import Access, RequestedAccess, Strength
from tui.tools.permissions.shell_words import prefix_to_offer, works_while_writing
from tui.tools.sandbox.sandbox import Confined, Sandbox, ended_with_ponder, looks_refused
from tui.tools.sandbox.wrappers import SYSTEM_FOLDERS
from tui.tools.tool import CallContext, CallResult, PreparedCall, on_a_line, text_result

DEFAULT_SECONDS = 120
MAX_SECONDS = 600
BEFORE_THE_ENGINE_S = 2.0
"""Seconds by which a command ends before the engine's own limit, so that its output is not lost."""

TOO_MANY_FILES = (
    "There are too many files to find all that the sandbox must protect, so the command was not run. Call it again"
    " unchanged to ask the user."
)
LONGEST_NOTE = 24
"""Columns of a last line that is shown instead of the whole output beside the call."""
MAX_LISTED = 20
"""Renamed files listed in a result."""

_PASSED_ON = frozenset({"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ"})
_FIXED = {"GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "GIT_PAGER": "cat", "DEBIAN_FRONTEND": "noninteractive"}


class ShellArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    command: Annotated[str, Field(min_length=1, max_length=100_000, description="Run by the shell with -c.")]
    timeout: Annotated[int, Field(ge=1, le=MAX_SECONDS, description="Seconds until it is killed.")] = DEFAULT_SECONDS


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs a command."""

    workspace: Workspace
    environment: Mapping[str, str]
    sandbox: Sandbox
    """Runs commands that were allowed by a rule."""
    outputs: Path | None = None
    """Folder for outputs that are too long for the model."""
    redact: Callable[[str], str] = str
    """Removes known secrets from those."""
    name: str = "shell"
    description: str = (
        "Run a shell command in the working folder. There is no terminal and no input: a command that asks fails."
        " stdout and stderr come together, the first and last 32 KB of them. Everything it started is killed when it"
        " ends or after the timeout."
    )
    access: Access = Access.SHELL
    arguments: type[BaseModel] = ShellArguments
    _stopped: set[str] = field(default_factory=set)
    """Commands that the sandbox stopped: the next time, the user is asked."""

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Describe the command to be run."""
        if not isinstance(arguments, ShellArguments):
            raise TypeError
        command = arguments.command
        exact = f"{self.name}(={command}) {Strength.FULL}"
        stopped = command in self._stopped
        enforceable = await asyncio.to_thread(self.sandbox.strengths)
        prefixes = self._prefixes(command, enforceable)
        about = self._about_sandbox(stopped=stopped, offers_it=bool(prefixes))
        action = IntendedAction(
            requested=RequestedAccess(tool=self.name, access=Access.SHELL, target=command, stopped=stopped),
            summary="Run a command",
            detail=command,
            note=f"in {on_a_line(self.workspace.root)}\n{about}",
            patterns=(exact, *prefixes),
            session=exact,
        )

        async def perform(running: CallContext) -> CallResult:
            if running.strength is Strength.FULL:
                argv = ended_with_ponder(self._argv(command))
                return _result_of(await run_to_end(self._command(arguments, argv, running), running.progress))
            return await self._perform_confined(arguments, running)

        return PreparedCall(actions=(action,), perform=perform)

    async def _perform_confined(self, arguments: ShellArguments, running: CallContext) -> CallResult:
        command = arguments.command
        async with self.sandbox.confine(running.strength, self._argv(command), self.environment) as confined:
            if not confined.complete:
                self._stopped.add(command)
                raise ToolError(TOO_MANY_FILES)
            launched = self._command(arguments, confined.argv, running, confined.environment)
            ended = await run_to_end(launched, running.progress)
            never_started = confined.never_started
        if never_started:
            reason = ended.output.text().strip()[-300:]
            raise ToolError(f"The sandbox could not be set up, so the command was not run: {reason}")
        made_guarded = bool(confined.set_aside.renamed or confined.set_aside.not_renamed)
        if looks_refused(ended.output.text(), failed=ended.code != 0) or made_guarded:
            self._stopped.add(command)
        notes = self._sandbox_notes(ended, confined, running.rule, command)
        return _result_of(ended, notes, failed=made_guarded)

    def _sandbox_notes(self, ended: Ended, confined: Confined, rule: str, command: str) -> list[str]:
        strength = confined.strength
        notes = [
            f"(`{on_a_line(path.relative_to(self.workspace.root))}` is a file that other programs run automatically:"
            f" it was renamed to `{on_a_line(new.relative_to(self.workspace.root))}`)"
            for path, new in confined.set_aside.renamed[:MAX_LISTED]
        ]
        more = len(confined.set_aside.renamed) - MAX_LISTED
        if more > 0:
            notes.append(f"({count(more, 'more file')} renamed in the same way)")
        left = confined.set_aside.not_renamed
        notes += [
            f"(`{on_a_line(path.relative_to(self.workspace.root))}` is a file that other programs run automatically,"
            " and it could not be renamed: check it before you continue)"
            for path in left[:MAX_LISTED]
        ]
        if len(left) > MAX_LISTED:
            notes.append(f"({count(len(left) - MAX_LISTED, 'more file')} could not be renamed)")
        if not confined.set_aside.complete:
            notes.append(
                "(The command made so many files, or folders that cannot be opened, that not all were checked: some"
                " may be files that other programs run automatically.)"
            )
        if command in self._stopped:
            notes.append(
                f"(The sandbox probably blocked something: by the rule `{rule}` {strength.description}. Call it again"
                " unchanged to ask the user. The answer `once` runs it without the sandbox; the rule"
                f" `{self.name}(={command}) {Strength.FULL}` always does.)"
            )
        elif ended.code:
            notes.append(f"(in the sandbox: {strength.description})")
        return notes

    def _about_sandbox(self, *, stopped: bool, offers_it: bool) -> str:
        if stopped:
            return "The sandbox stopped this command before. It now runs without a sandbox, with network."
        named = f" The answers that say so use {self.sandbox.name()}, without network." if offers_it else ""
        return f"Runs without a sandbox, with network.{named}"

    def _prefixes(self, command: str, enforceable: frozenset[Strength]) -> list[str]:
        prefix = prefix_to_offer(command)
        if prefix is None:
            return []
        strengths = [Strength.READ_ONLY] + [Strength.WRITES_FOLDER] * works_while_writing(prefix)
        return [f"{self.name}({prefix}) {strength}" for strength in strengths if strength in enforceable]

    def _argv(self, command: str) -> tuple[str, ...]:
        return (shutil.which("bash", path=SYSTEM_FOLDERS) or shutil.which("bash") or "/bin/sh", "-c", command)

    def _command(
        self,
        arguments: ShellArguments,
        argv: tuple[str, ...],
        running: CallContext,
        environment: Mapping[str, str] | None = None,
    ) -> Command:
        limit = running.run.limit_s
        seconds = float(arguments.timeout)
        if limit is not None:
            seconds = min(seconds, max(limit - BEFORE_THE_ENGINE_S, 1.0))
        return Command(
            argv=argv,
            folder=self.workspace.root,
            environment=self.environment if environment is None else environment,
            timeout_s=seconds,
            outputs=None if running.run.private else self.outputs,
            redact=self.redact,
        )


def child_environment(environment: Mapping[str, str], names: frozenset[str] = frozenset()) -> dict[str, str]:
    """The environment of a child process: a list of harmless variables and those the user added. Never a key."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_ON or name in names or name.startswith("LC_")
    }
    return {**passed, **_FIXED}


def _result_of(ended: Ended, notes: Sequence[str] = (), *, failed: bool = False) -> CallResult:
    text = ended.output.text().rstrip("\n") + (f"\n({ended.kept})" if ended.kept else "")
    if ended.why_killed:
        end = f"(killed with its child processes: {ended.why_killed})"
    elif ended.code:
        end = f"(exit code {ended.code})" if ended.code > 0 else f"(ended by signal {-ended.code})"
    else:
        end = "" if text else "(no output, exit code 0)"
    failed = failed or bool(ended.why_killed or ended.code)
    said = "\n".join(filter(None, (text, end, *notes))).lstrip("\n")
    return text_result(said, failed=failed, note=_note(ended, text))


def _note(ended: Ended, text: str) -> str:
    """How the command ended: its exit code, its last line if that is short, or the number of its lines."""
    if ended.why_killed:
        return "killed"
    if ended.code:
        return f"exit {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return "no output"
    last = printable(lines[-1].strip(), keep_newlines=False)
    return last if len(last) <= LONGEST_NOTE else count(len(lines), "line")
