"""Our ``dataclass`` makes what the standard one makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, field
from typing import ClassVar, cast

import pytest

from tui.domain.fast_dataclass import BY_HAND, dataclass


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    marks: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    LONGEST: ClassVar[int] = 40

    def __len__(self) -> int:
        return len(self.text)


@dataclasses.dataclass(frozen=True, slots=True)
class StandardWord:
    text: str
    marks: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    LONGEST: ClassVar[int] = 40

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    number: float = 0.0

    def __repr__(self) -> str:
        return f"<{self.number}>"


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Rough:
    size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rough) and abs(self.size - other.size) < 2


@dataclass(slots=True)
class Changing:
    count: int = 0
    seen: list[str] = field(default_factory=list)


def test_signatures_and_fields_are_those_of_the_standard_one() -> None:
    def described(cls: type[Word | StandardWord]) -> tuple[object, ...]:
        fields = [(f.name, f.type, f.default, f.default_factory, f.kw_only) for f in dataclasses.fields(cls)]
        parameters = [(p.name, p.kind, p.annotation) for p in inspect.signature(cls).parameters.values()]
        return (fields, parameters, cls.__match_args__, cls.__slots__, cls.LONGEST)

    assert described(Word) == described(StandardWord)


def test_values_read_and_compare_like_standard_ones() -> None:
    ours, standard = Word("a", ("b",)), StandardWord("a", ("b",))
    assert repr(ours) == repr(standard).replace("StandardWord", "Word")
    assert ours == Word("a", marks=("b",), notes={})
    assert ours != Word("a")
    assert ours != cast(object, standard)
    assert len(ours) == 1
    assert Word("a").notes is not Word("a").notes


def test_hashes_follow_the_content() -> None:
    assert {Single(number=1.0): "one"}[Single(number=1)] == "one"
    assert hash(Single(number=2.0)) == hash((2.0,))
    assert hash(Nothing()) == hash(())
    with pytest.raises(TypeError, match="unhashable"):
        hash(Word("a"))


def test_one_value_that_is_not_equal_to_itself_is_still_the_same() -> None:
    not_a_number = float("nan")
    assert Single(number=not_a_number) == Single(number=not_a_number)


def test_own_methods_stay() -> None:
    assert repr(Single(number=2.0)) == "<2.0>"
    assert repr(Nothing()) == "Nothing()"
    assert Rough(1) == Rough(2)
    assert hash(Rough(1)) == hash((1,))


@pytest.mark.parametrize(
    "change",
    [
        lambda value: setattr(value, "text", "b"),
        lambda value: setattr(value, "other", "b"),
        lambda value: delattr(value, "text"),
    ],
)
def test_nothing_can_be_changed(change: Callable[[Word], None]) -> None:
    value = Word("a")
    with pytest.raises(FrozenInstanceError):
        change(value)
    assert value == Word("a")


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_equal(again: Callable[[Word], Word]) -> None:
    assert again(Word("a", notes={"b": "c"})) == Word("a", notes={"b": "c"})


def test_replace_and_match_work() -> None:
    assert dataclasses.replace(Word("a"), marks=("b",)) == Word("a", ("b",))
    match Word("a", ("b",)):
        case Word(text, (mark,)):
            assert (text, mark) == ("a", "b")


@dataclass(frozen=True, slots=True)
class Mixed:
    name: str
    size: int = field(default=3, kw_only=True)
    parts: list[str] = field(default_factory=list)


def test_values_put_together_by_hand_are_those_of_the_compiled_constructor() -> None:
    made = [Mixed(f"n{number}", ["p"], size=number) for number in range(3 * BY_HAND)]
    assert made == [Mixed(name=f"n{number}", parts=["p"], size=number) for number in range(3 * BY_HAND)]
    assert [(value.name, value.size, value.parts) for value in made[:1]] == [("n0", 0, ["p"])]

    @dataclass(slots=True)
    class Fresh:
        name: str
        parts: list[str] = field(default_factory=list)

    first, last = [Fresh("a") for _ in range(BY_HAND + 1)][::BY_HAND]
    assert (first, first.parts is last.parts) == (last, False)


@pytest.mark.parametrize("used", [0, BY_HAND + 1])
def test_wrong_arguments_are_the_same_type_errors_early_and_late(used: int) -> None:
    @dataclass(frozen=True, slots=True)
    class Pair:
        left: int
        right: int = 0

    for _ in range(used):
        Pair(1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'left'"):
        Pair()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="got multiple values for argument 'left'"):
        Pair(1, left=2)  # type: ignore[misc]
    with pytest.raises(TypeError, match="takes from 2 to 3 positional arguments but 4 were given"):
        Pair(1, 2, 3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'middle'"):
        Pair(1, middle=2)  # type: ignore[call-arg]
    assert Pair(1) == Pair(left=1, right=0)


def test_a_class_without_slots_keeps_its_defaults_to_look_at() -> None:
    @dataclass(frozen=True)
    class Loose:
        width: int = 80
        height: int = field(default=24)
        words: tuple[str, ...] = field(default_factory=tuple)

    assert (Loose.width, Loose.height, hasattr(Loose, "words")) == (80, 24, False)
    assert Loose(height=5) == Loose(80, 5, ())


def test_what_the_standard_one_is_for_is_refused() -> None:
    with pytest.raises(TypeError, match="would inherit fields"):

        @dataclass(frozen=True, slots=True)
        class Longer(Word):
            more: int = 0

    with pytest.raises(TypeError, match="__post_init__"):

        @dataclass(slots=True)
        class Prepared:
            name: str = ""

            def __post_init__(self) -> None:
                self.name = "prepared"

    with pytest.raises(ValueError, match="use default_factory"):

        @dataclass(slots=True)
        class Shared:
            items: list[str] = []  # noqa: RUF012  # the mistake


def test_wrong_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError, match=r"Single.__init__\(\) takes 1 positional argument"):
        Single(1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'text'"):
        Word()  # type: ignore[call-arg]


def test_what_is_not_frozen_can_be_changed_and_not_hashed() -> None:
    counter = Changing()
    counter.count += 1
    counter.seen.append("a")
    assert (counter, repr(counter)) == (Changing(1, ["a"]), "Changing(count=1, seen=['a'])")
    assert counter != Changing(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)
    assert pickle.loads(pickle.dumps(counter)) == counter
