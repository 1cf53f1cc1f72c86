"""Finds private names (``_x``) that a file of ``tui`` uses although another file or a library defines them."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache

from tests.architecture.trees import nodes_of, parsed
from tests.program_modules import program_modules

DOCUMENTED = {"_asdict", "_fields", "_make", "_replace", "_exit", "_typeshed"}
"""Public names that look private: of named tuples, ``os._exit``, and the types of the standard library."""
BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}
"""Functions whose second argument is the name of an attribute."""


def is_private(name: str) -> bool:
    """``_x``, but neither ``_`` nor ``__x__``."""
    return name.startswith("_") and name.strip("_") != "" and not (name.startswith("__") and name.endswith("__"))


def private_uses(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every private name that this source uses and does not define."""
    own = set(definitions(nodes_of(source)))
    for node in nodes_of(source):
        for name in _named_by(node):
            if is_private(name) and name not in own and name not in DOCUMENTED:
                yield getattr(node, "lineno", 0), name


def _named_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=module, names=names):
            yield from (part for part in (module or "").split("."))
            yield from (alias.name for alias in names)
        case ast.Import(names=names):
            yield from (part for alias in names for part in alias.name.split("."))
        case ast.Attribute(attr=name):
            yield name
        case ast.Call(func=ast.Name(id=called), args=[_, ast.Constant(value=str(name)), *_]) if called in BY_NAME:
            yield name
        case _:
            pass


def definitions(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names of functions, classes, variables, fields, slots and attributes of ``self`` and ``cls``; no local ones."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                yield from (str(item.value) for item in ast.walk(value) if isinstance(item, ast.Constant))
            case _:
                pass
        if isinstance(node, ast.Module | ast.ClassDef):
            for statement in node.body:
                yield from _assigned(statement)


def _assigned(statement: ast.stmt) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    for target in targets:
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name):
                yield node.id


def overrides() -> Iterator[tuple[str, str, str]]:
    """File, name and base class of every private name that a class of ``tui`` shares with a base in another file."""
    for cls in _classes():
        own = {name for name in definitions_of(cls) if is_private(name)}
        for base in cls.__mro__[1:] if own else ():
            if base.__module__ in (cls.__module__, "builtins", "typing", "abc", "enum"):
                continue
            for name in sorted(own & set(definitions_of(base))):
                yield cls.__module__, name, f"{base.__module__}.{base.__qualname__}"


def _classes() -> Iterator[type]:
    for module in program_modules():
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                yield value


@cache
def definitions_of(cls: type) -> frozenset[str]:
    node = _written(cls.__module__).get(cls.__qualname__)
    if node is None:  # written in C, or made at run time
        return frozenset(vars(cls))
    return frozenset(definitions(ast.walk(node)))


@cache
def _written(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module by their qualified names; ``inspect`` would parse the module again for each."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return {}
    return dict(_classes_within(parsed(source), ""))


def _classes_within(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for node in ast.iter_child_nodes(tree):
        within = prefix
        if isinstance(node, ast.ClassDef):
            yield f"{prefix}{node.name}", node
            within = f"{prefix}{node.name}."
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            within = f"{prefix}{node.name}.<locals>."
        if isinstance(node, ast.stmt):
            yield from _classes_within(node, within)
