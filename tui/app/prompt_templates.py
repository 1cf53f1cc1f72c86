"""Prompt templates: ``prompts/NAME.md`` of the user, and those of a trusted project, become the command ``/NAME``.

A template is a prompt with blanks to fill in. Its head can name a model and a level; nothing else in it has an effect.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui.app.attachments import read_attachment
from tui.domain.blocks import Block, TextBlock
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
MOST_FILES = 20


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


def read_templates(own: Path, project: Path | None, builtins: Collection[str]) -> PromptTemplates:
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
                    found.by_name[name] = _read(path, name, root)
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


def _read(path: Path, name: str, project: Path | None) -> PromptTemplate:
    if project is not None and not _is_in(path, project):
        raise OSError(0, "it leads out of the project")
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


def filled_in(template: PromptTemplate, arguments: str) -> str:
    """The prompt with the arguments in its blanks; after it, if it has none."""
    arguments = arguments.strip()
    if not _BLANK.search(template.text):
        return f"{template.text}\n\n{arguments}".strip()
    words = _words(arguments)

    def value(blank: re.Match[str]) -> str:
        if blank[1] == "ARGUMENTS":
            return arguments
        position = int(blank[1]) - 1
        return words[position] if position < len(words) else ""

    return _BLANK.sub(value, template.text).strip()


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def template_blocks(template: PromptTemplate, arguments: str, folder: Path) -> tuple[Block, ...]:
    """The prompt with the files that the template names by ``@path``. Blocking.

    A template of a project can only name files in the project. Names in the arguments are not read.
    """
    text = filled_in(template, arguments)
    if not text:
        raise UsageError(f"The prompt `/{template.name}` is empty.")
    names = list(dict.fromkeys(_FILE.findall(template.text)))
    files = [_named_file(template, name, folder) for name in names[:MOST_FILES]]
    return (*(read_attachment(file) for file in files if file is not None), TextBlock(text=text))


def _named_file(template: PromptTemplate, name: str, folder: Path) -> Path | None:
    """The file that the template may attach, as it is read; other words with an ``@`` stay what they are."""
    path = Path(name).expanduser() if template.project is None else Path(name)
    try:
        target = (folder / path).resolve()
        if not target.is_file():
            return None
    except (OSError, RuntimeError, ValueError):
        return None
    if template.project is None or target.is_relative_to(template.project):
        return target
    raise UsageError(f"The prompt `/{template.name}` of the project names `{name}`, which is not in the project.")
