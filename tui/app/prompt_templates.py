"""Prompt templates: ``prompts/NAME.md`` of the user, and those of a trusted project, become the command ``/NAME``.

A template is a prompt with blanks to fill in. Its head can name a model and a level; nothing else in it has an effect.
Commands in it are run by the rules for tools, which no template can change.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui.app.attachment_filter import may_hold_secrets
from tui.app.attachments import read_attachment
from tui.app.shell_quotes import ESCAPE, opened_before
from tui.domain.blocks import Block, TextBlock
from tui.domain.command_lines import command_of, console_block, fenced_lines, plain_output
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.domain.printable import one_line
from tui.settings.user_files import read_user_text

FOLDER_IN_PROJECT = Path(".ponder") / "prompts"
LARGEST = 100_000
MOST = 200
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"([A-Za-z][\w-]*)\s*:\s*(.*)")
_BLANK = re.compile(r"\$(ARGUMENTS|[1-9])(?!\w)")
_FILE = re.compile(r"(?<!\S)@([^\s`'\"()<>]*[^\s`'\"()<>.,;:!?])")
_IN_PLACE = re.compile(r"(?<!\S)!`([^`\n]+)`")
_LEAVES_AS_IT_IS = frozenset({ESCAPE, "'"})
_QUOTES = frozenset({'"', "$'"})
_HOLDS_WORDS = frozenset({"(", "`"})
"""Within these a quoted word is a word; in double quotes and in what a shell evaluates, its quotes mean nothing."""
MOST_FILES = 20
MOST_COMMANDS = 20


@dataclass(frozen=True, slots=True)
class TemplateCommand:
    """A shell command in a template."""

    command: str
    """With blanks."""
    is_line: bool
    """It takes a whole line, so its output becomes a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    name: str
    text: str
    description: str = ""
    argument_hint: str = ""
    model: str = ""
    level: str = ""
    project: Path | None = None
    """The folder of the project that it comes from; None for one of the user's own."""

    @property
    def usage(self) -> str:
        """What can follow the name."""
        return self.argument_hint or ("ARGUMENTS" if _BLANK.search(self.text) else "TEXT")

    @property
    def parts(self) -> tuple[str | TemplateCommand, ...]:
        """The text, and the commands in it, in order."""
        lines = self.text.split("\n")
        parts: list[str | TemplateCommand] = []
        for number, (line, is_fenced) in enumerate(zip(lines, fenced_lines(lines), strict=True)):
            if number:
                parts.append("\n")
            if not is_fenced and (command := command_of(line)) is not None:
                parts.append(TemplateCommand(command, is_line=True))
                continue
            pieces = [line] if is_fenced else _IN_PLACE.split(line)
            parts += [TemplateCommand(piece, is_line=False) if at % 2 else piece for at, piece in enumerate(pieces)]
        return tuple(parts)

    @property
    def has_commands(self) -> bool:
        return any(isinstance(part, TemplateCommand) for part in self.parts)

    @property
    def spec(self) -> str:
        """The model and level it asks for, as ``/model`` takes them; "" for those in use.

        A template of a project chooses neither: a repository must not send the conversation elsewhere.
        """
        return "" if self.project is not None else "/".join(filter(None, (self.model, self.level)))


@dataclass(slots=True)
class PromptTemplates:
    """All templates by name, and what is wrong with the others."""

    by_name: dict[str, PromptTemplate] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_templates(
    own: Path, project: Path | None, builtins: Collection[str], environment: Mapping[str, str] | None = None
) -> PromptTemplates:
    """Read the templates of the user and of a trusted project. Blocking.

    The names of the program's own commands cannot be taken, and a project cannot replace a template of the user.
    """
    found = PromptTemplates()
    for folder, root in ((own, None), (project / FOLDER_IN_PROJECT if project else None, project)):
        for path in _files(folder, found.problems):
            where = f"The prompt `{path.name}`" + (" of the project" if root is not None else "")
            name = path.stem.lower()
            if not _NAME.fullmatch(name):
                found.problems.append(f"{where} is not used: its name needs letters, digits, `-` and `_`.")
            elif name in builtins:
                found.problems.append(f"{where} is not used: `/{name}` is a command of ponder.")
            elif name in found.by_name:
                found.problems.append(f"{where} is not used: there is another `/{name}`.")
            else:
                try:
                    found.by_name[name] = _read(path, name, root, environment or {})
                except OSError as error:
                    found.problems.append(f"{where} cannot be read: {error.strerror}.")
    return found


def _files(folder: Path | None, problems: list[str]) -> list[Path]:
    if folder is None:
        return []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md" and not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"The prompts in `{folder}` cannot be read: {error.strerror}.")
        return []
    if len(paths) > MOST:
        problems.append(f"Only the first {MOST} of {count(len(paths), 'prompt')} in `{folder}` are used.")
    return paths[:MOST]


def _read(path: Path, name: str, project: Path | None, environment: Mapping[str, str]) -> PromptTemplate:
    if project is not None and not _is_in(path, project):
        raise OSError(0, "it leads out of the project")
    if project is not None and path.is_symlink() and may_hold_secrets(path, environment):
        raise OSError(0, "it leads to a file that may hold secrets")
    text = read_user_text(path, LARGEST) or ""
    head: Mapping[str, str] = {}
    if (front := _FRONT.match(text)) is not None:
        head, text = dict(_entries(front[1])), text[front.end() :]
    return PromptTemplate(
        name=name,
        text=text.strip(),
        description=one_line(head.get("description", "") or _first_line(text), 100),
        argument_hint=one_line(head.get("argument-hint", ""), 40),
        model=one_line(head.get("model", ""), 100),
        level=one_line(head.get("level", ""), 20),
        project=project,
    )


def _is_in(path: Path, project: Path) -> bool:
    try:
        return path.resolve().is_relative_to(project)
    except RuntimeError:
        return False  # a link to itself leads nowhere


def _entries(front: str) -> Iterator[tuple[str, str]]:
    for line in front.splitlines():
        if (entry := _ENTRY.fullmatch(line.strip())) is not None:
            yield entry[1].lower(), entry[2].strip().strip("\"'")


def _first_line(text: str) -> str:
    return next((line.lstrip("# ").strip() for line in text.splitlines() if line.strip()), "")


def filled_in(template: PromptTemplate, arguments: str, outputs: Mapping[str, str] | None = None) -> str:
    """The prompt with the arguments in its blanks; after it, if it has none.

    ``outputs`` are what the commands printed, by the commands as they were run.
    """
    arguments = arguments.strip()

    def filled(part: str | TemplateCommand) -> str:
        if isinstance(part, str):
            return _fill(part, arguments)
        command = _filled_command(part.command, arguments)
        output = (outputs or {}).get(command, "")
        return console_block(command, output) if part.is_line else plain_output(output).strip("\n")

    text = "".join(map(filled, template.parts)).strip()
    return text if _BLANK.search(template.text) else f"{text}\n\n{arguments}".strip()


def _fill(text: str, arguments: str) -> str:
    words = _words(arguments)

    def value(blank: re.Match[str]) -> str:
        if blank[1] == "ARGUMENTS":
            return arguments
        position = int(blank[1]) - 1
        return words[position] if position < len(words) else ""

    return _BLANK.sub(value, text)


def commands_in(template: PromptTemplate, arguments: str) -> tuple[str, ...]:
    """The commands of the template as they are to be run, each once."""
    commands = [part.command for part in template.parts if isinstance(part, TemplateCommand)]
    if len(commands) > MOST_COMMANDS:
        raise UsageError(
            f"The prompt `/{template.name}` has {count(len(commands), 'command')}; at most {MOST_COMMANDS} are run."
        )
    return tuple(dict.fromkeys(_filled_command(command, arguments) for command in commands))


def _filled_command(command: str, arguments: str) -> str:
    """A command with the arguments as quoted words, so that they stay words whatever is in them."""
    words = _words(arguments)
    quoted = [shlex.quote(word) for word in words]

    def value(blank: re.Match[str]) -> str:
        opened = opened_before(command[: blank.start()])
        if opened and opened[-1] in _LEAVES_AS_IT_IS:
            return blank[0]  # as a shell leaves it
        if evaluated := [sign for sign in opened if sign not in _HOLDS_WORDS]:
            where = "quotes" if evaluated[-1] in _QUOTES else f"`{evaluated[-1]}`, where a shell evaluates it"
            raise UsageError(f"`{blank[0]}` in the command `{command}` is in {where}.", advice="It needs none.")
        if blank[1] == "ARGUMENTS":
            return " ".join(quoted)
        position = int(blank[1]) - 1
        return quoted[position] if position < len(words) else "''"

    return _BLANK.sub(value, command)


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def template_blocks(
    template: PromptTemplate,
    arguments: str,
    folder: Path,
    outputs: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Block, ...]:
    """The prompt with the files that the template names by ``@path`` and with the output of its commands. Blocking.

    A template of a project can only name files in the project, and none that may hold secrets. Names in arguments and
    in outputs are not read.
    """
    text = filled_in(template, arguments, outputs)
    if not text:
        raise UsageError(f"The prompt `/{template.name}` is empty.")
    written = "".join(part for part in template.parts if isinstance(part, str))
    names = list(dict.fromkeys(_FILE.findall(written)))
    files = [_named_file(template, name, folder, environment or {}) for name in names[:MOST_FILES]]
    return (*(read_attachment(file) for file in files if file is not None), TextBlock(text=text))


def _named_file(template: PromptTemplate, name: str, folder: Path, environment: Mapping[str, str]) -> Path | None:
    """The file that the template may attach, as it is read; other words with an ``@`` stay what they are."""
    path = Path(name).expanduser() if template.project is None else Path(name)
    try:
        target = (folder / path).resolve()
        if not target.is_file():
            return None
    except (OSError, RuntimeError, ValueError):
        return None
    if template.project is None:
        return target
    named = f"The prompt `/{template.name}` of the project names `{name}`, which"
    if not target.is_relative_to(template.project):
        raise UsageError(f"{named} is not in the project.")
    # Whoever wrote the template does not own what the user keeps in the folder.
    if may_hold_secrets(folder / path, environment):
        raise UsageError(f"{named} may hold secrets.", advice="Attach it yourself if it is to be sent.")
    return target
