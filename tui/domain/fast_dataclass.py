"""A replacement for ``dataclasses.dataclass`` that creates classes in a tenth of the time.

The standard decorator compiles six methods per frozen class and builds a description of every field, about 0.25 ms per
class; a start creates about 150 classes. Here the methods are closures over the field names and as fast to call. The
constructor is compiled, and the field descriptions are built, only when they pay: most classes loaded at start-up are
used rarely or never in a run. Only the options ``frozen``, ``slots`` and ``kw_only`` are supported; inherited
fields and ``__post_init__`` are not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from dataclasses import dataclass

__all__ = ["dataclass"]

T = TypeVar("T")

BY_HAND = 16
"""Instances of a class that are built field by field. Compiling a constructor costs as much as building twenty."""

_ABSENT = dataclasses.MISSING


def _make_class(cls: type[T], *, frozen: bool, slots: bool, kw_only: bool) -> type[T]:
    if hasattr(cls, "__dataclass_fields__"):
        raise TypeError(f"{cls.__name__} would inherit fields: that takes the standard dataclass")
    if hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} has a __post_init__: that takes the standard dataclass")
    fields = _fields_of(cls, kw_only=kw_only)
    names = tuple(fields)
    late: list[_Constructor | _Description] = [
        _Constructor(cls, fields, frozen=frozen),
        _Description("__dataclass_fields__", lambda: _described(cls, fields, kw_only=kw_only)),
        _Description("__dataclass_params__", lambda: _described(cls, {}, frozen=frozen)),
    ]
    methods = {**{part.name: part for part in late}, **_equality(names), "__repr__": _repr(names)}
    methods |= _frozen(names) if frozen else {"__hash__": None}
    added = {name: method for name, method in methods.items() if cls.__dict__.get(name) is None}
    added["__match_args__"] = tuple(name for name, field in fields.items() if not field.by_keyword)
    if cls.__doc__ is None:
        added["__doc__"] = cls.__name__  # the standard decorator would use the signature, which is slow to compute
    made = _with_slots(cls, added, names) if slots else _completed(cls, added, fields)
    for part in late:
        part.owner = made
    return made


class _Field:
    """One field as declared in the class body."""

    __slots__ = ("by_keyword", "declared", "default", "factory")

    def __init__(self, declared: object, *, by_keyword: bool) -> None:
        self.declared = self.default = declared
        self.factory: Callable[[], object] | None = None
        self.by_keyword = by_keyword
        if isinstance(declared, dataclasses.Field):
            self.default = declared.default
            self.factory = None if declared.default_factory is _ABSENT else declared.default_factory
            self.by_keyword = by_keyword if declared.kw_only is _ABSENT else bool(declared.kw_only)
        if self.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {self.default!r}: use default_factory")


def _fields_of(cls: type[object], *, kw_only: bool) -> dict[str, _Field]:
    declared = cls.__dict__
    return {
        name: _Field(declared.get(name, _ABSENT), by_keyword=kw_only)
        for name, kind in cls.__annotations__.items()
        if not str(kind).startswith(("ClassVar", "typing.ClassVar"))
    }


def _with_slots(cls: type[T], added: Mapping[str, object], names: tuple[str, ...]) -> type[T]:
    """Return a new class with slots. Slots cannot be added to an existing class."""
    kept = {name: part for name, part in vars(cls).items() if name not in names}
    kept.pop("__dict__", None)
    kept.pop("__weakref__", None)
    content = {**kept, **added, "__slots__": names, "__qualname__": cls.__qualname__}
    kind = cast("Callable[..., type[T]]", type(cls))
    return kind(cls.__name__, cls.__bases__, content)


def _completed(cls: type[T], added: Mapping[str, object], fields: Mapping[str, _Field]) -> type[T]:
    for name, field in fields.items():
        if field.default is not field.declared:
            if field.default is _ABSENT:
                delattr(cls, name)
            else:
                setattr(cls, name, field.default)
    for name, method in added.items():
        setattr(cls, name, method)
    return cls


class _Description:
    """A class attribute that ``fields`` and ``replace`` read. Computed on first access, then stored in the class."""

    owner: type[object]

    def __init__(self, name: str, describe: Callable[[], type[object]]) -> None:
        self.name = name
        self._describe = describe

    def __get__(self, value: object, cls: type[object]) -> object:
        found = getattr(self._describe(), self.name)
        setattr(self.owner, self.name, found)
        return found


def _described(
    cls: type[object], fields: Mapping[str, _Field], *, frozen: bool = False, kw_only: bool = False
) -> type[object]:
    """Return a standard dataclass with the same fields, as the source of the field descriptions."""
    declared = {name: field.declared for name, field in fields.items() if field.declared is not _ABSENT}
    kinds = {name: cls.__annotations__[name] for name in fields}
    # With an empty docstring, the standard decorator would make one of the signature, which takes as long as the rest.
    like = type(
        cls.__name__, (), {"__annotations__": kinds, "__module__": cls.__module__, "__doc__": "like it", **declared}
    )
    describe = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False, frozen=frozen, kw_only=kw_only)
    return describe(like)


class _Constructor:
    """Stands in for ``__init__`` until it is compiled."""

    name = "__init__"
    owner: type[object]

    def __init__(self, cls: type[object], fields: Mapping[str, _Field], *, frozen: bool) -> None:
        self._cls = cls
        self._fields = fields
        self._frozen = frozen
        self._used = 0

    def __get__(self, value: object, cls: type[object]) -> object:
        self._used += 1
        if isinstance(value, type):  # ``inspect`` does this from Python 3.13 on
            return MethodType(self._compiled(self.owner), value)
        if value is None or self._used > BY_HAND:
            return self._compiled(cls if value is None else value)
        return partial(self._by_hand, value)

    def _by_hand(self, value: object, /, *given: object, **named: object) -> None:
        by_position = (name for name, field in self._fields.items() if not field.by_keyword)
        content = dict(zip(by_position, given, strict=False))
        size = len(given) + len(named)
        content.update(named)
        missing = [name for name in self._fields if name not in content]
        if len(content) != size or len(content) + len(missing) != len(self._fields):
            return self._compiled(value)(*given, **named)  # raises the usual TypeError
        for name in missing:
            field = self._fields[name]
            if field.factory is None and field.default is _ABSENT:
                return self._compiled(value)(*given, **named)
            content[name] = field.default if field.factory is None else field.factory()
        for name, part in content.items():
            object.__setattr__(value, name, part)
        return None

    def _compiled(self, place: object) -> Callable[..., None]:
        setattr(self.owner, self.name, _init(self._cls, self._fields, frozen=self._frozen))
        return cast("Callable[..., None]", getattr(place, self.name))


def _init(cls: type[object], fields: Mapping[str, _Field], *, frozen: bool) -> object:
    """Compile the constructor, with positional fields before keyword-only fields."""
    known: dict[str, object] = {"_set": object.__setattr__, "_absent": _ABSENT}
    positional, named, lines = ["self"], list[str](), list[str]()
    for name, field in fields.items():
        parameter = given = name
        if field.factory is not None:
            known[f"_{name}_made"] = field.factory
            parameter = f"{name}=_absent"
            given = f"_{name}_made() if {name} is _absent else {name}"
        elif field.default is not _ABSENT:
            known[f"_{name}_else"] = field.default
            parameter = f"{name}=_{name}_else"
        (named if field.by_keyword else positional).append(parameter)
        lines.append(f" _set(self, {name!r}, {given})" if frozen else f" self.{name} = {given}")
    parameters = ", ".join([*positional, "*", *named] if named else positional)
    exec(f"def __init__({parameters}):\n" + ("\n".join(lines) or " pass"), known)
    init = cast("Callable[..., None]", known["__init__"])
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {**{name: cls.__annotations__[name] for name in fields}, "return": None}
    return init


def _equality(names: tuple[str, ...]) -> dict[str, object]:
    content = _content(names)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807  # becomes a method
        return content(self) == content(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(content(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _content(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return a function that reads all field values as a tuple. ``attrgetter`` of one name returns no tuple."""
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
        """Create a dataclass. Type checkers see ``dataclasses.dataclass`` instead."""
        return partial(_make_class, frozen=frozen, slots=slots, kw_only=kw_only)
