"""``ponder completions bash|zsh|fish``: completion scripts, generated from the command line and the setting keys.

The script asks for what changes (models, profiles, sessions …) with ``ponder completions --words KIND``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tui.catalog.catalog import Catalog
from tui.catalog.facts import Lifecycle
from tui.cli.parser_tree import ParserTree, parser_tree
from tui.cli.user_catalog import user_catalog
from tui.domain.errors import PonderError, UnknownModel
from tui.domain.thinking import ThinkingLevel
from tui.settings.paths import Paths, find_paths
from tui.settings.user_files import may_exist

SHELLS = ("bash", "zsh", "fish")
LOCAL_MODELS_S = 1.0
"""Time for looking into folders of models."""
FILES = "FILE"
"""Marks the shell's own completion of paths."""
PATHS = {"FILE", "PATH"}
ASKED_FOR = {
    "NAME[/LEVEL]": "models",
    "PROVIDER": "providers",
    "P": "providers",
    "NAME": "profiles",
    "MODEL": "local",
    "SOURCE": "downloads",
    "ID": "sessions",
    "KEY=VALUE": "settings",
}
"""Metavar in the help → the kind of words that complete it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.add_argument("shell", choices=SHELLS, nargs="?", help="the shell")
    parser.add_argument("--words", choices=sorted(set(ASKED_FOR.values())), help=argparse.SUPPRESS)
    parser.add_argument("--typed", default="", help=argparse.SUPPRESS)
    parser.epilog = (
        'bash: eval "$(ponder completions bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; '
        "fish: ponder completions fish > ~/.config/fish/completions/ponder.fish"
    )


def run(args: argparse.Namespace) -> int:
    """Print the script, or the requested words, one per line."""
    if args.words is not None:
        print("\n".join(words(args.words, args.typed)))
        return 0
    if args.shell is None:
        print(f"ponder: name a shell: {', '.join(SHELLS)}", file=sys.stderr)
        return 2
    from tui.cli.main import whole_parser
    from tui.settings.schema import keys

    tree = level(parser_tree(whole_parser()), tuple(f"{name}=" for name in keys()))
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](tree))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserOption:
    """An option of the command line."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] = ()
    """The accepted values; ``FILES`` alone for a path."""
    takes_value: bool = False
    kind: str = ""
    """The kind of dynamic words for the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserLevel:
    """A parser: its options, its positional words and its subcommands."""

    options: tuple[ParserOption, ...] = ()
    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Kinds of dynamic words for its positional arguments."""
    below: dict[str, tuple[str, ParserLevel]] = field(default_factory=dict)
    """Command to its help and its level."""

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ParserLevel]]:
        """Yield the level and all below it, with their paths."""
        yield path, self
        for name, (_, inner) in self.below.items():
            yield from inner.walk((*path, name))


def level(tree: ParserTree, settings: tuple[str, ...]) -> ParserLevel:
    """What completes a command line at this parser; ``settings`` complete KEY=VALUE arguments."""
    options: list[ParserOption] = []
    words: list[str] = []
    kinds: list[str] = []
    for action in tree.arguments:
        if action.option_strings:
            options.append(
                ParserOption(
                    names=tuple(action.option_strings),
                    help=action.help or "",
                    values=_values(action, settings),
                    takes_value=action.nargs != 0,
                    kind=_kind(action),
                )
            )
        else:
            words.extend(_values(action, settings))
            kinds.append(_kind(action))
    below = {name: (inner.help, level(inner, settings)) for name, inner in tree.commands.items()}
    return ParserLevel(options=tuple(options), words=tuple(words), kinds=tuple(filter(None, kinds)), below=below)


def _kind(action: argparse.Action) -> str:
    return ASKED_FOR.get(action.metavar, "") if isinstance(action.metavar, str) else ""


def _values(action: argparse.Action, settings: tuple[str, ...]) -> tuple[str, ...]:
    if action.choices:
        return tuple(str(choice) for choice in action.choices)
    named = {action.metavar} if isinstance(action.metavar, str) else set()
    if named & PATHS:
        return (FILES,)
    return settings if named == {"KEY=VALUE"} else ()


def bash(tree: ParserLevel) -> str:
    """A shell function that reads the words before the cursor.

    Bash splits words at ``=`` and ``:``, which occur in models and settings: the parts are joined first, and the part
    before the last split is removed from the answers again.
    """
    cases = []
    for path, here in tree.walk():
        offered = [*here.below, *(word for word in here.words if word != FILES)]
        offered += [name for option in here.options for name in option.names if name.startswith("--")]
        files = " -f" if FILES in here.words else ""
        asked = "".join(f" $(_ponder_words {kind})" for kind in here.kinds)
        cases.append(f"    '{' '.join(path)}') _ponder_offer{files} -W \"{' '.join(offered)}{asked}\" ;;")
    values = "\n".join(_bash_values(tree))
    commands = " ".join(dict.fromkeys(name for _, here in tree.walk() for name in here.below))
    return f"""_ponder_words() {{ "${{COMP_WORDS[0]}}" completions --words "$1" "--typed=$whole" 2>/dev/null; }}
_ponder_offer() {{
  COMPREPLY=($(compgen "$@" -- "$whole"))
  COMPREPLY=("${{COMPREPLY[@]#"$cut"}}")
  COMPREPLY=("${{COMPREPLY[@]/#/$lead}}")
  case "${{COMPREPLY[*]}}" in *=|*/) compopt -o nospace 2>/dev/null ;; esac
}}
_ponder() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" at=$COMP_CWORD path="" word whole prev cut lead=""
  whole="$cur"
  while (( at > 1 )) && {{ [[ "${{COMP_WORDS[at]}}" == [=:] ]] || [[ "${{COMP_WORDS[at-1]}}" == [=:] ]]; }}; do
    at=$((at - 1)); whole="${{COMP_WORDS[at]}}$whole"
  done
  prev="${{COMP_WORDS[at-1]}}"
  case "$cur" in [=:]) cur="" ;; --*=*) lead="${{cur%%=*}}="; cur="${{cur#*=}}" ;; esac
  case "$whole" in --*=*) prev="${{whole%%=*}}"; whole="${{whole#*=}}" ;; esac
  cut="${{whole%"$cur"}}"
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


def _bash_values(tree: ParserLevel) -> Iterator[str]:
    seen: set[tuple[str, ...]] = set()
    for _, here in tree.walk():
        for option in here.options:
            if not (option.values or option.kind) or option.names in seen:
                continue
            seen.add(option.names)
            how = "-f" if option.values == (FILES,) else f"-W '{' '.join(option.values)}'"
            names = "|".join(option.names)
            if option.kind:
                asked = f'_ponder_offer -W "$(_ponder_words {option.kind})"'
                # Setting names do not change, so only their values are requested.
                how = f'case "$whole" in *=*) {asked} ;; *) _ponder_offer {how} ;; esac' if option.values else asked
                yield f"    {names}) {how}; return ;;"
            else:
                yield f"    {names}) _ponder_offer {how}; return ;;"


def zsh(tree: ParserLevel) -> str:
    """Zsh uses the bash completion through bashcompinit."""
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash(tree)}"


def fish(tree: ParserLevel) -> str:
    """One line for every option and command, with its help."""
    lines = ["complete -c ponder -f"]
    for path, here in tree.walk():
        where = _fish_condition(path, here)
        lines += [f"complete -c ponder{where} -a {name} -d {_quoted(about)}" for name, (about, _) in here.below.items()]
        if FILES in here.words:
            lines.append(f"complete -c ponder{where} -F")
        lines += [f"complete -c ponder{where} -a {_quoted(word)}" for word in here.words if word != FILES]
        lines += [f"complete -c ponder{where} -a {_quoted(_fish_words(kind))}" for kind in here.kinds]
        lines += [_fish_option(option, where) for option in here.options]
    return "\n".join(lines)


def _fish_condition(path: Sequence[str], here: ParserLevel) -> str:
    if not path:
        return " -n __fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path)
    not_below = f"; and not __fish_seen_subcommand_from {' '.join(here.below)}" if here.below else ""
    return f" -n {_quoted(seen + not_below)}"


def _fish_words(kind: str) -> str:
    return f"(ponder completions --words {kind} --typed=(commandline -ct) 2>/dev/null)"


def _fish_option(option: ParserOption, where: str) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = " -r" if option.takes_value else ""
    if option.values == (FILES,):
        value = " -r -F"
    elif option.kind:
        value = f" -x -a {_quoted(' '.join((*option.values, _fish_words(option.kind))))}"
    elif option.values:
        value = f" -x -a {_quoted(' '.join(option.values))}"
    return f"complete -c ponder{where} {names}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


MODEL_SETTINGS = ("model", "favourites", "context.compressionModel")
MOST_SESSIONS = 50
PLAIN = re.compile(r"[\w.:/@=+,-]+", re.ASCII)


def words(kind: str, typed: str) -> list[str]:
    """Words of a kind with this prefix. Only plain words are returned, because shells expand them."""
    try:
        found = dict.fromkeys(_KINDS[kind](typed))
        return [word for word in found if word.startswith(typed) and PLAIN.fullmatch(word)]
    except (PonderError, OSError):
        return []


def _catalog() -> Catalog:
    with contextlib.redirect_stderr(io.StringIO()):
        return user_catalog(os.environ).catalog


def _models(typed: str) -> Iterator[str]:
    """Model names with their provider; names alone once something is typed; levels once the name is complete."""
    catalog = _catalog()
    makers = {file.name for file in catalog.makers()}
    for provider in catalog.providers():
        for facts in catalog.models(provider):
            if facts.lifecycle is not Lifecycle.RETIRED:
                yield f"{provider}/{facts.id}"
                if typed and provider in makers:
                    yield facts.id
    head = typed.rpartition("/")[0]
    if head and _is_model(head, catalog):
        yield from (f"{head}/{level}" for level in ThinkingLevel)


def _is_model(name: str, catalog: Catalog) -> bool:
    from tui.catalog.model_spec import parse_spec

    try:
        spec = parse_spec(name, catalog)
    except UnknownModel:
        return False
    return spec.asked is None and catalog.find(spec.provider, spec.model).known


def _downloads(_: str) -> Iterable[str]:
    from tui.providers.local.known_models import known_models

    return known_models()


def _local_models(_: str) -> Iterator[str]:
    from tui.providers.local.library import library_of

    for model in library_of(os.environ, find_paths(os.environ)).models(within_s=LOCAL_MODELS_S):
        yield model.name


def _providers(_: str) -> Iterable[str]:
    return _catalog().providers()


def _profiles(_: str) -> Iterable[str]:
    from tui.settings.profiles import profile_names

    return profile_names(_paths().profiles)


def _settings(typed: str) -> Iterator[str]:
    from tui.settings.schema import keys

    key, equals, value = typed.partition("=")
    if not equals:
        yield from (f"{name}=" for name in keys())
    elif key in MODEL_SETTINGS:
        yield from (f"{key}={name}" for name in _models(value))
    elif key == "ui.theme":
        from tui.ui.theme.theme_files import read_themes  # imports Textual's colours

        yield from (f"{key}={name}" for name in ("auto", *read_themes(_paths().themes)[0]))
    elif key in keys():
        yield from (f"{key}={choice}" for choice in keys()[key].choices)


def _sessions(_: str) -> Iterable[str]:
    """Ids of the latest sessions; does not create a store."""
    if not may_exist(_paths().database):
        return ()
    import time

    from tui.app.ids import new_id
    from tui.store.database import Database, StoreContext
    from tui.store.leases import this_process
    from tui.store.library import StoredLibrary

    database = Database(_paths().database)
    try:
        library = StoredLibrary(database, StoreContext(holder=this_process(new_id()), now=time.time, new_id=new_id))
        return [row.id for row in asyncio.run(library.sessions("", MOST_SESSIONS))]
    finally:
        database.close()


def _paths() -> Paths:
    return find_paths(os.environ)


_KINDS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "downloads": _downloads,
    "local": _local_models,
    "models": _models,
    "profiles": _profiles,
    "providers": _providers,
    "sessions": _sessions,
    "settings": _settings,
}
