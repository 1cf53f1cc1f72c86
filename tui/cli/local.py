"""``ponder local list|get|add|remove|show``: models on this machine. Only ``get`` uses the network."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tui.cli.user_catalog import print_messages
from tui.domain.errors import PonderError, UsageError
from tui.domain.format_numbers import count, data_size, tokens
from tui.domain.printable import one_line, printable
from tui.providers.local.library import LocalModel, ModelLibrary, Source, library_of
from tui.providers.local.own_models import OwnModels
from tui.settings.paths import find_paths
from tui.settings.user_files import with_home

SOURCES = {
    Source.PONDER: "ponder",
    Source.OLLAMA: "Ollama",
    Source.LMSTUDIO: "LM Studio",
    Source.HUGGING_FACE: "Hugging Face",
    Source.LLAMA_CPP: "llama.cpp",
    Source.FILE: "file",
}
YES = ("y", "yes")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the models on this machine, also those of other programs")
    listing.add_argument("--json", action="store_true", help="print one JSON object per line")
    get = actions.add_parser("get", help="download a model; without a name, list some good small ones")
    get.add_argument("model", nargs="?", metavar="SOURCE", help="a name of that list, or hf:OWNER/REPO[:FILE]")
    get.add_argument("--yes", action="store_true", help="do not ask before a large download")
    get.add_argument("--text-only", action="store_true", help="leave out the part that sees images")
    add = actions.add_parser("add", help="add a GGUF file, which stays where it is")
    add.add_argument("file", type=Path, metavar="PATH", help="a GGUF file")
    remove = actions.add_parser("remove", help="delete a downloaded model, or take an added one off the list")
    remove.add_argument("model", metavar="MODEL", help="a name of `ponder local list`")
    remove.add_argument("--yes", action="store_true", help="do not ask")
    show = actions.add_parser("show", help="print what is known about a model")
    show.add_argument("model", metavar="MODEL", help="a name of `ponder local list`, or a path")
    show.add_argument("--json", action="store_true", help="print a JSON object")


def run(args: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if a download or the disk failed, 2 if the command line is wrong."""
    paths = find_paths(os.environ)
    library = library_of(os.environ, paths)
    try:
        match args.action:
            case "list":
                _list(library, OwnModels(paths.models), as_json=args.json)
            case "get":
                from tui.cli import local_get  # imports the HTTP client

                return local_get.run(args, library, paths)
            case "add":
                path = with_home(args.file)
                model = library.at(path)
                OwnModels(paths.models).add(model)
                print(f"Added {printable(name_of(library, model.path))}. The file stays where it is.")
            case "remove":
                return _remove(args, library, OwnModels(paths.models))
            case _:
                _show(_found(library, args.model), as_json=args.json)
    except UsageError as problem:
        print_messages(f"ponder: {problem.message}", problem.advice)
        return 2
    except PonderError as problem:
        print_messages(f"ponder: {problem.message}", problem.advice)
        return 2 if args.action != "get" else 1
    except OSError as problem:
        if problem.filename is None:
            raise
        print_messages(f"ponder: `{problem.filename}`: {problem.strerror}.")
        return 1
    return 0


def name_of(library: ModelLibrary, path: Path) -> str:
    """The name under which the list has a file."""
    there = path.resolve()
    return next((model.name for model in library.models() if model.path.resolve() == there), path.stem)


def _found(library: ModelLibrary, name: str) -> LocalModel:
    """The model of a name, or of a path."""
    path = with_home(Path(name))
    if (name.lower().endswith(".gguf") or "/" in name) and path.is_file():
        return library.at(path)
    return library.find(name.removeprefix("local/"))


def _list(library: ModelLibrary, own: OwnModels, *, as_json: bool) -> None:
    models = library.models()
    if as_json:
        for model in models:
            print(json.dumps(_as_json(model)))
        return
    unfinished = own.unfinished()
    if not models and not unfinished:
        print("No models on this machine. `ponder local get` lists some to download.", file=sys.stderr)
    name = max((len(one_line(model.name, 60)) for model in models), default=0)
    if models and sys.stdout.isatty():
        print(f"{'NAME':{name}}  {'SIZE':>8}  {'FORMAT':8}  {'WINDOW':>6}  {'FROM':12}  CAN")
    for model in models:
        print(_row(model, name))
    for part in unfinished:
        print(f"{one_line(part.name, 60)}: {data_size(part.size)} downloaded, not finished")


def _row(model: LocalModel, width: int) -> str:
    facts = model.facts
    window = tokens(facts.window) if facts and facts.window else "?"
    last = model.problem or ", ".join(_abilities(model))
    return (
        f"{one_line(model.name, 60):{width}}  {data_size(model.size):>8}  {facts.quantisation if facts else '':8}  "
        f"{window:>6}  {SOURCES[model.source]:12}  {one_line(last, 100)}"
    ).rstrip()


def _abilities(model: LocalModel) -> list[str]:
    facts = model.facts
    if facts is None:
        return []
    thinking = []
    if facts.thinks:
        thinking = ["thinks" if facts.thinking_switch else "always thinks"]
    return [*thinking, *(["tools"] if facts.tools else []), *(["images"] if model.sees else [])]


def _show(model: LocalModel, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_as_json(model)))
        return
    facts = model.facts
    rows: list[tuple[str, str]] = [("name", model.name), ("from", SOURCES[model.source])]
    rows += [("file", str(part)) for part in model.parts]
    rows += [("sees with", str(model.mmproj))] if model.mmproj else []
    rows += [("size", data_size(model.size))]
    if facts is not None:
        weights = f"{facts.parameters / 1e9:.2f} billion" if facts.parameters else ""
        rows += [
            ("model", facts.name),
            ("architecture", facts.architecture),
            ("weights", weights),
            ("format", facts.quantisation),
            ("window", count(facts.window, "token") if facts.window else ""),
            ("context", f"{data_size(facts.cache_bytes_per_token)} a token" if facts.cache_bytes_per_token else ""),
            ("licence", facts.licence),
            ("can", ", ".join(_abilities(model))),
        ]
    rows += [("problem", model.problem)]
    for name, text in rows:
        if text:
            print(f"{name:13} {printable(text, keep_newlines=False)}")


def _as_json(model: LocalModel) -> dict[str, object]:
    facts = model.facts
    return {
        "name": model.name,
        "source": model.source.value,
        "files": [str(part) for part in model.parts],
        "mmproj": str(model.mmproj) if model.mmproj else None,
        "bytes": model.size,
        "architecture": facts and facts.architecture,
        "parameters": facts and facts.parameters,
        "format": facts and facts.quantisation,
        "window": facts and facts.window,
        "context_bytes_per_token": facts and facts.cache_bytes_per_token,
        "licence": facts and facts.licence,
        "thinks": facts and facts.thinks,
        "can_disable_thinking": facts and bool(facts.thinking_switch),
        "tools": facts and facts.tools,
        "images": model.sees,
        "problem": model.problem or None,
    }


def _remove(args: argparse.Namespace, library: ModelLibrary, own: OwnModels) -> int:
    unfinished = [part for part in own.unfinished() if part.name == args.model]
    try:
        model: LocalModel | None = library.find(args.model.removeprefix("local/"))
    except PonderError:
        if not unfinished:
            raise
        model = None
    if model is not None and model.source is Source.PONDER and not model.path.is_symlink():
        question = f"Delete {one_line(model.name, 60)} ({data_size(model.size)})?"
        if not (args.yes or agrees(question, "remove it")):
            return 2
    if model is not None:
        own.remove(model)
    for part in unfinished:
        own.discard(part)
    print(f"Removed {one_line(args.model, 60)}.")
    return 0


def agrees(question: str, what: str) -> bool:
    """Ask on the terminal; elsewhere, say which option is needed."""
    if not sys.stdin.isatty():
        print_messages(f"ponder: {question} Add --yes to {what}.")
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in YES
