"""Modules that are found quickly are the same as those that Python finds; in doubt they are left to Python."""

from __future__ import annotations

import compileall
import importlib.resources
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import pytest

from tui.cli.quick_imports import QuickFinder, find_quickly

NAME = "house.room"


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module whose bytecode was made by Python."""
    monkeypatch.setattr(sys, "pycache_prefix", None)
    folder = tmp_path / "house"
    folder.mkdir()
    source = folder / "room.py"
    source.write_text("VALUE = 1\n\n\ndef where():\n    raise LookupError\n", "utf-8")
    py_compile.compile(str(source), doraise=True)
    return source


def found(source: Path) -> ModuleSpec | None:
    return QuickFinder().find_spec(NAME, [str(source.parent)])


def executed(spec: ModuleSpec | None) -> ModuleType:
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_module_is_what_python_would_have_made_of_it(room: Path) -> None:
    ours, theirs = found(room), PathFinder.find_spec(NAME, [str(room.parent)])
    assert ours is not None
    assert theirs is not None
    for name in ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations"):
        assert getattr(ours, name) == getattr(theirs, name)
    mine, other = executed(ours), executed(theirs)
    assert (mine.VALUE, mine.__file__) == (1, other.__file__)
    assert vars(mine).get("__cached__") == vars(other).get("__cached__")  # until Python 3.14
    assert mine.where.__code__.co_filename == other.where.__code__.co_filename
    assert isinstance(ours.loader, SourceFileLoader)
    assert ours.loader.get_source(NAME) == room.read_text("utf-8")
    assert executed(ours).VALUE == 1, "a second time, as a reload does it"


def edited(room: Path) -> None:
    room.write_text("VALUE = 22\n", "utf-8")


def edited_to_the_same_size(room: Path) -> None:
    before = room.stat()
    room.write_text(room.read_text("utf-8").replace("1", "2"), "utf-8")
    os.utime(room, (before.st_atime, before.st_mtime + 5))


def compiled_with_a_checksum(room: Path) -> None:
    py_compile.compile(str(room), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


def compiled_by_another_python(room: Path) -> None:
    (compiled,) = (room.parent / "__pycache__").iterdir()
    compiled.write_bytes(b"\x00\x00\r\n" + compiled.read_bytes()[4:])


def cut_short(room: Path) -> None:
    (compiled,) = (room.parent / "__pycache__").iterdir()
    compiled.write_bytes(compiled.read_bytes()[:10])


def never_compiled(room: Path) -> None:
    shutil.rmtree(room.parent / "__pycache__")


def removed(room: Path) -> None:
    room.unlink()


def beside_a_package(room: Path) -> None:
    room.with_suffix("").mkdir()


def beside_a_compiled_library(room: Path) -> None:
    room.with_suffix(EXTENSION_SUFFIXES[0]).touch()


def cut_short_behind_its_head(room: Path) -> None:
    (compiled,) = (room.parent / "__pycache__").iterdir()
    compiled.write_bytes(compiled.read_bytes()[:30])


@pytest.mark.parametrize(
    "change",
    [
        beside_a_package,
        beside_a_compiled_library,
        cut_short_behind_its_head,
        edited,
        edited_to_the_same_size,
        compiled_with_a_checksum,
        compiled_by_another_python,
        cut_short,
        never_compiled,
        removed,
    ],
)
def test_what_is_not_certain_is_left_to_python(room: Path, change: Callable[[Path], None]) -> None:
    assert found(room) is not None
    change(room)
    assert found(room) is None


def test_a_folder_that_was_moved_after_it_was_compiled_is_left_to_python(room: Path) -> None:
    moved = room.parent.with_name("moved")
    room.parent.rename(moved)
    assert found(moved / room.name) is None


def test_modules_without_a_package_and_packages_of_several_folders_are_left_to_python(room: Path) -> None:
    finder = QuickFinder()
    assert finder.find_spec("room", None) is None
    assert finder.find_spec(NAME, [str(room.parent), str(room.parent.parent)]) is None
    assert finder.find_spec("house.other", [str(room.parent)]) is None


@pytest.fixture
def installed() -> Iterator[None]:
    before = list(sys.meta_path)
    find_quickly()
    yield
    sys.meta_path[:] = before


@pytest.mark.usefixtures("installed")
def test_it_is_installed_once_and_leaves_packages_themselves_to_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    inner = tmp_path / "outer_house" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").touch()
    (inner / "__init__.py").write_text("from outer_house.inner.deep import VALUE\n", "utf-8")
    (inner / "deep.py").write_text("VALUE = 3\n", "utf-8")
    (inner / "data.txt").write_text("kept", "utf-8")
    compileall.compile_dir(str(inner.parent), quiet=1)
    monkeypatch.syspath_prepend(str(tmp_path))
    find_quickly()
    assert sum(isinstance(finder, QuickFinder) for finder in sys.meta_path) == 1
    module = importlib.import_module("outer_house.inner")
    assert module.VALUE == 3
    assert type(sys.modules["outer_house.inner.deep"].__spec__.loader).__module__ == "tui.cli.quick_imports"  # type: ignore[union-attr]  # it has one
    assert type(module.__spec__.loader) is SourceFileLoader  # type: ignore[union-attr]  # it has one
    assert importlib.resources.files(module).joinpath("data.txt").read_text("utf-8") == "kept"


STARTED = """
import sys
from tui.cli.main import main
main(["-p", "hi", "-m", "demo/fast"])
print(type(sys.modules["tui.bootstrap.headless"].__spec__.loader).__module__)
"""


def test_the_program_finds_its_own_modules_so(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PONDER_HOME": str(tmp_path / "ponder")}
    for _ in range(2):  # the first may have to compile
        ended = subprocess.run(
            [sys.executable, "-c", STARTED], env=environment, capture_output=True, check=True, timeout=60, text=True
        )
    assert ended.stdout.splitlines()[-1] == "tui.cli.quick_imports"
