"""Tables of commands and keys as markdown, for the README and ``docs/keys.md``. A test compares the files."""

from __future__ import annotations

from tui.commands.keymap import key_words
from tui.commands.registry import Group, Registry

BEGIN, END = "<!-- {name}: made from the command table -->", "<!-- end of {name} -->"


def slash_table(registry: Registry) -> str:
    """Slash commands by group."""
    rows = ["| command | what it does |", "|---|---|"]
    for group in Group:
        for command in registry:
            if command.group is group and command.slash:
                usage = f" {command.argument.usage}" if command.argument else ""
                rows.append(f"| `/{command.slash}{_cell(usage)}` | {_cell(command.help)} |")
    return "\n".join(rows)


def key_table(registry: Registry) -> str:
    """Keys by group."""
    rows = ["| key | where | what it does |", "|---|---|---|"]
    for group in Group:
        for command in registry:
            if command.group is group and command.keys:
                keys = " ".join(f"`{key_words(key)}`" for key in command.keys)
                rows.append(f"| {keys} | {command.scope.value} | {_cell(command.help)} |")
    return "\n".join(rows)


def id_table(registry: Registry) -> str:
    """All commands by group, with their id in ``keys.toml``."""
    rows = ["| id | what it is | key | where |", "|---|---|---|---|"]
    for group in Group:
        for command in registry:
            if command.group is group:
                keys = " ".join(f"`{key_words(key)}`" for key in command.keys)
                rows.append(f"| `{command.id}` | {_cell(command.title)} | {keys} | {command.scope.value} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def with_section(document: str, name: str, content: str) -> str:
    """Replace the text between the marks of ``name`` in a document."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    head, found, rest = document.partition(begin)
    if not found:
        raise ValueError(f"no marks for {name}")
    return f"{head}{begin}\n{content}\n{end}{rest.partition(end)[2]}"
