"""The sandboxes of this machine as parameters of tests, and a repository to run experiments in."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench
from tui.tools.sandbox.sandbox import Kernel, this_kernel

HERE = this_kernel()
LANDLOCK = Kernel(landlock=HERE.landlock, seccomp=HERE.seccomp)
OLD_LANDLOCK = Kernel(landlock=min(HERE.landlock, 1), seccomp=HERE.seccomp)
"""The same kernel used as the first version that knows Landlock."""
BUBBLEWRAP = Kernel(seccomp=HERE.seccomp, bubblewrap=HERE.bubblewrap)
KERNELS = [
    pytest.param(
        kernel,
        id=name,
        marks=pytest.mark.skipif(not kernel.strengths, reason=f"NO {name.upper()} ON THIS MACHINE: not tested"),
    )
    for name, kernel in (("landlock", LANDLOCK), ("landlock 1", OLD_LANDLOCK), ("bubblewrap", BUBBLEWRAP))
]
_LONG = {"landlock 1": [pytest.mark.long]}
every_sandbox = pytest.mark.parametrize("kernel", KERNELS)
newest_sandboxes = pytest.mark.parametrize(
    "kernel", [pytest.param(*row.values, id=row.id, marks=[*row.marks, *_LONG.get(str(row.id), ())]) for row in KERNELS]
)
"""The same where a matrix of commands takes seconds for each: the first Landlock only with ``--long``."""

needs_sandbox = pytest.mark.skipif(not HERE.strengths, reason="NO SANDBOX ON THIS MACHINE: not tested")


def repository_bench(around: Path, kernel: Kernel, *rules: str) -> Bench:
    bench = open_bench(around, kernel=kernel, permissions={"allow": list(rules)})
    if (bench.folder / ".git").exists():
        return bench
    fill(bench, around)
    (bench.folder / "link").symlink_to(around / "outside")
    made = _repository()
    shutil.copytree(made / ".git", bench.folder / ".git")
    shutil.copy2(made / "a.tar", bench.folder)
    shutil.copy2(made / "a.txt", bench.folder)
    bench.permissions_file.write_text('allow = ["shell(canary-of-rules) ro"]\n')
    return bench


@cache
def _repository() -> Path:
    """A repository with one commit, made once for all tests of a process and copied by each."""
    folder = Path(tempfile.mkdtemp(prefix="ponder-repository-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "a.txt").write_text("one\n")
    for line in ("init -q", "add a.txt", "-c user.name=a -c user.email=a@b commit -qm one"):
        subprocess.run(["git", "-C", str(folder), *line.split()], check=True, env={"PATH": os.environ["PATH"]})
    subprocess.run(["tar", "cf", "a.tar", "a.txt"], cwd=folder, check=True)
    return folder


def fill(bench: Bench, around: Path) -> None:
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "two\n")
    bench.write("src/c.txt", "three\n")
    bench.write("script.sh", f"touch {around}/outside/x\n")
    bench.write("mk", f"all:\n\ttouch {around}/outside/x\n")
    bench.write("list", f"{around}/outside/x\n")
    bench.write(".envrc", "export A=1\n")
    bench.write(".vscode/tasks.json", "{}\n")


def snapshot(*folders: Path) -> dict[str, object]:
    """Everything below, with contents, modes and times of files."""
    found: dict[str, object] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            status = path.lstat()
            if path.is_symlink():
                found[str(path)] = path.readlink()
            elif path.is_file():
                found[str(path)] = (path.read_bytes(), status.st_mode, status.st_mtime_ns)
            else:
                found[str(path)] = status.st_mode
    return found
