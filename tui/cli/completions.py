"""``ponder completions bash|zsh|fish``: shell completions, made from the command line itself and the settings' keys."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

SHELLS = ("bash", "zsh", "fish")
FILES = "FILE"
"""Stands for the shell's own completion of paths."""
PATHS = {"FILE", "PATH"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.add_argument("shell", choices=SHELLS)
    parser.epilog = (
        'bash: eval "$(ponder completions bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; '
        "fish: ponder completions fish > ~/.config/fish/completions/ponder.fish"
    )


def run(args: argparse.Namespace) -> int:
    """The script on stdout."""
    from tui.cli.main import whole_parser
    from tui.settings.schema import keys

    tree = level(whole_parser(), tuple(f"{name}=" for name in keys()))
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](tree))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A way to say something on the command line."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] = ()
    """What may follow; ``FILES`` alone for a path."""
    takes_value: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A parser: its options, the words it takes in place of a value, and the commands below it."""

    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ()
    below: dict[str, tuple[str, Level]] = field(default_factory=dict)
    """Command to its help and its level."""

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Level]]:
        """Itself and all below."""
        yield path, self
        for name, (_, inner) in self.below.items():
            yield from inner.walk((*path, name))


def level(parser: argparse.ArgumentParser, settings: tuple[str, ...]) -> Level:
    """The tree of a parser; ``settings`` complete what takes KEY=VALUE."""
    options: list[Option] = []
    words: list[str] = []
    below: dict[str, tuple[str, Level]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            below = {name: (helps.get(name, ""), level(inner, settings)) for name, inner in action.choices.items()}
        elif action.option_strings:
            names = tuple(action.option_strings)
            takes = action.nargs != 0
            options.append(
                Option(names=names, help=action.help or "", values=_values(action, settings), takes_value=takes)
            )
        else:
            words.extend(_values(action, settings))
    return Level(options=tuple(options), words=tuple(words), below=below)


def _values(action: argparse.Action, settings: tuple[str, ...]) -> tuple[str, ...]:
    if action.choices:
        return tuple(str(choice) for choice in action.choices)
    named = {action.metavar} if isinstance(action.metavar, str) else set()
    if named & PATHS:
        return (FILES,)
    return settings if named == {"KEY=VALUE"} else ()


def bash(tree: Level) -> str:
    """A function that looks at the words before the cursor."""
    cases = []
    for path, here in tree.walk():
        offered = [*here.below, *(word for word in here.words if word != FILES)]
        offered += [name for option in here.options for name in option.names if name.startswith("--")]
        files = " -f" if FILES in here.words else ""
        cases.append(f"    '{' '.join(path)}') COMPREPLY=($(compgen{files} -W '{' '.join(offered)}' -- \"$cur\")) ;;")
    values = "\n".join(_bash_values(tree))
    commands = " ".join(dict.fromkeys(name for _, here in tree.walk() for name in here.below))
    return f"""_ponder() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" path="" word
  COMPREPLY=()
  case "$prev" in
{values}
  esac
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " {commands} " in *" $word "*) path="${{path:+$path }}$word" ;; esac
  done
  case "$path" in
{chr(10).join(cases)}
  esac
}}
complete -F _ponder ponder"""


def _bash_values(tree: Level) -> Iterator[str]:
    told: set[tuple[str, ...]] = set()
    for _, here in tree.walk():
        for option in here.options:
            if not option.values or option.names in told:
                continue
            told.add(option.names)
            how = "-f" if option.values == (FILES,) else f"-W '{' '.join(option.values)}'"
            yield f'    {"|".join(option.names)}) COMPREPLY=($(compgen {how} -- "$cur")); return ;;'


def zsh(tree: Level) -> str:
    """Zsh speaks bash's completion when it is asked to."""
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash(tree)}"


def fish(tree: Level) -> str:
    """One line for every option and command, with its help."""
    lines = ["complete -c ponder -f"]
    for path, here in tree.walk():
        where = _fish_condition(path, here)
        lines += [f"complete -c ponder{where} -a {name} -d {_quoted(about)}" for name, (about, _) in here.below.items()]
        if FILES in here.words:
            lines.append(f"complete -c ponder{where} -F")
        lines += [f"complete -c ponder{where} -a {_quoted(word)}" for word in here.words if word != FILES]
        lines += [_fish_option(option, where) for option in here.options]
    return "\n".join(lines)


def _fish_condition(path: Sequence[str], here: Level) -> str:
    if not path:
        return " -n __fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path)
    not_below = f"; and not __fish_seen_subcommand_from {' '.join(here.below)}" if here.below else ""
    return f" -n {_quoted(seen + not_below)}"


def _fish_option(option: Option, where: str) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = " -r" if option.takes_value else ""
    if option.values == (FILES,):
        value = " -r -F"
    elif option.values:
        value = f" -x -a {_quoted(' '.join(option.values))}"
    return f"complete -c ponder{where} {names}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
