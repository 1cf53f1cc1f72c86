"""``dataclass`` for values: the standard one, only that its classes are made in a quarter of the time.

The standard decorator compiles six methods for a frozen class, which takes a quarter of a millisecond, and a start
makes a hundred and fifty of them. Here ``__init__`` alone is compiled and the others are closures over the fields, as
fast when they are called. Other options than these three are for the standard one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from dataclasses import dataclass

__all__ = ["dataclass"]

T = TypeVar("T")

_ABSENT = dataclasses.MISSING


def _value(cls: type[T], *, frozen: bool, slots: bool, kw_only: bool) -> type[T]:
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # the standard decorator would spell out the signature, which is slow
    own = {name for name, content in vars(cls).items() if content is not None}
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    fields = dataclasses.fields(made)  # type: ignore[arg-type]  # it is a dataclass since the line above
    names = tuple(field.name for field in fields)
    methods = {"__init__": _init(made, fields, frozen=frozen), **_equality(names), "__repr__": _repr(names)}
    methods |= _frozen(names) if frozen else {"__hash__": None}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _init(made: type[object], fields: tuple[dataclasses.Field[object], ...], *, frozen: bool) -> object:
    """The constructor, positional fields before those that go by keyword."""
    known: dict[str, object] = {"_set": object.__setattr__, "_absent": _ABSENT}
    positional, named, lines = ["self"], list[str](), list[str]()
    for field in fields:
        name, given = field.name, field.name
        parameter = name
        if field.default_factory is not _ABSENT:
            known[f"_{name}_made"] = field.default_factory
            parameter = f"{name}=_absent"
            given = f"_{name}_made() if {name} is _absent else {name}"
        elif field.default is not _ABSENT:
            known[f"_{name}_else"] = field.default
            parameter = f"{name}=_{name}_else"
        (named if field.kw_only else positional).append(parameter)
        lines.append(f" _set(self, {name!r}, {given})" if frozen else f" self.{name} = {given}")
    parameters = ", ".join([*positional, "*", *named] if named else positional)
    exec(f"def __init__({parameters}):\n" + ("\n".join(lines) or " pass"), known)
    init = cast("Callable[..., None]", known["__init__"])
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return init


def _equality(names: tuple[str, ...]) -> dict[str, object]:
    content = _content(names)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807  # becomes a method
        return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(content(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _content(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """All fields' values, always as a tuple."""
    if len(names) > 1:
        return cast("Callable[[object], tuple[object, ...]]", attrgetter(*names))
    return lambda value: tuple(getattr(value, name) for name in names)


def _repr(names: tuple[str, ...]) -> object:
    def __repr__(self: object) -> str:  # noqa: N807
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _frozen(names: tuple[str, ...]) -> dict[str, object]:
    content = _content(names)

    def __getstate__(self: object) -> list[object]:  # noqa: N807
        return list(content(self))

    def __setstate__(self: object, state: list[object]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__setattr__": _refuse_assignment,
        "__delattr__": _refuse_deletion,
        "__getstate__": __getstate__,
        "__setstate__": __setstate__,
    }


def _refuse_assignment(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


if not TYPE_CHECKING:

    def dataclass(*, frozen: bool = False, slots: bool = False, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
        """``dataclasses.dataclass``, which is also what type checkers take it for."""
        return partial(_value, frozen=frozen, slots=slots, kw_only=kw_only)
